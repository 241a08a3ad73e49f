"""The smoke test fails where a promise does not hold: its checks, on a real campaign with one lie in its evidence."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from submission.tools import demo_smoke_test as smoke
from tests.serving import Client

Check = Callable[[smoke.Evidence], str]


@pytest.fixture(scope="module")
def game(client: Client) -> smoke.Game:
    game = smoke.Game(client.http, "human")
    smoke.play(game)
    return game


@pytest.fixture(scope="module")
def honest(game: smoke.Game) -> smoke.Evidence:
    return game.evidence()


@pytest.fixture
def evidence(honest: smoke.Evidence) -> smoke.Evidence:
    return copy.deepcopy(honest)


EXECUTED: list[Check] = [smoke.check_proof_points, smoke.check_tiers_are_labelled, smoke.check_the_floor_stands]
ALL: list[Check] = [
    *EXECUTED,
    smoke.check_only_a_human_mints_xp,
    smoke.check_one_decision_a_gate,
    smoke.check_memory_binds,
]


def first(evidence: smoke.Evidence, kind: str) -> dict[str, Any]:
    return next(event for event in evidence.events if event["type"] == kind)


def last(evidence: smoke.Evidence, kind: str) -> dict[str, Any]:
    return next(event for event in reversed(evidence.events) if event["type"] == kind)


def broken(check: Callable[..., str], *given: Any) -> str:
    with pytest.raises(smoke.SmokeFailed) as failure:
        check(*given)
    return str(failure.value)


def test_an_honest_campaign_passes(game: smoke.Game, evidence: smoke.Evidence):
    for check in ALL:
        assert check(evidence)
    assert smoke.check_reads_write_nothing(evidence, game)
    assert smoke.check_replay(evidence, game)


@pytest.mark.parametrize("point", smoke.PROOF_POINTS)
@pytest.mark.parametrize("gone", [None, [], {}, "absent"])
def test_a_proof_point_that_is_absent_or_empty_fails(evidence: smoke.Evidence, point: str, gone: Any):
    payload = last(evidence, "STAGE_EXECUTED")["payload"]
    if gone == "absent":
        del payload[point]
    else:
        payload[point] = gone
    assert point in broken(smoke.check_proof_points, evidence)


@pytest.mark.parametrize("field", ["client", "tier", "model", "fallback_reason", "tokens_in", "tokens_out"])
def test_a_usage_without_its_receipt_fails(evidence: smoke.Evidence, field: str):
    del last(evidence, "STAGE_EXECUTED")["payload"]["inference_usage"][field]
    assert "inference_usage" in broken(smoke.check_proof_points, evidence)


def test_xp_that_the_state_does_not_have_fails(evidence: smoke.Evidence):
    first(evidence, "XP_AWARDED")["payload"]["amount"] += 1
    assert "XP" in broken(smoke.check_only_a_human_mints_xp, evidence)


@pytest.mark.parametrize("kind", ["agent", "system", "scripted"])
@pytest.mark.parametrize("event", ["XP_AWARDED", "CEO_DECISION"])
def test_xp_by_anyone_but_the_human_fails(evidence: smoke.Evidence, kind: str, event: str):
    last(evidence, event)["actor"]["kind"] = kind
    assert kind in broken(smoke.check_only_a_human_mints_xp, evidence)


def test_xp_after_no_decision_fails(evidence: smoke.Evidence):
    last(evidence, "XP_AWARDED")["cause"] = last(evidence, "STAGE_EXECUTED")["seq"]
    assert "follows no decision" in broken(smoke.check_only_a_human_mints_xp, evidence)


def test_a_gate_decided_twice_fails(evidence: smoke.Evidence):
    evidence.events.append(last(evidence, "CEO_DECISION"))
    assert "twice" in broken(smoke.check_one_decision_a_gate, evidence)


def test_a_read_that_writes_fails(game: smoke.Game, evidence: smoke.Evidence):
    assert "changed" in broken(smoke.check_reads_write_nothing, evidence._replace(log=evidence.log + b"\n"), game)


def test_a_state_that_differs_from_the_replayed_one_fails_at_its_seq(game: smoke.Game, evidence: smoke.Evidence):
    evidence.states[20]["state_hash"] = "0" * 64
    assert "seq 21" in broken(smoke.check_replay, evidence, game)


def test_a_log_that_does_not_verify_fails(game: smoke.Game, evidence: smoke.Evidence):
    lines = evidence.log.splitlines(keepends=True)
    head = json.loads(lines[-1])
    head["signature"] = "A" * 86 + "=="
    forged = b"".join([*lines[:-1], json.dumps(head, sort_keys=True, separators=(",", ":")).encode() + b"\n"])
    assert "signature" in broken(smoke.check_replay, evidence._replace(log=forged), game)


@pytest.mark.parametrize("tier", ["local", "cloud"])
def test_simulated_work_that_says_it_is_live_fails(evidence: smoke.Evidence, tier: str):
    last(evidence, "STAGE_EXECUTED")["payload"]["inference_usage"]["tier"] = tier
    assert tier in broken(smoke.check_tiers_are_labelled, evidence)


def test_a_fallback_without_a_reason_fails(evidence: smoke.Evidence):
    assert "without a reason" in broken(smoke.check_tiers_are_labelled, evidence._replace(tier="cloud"))


@pytest.mark.parametrize("change", [{"final": 99}, {"floor": 101}])
def test_a_score_that_is_not_the_rule_fails(evidence: smoke.Evidence, change: dict[str, int]):
    last(evidence, "STAGE_EXECUTED")["payload"]["score"].update(change)
    assert "not max(floor, rubric)" in broken(smoke.check_the_floor_stands, evidence)


def test_a_rubric_with_other_weights_fails(evidence: smoke.Evidence):
    last(evidence, "STAGE_EXECUTED")["payload"]["score"]["rubric"]["dimensions"][0]["weight"] = 90
    assert "not ours" in broken(smoke.check_the_floor_stands, evidence)


def test_a_brief_without_the_newest_decision_fails(evidence: smoke.Evidence):
    payload = last(evidence, "STAGE_EXECUTED")["payload"]
    payload["memory_injected"] = [m for m in payload["memory_injected"] if m["kind"] != "procedural"]
    assert "lacks the newest" in broken(smoke.check_memory_binds, evidence)


def test_a_gate_without_a_verdict_fails(evidence: smoke.Evidence):
    last(evidence, "GATE_OPENED")["payload"]["compliance"] = []
    assert "no verdict" in broken(smoke.check_memory_binds, evidence)


def test_a_server_that_is_not_there_fails_the_build(capsys: pytest.CaptureFixture[str]):
    assert smoke.main(["--base", "http://127.0.0.1:9"]) == 1
    assert "127.0.0.1:9" in capsys.readouterr().err


def test_another_server_is_played_as_a_rehearsal(client: Client, capsys: pytest.CaptureFixture[str]):
    assert smoke.main(["--base", str(client.http.base_url)]) == 0
    assert capsys.readouterr().out.count("ok  ") == 8
    newest = client.http.get("/api/runs").json()["runs"][0]
    assert (newest["mode"], newest["outcome"]) == ("rehearsal", "victory")
