"""Server-sent events: how long after a commit was acknowledged each of 100 subscribers has the event."""

from __future__ import annotations

import asyncio
import json
import time
from bisect import bisect_left
from collections.abc import Awaitable, Callable, Sequence

from tests.bench.figures import Figure, Pairs, paired, percentile
from tests.bench.player import Player
from tests.bench.process import Served, side_by_side
from tests.bench.wire import Wire

SUBSCRIBERS = 100


def measure(quick: bool) -> list[Figure]:
    return asyncio.run(_measure(repetitions=1 if quick else 5))


async def _measure(repetitions: int) -> list[Figure]:
    """A repetition is a whole campaign whose every event goes to all subscribers."""
    ours_took, floor_took = [], []
    with side_by_side() as (ours, bare):
        for seed in range(repetitions):
            took, sent = await _ours(ours, seed)
            ours_took.append(took)
            floor_took.append(await _floor(bare, sent))
    note = f"{SUBSCRIBERS} subscribers, {len(sent)} commits; floor: the same bytes from queues of a bare FastAPI"
    return [
        paired(
            f"event to subscriber p{percent}",
            "ms",
            Pairs(*([1e3 * percentile(took, percent) for took in all_took] for all_took in (ours_took, floor_took))),
            note=note,
        )
        for percent in (50, 99)
    ]


async def _ours(server: Served, seed: int) -> tuple[list[float], list[str]]:
    """Seconds from each commit to each subscriber, and what was sent, a text a commit."""
    wire = await Wire.to(server)
    player = Player(wire, seed)
    await player.start()
    first, commits = player.seq, f"/bench/commits/{player.run_id}"
    await wire.request("GET", commits)  # from now on they are noted

    async def play() -> int:
        await player.finish()
        return first + len(await player.lines(first))

    arrivals = await _heard(server, f"/api/runs/{player.run_id}/stream?after={first}", play)
    stamps = {int(seq): at for seq, at in json.loads((await wire.request("GET", commits)).body).items()}
    ends = sorted(stamps)
    sent = [""] * len(ends)
    for seq, line in enumerate(await player.lines(first), first + 1):
        sent[bisect_left(ends, seq)] += f"event: {json.loads(line)['type']}\ndata: {line}\nid: {seq}\n\n"
    wire.close()
    return _seconds(arrivals, ends, [stamps[seq] for seq in ends]), sent


async def _floor(server: Served, sent: Sequence[str]) -> list[float]:
    """The same for texts that a bare app passes on."""
    ends = [int(text.rpartition("id: ")[2]) for text in sent]
    wire = await Wire.to(server)
    await wire.request("DELETE", "/said")

    async def say() -> int:
        for text in sent:
            await wire.request("POST", "/said", text.encode())
        return ends[-1]

    arrivals = await _heard(server, "/stream", say)
    stamps = json.loads((await wire.request("GET", "/said")).body)
    wire.close()
    return _seconds(arrivals, ends, stamps)


Arrivals = dict[int, int]
"""Monotonic nanoseconds by seq."""


async def _heard(server: Served, path: str, act: Callable[[], Awaitable[int]]) -> list[Arrivals]:
    """When each subscriber had each event, up to the seq that the act returns."""
    wires = [await Wire.to(server) for _ in range(SUBSCRIBERS)]
    for wire in wires:
        await wire.subscribe(path)
    arrivals: list[Arrivals] = [{} for _ in wires]
    listening = [asyncio.create_task(_listen(*one)) for one in zip(wires, arrivals, strict=True)]
    await asyncio.sleep(0.1)
    last = await act()
    async with asyncio.timeout(20):
        while not all(last in one for one in arrivals):
            await asyncio.sleep(0.005)
    for task, wire in zip(listening, wires, strict=True):
        task.cancel()
        wire.close()
    return arrivals


async def _listen(wire: Wire, arrivals: Arrivals) -> None:
    async for seq in wire.event_ids():
        arrivals[seq] = time.monotonic_ns()


def _seconds(arrivals: Sequence[Arrivals], ends: Sequence[int], stamps: Sequence[int]) -> list[float]:
    """From the commit that an event came in to its arrival, for every event and subscriber."""
    return [(at - stamps[bisect_left(ends, seq)]) / 1e9 for one in arrivals for seq, at in one.items()]
