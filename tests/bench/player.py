"""Campaigns over HTTP: played on our server, taken down as tapes, and played again on the floor."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from tests.bench.floor import Step
from tests.bench.process import Served
from tests.bench.wire import Answer, Wire

PITCHES = (
    "Solar microgrids for rural clinics",
    "A reading app for dyslexic children",
    "Cold-chain sensors for small fish markets",
    "Bookkeeping by voice for street vendors",
    "Seed sharing for allotment gardeners",
)
_MOST_ATTEMPTS = 4

Tape = list[Step]


class Player:
    """One person at one run, over one connection: sends to work, waits, looks, answers. Takes down every request;
    `decided_in` are the seconds that each decision took; `seq` is the last that it knows of."""

    def __init__(self, wire: Wire, seed: int) -> None:
        self.wire, self._seed = wire, seed
        self.tape: Tape = []
        self.decided_in: list[float] = []
        self.run_id = ""
        self.seq = 0
        self.over = False

    async def start(self) -> None:
        """Begin a run."""
        pitch = PITCHES[self._seed % len(PITCHES)]
        said = {"pitch": pitch, "seed": self._seed, "mode": "rehearsal"}
        run = await self._do("POST", "/api/runs", said, expected=201)
        self.run_id, self.seq, self.over = run["run_id"], run["seq"], False

    async def campaign(self) -> None:
        """A whole run, in which work that fails its checks is sent back."""
        await self.start()
        await self.finish()

    async def finish(self) -> None:
        """Play on to the end."""
        while not self.over:
            await self.decide(await self.work())

    async def work(self) -> dict[str, Any]:
        """Send the next stage to work; returns its gate once it is open."""
        turn = await self._do("POST", f"/api/runs/{self.run_id}/turns", {}, expected=202)
        self.seq, opened = turn["seq"], None
        while opened is None:
            page = await self._do("GET", f"/api/runs/{self.run_id}/events?after={self.seq}&wait=10")
            assert page["events"], "the turn was lost"
            opened = next((event for event in page["events"] if event["type"] == "GATE_OPENED"), None)
            self.seq = page["events"][-1]["seq"]
        gate: dict[str, Any] = await self._do("GET", f"/api/runs/{self.run_id}/gates/{opened['payload']['gate_id']}")
        return gate

    async def decide(self, gate: dict[str, Any]) -> None:
        """Answer a gate as the strict policy would."""
        path, key = f"/api/runs/{self.run_id}/gates/{gate['gate_id']}/decision", {"Idempotency-Key": gate["gate_id"]}
        began = time.perf_counter()
        receipt = await self._do("POST", path, answer(gate), key)
        self.decided_in.append(time.perf_counter() - began)
        self.over = receipt["run_completed"]
        self.seq = receipt["seq"]

    async def lines(self, after: int = 0) -> list[str]:
        """What the log keeps behind a seq, without taking that down."""
        page = await self.wire.request("GET", f"/api/runs/{self.run_id}/events?after={after}&limit=1000")
        events = json.loads(page.body)["events"]
        assert len(events) < 1000, "a campaign of over a thousand events"
        return [json.dumps(event, separators=(",", ":"), ensure_ascii=False) for event in events]

    async def take_down_lines(self) -> None:
        """Give each step of a whole campaign's tape the lines that it made the log keep."""
        lines = await self.lines()
        types = [json.loads(line)["type"] for line in lines]
        at = 0
        for place, step in enumerate(self.tape):
            end = end_of(step, types, at)
            self.tape[place] = step._replace(lines=lines[at:end])
            at = end
        assert at == len(lines), "a line that no step caused"

    async def _do(
        self, method: str, path: str, said: Any = None, headers: dict[str, str] | None = None, expected: int = 200
    ) -> Any:
        body = b"" if said is None else json.dumps(said).encode()
        got = await self.wire.request(method, path, body, headers)
        assert got.status == expected, got
        self.tape.append(Step(method, body.decode(), [], got.body.decode()))
        return json.loads(got.body)


_BEGINS = {"RUN_STARTED", "STAGE_STARTED", "STAGE_EXECUTED", "CEO_DECISION"}
"""The first events of what a command causes."""


def end_of(step: Step, types: Sequence[str], at: int) -> int:
    """Where the lines end that this step made the log keep: before the next command's first event. The work of a
    turn is counted to the request that waited for it."""
    if at == len(types) or (step.method == "GET" and (types[at] != "STAGE_EXECUTED" or '"events":' not in step.answer)):
        return at
    return next((end for end in range(at + 1, len(types)) if types[end] in _BEGINS), len(types))


def answer(gate: dict[str, Any]) -> dict[str, Any]:
    """What the strict policy says at a gate, as a request body."""
    said = {"artifact_sha256": gate["artifact_sha256"]}
    score = gate["score"]
    failed = [
        finding for report in score["reports"] for finding in report["findings"] if finding["verdict"] == "failed"
    ]
    if failed and gate["attempt"] < _MOST_ATTEMPTS:
        reason = " ".join(finding["feedback"] or finding["check"] for finding in failed)
        return {**said, "verb": "reject", "reason": reason[:1_500]}
    if gate["fork"]:
        said["option_id"] = gate["fork"]["options"][0]["option"]["id"]
    if not score["passes"]:
        said["override_reason"] = "the bench goes on"
    return {**said, "verb": "approve"}


async def with_wires(server: Served, count: int, act: Callable[[Wire, int], Awaitable[None]]) -> float:
    """Let `count` clients act at the same time, each on a connection of its own; returns the seconds it took."""
    wires = [await Wire.to(server) for _ in range(count)]
    began = time.perf_counter()
    await asyncio.gather(*(act(wire, number) for number, wire in enumerate(wires)))
    took = time.perf_counter() - began
    for wire in wires:
        wire.close()
    return took


async def load_tapes(server: Served, tapes: Sequence[Tape]) -> None:
    """Tell the floor what the tapes hold."""
    wire = await Wire.to(server)
    assert (await wire.request("PUT", "/tapes", json.dumps(tapes).encode())).status == 200
    wire.close()


async def play_tape(wire: Wire, take: str, number: int, tape: Tape) -> list[Answer]:
    """The requests of a tape, one after another, on the floor."""
    return [
        await wire.request(step.method, f"/steps/{take}/{number}/{place}", step.body.encode())
        for place, step in enumerate(tape)
    ]
