"""How long a decision takes over HTTP, for one client and for fifty who decide at the same time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any

from tests.bench.figures import Aim, Figure, Pairs, paired, percentile
from tests.bench.player import Player, Tape, load_tapes, with_wires
from tests.bench.process import Served, side_by_side
from tests.bench.wire import Wire

RUNS = 50
"""Runs whose gates are decided in one round; one client decides them all, or each of fifty its own."""

Times = list[float]


def measure(quick: bool) -> list[Figure]:
    return asyncio.run(_measure(rounds=2 if quick else 7))


async def _measure(rounds: int) -> list[Figure]:
    """Each round brings every run to its next gate, and times the decisions alone."""
    taken: dict[int, list[tuple[Times, Times]]] = {1: [], RUNS: []}
    with side_by_side() as (ours, bare):
        players = await _begin(ours)
        for number in range(rounds):
            for clients, into in taken.items():
                await _open_gates(ours, players)
                ours_took, tape = await _decide(ours, players, clients)
                into.append((ours_took, await _floor(bare, tape, clients, f"{number}-{clients}")))
    return [figure for clients, rounds_taken in taken.items() for figure in _figures(clients, rounds_taken[1:])]


def _figures(clients: int, rounds: Sequence[tuple[Times, Times]]) -> list[Figure]:
    note = "floor: the same bytes on bare FastAPI over bare group commit"
    figures = []
    for percent in (50, 99):
        pairs = Pairs(*zip(*([1e3 * percentile(took, percent) for took in both] for both in rounds), strict=True))
        name = f"decision p{percent}, {clients} client{'s' if clients > 1 else ''}"
        figures.append(paired(name, "ms", pairs, Aim("ratio", 2), note))
    return figures


class _Gated(Player):
    """A player who stands before an open gate, or whose run is over."""

    gate: dict[str, Any] | None = None


async def _begin(server: Served) -> list[_Gated]:
    players: list[_Gated] = []

    async def begin(wire: Wire, number: int) -> None:
        player = _Gated(wire, number)
        players.append(player)
        await player.start()

    await with_wires(server, RUNS, begin)
    return players


async def _open_gates(server: Served, players: Sequence[_Gated]) -> None:
    async def work(wire: Wire, number: int) -> None:
        player = players[number]
        player.wire, player.gate = wire, None
        if player.over:
            await player.start()
        player.gate = await player.work()
        player.tape.clear()

    await with_wires(server, RUNS, work)


async def _decide(server: Served, players: Sequence[_Gated], clients: int) -> tuple[Times, Tape]:
    """The seconds that each decision took, and what was said."""
    left = iter(players)

    async def decide(wire: Wire, number: int) -> None:
        for player in left:
            player.wire = wire
            assert player.gate is not None
            await player.decide(player.gate)

    await with_wires(server, clients, decide)

    times = [player.decided_in[-1] for player in players]
    tape: Tape = []

    async def take_down(wire: Wire, number: int) -> None:
        player = players[number]
        player.wire = wire
        tape.append(player.tape[-1]._replace(lines=await player.lines(player.seq - 1)))

    await with_wires(server, RUNS, take_down)
    return times, tape


async def _floor(server: Served, tape: Tape, clients: int, take: str) -> Times:
    await load_tapes(server, [[step] for step in tape])
    left, times = iter(range(len(tape))), []

    async def play(wire: Wire, number: int) -> None:
        for place in left:
            began = time.perf_counter()
            await wire.request("POST", f"/steps/{take}/{place}/0", tape[place].body.encode())
            times.append(time.perf_counter() - began)

    await with_wires(server, clients, play)
    return times
