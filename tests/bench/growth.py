"""Whether a long run gets dear: a command near its event 10,000 against one near event 100."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from submission.tools.bootstrap import House, Settings, open_house
from tests.bench.figures import Aim, Figure, Pairs, paired
from tests.bench.long_run import LongRun, long_run, reject, start, submit

EARLY, LATE, QUICK_LATE = 100, 10_000, 2_500
ROUNDS = 6
"""Rounds of three commands in one measurement: 30 events, so that the early place stays early."""


def measure(quick: bool) -> list[Figure]:
    repetitions = 5 if quick else 15
    late = long_run(QUICK_LATE if quick else LATE)
    return asyncio.run(_measure(late, [long_run(EARLY, f"r-{number}") for number in range(repetitions)]))


async def _measure(late: LongRun, early: Sequence[LongRun]) -> list[Figure]:
    ours: list[float] = []
    floors: list[float] = []
    with tempfile.TemporaryDirectory() as data:
        house = open_house(Settings(data=Path(data)))
        for run in (late, *early):
            await house.store.append(run.run.run_id, 0, run.lines)
        for number, young in enumerate(early):
            for run, into in ((late, ours), (young, floors))[:: -1 if number % 2 else 1]:
                into.append(await _cost(house, run))
        await house.close()
    at = len(late.log) // 100 * 100
    note = f"{3 * ROUNDS} commands each; floor: the same near event {EARLY}"
    return [paired(f"CPU of a command near event {at:,}", "ms", Pairs(ours, floors), Aim("ratio", 1.1), note)]


async def _cost(house: House, long: LongRun) -> float:
    """Milliseconds of CPU of a command from here on."""
    run = await house.referee.load(long.run.run_id)
    before = time.process_time()
    for _ in range(ROUNDS):
        for command in (start, submit, reject):
            run = (await house.referee.handle(run.run_id, command(run, long.drafts))).run
    return 1e3 * (time.process_time() - before) / (3 * ROUNDS)
