"""The human gate over HTTP: what waits, and the one door through which a decision comes."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from pydantic import Field
from starlette.responses import Response

from submission.state.commands import Rescind
from submission.state.events import Verb
from submission.state.evolve import fold
from submission.state.receipt import Receipt
from submission.state.refusals import refuse
from submission.state.views import GateList, GateView
from submission.tools.bootstrap import House
from submission.tools.play import Answer, answer_gate, loaded, look
from submission.tools.problems import REFUSALS
from submission.tools.routes.common import AtHouse, Body, GateId, IdempotencyKey, RunId, reply

router = APIRouter(prefix="/api", tags=["gates"], responses=REFUSALS)

LISTED_RUNS = 100


class Decision(Body):
    """A human's answer at a gate. Only the verbs named here decide anything; nothing is inferred from prose."""

    verb: Verb
    artifact_sha256: Annotated[
        str | None,
        Field(max_length=100, description="The hash of the artifact you saw; null at a failed stage"),
    ] = None
    option_id: Annotated[
        str | None,
        Field(max_length=200, description="One of the fork's two options", examples=["strategist.depth"]),
    ] = None
    reason: Annotated[str | None, Field(description="What to change; a rejection needs it")] = None
    direction: Annotated[str | None, Field(description="A redirect in your own words, instead of an option")] = None
    override_reason: Annotated[
        str | None, Field(description="Why you approve although the floor fails; needed only then")
    ] = None


class Rescission(Body):
    reason: str | None = None


@router.get("/gates", response_model=GateList)
async def list_gates(house: AtHouse) -> Response:
    """Every open gate of the newest runs: what waits for you, newest first."""
    heads = await house.store.runs(LISTED_RUNS)
    found, _ = await loaded(house, heads)
    return reply(GateList(gates=tuple([await look(house, run) for _, run in found if run.gate is not None])))


@router.get("/runs/{run_id}/gates/{gate_id}", response_model=GateView)
async def show_gate(run_id: RunId, gate_id: GateId, house: AtHouse) -> Response:
    """A gate with all that is needed to decide; once decided, as it was shown then, with its receipt."""
    run = await house.referee.load(run_id)
    if run.gate is not None and run.gate.gate_id == gate_id:
        return reply(await look(house, run), headers={"Cache-Control": "no-cache"})
    decided = run.find_decided(gate_id)
    if decided is None:
        refuse("gate.unknown", f"no gate {gate_id[:40]!r} in this run")
    then = fold(await house.referee.events(run_id, 0, decided.gate_seq))
    assert then is not None, "a decided gate has a past"
    receipt = await house.referee.receipt(run_id, decided.decision_seq)
    return reply((await look(house, then)).model_copy(update={"receipt": receipt}))


@router.post("/runs/{run_id}/gates/{gate_id}/decision", response_model=Receipt)
async def decide_gate(run_id: RunId, gate_id: GateId, body: Decision, house: AtHouse, key: IdempotencyKey) -> Response:
    """Approve, reject or redirect: a compare-and-swap on the artifact you saw. Exactly one decision wins."""
    if body.verb == "approve":
        return reply(await approve_current_step(house, run_id, gate_id, body, key))
    return reply(await _answer(house, run_id, gate_id, body, key))


async def approve_current_step(house: House, run_id: str, gate_id: str, decision: Decision, key: str) -> Receipt:
    """The only way in which XP is released: a person's approval of the artifact they saw, at its open gate."""
    return await _answer(house, run_id, gate_id, decision, key)


async def _answer(house: House, run_id: str, gate_id: str, said: Decision, key: str) -> Receipt:
    mode = (await house.referee.load(run_id)).mode
    answer = Answer(said.verb, said.option_id, said.reason, said.direction, said.override_reason)
    return await answer_gate(house, run_id, house.actor(mode), gate_id, said.artifact_sha256, key, answer)


@router.post("/runs/{run_id}/gates/{gate_id}/rescind", response_model=Receipt)
async def rescind_decision(
    run_id: RunId, gate_id: GateId, house: AtHouse, key: IdempotencyKey, body: Rescission | None = None
) -> Response:
    """Take the last decision back, until the next stage starts. Its gate is posed again under a new id."""
    mode = (await house.referee.load(run_id)).mode
    command = Rescind(house.actor(mode), gate_id, key, body.reason if body else None)
    run = (await house.referee.handle(run_id, command)).run
    decided = run.find_decided(gate_id)
    assert decided is not None, "a rescinded gate was decided"
    return reply(await house.referee.receipt(run_id, decided.rescinded_seq or 0))
