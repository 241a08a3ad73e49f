"""A run that rejections keep alive for as long as one likes: every attempt is sent back."""

from __future__ import annotations

import asyncio
from functools import cache
from typing import NamedTuple

from submission.agents.worker_factory import SimulatedWorker
from submission.agents.world_designer import design_quest
from submission.knowledge.load import WORLDS, default_world, load_worlds
from submission.state.brief import brief_for
from submission.state.commands import Command, Decide, StartRun, StartStage, SubmitArtifact
from submission.state.decide import decide
from submission.state.events import Actor
from submission.state.evolve import GENESIS, fold
from submission.state.run import Run
from submission.state.store.chain import Sealed, seal
from submission.state.work import Work
from submission.state.world import World
from tests.bench.player import PITCHES
from tests.bench.rounds import SCRIPT

AT = "2026-12-01T09:00:00.000Z"
DRAFTS = 8
"""Different drafts that the worker hands in by turns."""


class LongRun(NamedTuple):
    """A run, its log, and the drafts with which it goes on."""

    world: World
    run: Run
    log: tuple[Sealed, ...]
    drafts: tuple[Work, ...]

    @property
    def lines(self) -> list[bytes]:
        return [entry.line for entry in self.log]


@cache
def long_run(events: int, run_id: str = "r-long") -> LongRun:
    """A run of at least so many events, ready for its stage to be started again."""
    world = load_worlds(WORLDS)[default_world(WORLDS)]
    stages = design_quest(world, PITCHES[0], 1)
    log: list[Sealed] = []
    run = _handled(run_id, log, None, StartRun(PITCHES[0], 1, "rehearsal", SCRIPT, stages, "simulation"), world)
    drafts = _drafts(world, run)
    while len(log) < events:
        for command in (start, submit, reject):
            run = _handled(run_id, log, run, command(run, drafts), world)
    return LongRun(world, run, tuple(log), drafts)


def start(run: Run, drafts: tuple[Work, ...]) -> Command:
    return StartStage(SCRIPT)


def submit(run: Run, drafts: tuple[Work, ...]) -> Command:
    stage = run.working
    assert stage is not None
    worker = Actor(kind="agent", id=stage.spec.role, name=stage.spec.role)
    return SubmitArtifact(worker, stage.spec.id, stage.attempt, drafts[stage.attempt % DRAFTS], (), (), None)


def reject(run: Run, drafts: tuple[Work, ...]) -> Command:
    gate = run.gate
    assert gate is not None
    reason = f"Attempt {gate.attempt} is not there yet: name who pays, and why now."
    return Decide(SCRIPT, gate.gate_id, "reject", gate.artifact_sha256, gate.gate_id, None, reason)


def _handled(run_id: str, log: list[Sealed], run: Run | None, command: Command, world: World) -> Run:
    seq, head = (run.seq, run.head) if run else (0, GENESIS)
    sealed = seal(decide(run, command, world), run_id, seq, head, AT)
    log += sealed
    after = fold((entry.event for entry in sealed), run)
    assert after is not None
    return after


def _drafts(world: World, run: Run) -> tuple[Work, ...]:
    """What the simulated worker writes at the first stage, each time as if it were another attempt."""
    stage, worker = run.stages[0], SimulatedWorker(world)
    role = world.role(stage.spec.role)
    briefs = [brief_for(run, stage._replace(attempt=attempt), role, ()) for attempt in range(1, DRAFTS + 1)]
    return tuple(asyncio.run(worker.work(brief, lambda kind, text: None)) for brief in briefs)
