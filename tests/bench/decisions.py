"""Durable decisions a second, in process: 64 players whose answers all have to be on the disk before the next."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from submission.tools.bootstrap import Settings, open_house
from tests.bench.figures import Aim, Figure, Pairs, paired
from tests.bench.floor import BareLog
from tests.bench.rounds import Due, begin_runs, due_at

PLAYERS = 64
RUNS_EACH = 2


class Spent(NamedTuple):
    """What a number of operations took, in seconds."""

    times: int
    wall: float
    cpu: float


Kept = tuple[int, int, Sequence[bytes]]
"""A run, a seq, and the lines that were kept behind it."""


def measure(quick: bool) -> list[Figure]:
    return asyncio.run(_measure(rounds=3 if quick else 9))


async def _measure(rounds: int) -> list[Figure]:
    ours, floors = [], []
    with tempfile.TemporaryDirectory() as ours_at, tempfile.TemporaryDirectory() as floor_at:
        house, bare = open_house(Settings(data=Path(ours_at))), BareLog(Path(floor_at))
        run_ids = await begin_runs(house, PLAYERS * RUNS_EACH)
        for number in range(rounds):
            due = await due_at(house, run_ids)
            kept: list[Kept] = []

            async def decide(one: Due, kept: list[Kept] = kept) -> None:
                sealed = (await house.referee.handle(one.run_id, one.command)).sealed
                lines = [entry.line for entry in sealed]
                kept.append((int(one.run_id[2:]), sealed[0].event.seq - 1, lines))

            async def append(one: Kept) -> None:
                await bare.append(*one)

            ours.append(await _all(due, decide))
            floors.append(await _all(kept, append))
            if number == 0:  # warms both up
                ours, floors = [], []
        await house.close()
        bare.close()
    return _figures(ours, floors)


async def _all(items: Sequence[Due] | Sequence[Kept], act: Callable[..., Awaitable[None]]) -> Spent:
    """Act on every item, as many at a time as there are players."""
    left = iter(items)

    async def player() -> None:
        for item in left:
            await act(item)

    wall, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(player() for _ in range(PLAYERS)))
    return Spent(len(items), time.perf_counter() - wall, time.process_time() - cpu)


def _figures(ours: Sequence[Spent], floors: Sequence[Spent]) -> list[Figure]:
    rate = Pairs([spent.times / spent.wall for spent in ours], [spent.times / spent.wall for spent in floors])
    cpu = Pairs([1e3 * spent.cpu / spent.times for spent in ours], [1e3 * spent.cpu / spent.times for spent in floors])
    note = "64 at once, synchronous=FULL; floor: bare group commit of the same lines"
    return [
        paired("durable decisions a second", "/s", rate, Aim("value", 3_000, "at least"), note),
        paired("CPU of a decision", "ms", cpu, Aim("value", 0.3), f"{sum(spent.times for spent in ours):,} decisions"),
    ]
