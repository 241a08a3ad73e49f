"""What any player does with an open house, whichever door they came through: begin, send to work, look, answer."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import NamedTuple

from submission.agents.world_designer import design_quest
from submission.state.commands import Decide, StartRun, StartStage
from submission.state.decide import readable
from submission.state.events import Actor, Mode, StageExecuted, Verb
from submission.state.ports import Job, RunHead
from submission.state.receipt import Receipt
from submission.state.refusals import BrokenLog
from submission.state.run import Run
from submission.state.views import GateView, gate_view
from submission.tools.bootstrap import House

logger = logging.getLogger(__name__)


class Answer(NamedTuple):
    """What a player says at a gate."""

    verb: Verb
    option_id: str | None = None
    reason: str | None = None
    direction: str | None = None
    override_reason: str | None = None


async def begin(house: House, run_id: str, world_id: str, pitch: str, seed: int, mode: Mode, player: Actor) -> Run:
    """Start a run with the narrator's quest for its pitch; where the narrator fails, with the pack's own words."""
    world, text = house.referee.world(world_id), readable(pitch)
    try:
        stages, reasoning = design_quest(world, text, seed), "titles and goals in the words of the pitch"
    except Exception as error:  # a narrator that fails costs its words, never the run; the event says so
        logger.exception("the narrator failed")
        stages, reasoning = world.stages, f"the pack's own words; the narrator failed: {type(error).__name__}"
    command = StartRun(text, seed, mode, player, stages, "simulation", reasoning)
    return (await house.referee.start(run_id, world_id, command)).run


async def send_to_work(house: House, run_id: str, player: Actor, stage_id: str | None = None) -> tuple[Job, int]:
    """Start a stage's turn; returns the job to run and the seq of its STAGE_STARTED."""
    run = (await house.referee.handle(run_id, StartStage(player, stage_id))).run
    stage = run.working
    assert stage is not None, "a started stage is at work"
    return Job(run_id, stage.spec.id, stage.attempt), run.seq


async def loaded(house: House, heads: Sequence[RunHead]) -> tuple[list[tuple[RunHead, Run]], tuple[str, ...]]:
    """The runs of these heads, and the ids of those whose log is broken; one of them harms no other."""
    found, broken = [], []
    for head in heads:
        try:
            found.append((head, await house.referee.load(head.run_id)))
        except BrokenLog:
            broken.append(head.run_id)
    return found, tuple(broken)


async def look(house: House, run: Run) -> GateView:
    """The open gate with everything its human is shown."""
    assert run.gate is not None, "the caller looked"
    executed = (await house.referee.events(run.run_id, run.gate.executed_seq - 1, 1))[0].payload
    assert isinstance(executed, StageExecuted), "a gate stands on executed work"
    return gate_view(run, executed)


async def answer_gate(
    house: House,
    run_id: str,
    player: Actor,
    gate_id: str,
    artifact_sha256: str | None,
    key: str,
    answer: Answer,
) -> Receipt:
    """One decision at a gate, and its receipt."""
    command = Decide(player, gate_id, answer.verb, artifact_sha256, key, *answer[1:])
    run = (await house.referee.handle(run_id, command)).run
    decided = run.find_decided(gate_id)
    assert decided is not None, "an answered gate is decided"
    return await house.referee.receipt(run_id, decided.decision_seq)
