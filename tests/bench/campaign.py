"""What a whole campaign over HTTP costs the server while fifty are played at the same time."""

from __future__ import annotations

import asyncio
import statistics
from itertools import count

from tests.bench.figures import Aim, Figure, Pairs, paired
from tests.bench.player import Player, Tape, load_tapes, play_tape, with_wires
from tests.bench.process import Served, side_by_side
from tests.bench.wire import Wire

CLIENTS, QUICK_CLIENTS = 50, 10


def measure(quick: bool) -> list[Figure]:
    return asyncio.run(_measure(QUICK_CLIENTS, 2) if quick else _measure(CLIENTS, 5))


async def _measure(clients: int, repetitions: int) -> list[Figure]:
    seeds = count(1)
    cpu, floors = [], []
    tapes: list[Tape] = []
    with side_by_side() as (ours, bare):
        await _ours(ours, 5, seeds)  # warms both up
        for take in range(repetitions):
            spent, tapes = await _ours(ours, clients, seeds)
            cpu.append(spent)
            if take == 0:
                await _floor(bare, tapes[:5], "warm")
            floors.append(await _floor(bare, tapes, str(take)))
    requests = statistics.mean(len(tape) for tape in tapes)
    sizes = sum(len(step.answer) for tape in tapes for step in tape) / len(tapes) / 1e3
    note = f"{requests:.0f} requests, {sizes:.0f} KB answered; floor: bare FastAPI over bare group commit, same bytes"
    pairs = Pairs([value * 1e3 for value in cpu], [value * 1e3 for value in floors])
    return [paired(f"CPU of a campaign, {clients} clients", "ms", pairs, Aim("ratio", 2.5), note)]


async def _ours(server: Served, clients: int, seeds: count[int]) -> tuple[float, list[Tape]]:
    """CPU of the server for each campaign, and what was said."""
    players: list[Player] = []

    async def play(wire: Wire, number: int) -> None:
        player = Player(wire, next(seeds))
        players.append(player)
        await player.campaign()

    async def take_down(wire: Wire, number: int) -> None:
        players[number].wire = wire
        await players[number].take_down_lines()

    before = server.cpu()
    await with_wires(server, clients, play)
    spent = (server.cpu() - before) / clients
    await with_wires(server, clients, take_down)
    return spent, [player.tape for player in players]


async def _floor(server: Served, tapes: list[Tape], take: str) -> float:
    async def play(wire: Wire, number: int) -> None:
        await play_tape(wire, take, number, tapes[number])

    await load_tapes(server, tapes)
    before = server.cpu()
    await with_wires(server, len(tapes), play)
    return (server.cpu() - before) / len(tapes)
