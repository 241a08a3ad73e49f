"""Every code of the refusal tree, as a request gets it."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from submission.state.events import Actor
from submission.state.ports import Conflict, EventStore, Job, StoreFailed
from submission.state.refusals import RIGHT
from submission.state.work import Brief
from submission.tools.bootstrap import Settings, open_house
from submission.tools.play import begin, send_to_work
from tests.http.problem import refused
from tests.http.workers import OFF_SCHEMA, Does, Waits, everywhere, handed_in
from tests.serving import PITCH, Client, decision_path, serving

Way = Callable[[Client], httpx.Response]
WAYS: dict[str, tuple[int, Way]] = {}
WITHIN: set[str] = set()
"""Codes that need a server of their own, each with its test below."""


def answers(status: int, code: str) -> Callable[[Way], Way]:
    """This way through the shared server ends in that refusal."""

    def keep(way: Way) -> Way:
        WAYS[code] = (status, way)
        return way

    return keep


def elsewhere(code: str) -> Callable[[Any], Any]:
    """This test has a server of its own and sees that refusal."""

    def keep(test: Any) -> Any:
        WITHIN.add(code)
        return test

    return keep


# --- starting a run ---------------------------------------------------------------------------------------


def start(client: Client, **body: Any) -> httpx.Response:
    return client.http.post("/api/runs", json={"pitch": PITCH, **body})


@answers(422, "request.malformed")
def _(client: Client) -> httpx.Response:
    return start(client, seed="seven")


@answers(422, "pitch.blank")
def _(client: Client) -> httpx.Response:
    return start(client, pitch=" \n\t ")


@answers(422, "pitch.unprintable")
def _(client: Client) -> httpx.Response:
    return start(client, pitch="\x00\x07\u202e")


@answers(413, "pitch.too_long")
def _(client: Client) -> httpx.Response:
    return start(client, pitch="p" * 10_001)


@answers(404, "world.unknown")
def _(client: Client) -> httpx.Response:
    return start(client, world="atlantis")


@answers(409, "run.exists")
def _(client: Client) -> httpx.Response:
    key = {"Idempotency-Key": "one name"}
    assert client.http.post("/api/runs", json={"pitch": "Bread by bicycle"}, headers=key).status_code == 201
    return client.http.post("/api/runs", json={"pitch": "Bread by boat"}, headers=key)


@answers(413, "request.too_large")
def _(client: Client) -> httpx.Response:
    return start(client, pitch="p" * 200_000)


# --- sending a worker to work -----------------------------------------------------------------------------


def turn(client: Client, run_id: str, **body: Any) -> httpx.Response:
    return client.http.post(f"/api/runs/{run_id}/turns", json=body)


@answers(404, "run.unknown")
def _(client: Client) -> httpx.Response:
    return turn(client, "r-0000000000000000")


@answers(404, "stage.unknown")
def _(client: Client) -> httpx.Response:
    return turn(client, client.start(), stage_id="coffee")


@answers(409, "stage.locked")
def _(client: Client) -> httpx.Response:
    run_id = client.start()
    locked = next(stage["id"] for stage in client.run(run_id)["stages"] if stage["status"] == "locked")
    return turn(client, run_id, stage_id=locked)


@answers(409, "stage.done")
def _(client: Client) -> httpx.Response:
    run_id = client.start()
    gate = client.work(run_id)
    client.decide(gate)
    return turn(client, run_id, stage_id=gate["stage"]["id"])


@answers(409, "gate.waiting")
def _(client: Client) -> httpx.Response:
    run_id = client.start()
    client.work(run_id)
    return turn(client, run_id)


@answers(409, "run.completed")
def _(client: Client) -> httpx.Response:
    run_id = client.start()
    client.campaign(run_id)
    return turn(client, run_id)


@elsewhere("stage.working")
def test_a_second_turn_while_a_worker_is_at_work(tmp_path: Path):
    worker = Waits()
    with serving(tmp_path, everywhere(worker)) as client:
        run_id = client.start()
        seq = turn(client, run_id).json()["seq"]
        refused(turn(client, run_id), 409, "stage.working")
        worker.release()
        client.wait_gate(run_id, seq)


# --- at the gate ------------------------------------------------------------------------------------------


def fresh_gate(client: Client) -> dict[str, Any]:
    return client.work(client.start())


@answers(422, "decision.verb_unknown")
def _(client: Client) -> httpx.Response:
    return client.decide(fresh_gate(client), "acquire")


@answers(422, "decision.key_required")
def _(client: Client) -> httpx.Response:
    gate = fresh_gate(client)
    return client.http.post(decision_path(gate), json=client.answer(gate))


@answers(422, "decision.hash_required")
def _(client: Client) -> httpx.Response:
    return client.decide(fresh_gate(client), artifact_sha256=None)


@answers(422, "decision.reason_required")
def _(client: Client) -> httpx.Response:
    return client.decide(fresh_gate(client), "reject", reason="  ")


@answers(422, "decision.option_required")
def _(client: Client) -> httpx.Response:
    gate = fresh_gate(client)
    answer = client.decide(gate, option_id=None)
    assert answer.json()["options"] == [priced["option"]["id"] for priced in gate["fork"]["options"]]
    return answer


@answers(422, "decision.option_not_posed")
def _(client: Client) -> httpx.Response:
    gate = fresh_gate(client)
    chosen = gate["fork"]["options"][0]["option"]["id"]
    assert client.decide(gate, "redirect", option_id=chosen).status_code == 200
    settled = client.work(gate["run_id"])
    assert settled["fork"] is None
    return client.decide(settled, option_id=chosen)


@answers(404, "option.unknown")
def _(client: Client) -> httpx.Response:
    return client.decide(fresh_gate(client), option_id="neither")


@answers(422, "decision.direction_required")
def _(client: Client) -> httpx.Response:
    gate = fresh_gate(client)
    both = client.decide(gate, "redirect", option_id=gate["fork"]["options"][0]["option"]["id"], direction="mine")
    refused(both, 422, "decision.direction_required")
    return client.decide(gate, "redirect", direction=None)


@answers(422, "decision.not_for_verb")
def _(client: Client) -> httpx.Response:
    gate = fresh_gate(client)
    refused(client.decide(gate, "approve", direction="and also this"), 422, "decision.not_for_verb")
    return client.decide(gate, "reject", option_id=gate["fork"]["options"][0]["option"]["id"])


@answers(413, "text.too_long")
def _(client: Client) -> httpx.Response:
    return client.decide(fresh_gate(client), "reject", reason="r" * 2_001)


@answers(404, "gate.unknown")
def _(client: Client) -> httpx.Response:
    return client.decide({**fresh_gate(client), "gate_id": "gate-1"})


@answers(409, "gate.decided")
def _(client: Client) -> httpx.Response:
    gate = fresh_gate(client)
    client.decide(gate, "approve", key="mine")
    return client.decide(gate, "approve", key="yours")


@answers(409, "decision.key_reused")
def _(client: Client) -> httpx.Response:
    gate = fresh_gate(client)
    client.decide(gate, "approve", key="mine")
    return client.decide(gate, "reject", key="mine")


@answers(412, "gate.stale_artifact")
def _(client: Client) -> httpx.Response:
    gate = fresh_gate(client)
    answer = client.decide(gate, artifact_sha256="0" * 64)
    assert answer.json()["current"]["artifact_sha256"] == gate["artifact_sha256"]
    return answer


@answers(409, "gate.rescind_too_late")
def _(client: Client) -> httpx.Response:
    gate = fresh_gate(client)
    client.decide(gate)
    client.work(gate["run_id"])
    return client.rescind(gate)


@elsewhere("decision.override_required")
def test_approving_below_the_floor_without_saying_why(tmp_path: Path):
    with serving(tmp_path, everywhere(Does(lambda brief: handed_in(OFF_SCHEMA)))) as client:
        gate = client.work(client.start())
        assert not gate["score"]["passes"]
        refused(client.decide(gate, override_reason=" "), 422, "decision.override_required")
        receipt = client.decide(gate, override_reason="the pilot needs it today").json()
        assert receipt["override_reason"] == "the pilot needs it today"


@elsewhere("gate.no_artifact")
def test_approving_what_a_failed_worker_did_not_make(tmp_path: Path):
    def fail(brief: Brief) -> Any:
        raise RuntimeError("no model answers")

    with serving(tmp_path, everywhere(Does(fail))) as client:
        gate = client.work(client.start())
        for verb in ("approve", "redirect"):
            refused(client.decide(gate, verb), 409, "gate.no_artifact")
        assert client.run(gate["run_id"])["xp"] == 0


@elsewhere("decision.not_yours")
async def test_answering_for_another_script(tmp_path: Path):
    """A rehearsal that `simulate` left at a gate is its own script's, not that of whoever opens the server."""
    script = Actor(kind="scripted", id="script:strict", name="Scripted approver (strict)")
    house = open_house(Settings(data=tmp_path))
    run = await begin(house, "r-simulated", house.default_world, PITCH, 1, "rehearsal", script)
    job, seq = await send_to_work(house, run.run_id, script, None)
    await house.turns.run(job)
    await house.close()
    with serving(tmp_path) as client:
        gate = client.wait_gate(run.run_id, seq)
        refused(client.decide(gate), 409, "decision.not_yours")
        assert client.run(run.run_id)["gate_id"] == gate["gate_id"]


# --- the log ----------------------------------------------------------------------------------------------


@answers(404, "seq.unknown")
def _(client: Client) -> httpx.Response:
    run_id = client.start()
    for seq in (0, -1, 2**53):
        refused(client.http.get(f"/api/runs/{run_id}/at/{seq}"), 404, "seq.unknown")
    return client.http.get(f"/api/runs/{run_id}/at/4")


@answers(422, "replay.not_a_log")
def _(client: Client) -> httpx.Response:
    return client.http.post("/api/replays", content=b"once upon a time\n")


# --- the door ---------------------------------------------------------------------------------------------


@answers(404, "route.unknown")
def _(client: Client) -> httpx.Response:
    return client.http.get("/api/step/approve")


@answers(405, "method.not_allowed")
def _(client: Client) -> httpx.Response:
    answer = client.http.delete("/api/runs")
    assert set(answer.headers["allow"].split(", ")) >= {"GET", "POST"}
    return answer


@answers(403, "host.not_allowed")
def _(client: Client) -> httpx.Response:
    return client.http.get("/api/runs", headers={"Host": "evil.example"})


@answers(403, "origin.not_allowed")
def _(client: Client) -> httpx.Response:
    return client.http.post("/api/runs", json={"pitch": PITCH}, headers={"Origin": "https://evil.example"})


# --- inside -----------------------------------------------------------------------------------------------


class Delegates:
    """A store that is another, but for what a test changes."""

    def __init__(self, store: EventStore) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


class AlwaysBehind(Delegates):
    """Another machine is always faster: no append of a second event meets the seq it expects."""

    async def append(self, run_id: str, expected_seq: int, *rest: Any) -> int:
        if expected_seq:
            raise Conflict(run_id, expected_seq + 1)
        return await self._store.append(run_id, expected_seq, *rest)


@elsewhere("run.conflict")
def test_a_run_that_never_stands_still(tmp_path: Path):
    with serving(tmp_path, store=lambda store: AlwaysBehind(store)) as client:
        run_id = client.start()
        refused(turn(client, run_id), 409, "run.conflict")


@elsewhere("artifact.too_large")
def test_an_artifact_over_64_kib_is_a_failed_stage(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    huge = {"body": "x" * 70_000}
    with serving(tmp_path, everywhere(Does(lambda brief: handed_in(huge)))) as client:
        gate = client.work(client.start())
    assert gate["artifact"] is None
    assert gate["verbs"] == ["reject"]
    assert gate["error"].startswith("artifact.too_large")


@elsewhere("work.unexpected")
def test_a_result_for_an_attempt_that_is_over_changes_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    """The same turn runs twice, as after a restart with a zombie still at work: the log takes one result."""
    asked: list[str] = []

    def twice(brief: Brief) -> Any:
        asked.append(brief.stage.id)
        if len(asked) == 1:
            client.house.turns.dispatch(Job(brief.run_id, brief.stage.id, brief.attempt))
        return handed_in(OFF_SCHEMA)

    with serving(tmp_path, everywhere(Does(twice))) as client, caplog.at_level(logging.WARNING):
        gate = client.work(client.start())
        assert client.decide(gate).status_code == 200
        assert len(client.payloads(gate["run_id"], "STAGE_EXECUTED")) == 1
    assert len(asked) == 2
    assert "work.unexpected" in caplog.text


# --- the store --------------------------------------------------------------------------------------------


class Full(Delegates):
    """A disk that has room for one more run and for nothing else."""

    async def append(self, run_id: str, expected_seq: int, *rest: Any) -> int:
        if expected_seq:
            raise StoreFailed("the disk is full")
        return await self._store.append(run_id, expected_seq, *rest)


def test_a_store_that_cannot_write_says_so_and_keeps_what_it_has(tmp_path: Path):
    with serving(tmp_path, store=lambda store: Full(store)) as client:
        run_id = client.start()
        before = client.log(run_id)
        refused(turn(client, run_id), 503, "store.failed")
        assert client.log(run_id) == before


def test_a_log_that_was_changed_on_the_disk_is_not_played_on_and_harms_no_other_run(tmp_path: Path):
    with serving(tmp_path) as client:
        run_id = client.start(pitch="Lanterns for night clinics")
        sound = client.work(client.start(pitch="Bread by bicycle"))
    with closing(sqlite3.connect(tmp_path / "countersign.db")) as database:
        for (name,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
            database.execute(f"DROP TRIGGER {name}")
        database.execute("UPDATE event SET line = CAST(replace(CAST(line AS TEXT), 'Lanterns', 'Beacons') AS BLOB)")
        database.commit()
    with serving(tmp_path) as client:
        refused(client.http.get(f"/api/runs/{run_id}"), 503, "log.broken")
        refused(turn(client, run_id), 503, "log.broken")
        verdicts = client.http.get(f"/api/runs/{run_id}/verify").json()["verdicts"]
        assert verdicts[0]["name"] == "integrity"
        assert (verdicts[0]["status"], verdicts[0]["seq"]) == ("failed", 1)

        assert client.decide(sound).status_code == 200
        assert sound["run_id"] in [run["run_id"] for run in client.http.get("/api/runs").json()["runs"]]
        assert client.http.get("/api/gates").status_code == 200


# --- all of them ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", WAYS)
def test_a_refusal_is_a_problem_with_its_code(client: Client, code: str):
    status, way = WAYS[code]
    refused(way(client), status, code)


def test_every_code_of_the_tree_is_reached():
    """A code that no way leads to is written one here, or removed from refusals.TREE."""
    assert WAYS.keys() | WITHIN == RIGHT.keys()
    assert not WAYS.keys() & WITHIN
