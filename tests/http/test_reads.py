"""Reads never write, never send a worker to work, and give the same for ever where they say so."""

from __future__ import annotations

from typing import Any

import pytest

from tests.http.problem import refused
from tests.serving import Client


def get_paths(client: Client) -> list[str]:
    document = client.http.get("/openapi.json").json()
    return [path for path, operations in document["paths"].items() if "get" in operations]


def test_no_get_changes_anything(client: Client):
    """Every GET of the contract, on a run with a decided gate, an open gate and stages to come."""
    run_id = client.start()
    client.decide(client.work(run_id))
    gate = client.work(run_id)
    names = {"run_id": run_id, "gate_id": gate["gate_id"], "seq": client.run(run_id)["seq"]}
    queries: dict[str, dict[str, Any]] = {
        "/api/memory": {"run_id": run_id},
        "/api/compare": {"a": run_id, "b": run_id},
    }
    log, runs, state = client.log(run_id), client.http.get("/api/runs").content, client.at(run_id, names["seq"])
    for _ in range(2):
        for path in get_paths(client):
            with client.http.stream("GET", path.format(**names), params=queries.get(path)) as response:
                assert response.status_code == 200, path
                if path.endswith("/stream"):
                    next(response.iter_lines())
                else:
                    response.read()
    assert client.log(run_id) == log
    assert client.http.get("/api/runs").content == runs
    assert client.at(run_id, names["seq"]) == state


def test_the_state_at_every_seq_is_a_fold_that_never_changes(client: Client):
    run_id = client.start()
    client.decide(client.work(run_id))
    head = client.run(run_id)["seq"]
    early = [client.http.get(f"/api/runs/{run_id}/at/{seq}") for seq in range(1, head + 1)]
    assert all("immutable" in response.headers["cache-control"] for response in early)
    assert [response.json()["seq"] for response in early] == list(range(1, head + 1))
    assert [response.json()["head"] for response in early] == [event["hash"] for event in client.events(run_id)]
    client.campaign(run_id)
    late = [client.http.get(f"/api/runs/{run_id}/at/{seq}") for seq in range(1, head + 1)]
    assert [response.content for response in late] == [response.content for response in early]


def test_the_run_as_it_stands_is_the_run_at_its_last_seq(client: Client):
    run_id = client.start()
    client.decide(client.work(run_id))
    run = client.run(run_id)
    at = client.at(run_id, run["seq"])
    assert at.pop("state_hash")
    assert at == run


def test_nothing_that_moves_may_be_cached(client: Client):
    run_id = client.start()
    for path in ("", "/events"):
        assert client.http.get(f"/api/runs/{run_id}{path}").headers["cache-control"] == "no-cache"


def test_events_come_in_pages_without_gap_or_overlap(client: Client):
    run_id = client.start()
    client.decide(client.work(run_id))
    whole = client.events(run_id)
    for limit in (1, 3, 7, 1000):
        pages: list[dict[str, Any]] = []
        while len(pages) < len(whole):
            params = {"after": len(pages), "limit": limit}
            page = client.http.get(f"/api/runs/{run_id}/events", params=params).json()
            assert 1 <= len(page["events"]) <= limit
            assert page["head"] == len(whole)
            pages += page["events"]
        assert pages == whole


def test_waiting_for_events_ends_when_one_comes_and_when_none_does(client: Client):
    run_id = client.start()
    nothing = client.http.get(f"/api/runs/{run_id}/events", params={"after": 3, "wait": 0.05}).json()
    assert (nothing["head"], nothing["events"]) == (3, [])
    client.http.post(f"/api/runs/{run_id}/turns")
    something = client.http.get(f"/api/runs/{run_id}/events", params={"after": 3, "wait": 20}).json()
    assert something["events"][0]["type"] == "STAGE_STARTED"


def test_runs_are_listed_newest_first_in_pages_that_lose_none(client: Client):
    started = [client.start() for _ in range(5)]
    listed: list[str] = []
    before = None
    while True:
        page = client.http.get("/api/runs", params={"limit": 2, **({"before": before} if before else {})}).json()
        listed += [run["run_id"] for run in page["runs"]]
        before = page["next"]
        if before is None:
            break
    assert len(listed) == len(set(listed))
    assert set(listed[:5]) == set(started)
    assert listed[0] == started[-1]


def test_two_runs_never_meet(client: Client):
    mine, theirs = client.start(), client.start(pitch="Offline maps for mountain rescue teams")
    before = client.log(mine)
    client.decide(client.work(theirs), "reject", reason="Only ours may say quokka")
    assert client.log(mine) == before
    assert "quokka" not in client.http.get("/api/memory", params={"run_id": mine}).text
    assert "quokka" in client.http.get("/api/memory", params={"run_id": theirs}).text
    assert client.run(mine)["pitch"] != client.run(theirs)["pitch"]


def test_the_same_pitch_and_seed_played_alike_is_the_same_state(client: Client):
    def played() -> list[str]:
        run_id = client.start(seed=7)
        client.decide(client.work(run_id), "reject")
        client.decide(client.work(run_id))
        return [client.at(run_id, seq)["state_hash"] for seq in range(1, client.run(run_id)["seq"] + 1)]

    assert played() == played()


def test_memory_cites_the_decision_that_wrote_it(client: Client):
    run_id = client.start()
    client.decide(client.work(run_id), "reject", reason="Name the clinics")
    snapshot = client.http.get("/api/memory", params={"run_id": run_id}).json()
    decisions = {event["seq"]: event for event in client.events(run_id) if event["type"] == "CEO_DECISION"}
    [learned] = snapshot["memories"]["procedural"]
    assert decisions[learned["decision_seq"]]["payload"]["reason"] == "Name the clinics"
    assert snapshot["counts"] == {kind: len(memories) for kind, memories in snapshot["memories"].items()}


@pytest.mark.parametrize("path", ["", "/at/1", "/events", "/stream", "/log.jsonl", "/verify", "/gates/gate-6"])
def test_what_does_not_exist_is_said_before_anything_is_sent(client: Client, path: str):
    refused(client.http.get(f"/api/runs/r-0000000000000000{path}"), 404, "run.unknown")


def test_the_mode_says_that_nothing_here_is_live(client: Client):
    mode = client.http.get("/api/mode").json()
    assert mode["tier"] == "simulation"
    assert mode["reason"]
    assert mode["player"] == "Ada"
    assert client.http.get("/healthz").json() == client.http.get("/readyz").json() == {"status": "ok"}


def test_the_worlds_that_can_be_played_have_eight_stages_and_one_default(client: Client):
    worlds = client.http.get("/api/worlds").json()["worlds"]
    assert [len(world["stages"]) for world in worlds] == [8] * len(worlds)
    assert sum(world["default"] for world in worlds) == 1
    run_id = client.start()
    assert client.run(run_id)["world"] == next(world["pin"] for world in worlds if world["default"])
