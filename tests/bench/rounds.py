"""Campaigns in process: a house, many runs, and the answers a strict player gives at each gate."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from submission.state.commands import Decide
from submission.state.events import Actor
from submission.state.run import Run
from submission.tools.bootstrap import House
from submission.tools.play import begin, look, send_to_work
from submission.tools.policies import POLICIES, Policy
from tests.bench.player import PITCHES

SCRIPT = Actor(kind="scripted", id="script:bench", name="The bench")


class Due(NamedTuple):
    """A decision that a run's open gate waits for."""

    run_id: str
    command: Decide


async def begin_runs(house: House, count: int) -> list[str]:
    """Start runs of the bench's pitches, each with a seed of its own."""
    runs = []
    for number in range(count):
        pitch = PITCHES[number % len(PITCHES)]
        runs.append(await begin(house, f"r-{number}", house.default_world, pitch, number, "rehearsal", SCRIPT))
    return [run.run_id for run in runs]


async def bring_to_gate(house: House, run_id: str) -> Run:
    """The run once its next stage's work lies at the gate."""
    job, _ = await send_to_work(house, run_id, SCRIPT)
    await house.turns.run(job)
    run = await house.referee.load(run_id)
    assert run.gate is not None, "the turn was lost"
    return run


async def due_at(house: House, run_ids: Sequence[str], policy: Policy = POLICIES["strict"]) -> list[Due]:
    """Bring every run that is not over to its next gate, and what the policy would answer there."""
    runs = await asyncio.gather(*(house.referee.load(run_id) for run_id in run_ids))
    at_gate = await asyncio.gather(*(bring_to_gate(house, run.run_id) for run in runs if run.outcome is None))
    return [Due(run.run_id, await answer_at(house, run, policy)) for run in at_gate]


async def answer_at(house: House, run: Run, policy: Policy = POLICIES["strict"]) -> Decide:
    """What a policy says at a run's open gate, as a command."""
    gate = await look(house, run)
    said = policy(gate, run.seed)
    return Decide(SCRIPT, gate.gate_id, said.verb, gate.artifact_sha256, gate.gate_id, *said[1:])
