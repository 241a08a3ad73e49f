"""The gate over HTTP: only a person's answer to the artifact they saw mints XP, once."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from tests.http import raw
from tests.http.together import post_together
from tests.serving import Client, decision_path


def xp_minted(client: Client, run_id: str) -> list[int]:
    return [award["amount"] for award in client.payloads(run_id, "XP_AWARDED")]


def code(response: httpx.Response) -> tuple[int, str]:
    return response.status_code, response.json()["code"]


def test_three_approvals_of_work_never_done_are_three_refusals_and_no_xp(client: Client):
    run_id = client.start()
    before = client.log(run_id)
    never = {"run_id": run_id, "gate_id": "gate-4", "artifact_sha256": "0" * 64, "fork": None, "score": None}
    answers = [
        client.decide(never),
        client.decide({**never, "gate_id": "gate-1"}, key="another"),
        client.decide(never),
    ]
    assert [code(answer) for answer in answers] == [(404, "gate.unknown")] * 3
    assert client.log(run_id) == before
    assert client.run(run_id)["xp"] == 0


def test_an_approval_while_the_work_is_under_way_is_refused_and_not_kept_for_later(client: Client):
    run_id = client.start()
    turn = client.http.post(f"/api/runs/{run_id}/turns").json()
    early = {"run_id": run_id, "gate_id": "gate-999", "artifact_sha256": None, "fork": None, "score": None}
    assert code(client.decide(early)) == (404, "gate.unknown")
    gate = client.wait_gate(run_id, turn["seq"])
    assert gate["receipt"] is None
    assert client.run(run_id)["gate_id"] == gate["gate_id"]
    assert xp_minted(client, run_id) == []


async def test_of_64_approvals_at_once_with_64_keys_one_wins_and_the_others_get_its_receipt(client: Client):
    run_id = client.start()
    gate = client.work(run_id)
    asked = [(client.answer(gate), f"key-{n}") for n in range(64)]
    answers = await post_together(str(client.http.base_url), decision_path(gate), asked)

    won = [answer for answer in answers if answer.status_code == 200]
    lost = [answer for answer in answers if answer.status_code != 200]
    assert len(won) == 1
    assert [code(answer) for answer in lost] == [(409, "gate.decided")] * 63
    assert all(answer.json()["receipt"] == won[0].json() for answer in lost)
    amount = 10 + gate["score"]["final"] // 10
    assert won[0].json()["xp"] == amount
    assert xp_minted(client, run_id) == [amount]
    assert client.run(run_id)["xp"] == amount
    assert len(client.payloads(run_id, "CEO_DECISION")) == 1


async def test_the_same_key_64_times_at_once_gives_64_identical_receipts_and_one_mint(client: Client):
    run_id = client.start()
    gate = client.work(run_id)
    asked = [(client.answer(gate), "one key")] * 64
    answers = await post_together(str(client.http.base_url), decision_path(gate), asked)

    assert [answer.status_code for answer in answers] == [200] * 64
    assert len({answer.content for answer in answers}) == 1
    assert len(xp_minted(client, run_id)) == 1
    assert client.run(run_id)["xp"] == answers[0].json()["xp"]


async def test_of_contradictory_answers_at_once_one_wins(client: Client):
    run_id = client.start()
    gate = client.work(run_id)
    verbs = ["approve", "reject", "redirect"] * 8
    asked = [(client.answer(gate, verb), f"{verb} {n}") for n, verb in enumerate(verbs)]
    answers = await post_together(str(client.http.base_url), decision_path(gate), asked)

    won = [answer for answer in answers if answer.status_code == 200]
    assert len(won) == 1
    assert all(
        code(answer) == (409, "gate.decided") and answer.json()["receipt"] == won[0].json()
        for answer in answers
        if answer is not won[0]
    )
    [decision] = client.payloads(run_id, "CEO_DECISION")
    assert decision["verb"] == won[0].json()["verb"]
    assert len(xp_minted(client, run_id)) == (decision["verb"] == "approve")


def test_a_rework_makes_the_old_approval_stale(client: Client):
    run_id = client.start()
    old = client.work(run_id)
    assert client.decide(old, "reject").status_code == 200
    new = client.work(run_id)
    assert new["artifact_sha256"] != old["artifact_sha256"]
    before = client.log(run_id)

    old_gate = client.decide(old, "approve", key="too late")
    new_gate = client.decide(new, "approve", key="blind", artifact_sha256=old["artifact_sha256"])
    current = {
        "stage_id": new["stage"]["id"],
        "attempt": 2,
        "gate_id": new["gate_id"],
        "artifact_sha256": new["artifact_sha256"],
    }
    for answer in (old_gate, new_gate):
        assert code(answer) == (412, "gate.stale_artifact")
        assert answer.json()["current"] == current
    assert old_gate.json()["receipt"]["verb"] == "reject"
    assert client.log(run_id) == before
    assert client.decide(new, "approve", key="seen").status_code == 200


def test_a_rework_still_under_way_makes_the_old_approval_stale_too(client: Client):
    run_id = client.start()
    old = client.work(run_id)
    client.decide(old, "reject")
    turn = client.http.post(f"/api/runs/{run_id}/turns").json()
    answer = client.decide(old, "approve", key="too late")
    assert code(answer) == (412, "gate.stale_artifact")
    client.wait_gate(run_id, turn["seq"])
    assert xp_minted(client, run_id) == []


def test_a_reject_sent_again_after_its_rework_returns_its_first_receipt(client: Client):
    run_id = client.start()
    gate = client.work(run_id)
    first = client.decide(gate, "reject", key="no")
    client.work(run_id)
    before = client.log(run_id)
    again = client.decide(gate, "reject", key="no")
    assert again.status_code == 200
    assert again.content == first.content
    assert client.log(run_id) == before


def test_a_key_that_carried_one_decision_carries_no_other(client: Client):
    run_id = client.start()
    gate = client.work(run_id)
    first = client.decide(gate, "reject", key="k")
    other = client.decide(gate, "approve", key="k")
    assert code(other) == (409, "decision.key_reused")
    assert other.json()["receipt"] == first.json()
    assert xp_minted(client, run_id) == []


ODD_VERBS = [
    None,
    "",
    "yes",
    1,
    True,
    "APPROVE",
    "approve ",
    ["approve"],
    {"verb": "approve"},
    "rescind",
    "Good, proceed",
]


def test_only_a_typed_verb_decides(client: Client):
    run_id = client.start()
    gate = client.work(run_id)
    before = client.log(run_id)
    whole = client.answer(gate, "approve", reason="r", direction=None)
    absent = {name: value for name, value in whole.items() if name != "verb"}
    for body in [absent, *({**whole, "verb": verb} for verb in ODD_VERBS)]:
        answer = client.http.post(decision_path(gate), json=body, headers={"Idempotency-Key": "k"})
        assert code(answer) == (422, "decision.verb_unknown"), body
    assert client.log(run_id) == before
    assert client.run(run_id)["gate_id"] == gate["gate_id"]


@pytest.mark.parametrize("key", [None, "", "   ", "\t", "\u00a0", "k" * 201])
def test_a_decision_without_a_good_key_is_refused(client: Client, key: str | None):
    run_id = client.start()
    gate = client.work(run_id)
    headers: dict[str, bytes | str] = {} if key is None else {"Idempotency-Key": key.encode("latin-1")}
    before = client.log(run_id)
    body = json.dumps(client.answer(gate)).encode()
    answer = raw.send(client, raw.request("POST", decision_path(gate), headers, body))
    assert (answer.status, answer.json()["code"]) == (422, "decision.key_required")
    assert client.log(run_id) == before


def test_a_key_of_200_characters_is_good(client: Client):
    gate = client.work(client.start())
    answer = client.decide(gate, key="k" * 200)
    assert answer.status_code == 200
    assert answer.json()["idempotency_key"] == "k" * 200


def test_receipts_never_change(client: Client):
    run_id = client.start()
    gate = client.work(run_id)
    first = client.decide(gate, "approve", key="first")
    shown = client.http.get(f"/api/runs/{run_id}/gates/{gate['gate_id']}")
    assert shown.json()["receipt"] == first.json()
    client.campaign(run_id)
    assert client.decide(gate, "approve", key="first").content == first.content
    assert client.http.get(f"/api/runs/{run_id}/gates/{gate['gate_id']}").content == shown.content


def test_a_decided_gate_is_shown_as_its_human_saw_it(client: Client):
    run_id = client.start()
    gate = client.work(run_id)
    receipt = client.decide(gate, "reject").json()
    client.work(run_id)
    assert client.gate(run_id, gate["gate_id"]) == {**gate, "receipt": receipt}


def test_what_waits_is_listed_once_and_leaves_the_list_when_decided(client: Client):
    def waiting() -> list[str]:
        return [gate["gate_id"] for gate in client.http.get("/api/gates").json()["gates"] if gate["run_id"] == run_id]

    run_id = client.start()
    gate = client.work(run_id)
    assert waiting() == [gate["gate_id"]]
    client.decide(gate)
    assert waiting() == []


def test_a_rescission_takes_xp_and_memory_back_and_the_gate_can_be_approved_again(client: Client):
    run_id = client.start()
    gate = client.work(run_id)
    untouched = client.run(run_id)
    approved = client.decide(gate).json()
    taken_back = client.rescind(gate, "undo")
    assert taken_back.status_code == 200
    receipt = taken_back.json()
    assert (receipt["verb"], receipt["xp"]) == ("rescind", -approved["xp"])
    assert set(receipt["workers_forgot"]) == {memory["seq"] for memory in approved["workers_learned"]}
    run = client.run(run_id)
    assert (run["xp"], run["meters"], run["directions"]) == (0, untouched["meters"], [])
    assert run["gate_id"] == receipt["reopened_gate_id"]
    assert client.rescind(gate, "undo").content == taken_back.content

    again = client.gate(run_id, run["gate_id"])
    assert again["reopens"] == gate["gate_id"]
    assert again["artifact_sha256"] == gate["artifact_sha256"]
    assert code(client.decide(gate, key="the old gate")) == (409, "gate.decided")
    assert client.decide(again).json()["xp"] == approved["xp"]
    assert client.run(run_id)["xp"] == approved["xp"]


def test_a_decision_cannot_be_rescinded_once_the_next_stage_has_started(client: Client):
    run_id = client.start()
    gate = client.work(run_id)
    approved = client.decide(gate).json()
    client.work(run_id)
    before = client.log(run_id)
    answer = client.rescind(gate)
    assert code(answer) == (409, "gate.rescind_too_late")
    assert answer.json()["receipt"] == approved
    assert client.log(run_id) == before


async def test_of_many_rescissions_at_once_one_withdraws(client: Client):
    run_id = client.start()
    gate = client.work(run_id)
    client.decide(gate)
    path = f"/api/runs/{run_id}/gates/{gate['gate_id']}/rescind"
    answers = await post_together(str(client.http.base_url), path, [({}, f"undo {n}") for n in range(16)])
    assert sorted(answer.status_code for answer in answers) == [200] + [409] * 15
    assert sum(xp_minted(client, run_id)) == 0
    assert len(client.payloads(run_id, "DECISION_RESCINDED")) == 1


def test_a_gate_of_another_run_decides_nothing(client: Client):
    mine, theirs = client.start(), client.start(pitch="Offline maps for mountain rescue teams")
    client.decide(client.work(theirs))
    gate = client.work(mine)
    later = client.work(theirs)
    before = client.log(mine)
    foreign = client.decide({**later, "run_id": mine})
    assert code(foreign) == (404, "gate.unknown")
    # Gates are named by their place, so two runs may share a name, but never an artifact.
    namesake = client.decide({**gate, "artifact_sha256": later["artifact_sha256"]})
    assert code(namesake) == (412, "gate.stale_artifact")
    assert client.log(mine) == before


def test_the_sum_of_xp_in_the_log_is_the_xp_of_the_state_at_every_seq(client: Client):
    run_id = client.start()
    first = client.work(run_id)
    client.decide(first, "redirect")
    second = client.work(run_id)
    client.decide(second, "approve")
    client.rescind(second)
    client.campaign(run_id)
    total = 0
    for event in client.events(run_id):
        total += event["payload"]["amount"] if event["type"] == "XP_AWARDED" else 0
        assert client.at(run_id, event["seq"])["xp"] == total, event["seq"]
    assert client.run(run_id)["xp"] == total > 0


def test_a_rehearsal_is_decided_by_a_script_and_says_so(client: Client):
    run_id = client.start(mode="rehearsal")
    gate = client.work(run_id)
    assert gate["mode"] == "rehearsal"
    assert client.decide(gate).json()["actor"]["kind"] == "scripted"
    listed: list[dict[str, Any]] = client.http.get("/api/runs").json()["runs"]
    assert next(run["mode"] for run in listed if run["run_id"] == run_id) == "rehearsal"
