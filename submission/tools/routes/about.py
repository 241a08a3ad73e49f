"""What this server knows, is, and remembers."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from starlette.responses import Response

from submission.agents.memory import memory_snapshot
from submission.state.canonical import Frozen
from submission.state.views import MemorySnapshot
from submission.state.world import Role, Stage, WorldPin
from submission.tools.problems import REFUSALS
from submission.tools.routes.common import AtHouse, reply

router = APIRouter(responses=REFUSALS)


class WorldView(Frozen):
    """A world that can be played: its pin and its quest, not its content."""

    pin: WorldPin
    title: str
    summary: str
    roles: tuple[Role, ...]
    stages: tuple[Stage, ...]
    default: bool


class WorldList(Frozen):
    worlds: tuple[WorldView, ...]


class ModeView(Frozen):
    """Which tier answers. `simulation` is the only one configured here, and is said so wherever work is shown."""

    tier: Literal["simulation", "local", "cloud"]
    client: str
    reason: str
    memory_store: str
    player: str


class Health(Frozen):
    status: Literal["ok"]


@router.get("/api/memory", response_model=MemorySnapshot, tags=["memory"])
async def show_memory(
    run_id: Annotated[str, Query(max_length=80, description="A run of GET /api/runs")], house: AtHouse
) -> Response:
    """What a run's workforce remembers, by kind, each with the decision that wrote it."""
    return reply(memory_snapshot(await house.referee.load(run_id)))


@router.get("/api/worlds", response_model=WorldList, tags=["worlds"])
async def list_worlds(house: AtHouse) -> Response:
    """The worlds that can be played."""
    views = tuple(
        WorldView(
            pin=world.pin,
            title=world.title,
            summary=world.summary,
            roles=world.roles,
            stages=world.stages,
            default=world.id == house.default_world,
        )
        for world in house.worlds.values()
    )
    return reply(WorldList(worlds=views))


@router.get("/api/mode", response_model=ModeView, tags=["about"])
async def show_mode(house: AtHouse) -> Response:
    """Who writes the artifacts, and why."""
    return reply(
        ModeView(
            tier="simulation",
            client="simulation",
            reason="no model is configured",
            memory_store="local-memory",
            player=house.settings.player_name,
        )
    )


@router.get("/healthz", response_model=Health, tags=["about"])
async def health() -> Response:
    """The process answers."""
    return reply(Health(status="ok"))


@router.get("/readyz", response_model=Health, tags=["about"])
async def ready(house: AtHouse) -> Response:
    """The store answers; 503 when it does not."""
    await house.store.runs(1)
    return reply(Health(status="ok"))
