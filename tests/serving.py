"""A real server on a real socket for tests, and a client that plays like a person."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from submission.state.ports import EventStore, Worker
from submission.tools.bootstrap import House, Settings, open_house
from submission.tools.server import create_app

PITCH = "Solar microgrids for rural clinics"


@contextmanager
def serving(
    data: Path,
    workers: Mapping[str, Worker] | None = None,
    in_memory: bool = False,
    store: Callable[[EventStore], EventStore] | None = None,
) -> Iterator[Client]:
    """A server on a free loopback port over this data folder, in a thread of its own. `workers` by world id
    replace the simulated ones; `store` wraps what the referee appends to."""
    house = open_house(Settings(data=data, player_name="Ada"), workers, in_memory)
    if store is not None:
        house.referee.store = store(house.store)
    config = uvicorn.Config(create_app(house), host="127.0.0.1", port=0, log_level="error", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive(), "the server did not start"
            time.sleep(0.005)
        port = server.servers[0].sockets[0].getsockname()[1]
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30, verify=False) as http:
            yield Client(http, house)
    finally:
        server.should_exit = True
        thread.join(10)
    assert not thread.is_alive(), "the server did not stop"


class Client:
    """The steps of a player over HTTP; each asserts what it expects to succeed. `house` is the server's own, for
    tests that look or reach behind the door."""

    def __init__(self, http: httpx.Client, house: House | None = None) -> None:
        self.http = http
        self._house = house

    @property
    def house(self) -> House:
        assert self._house is not None, "this client's server runs elsewhere"
        return self._house

    def start(self, pitch: str = PITCH, **fields: Any) -> str:
        response = self.http.post("/api/runs", json={"pitch": pitch, **fields})
        assert response.status_code == 201, response.text
        run_id: str = response.json()["run_id"]
        return run_id

    def run(self, run_id: str) -> dict[str, Any]:
        return dict(self._get(f"/api/runs/{run_id}").json())

    def events(self, run_id: str, after: int = 0) -> list[dict[str, Any]]:
        """Every event after a seq, as the log has it."""
        events: list[dict[str, Any]] = []
        while True:
            params = {"after": after + len(events), "limit": 1000}
            page = self._get(f"/api/runs/{run_id}/events", **params).json()
            events += page["events"]
            if not page["events"] or events[-1]["seq"] >= page["head"]:
                return events

    def payloads(self, run_id: str, kind: str) -> list[dict[str, Any]]:
        """What the events of one type say, in order."""
        return [event["payload"] for event in self.events(run_id) if event["type"] == kind]

    def at(self, run_id: str, seq: int) -> dict[str, Any]:
        """The run as it was at a seq."""
        return dict(self._get(f"/api/runs/{run_id}/at/{seq}").json())

    def log(self, run_id: str) -> bytes:
        """The exported log.jsonl."""
        return self._get(f"/api/runs/{run_id}/log.jsonl").content

    def work(self, run_id: str, stage_id: str | None = None) -> dict[str, Any]:
        """Send a worker to work and wait for its gate; returns the gate."""
        turn = self.http.post(f"/api/runs/{run_id}/turns", json={"stage_id": stage_id})
        assert turn.status_code == 202, turn.text
        return self.wait_gate(run_id, turn.json()["seq"])

    def wait_gate(self, run_id: str, after: int) -> dict[str, Any]:
        """The next gate that opens after a seq."""
        while True:
            page = self._get(f"/api/runs/{run_id}/events", after=after, wait=10).json()
            opened = [e for e in page["events"] if e["type"] == "GATE_OPENED"]
            if opened:
                return self.gate(run_id, opened[-1]["payload"]["gate_id"])
            assert page["events"], f"ten seconds after seq {after} no gate has opened: the turn is lost"
            after = page["head"]

    def gate(self, run_id: str, gate_id: str) -> dict[str, Any]:
        return dict(self._get(f"/api/runs/{run_id}/gates/{gate_id}").json())

    def answer(self, gate: dict[str, Any], verb: Any = "approve", **fields: Any) -> dict[str, Any]:
        """The body of a whole decision at this gate: what the verb needs is filled in unless given."""
        body: dict[str, Any] = {"verb": verb, "artifact_sha256": gate["artifact_sha256"]}
        if verb == "approve":
            if gate["fork"]:
                body["option_id"] = gate["fork"]["options"][0]["option"]["id"]
            if gate["score"] and not gate["score"]["passes"]:
                body["override_reason"] = "good enough for this test"
        elif verb == "reject":
            body["reason"] = "Say more about the people it serves"
        elif verb == "redirect" and "option_id" not in fields:
            body["direction"] = "Speak of winter nights"
        return {**body, **fields}

    def decide(
        self, gate: dict[str, Any], verb: Any = "approve", key: str | None = None, **fields: Any
    ) -> httpx.Response:
        """Send a whole decision; its key is the gate's and the verb's unless given."""
        return self.http.post(
            decision_path(gate),
            json=self.answer(gate, verb, **fields),
            headers={"Idempotency-Key": key if key is not None else f"{gate['gate_id']}:{verb}"},
        )

    def rescind(self, gate: dict[str, Any], key: str = "undo", **fields: Any) -> httpx.Response:
        path = f"/api/runs/{gate['run_id']}/gates/{gate['gate_id']}/rescind"
        return self.http.post(path, json=fields, headers={"Idempotency-Key": key})

    def campaign(self, run_id: str) -> dict[str, Any]:
        """Approve everything to the end."""
        while (run := self.run(run_id))["outcome"] is None:
            gate = self.gate(run_id, run["gate_id"]) if run["gate_id"] else self.work(run_id)
            assert self.decide(gate).status_code == 200
        return run

    def _get(self, path: str, **params: Any) -> httpx.Response:
        response = self.http.get(path, params=params)
        assert response.status_code == 200, response.text
        return response


def decision_path(gate: dict[str, Any]) -> str:
    return f"/api/runs/{gate['run_id']}/gates/{gate['gate_id']}/decision"
