"""Resident memory of the server: idle, and with 500 runs that wait at an open gate."""

from __future__ import annotations

import asyncio
from itertools import count

from tests.bench.figures import Aim, Figure
from tests.bench.player import Player, with_wires
from tests.bench.process import Served, side_by_side
from tests.bench.wire import Wire

CLIENTS = 25


def measure(quick: bool) -> list[Figure]:
    return asyncio.run(_measure(runs=50 if quick else 500))


async def _measure(runs: int) -> list[Figure]:
    with side_by_side() as (ours, bare):
        for server, path in ((ours, "/healthz"), (bare, "/said")):
            await _touch(server, path)
        idle, floor = ours.resident_mb(), bare.resident_mb()
        await _open(ours, runs)
        full = ours.resident_mb()
    each = f"{1e3 * (full - idle) / runs:.0f} KB a run; floor: a bare FastAPI process"
    return [
        Figure("memory, idle", idle, "MB", floor, idle / floor, Aim("value", 120), "floor: a bare FastAPI process"),
        Figure(f"memory, {runs} open runs", full, "MB", floor, full / floor, Aim("value", 250), each),
    ]


async def _touch(server: Served, path: str) -> None:
    wire = await Wire.to(server)
    assert (await wire.request("GET", path)).status == 200
    wire.close()


async def _open(server: Served, runs: int) -> None:
    left = iter(range(runs))
    seeds = count(1)

    async def begin(wire: Wire, number: int) -> None:
        for _ in left:
            player = Player(wire, next(seeds))
            await player.start()
            await player.work()

    await with_wires(server, CLIENTS, begin)
