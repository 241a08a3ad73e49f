"""The log: how fast it folds and is verified, and how large a whole campaign's is."""

from __future__ import annotations

import asyncio
import hashlib
import json
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from submission.state.canonical import canonical
from submission.state.events import Event, StageExecuted
from submission.state.evolve import evolve, fold
from submission.state.run import Run
from submission.state.store.export import LogHeader, export_log
from submission.state.store.verify import verify_log
from submission.tools.bootstrap import House, Settings, open_house
from submission.tools.policies import POLICIES
from tests.bench.figures import Aim, Figure, in_turns, paired
from tests.bench.long_run import LongRun, long_run
from tests.bench.rounds import answer_at, begin_runs, bring_to_gate

EVENTS, QUICK_EVENTS = 10_000, 2_500
MEASURED = ("strict", "depth", "breadth", "reject-first")


def measure(quick: bool) -> list[Figure]:
    repetitions = 3 if quick else 7
    events = QUICK_EVENTS if quick else EVENTS
    long = long_run(events)
    long = long._replace(log=long.log[:events])
    return [_folding(long, repetitions), _verifying(long, repetitions), *asyncio.run(_sizes(quick))]


def _seconds(act: Callable[[], object]) -> float:
    """CPU that an act takes."""
    before = time.process_time()
    act()
    return time.process_time() - before


def _folding(long: LongRun, repetitions: int) -> Figure:
    events = [entry.event for entry in long.log]
    first = evolve(None, events[0])
    pairs = in_turns(
        repetitions,
        lambda: 1e3 * _seconds(lambda: fold(events)),
        lambda: 1e3 * _seconds(lambda: _bare_fold(first, events)),
    )
    note = "events already parsed; floor: one new Run an event, with its seq and head"
    return paired(f"fold of {len(events):,} events", "ms", pairs, Aim("value", 100 * len(events) / EVENTS), note)


def _bare_fold(run: Run, events: Sequence[Event]) -> Run:
    for event in events:
        run = run._replace(seq=event.seq, head=event.hash)
    return run


def _verifying(long: LongRun, repetitions: int) -> Figure:
    with tempfile.TemporaryDirectory() as folder:
        house = open_house(Settings(data=Path(folder)), in_memory=True)
        data = b"".join(export_log(LogHeader(long.run.run_id, long.run.world), long.lines, house.key))
        assert verify_log(data, house.worlds, house.key.key_id).passed
    pairs = in_turns(
        repetitions,
        lambda: _seconds(lambda: verify_log(data, house.worlds, house.key.key_id)),
        lambda: _seconds(lambda: _read_bare(data)),
    )
    note = f"{len(data) / 1e6:.1f} MB; floor: SHA-256 and json.loads of each line"
    return paired(f"verify of {len(long.log):,} events", "s", pairs, Aim("value", 0.5 * len(long.log) / EVENTS), note)


def _read_bare(data: bytes) -> None:
    for line in data.split(b"\n"):
        hashlib.sha256(line).hexdigest()
        if line:
            json.loads(line)


async def _sizes(quick: bool) -> list[Figure]:
    """The log of a whole campaign under each policy."""
    figures = []
    for policy in MEASURED:
        with tempfile.TemporaryDirectory() as folder:
            house = open_house(Settings(data=Path(folder)), in_memory=True)
            run_ids = await begin_runs(house, 1 if quick else 10)
            sizes = [await _campaign_size(house, run_id, policy) for run_id in run_ids]
            await house.close()
        size, artifacts, events = sorted(sizes)[len(sizes) // 2]
        note = f"{events} events, the median of {len(sizes)} runs, at most {max(sizes)[0]:.0f} KB; floor: its artifacts"
        figures.append(
            Figure(f"log of a campaign, {policy}", size, "KB", artifacts, size / artifacts, Aim("value", 150), note)
        )
    return figures


async def _campaign_size(house: House, run_id: str, policy: str) -> tuple[float, float, int]:
    """KB of a campaign's log and of the artifacts in it, and how many events it has."""
    run = await house.referee.load(run_id)
    while run.outcome is None:
        run = await bring_to_gate(house, run_id)
        run = (await house.referee.handle(run_id, await answer_at(house, run, POLICIES[policy]))).run
    lines, events = await house.store.read(run_id), await house.referee.events(run_id)
    artifacts = [event.payload.artifact for event in events if isinstance(event.payload, StageExecuted)]
    exported = b"".join(export_log(LogHeader(run_id, run.world), lines, house.key))
    return len(exported) / 1e3, sum(len(canonical(artifact)) for artifact in artifacts) / 1e3, run.seq
