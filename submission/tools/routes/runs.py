"""Runs: start one, list them, look at one now or as it was, send a worker to work."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Header, Path, Query
from pydantic import Field
from starlette.responses import Response

from submission.agents.model_config import scrub_secrets
from submission.state.canonical import Frozen
from submission.state.decide import readable
from submission.state.events import Mode
from submission.state.evolve import fold
from submission.state.refusals import Conflict, refuse
from submission.state.store.chain import unseal
from submission.state.views import RunAt, RunList, RunView, run_at, run_summary, run_view
from submission.tools.clock import new_run_id
from submission.tools.play import begin, loaded, send_to_work
from submission.tools.problems import REFUSALS
from submission.tools.routes.common import IMMUTABLE, AtHouse, Body, RunId, reply

router = APIRouter(prefix="/api/runs", tags=["runs"], responses=REFUSALS)

PITCH = "Solar microgrids for rural clinics"


class NewRun(Body):
    """A pitch to play. In a `rehearsal` decisions are a script's and its XP never counts for a person."""

    pitch: Annotated[str, Field(description="What you offer, and to whom; 1 to 10,000 characters", examples=[PITCH])]
    world: Annotated[str | None, Field(description="A world of GET /api/worlds; the default one when left out")] = None
    seed: Annotated[int, Field(ge=0, lt=2**53, description="Same pitch and seed, same artifacts")] = 1
    mode: Mode = "human"


class NewTurn(Body):
    stage_id: Annotated[
        str | None, Field(description="An open stage; the first one when left out", examples=["positioning"])
    ] = None


class TurnStarted(Frozen):
    """A worker is at work; its artifact arrives at a gate. Follow the stream, or wait on the events."""

    run_id: str
    stage_id: str
    attempt: int
    seq: int


@router.post("", status_code=201, response_model=RunView)
async def start_run(
    body: NewRun,
    house: AtHouse,
    key: Annotated[
        str | None, Header(alias="Idempotency-Key", max_length=200, description="The same key, the same run")
    ] = None,
) -> Response:
    """Start a run. The same Idempotency-Key with the same pitch returns the run it started."""
    if key is not None and (key.isspace() or not key or not key.isprintable()):
        refuse("request.malformed", "an Idempotency-Key is 1 to 200 visible characters; leave it out to have none")
    run_id, world_id = new_run_id(key), body.world if body.world is not None else house.default_world
    try:
        run = await begin(house, run_id, world_id, body.pitch, body.seed, body.mode, house.actor(body.mode))
    except Conflict:
        run = await house.referee.load(run_id)
        asked = (scrub_secrets(readable(body.pitch)), body.seed, body.mode, world_id)
        if (run.pitch, run.seed, run.mode, run.world.id) != asked:
            raise
    return reply(run_view(run), 201, {"Location": f"/api/runs/{run_id}"})


@router.get("", response_model=RunList)
async def list_runs(
    house: AtHouse,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    before: Annotated[str | None, Query(max_length=40, description="`next` of the page before")] = None,
) -> Response:
    """Runs by last change, newest first."""
    heads = await house.store.runs(limit, before)
    found, broken = await loaded(house, heads)
    runs = tuple(run_summary(run, head.started_at, head.updated_at) for head, run in found)
    return reply(RunList(runs=runs, broken=broken, next=heads[-1].updated_at if len(heads) >= limit else None))


@router.get("/{run_id}", response_model=RunView)
async def show_run(run_id: RunId, house: AtHouse) -> Response:
    """The run as it stands."""
    return reply(run_view(await house.referee.load(run_id)), headers={"Cache-Control": "no-cache"})


@router.get("/{run_id}/at/{seq}", response_model=RunAt)
async def show_run_at(run_id: RunId, seq: Annotated[int, Path(le=2**53)], house: AtHouse) -> Response:
    """The run as it was at a seq: a pure fold of the log up to there, the same for ever."""
    head = (await house.referee.load(run_id)).seq
    if not 1 <= seq <= head:
        refuse("seq.unknown", f"{seq} is not in 1..{head}")
    lines = await house.store.read(run_id, 0, seq)
    return reply(await asyncio.to_thread(_folded, lines), headers=IMMUTABLE)


def _folded(lines: Sequence[bytes]) -> RunAt:
    """The run these first lines make; away from the event loop, for a long log takes its time."""
    run = fold(unseal(line, place) for place, line in enumerate(lines, 1))
    assert run is not None, "a run has events"
    return run_at(run)


@router.post("/{run_id}/turns", status_code=202, response_model=TurnStarted)
async def start_turn(run_id: RunId, house: AtHouse, body: NewTurn | None = None) -> Response:
    """Send a stage's worker to work. Answers at once; the work runs in the background."""
    mode = (await house.referee.load(run_id)).mode
    job, seq = await send_to_work(house, run_id, house.actor(mode), body.stage_id if body else None)
    house.turns.dispatch(job)
    started = TurnStarted(run_id=run_id, stage_id=job.stage_id, attempt=job.attempt, seq=seq)
    return reply(started, 202, {"Location": f"/api/runs/{run_id}"})
