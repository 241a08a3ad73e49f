"""kill -9 at any instant: what was acknowledged is there, once, and the jobs say what was not finished.

Five houses of four runs each are killed ten times or more. The child (`python -m tests.test_kill FOLDER`) prints
each append after it was acknowledged; the parent kills it, looks at what is on the disk and starts it again.
"""

import asyncio
import os
import random
import signal
import sys
from pathlib import Path

import pytest

from submission.state.events import Draft, Event, LevelUp, StageStarted
from submission.state.evolve import GENESIS
from submission.state.ports import EventStore, Job, StoreFailed
from submission.state.store.chain import seal, unseal
from submission.state.store.sqlite import SqliteStore

HOUSES, KILLS, RUNS = 5, 11, 4
AT = "2026-12-01T09:00:00.000Z"
ROOT = Path(__file__).resolve().parents[1]


async def play(store: EventStore, run_id: str) -> None:
    """Go on from what the store holds, for ever: a StageStarted asks for a job, four LevelUps after it end it."""
    events = [unseal(line, seq) for seq, line in enumerate(await store.read(run_id), 1)]
    seq, head = len(events), events[-1].hash if events else GENESIS
    while True:
        attempt = seq // 5 + 1
        job = Job(run_id, "a", attempt)
        begins = seq % 5 == 0
        if begins:
            drafts = [Draft(StageStarted(stage_id="a", attempt=attempt, role="r", directions=()))]
        else:
            drafts = [Draft(LevelUp(level=n, title="x" * 700 * n, xp=attempt)) for n in range(1, 5)]
        sealed = seal(drafts, run_id, seq, head, AT)
        lines = [entry.line for entry in sealed]
        seq = await store.append(run_id, seq, lines, [job] if begins else [], [] if begins else [job])
        head = sealed[-1].event.hash
        os.write(1, f"{run_id} {seq}\n".encode())


async def child(folder: Path) -> None:
    store = SqliteStore.open(folder)
    await asyncio.gather(*(play(store, f"r-{n}") for n in range(RUNS)))


async def kill_once(folder: Path, acknowledged: dict[str, int], chance: random.Random) -> None:
    """Start a child, kill it at some instant, and note the last seq of each run that it acknowledged."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.test_kill", str(folder), stdout=asyncio.subprocess.PIPE, cwd=ROOT
    )
    assert process.stdout is not None
    output = b""
    if chance.random() < 0.85:  # mostly at work, now and then while it starts and recovers
        output = await process.stdout.readline()
        assert output, "the child died by itself"
    await asyncio.sleep(chance.uniform(0, 0.12))
    process.kill()
    output += await process.stdout.read()
    assert await process.wait() == -signal.SIGKILL
    for line in output.splitlines(keepends=True):
        if line.endswith(b"\n"):  # else the kill came into the middle of the print
            run_id, seq = line.decode().split()
            assert int(seq) > acknowledged.get(run_id, 0), "acknowledged twice"
            acknowledged[run_id] = int(seq)


async def check(folder: Path, acknowledged: dict[str, int]) -> int:
    """Everything acknowledged stands, whole batches only, in one chain; jobs are the attempts not finished."""
    try:
        store = SqliteStore.read_only(folder)  # which leaves the recovery to the next child
    except StoreFailed:
        assert not acknowledged, "the kill came before the first start was through"
        return 0
    try:
        unfinished = set()
        for run in await store.runs():
            events = [unseal(line, seq) for seq, line in enumerate(await store.read(run.run_id), 1)]
            assert run.seq == len(events) >= acknowledged.get(run.run_id, 0)
            assert len(events) % 5 in (0, 1), "half an append was kept"
            check_chain(events)
            if len(events) % 5 == 1:
                unfinished.add(Job(run.run_id, "a", len(events) // 5 + 1))
        assert {run.run_id for run in await store.runs()} >= acknowledged.keys()
        jobs = await store.jobs()
        assert set(jobs) == unfinished
        assert len(jobs) == len(unfinished)
        return sum(run.seq for run in await store.runs())
    finally:
        await store.close()


def check_chain(events: list[Event]) -> None:
    head = GENESIS
    for event in events:
        assert event.prev_hash == head
        head = event.hash


async def house(folder: Path, seed: int) -> int:
    """One data folder through its kills; the events that it holds at the end."""
    chance = random.Random(seed)
    acknowledged: dict[str, int] = {}
    kept = 0
    for _ in range(KILLS):
        await kill_once(folder, acknowledged, chance)
        kept = await check(folder, acknowledged)
    assert len(acknowledged) == RUNS
    await SqliteStore.open(folder).close()
    assert await check(folder, acknowledged) == kept
    return kept


@pytest.mark.skipif(os.name == "nt", reason="SIGKILL is POSIX; TerminateProcess is covered by nothing here")
async def test_nothing_acknowledged_is_lost_or_doubled_by_kill_9(tmp_path: Path) -> None:
    kept = await asyncio.gather(*(house(tmp_path / f"house-{n}", n) for n in range(HOUSES)))
    assert all(events > 100 for events in kept)


if __name__ == "__main__":
    asyncio.run(child(Path(sys.argv[1])))
