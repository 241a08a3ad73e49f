"""What a judge can do over HTTP: take a log away, check it elsewhere, look at any moment of it, compare two."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from submission.state.canonical import canonical, sha256
from submission.state.evolve import fold
from submission.state.run import state_hash
from submission.state.store.chain import unseal
from tests.http.problem import refused
from tests.serving import Client, serving

FIVE = ["integrity", "completeness", "schema", "xp", "rescoring"]


@pytest.fixture(scope="module")
def played(client: Client) -> str:
    """A campaign with a rejection, a redirect and a rescission in it."""
    run_id = client.start()
    client.decide(client.work(run_id), "reject")
    gate = client.work(run_id)
    client.decide(gate)
    client.rescind(gate)
    client.decide(client.gate(run_id, client.run(run_id)["gate_id"]), "redirect")
    client.campaign(run_id)
    return run_id


@pytest.fixture(scope="module")
def log(client: Client, played: str) -> bytes:
    return client.log(played)


def judged(client: Client, data: bytes) -> dict[str, tuple[str, int | None]]:
    """Each verdict's status and seq."""
    answer = client.http.post("/api/replays", content=data)
    assert answer.status_code == 200, answer.text
    verdicts = answer.json()["verdicts"]
    assert [verdict["name"] for verdict in verdicts] == FIVE
    assert answer.json()["passed"] == all(verdict["status"] == "passed" for verdict in verdicts)
    return {verdict["name"]: (verdict["status"], verdict["seq"]) for verdict in verdicts}


def resealed(lines: list[bytes], change: dict[int, dict[str, Any]]) -> list[bytes]:
    """The events with some payload fields changed and the whole chain made anew, as a careful forger would."""
    sealed, head = [], "0" * 64
    for line in lines:
        fields = json.loads(line)
        del fields["hash"]
        fields["prev_hash"] = head
        fields["payload"].update(change.get(fields["seq"], {}))
        body = canonical(fields)
        head = sha256(body)
        sealed.append(body[:-1] + b',"hash":"' + head.encode() + b'"}')
    return sealed


def test_an_exported_log_gives_five_passes_and_stores_nothing(client: Client, played: str, log: bytes):
    runs = client.http.get("/api/runs").content
    assert judged(client, log) == dict.fromkeys(FIVE, ("passed", None))
    assert client.http.get("/api/runs").content == runs
    own = client.http.get(f"/api/runs/{played}/verify").json()
    assert own == client.http.post("/api/replays", content=log).json()
    run = client.run(played)
    assert (own["run_id"], own["mode"], own["seq"], own["head"]) == (played, "human", run["seq"], run["head"])
    assert own["world"] == run["world"]


def test_the_log_is_the_stored_lines_between_a_header_and_a_signed_head(client: Client, played: str, log: bytes):
    header, *lines, head = [json.loads(line) for line in log.splitlines()]
    assert (header["run_id"], header["world"]) == (played, client.run(played)["world"])
    assert lines == client.events(played)
    assert (head["count"], head["head"]) == (len(lines), lines[-1]["hash"])


def test_a_fold_of_the_exported_log_is_the_state_at_every_seq(client: Client, played: str, log: bytes):
    run = None
    for seq, line in enumerate(log.splitlines()[1:-1], 1):
        run = fold([unseal(line, seq)], run)
        assert run is not None
        assert client.at(played, seq)["state_hash"] == state_hash(run), seq
    assert run is not None
    assert client.http.get(f"/api/runs/{played}/verify").json()["state_hash"] == state_hash(run)


def test_an_edited_byte_fails_integrity_at_its_seq(client: Client, log: bytes):
    at = log.index(b"microgrids")
    verdicts = judged(client, log[:at] + b"M" + log[at + 1 :])
    assert verdicts["integrity"] == ("failed", 1)


def test_a_log_cut_at_its_end_fails_completeness(client: Client, log: bytes):
    rows = log.splitlines(keepends=True)
    last = len(rows) - 2
    without_event = judged(client, b"".join(rows[:-2] + rows[-1:]))
    without_head = judged(client, b"".join(rows[:-1]))
    assert without_event["integrity"] == ("passed", None)
    assert without_event["completeness"] == ("failed", last)
    assert without_head["completeness"][0] == "failed"


def test_a_missing_or_moved_event_fails_integrity_where_the_chain_breaks(client: Client, log: bytes):
    rows = log.splitlines(keepends=True)
    assert judged(client, b"".join(rows[:9] + rows[10:]))["integrity"] == ("failed", 9)
    swapped = [*rows[:9], rows[10], rows[9], *rows[11:]]
    assert judged(client, b"".join(swapped))["integrity"] == ("failed", 9)


def test_forged_xp_fails_conservation_though_the_chain_was_made_anew(client: Client, played: str, log: bytes):
    award = next(event for event in client.events(played) if event["type"] == "XP_AWARDED")
    rows = log.splitlines()
    forged = resealed(rows[1:-1], {award["seq"]: {"amount": award["payload"]["amount"] + 5}})
    verdicts = judged(client, b"\n".join([rows[0], *forged]) + b"\n")
    assert verdicts["integrity"] == ("passed", None)
    assert verdicts["xp"] == ("failed", award["seq"])
    assert verdicts["completeness"][0] == "failed"


def test_a_forged_artifact_fails_rescoring_though_the_chain_was_made_anew(client: Client, played: str, log: bytes):
    executed = next(event for event in client.events(played) if event["type"] == "STAGE_EXECUTED")
    rows = log.splitlines()
    forged = resealed(rows[1:-1], {executed["seq"]: {"artifact": {"headline": "Not what the human saw"}}})
    assert judged(client, b"\n".join([rows[0], *forged]) + b"\n")["rescoring"] == ("failed", executed["seq"])


@pytest.mark.parametrize("data", [b"", b"\n\n", b"hello", b"{}", b"[]\n[]\n", b"\xff\xfe\x00", b"PK\x03\x04", b"null"])
def test_what_is_no_log_is_refused(client: Client, data: bytes):
    refused(client.http.post("/api/replays", content=data), 422, "replay.not_a_log")


def test_a_log_of_another_server_is_judged_and_its_key_named(client: Client, tmp_path: Path):
    with serving(tmp_path) as other:
        run_id = other.start()
        other.decide(other.work(run_id))
        foreign = other.log(run_id)
        assert other.http.post("/api/replays", content=foreign).json()["passed"]
    verdicts = judged(client, foreign)
    assert verdicts["completeness"][0] == "failed"
    assert {name: verdicts[name][0] for name in FIVE if name != "completeness"} == dict.fromkeys(
        ["integrity", "schema", "xp", "rescoring"], "passed"
    )
    refused(client.http.get(f"/api/runs/{run_id}"), 404, "run.unknown")


@pytest.fixture(scope="module")
def pair(client: Client) -> tuple[str, str]:
    a, b = client.start(seed=1), client.start(seed=2)
    client.campaign(a)
    client.campaign(b)
    return a, b


def test_two_runs_are_compared_where_they_part(client: Client, pair: tuple[str, str]):
    a, b = pair
    answer = client.http.get("/api/compare", params={"a": a, "b": b})
    assert answer.status_code == 200
    assert a in answer.text
    assert b in answer.text
    alike = client.http.get("/api/compare", params={"a": a, "b": a})
    assert alike.status_code == 200
    assert alike.json() != answer.json()


def test_comparing_with_a_run_that_is_not_there_names_it(client: Client, pair: tuple[str, str]):
    for params in ({"a": pair[0], "b": "r-none"}, {"a": "r-none", "b": pair[0]}):
        assert "r-none" in refused(client.http.get("/api/compare", params=params), 404, "run.unknown")["detail"]
