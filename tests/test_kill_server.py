"""kill -9 of the real server while it is played: what it acknowledged is in the log, once, and the game goes on.

Four houses with five players each are killed again and again: while players start runs, send workers to work,
decide and rescind, and now and then while the server starts and redoes what was interrupted. A player whose request
got no answer sends it again, with its key, to the next server.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from submission.state.store.sqlite import SqliteStore

HOUSES, PLAYERS = 4, 5
KILLS = int(os.environ.get("COUNTERSIGN_TEST_KILLS", "4"))
"""Kills of each house's server. Starting one again costs seconds, so the ordinary run has 16 in all, beside the 55 of
the store in test_kill.py; COUNTERSIGN_TEST_KILLS=13 has 52."""
SERVE = [sys.executable, "-m", "submission.tools.server", "serve", "--port"]
Json = dict[str, Any]


# --- servers ----------------------------------------------------------------------------------------------


class Server(NamedTuple):
    """A server that answers, and the client of all who play on it."""

    process: asyncio.subprocess.Process
    http: httpx.AsyncClient


async def started(process: asyncio.subprocess.Process) -> Server:
    """The server once it answers."""
    assert process.stderr is not None
    line = (await process.stderr.readline()).decode()
    assert " at http://" in line, line + (await process.stderr.read()).decode()
    url = line.split(" at ", 1)[1].split()[0]
    http = httpx.AsyncClient(base_url=url, timeout=20, verify=False)
    while True:
        try:
            if (await http.get("/readyz")).status_code == 200:
                return Server(process, http)
        except httpx.ConnectError:
            await asyncio.sleep(0.01)


async def killed(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.send_signal(signal.SIGKILL)
    await process.wait()
    assert process.returncode == -signal.SIGKILL, "the server died by itself"


# --- players ----------------------------------------------------------------------------------------------


class Asked(NamedTuple):
    """A request that names itself by its key, so that it can be sent again."""

    path: str
    body: Json
    key: str


class Death:
    """The moment to kill: at some answer of one kind, once there were some answers."""

    def __init__(self, chance: random.Random) -> None:
        self._answers = chance.randint(0, 15)
        self._kind = chance.choice(["start", "turn", "turn", "turn", "decision", "rescission"])
        self._jitter = chance.uniform(0, 0.01)
        self._due = asyncio.Event()

    def after(self, kind: str) -> None:
        self._answers -= 1
        if (self._answers < 0 and kind == self._kind) or self._answers < -15:
            self._due.set()

    async def comes(self) -> None:
        await self._due.wait()
        await asyncio.sleep(self._jitter)


class Player:
    """Plays one run after another. Whatever the server acknowledged is kept as it was said."""

    def __init__(self, name: str) -> None:
        self.name, self._chance = name, random.Random(name)
        self.run_id: str | None = None
        self.unanswered: Asked | None = None
        self.runs: list[Json] = []
        self.turns: list[Json] = []
        self.receipts: dict[str, Json] = {}
        self.resent: set[str] = set()

    async def play(self, http: httpx.AsyncClient, death: Death) -> None:
        """Until the server is gone."""
        with contextlib.suppress(httpx.TransportError):
            await self.ask_again(http)
            while True:
                death.after(await self._step(http))

    async def ask_again(self, http: httpx.AsyncClient) -> None:
        """Send what got no answer once more, as it was."""
        if self.unanswered is not None:
            self.resent.add(self.unanswered.key)
            await self._ask(http, self.unanswered)

    async def _step(self, http: httpx.AsyncClient) -> str:
        if self.run_id is None:
            pitch = f"Lanterns for night clinics, as {self.name} sees them"
            key = f"{self.name}:{len(self.runs)}"
            await self._ask(http, Asked("/api/runs", {"pitch": pitch, "seed": len(self.runs)}, key))
            return "start"
        run = (await http.get(f"/api/runs/{self.run_id}")).json()
        if run["outcome"] is not None:
            self.run_id = None
        elif run["gate_id"] is not None:
            gate = (await http.get(f"/api/runs/{self.run_id}/gates/{run['gate_id']}")).json()
            await self._ask(http, self._answer(gate))
            return "decision"
        elif run["working"] is not None:
            await http.get(f"/api/runs/{self.run_id}/events", params={"after": run["seq"], "wait": 10})
        elif run["rescindable"] is not None and self._chance.random() < 0.15:
            key = f"{self.run_id}:{run['rescindable']}:undo"
            await self._ask(http, Asked(f"/api/runs/{self.run_id}/gates/{run['rescindable']}/rescind", {}, key))
            return "rescission"
        else:
            answer = await http.post(f"/api/runs/{self.run_id}/turns")
            assert answer.status_code == 202, answer.text
            self.turns.append(answer.json())
            return "turn"
        return "look"

    async def _ask(self, http: httpx.AsyncClient, asked: Asked) -> None:
        self.unanswered = asked
        answer = await http.post(asked.path, json=asked.body, headers={"Idempotency-Key": asked.key})
        assert answer.status_code in (200, 201), answer.text
        if asked.path == "/api/runs":
            self.run_id = answer.json()["run_id"]
            self.runs.append(answer.json())
        else:
            assert self.receipts.setdefault(asked.key, answer.json()) == answer.json()
        self.unanswered = None

    def _answer(self, gate: Json) -> Asked:
        verb = self._chance.choices(["approve", "reject", "redirect"], [8, 1, 1])[0]
        body = {"verb": verb, "artifact_sha256": gate["artifact_sha256"]}
        if verb == "approve":
            body["option_id"] = gate["fork"]["options"][0]["option"]["id"] if gate["fork"] else None
            body["override_reason"] = None if gate["score"]["passes"] else "it will do"
        elif verb == "reject":
            body["reason"] = "Say more about the nights"
        else:
            body["direction"] = "Speak of winter"
        path = f"/api/runs/{gate['run_id']}/gates/{gate['gate_id']}/decision"
        return Asked(path, body, f"{gate['run_id']}:{gate['gate_id']}")


# --- one house --------------------------------------------------------------------------------------------


class House:
    """A data folder, its players, and one server after another."""

    def __init__(self, data: Path, number: int) -> None:
        self.data, self.chance = data, random.Random(number)
        self.players = [Player(f"player {number}.{n}") for n in range(PLAYERS)]
        self.kills = self.interrupted = 0
        self.restarts: list[float] = []
        self._process: asyncio.subprocess.Process | None = None

    async def live(self) -> None:
        for _ in range(KILLS):
            await self._one_life()
            self.kills += 1
            store = SqliteStore.read_only(self.data) if (self.data / "countersign.db").exists() else None
            if store is not None:
                self.interrupted += len(await store.jobs())
                await store.close()
        server = await self._start()
        for player in self.players:
            await player.ask_again(server.http)
            await self._settle(server.http, player)
            for run in player.runs:
                await check_run(server.http, player, run)
        await killed(server.process)
        await server.http.aclose()

    async def _start(self) -> Server:
        began = time.monotonic()
        server = await started(await self._spawn())
        self.restarts.append(time.monotonic() - began)
        return server

    async def _spawn(self) -> asyncio.subprocess.Process:
        self._process = await asyncio.create_subprocess_exec(
            *SERVE, "0", "--data", str(self.data), stderr=asyncio.subprocess.PIPE
        )
        return self._process

    async def close(self) -> None:
        """Leave no server behind, whatever a check has found."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()

    async def _one_life(self) -> None:
        """Start a server and kill it: while it starts, right after an answer of some kind, or at any instant."""
        if self.chance.random() < 0.1:
            process = await self._spawn()
            await asyncio.sleep(self.chance.uniform(0.3, 1.2))
            return await killed(process)
        server = await self._start()
        death = Death(self.chance)
        playing = [asyncio.create_task(player.play(server.http, death)) for player in self.players]
        comes = asyncio.create_task(death.comes())
        ended, _ = await asyncio.wait([comes, *playing], timeout=60, return_when=asyncio.FIRST_COMPLETED)
        for task in ended - {comes}:
            task.result()
        assert comes in ended, f"while the server lived, {len(ended)} players lost it"
        await killed(server.process)
        await asyncio.gather(*playing)
        await server.http.aclose()

    async def _settle(self, http: httpx.AsyncClient, player: Player) -> None:
        """Wait for what is at work."""
        for run in player.runs:
            while (now := (await http.get(f"/api/runs/{run['run_id']}")).json())["working"] is not None:
                page = await http.get(f"/api/runs/{run['run_id']}/events", params={"after": now["seq"], "wait": 20})
                assert page.json()["events"], f"{run['run_id']} is at work on {now['working']} for ever"


# --- what must be true afterwards -------------------------------------------------------------------------


async def check_run(http: httpx.AsyncClient, player: Player, run: Json) -> None:
    run_id = run["run_id"]
    page = (await http.get(f"/api/runs/{run_id}/events", params={"limit": 1000})).json()
    events: list[Json] = page["events"]
    now = (await http.get(f"/api/runs/{run_id}")).json()
    assert page["head"] == len(events) == now["seq"]

    acknowledged_is_kept(player, run, events)
    done_once(events)
    minted_once(events, now["xp"])
    waits(events, now)
    verification = (await http.get(f"/api/runs/{run_id}/verify")).json()
    assert verification["passed"], verification


def acknowledged_is_kept(player: Player, run: Json, events: list[Json]) -> None:
    """Every 201, 202 and 200 that a player got is an event, where the answer said."""
    assert events[run["seq"] - 1]["hash"] == run["head"]
    for turn in player.turns:
        if turn["run_id"] == run["run_id"]:
            event = events[turn["seq"] - 1]
            assert (event["type"], event["payload"]["attempt"]) == ("STAGE_STARTED", turn["attempt"])
            assert event["payload"]["stage_id"] == turn["stage_id"]
    for key, receipt in player.receipts.items():
        if receipt["run_id"] == run["run_id"]:
            event = events[receipt["seq"] - 1]
            assert (event["hash"], event["payload"]["idempotency_key"]) == (receipt["hash"], key)


def done_once(events: list[Json]) -> None:
    """Each turn that was asked for came back once, and each key decided or rescinded once."""
    asked, done = Counter[Any](), Counter[Any]()
    keys = Counter[str]()
    for event in events:
        payload = event["payload"]
        if event["type"] == "STAGE_STARTED":
            asked[payload["stage_id"], payload["attempt"]] += 1
        elif event["type"] == "STAGE_EXECUTED":
            done[payload["stage_id"], payload["attempt"]] += 1
        elif event["type"] in ("CEO_DECISION", "DECISION_RESCINDED"):
            keys[payload["idempotency_key"]] += 1
    assert asked == done
    assert set(asked.values()) <= {1}
    assert set(keys.values()) <= {1}


def minted_once(events: list[Json], xp: int) -> None:
    """Each approval and each rescission of one has its one award, right after it; they add up to the run's XP."""
    owed = [event["seq"] for event in events if (event["type"], event["payload"].get("verb")) in APPROVALS]
    awards = [event for event in events if event["type"] == "XP_AWARDED"]
    assert [award["cause"] for award in awards] == owed
    assert [award["seq"] for award in awards] == [seq + 1 for seq in owed]
    assert sum(award["payload"]["amount"] for award in awards) == xp


APPROVALS = {("CEO_DECISION", "approve"), ("DECISION_RESCINDED", "approve")}


def waits(events: list[Json], now: Json) -> None:
    """A gate that was opened and not answered is open."""
    opened = [event["payload"]["gate_id"] for event in events if event["type"] == "GATE_OPENED"]
    answered = {event["payload"]["gate_id"] for event in events if event["type"] == "CEO_DECISION"}
    assert [gate_id for gate_id in opened if gate_id not in answered] == ([now["gate_id"]] if now["gate_id"] else [])


async def test_a_server_killed_at_any_instant_loses_nothing_it_said_and_does_nothing_twice(tmp_path: Path):
    houses = [House(tmp_path / str(number), number) for number in range(HOUSES)]
    try:
        await asyncio.gather(*(house.live() for house in houses))
    finally:
        for house in houses:
            await house.close()

    players = [player for house in houses for player in house.players]
    kills = sum(house.kills for house in houses)
    restarts = [seconds for house in houses for seconds in house.restarts]
    resent = sum(len(player.resent) for player in players)
    interrupted = sum(house.interrupted for house in houses)
    runs = sum(len(player.runs) for player in players)
    print(
        f"\n{kills} kills over {runs} runs: {sum(len(p.turns) for p in players)} turns and "
        f"{sum(len(p.receipts) for p in players)} receipts acknowledged, {interrupted} turns interrupted, "
        f"{resent} requests sent again; a start takes {statistics.median(restarts):.2f} s"
    )
    assert kills == HOUSES * KILLS
    assert runs >= 20
    # A simulated turn takes milliseconds, so few kills may all miss one; the hanging worker in test_failing_worker
    # is interrupted every time.
    assert interrupted >= 3 or KILLS < 13, "no kill met a worker at work; the test proves too little"
    assert resent >= 1, "no kill met a request on its way; the test proves too little"


# --- a server that cannot start, and one that is asked to stop --------------------------------------------


@contextmanager
def serving(data: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server in a process of its own, and its address."""
    process = subprocess.Popen([*SERVE, "0", "--data", str(data)], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        line = process.stderr.readline()
        assert " at http://" in line, line + process.stderr.read()
        yield process, line.split(" at ", 1)[1].split()[0]
    finally:
        process.kill()
        process.wait(10)
        process.stderr.close()


def refused_to_start(data: Path, port: str = "0") -> str:
    """The one sentence of a server that exits with 2."""
    done = subprocess.run([*SERVE, port, "--data", str(data)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2, done
    assert done.stdout == ""
    assert done.stderr.startswith("countersign: ")
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr


def test_a_second_server_on_the_same_data_says_whose_it_is_and_the_first_plays_on(tmp_path: Path):
    with serving(tmp_path) as (process, url):
        sentence = refused_to_start(tmp_path)
        assert "another Countersign server" in sentence
        assert str(process.pid) in sentence
        assert str(tmp_path) in sentence
        transport = httpx.HTTPTransport(retries=3)
        with httpx.Client(base_url=url, transport=transport) as http:
            assert http.post("/api/runs", json={"pitch": "Lanterns for night clinics"}).status_code == 201


def test_a_port_in_use_is_said_and_leaves_the_data_alone(tmp_path: Path):
    with serving(tmp_path / "one") as (_, url):
        port = url.rsplit(":", 1)[1]
        sentence = refused_to_start(tmp_path / "two", port)
        assert f"127.0.0.1:{port}" in sentence
        assert "--port" in sentence
        assert not (tmp_path / "two").exists()


def test_an_address_is_told_only_once_it_can_be_reached(tmp_path: Path):
    """A program that reads the address may use it at once: nothing in between refuses the connection."""
    with serving(tmp_path) as (_, url):
        host, port = url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=20) as connection:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            assert connection.recv(15) == b"HTTP/1.1 200 OK"


@pytest.mark.parametrize("port", ["70000", "-1"])
def test_a_port_that_cannot_be_is_said(tmp_path: Path, port: str):
    assert "port" in refused_to_start(tmp_path, port)


def test_a_file_in_place_of_the_data_folder_is_said(tmp_path: Path):
    (tmp_path / "data").write_text("not a folder")
    assert str(tmp_path / "data") in refused_to_start(tmp_path / "data")
    assert (tmp_path / "data").read_text() == "not a folder"


def test_a_data_folder_that_may_not_be_written_is_said(tmp_path: Path):
    folder = tmp_path / "data"
    folder.mkdir(mode=0o500)
    try:
        (folder / "probe").touch()
    except PermissionError:
        assert str(folder) in refused_to_start(folder)
    else:
        pytest.skip("permissions do not bind this user")


@pytest.mark.parametrize("content", [b"", b"not a database" * 1_000])
def test_a_database_of_something_else_is_said_and_kept(tmp_path: Path, content: bytes):
    """An empty file is what a start that died left behind: that one is used."""
    path = tmp_path / "countersign.db"
    path.write_bytes(content)
    if content:
        assert str(path) in refused_to_start(tmp_path)
        assert path.read_bytes() == content
    else:
        with serving(tmp_path):
            pass


def test_a_signing_key_that_others_may_read_is_said(tmp_path: Path):
    with serving(tmp_path):
        pass
    (tmp_path / "signing.key").chmod(0o644)
    assert "chmod 600" in refused_to_start(tmp_path)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_server_that_is_asked_to_stop_stops_without_a_complaint(tmp_path: Path, number: signal.Signals):
    """Also with a watcher on the line, and a run in hand."""
    with serving(tmp_path) as (process, url):
        with httpx.Client(base_url=url, transport=httpx.HTTPTransport(retries=3)) as http:
            run_id = http.post("/api/runs", json={"pitch": "Lanterns for night clinics"}).json()["run_id"]
            with http.stream("GET", f"/api/runs/{run_id}/stream") as response:
                next(response.iter_lines())
                began = time.monotonic()
                process.send_signal(number)
                assert process.wait(15) in (0, -signal.SIGTERM)
                assert time.monotonic() - began < 5
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()
