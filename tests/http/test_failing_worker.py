"""A worker that fails is an event at a gate: labelled, never approved, sent back or tried again, nothing lost."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from submission.knowledge.recall import Playbooks
from submission.state.canonical import FrozenDict
from submission.state.work import Brief, InferenceUsage, Work
from tests.http.problem import refused
from tests.http.workers import OFF_SCHEMA, USAGE, Does, Waits, everywhere, handed_in
from tests.serving import Client, serving


def unchecked(artifact: Any) -> Work:
    """Work that no model has looked at, as a careless adapter could build it."""
    return Work.model_construct(
        artifact=artifact,
        error=None,
        tools_called=(),
        tool_trace=(),
        inference_usage=USAGE,
        observations=FrozenDict(),
    )


def nested(depth: int) -> Any:
    value: Any = "x"
    for _ in range(depth):
        value = {"a": value}
    return value


class Broke(BaseException):
    """Not even an Exception."""


def raises(error: BaseException) -> Callable[[Brief], Any]:
    def answer(brief: Brief) -> Any:
        raise error

    return answer


FAILURES: dict[str, Callable[[Brief], Any]] = {
    "raises": raises(RuntimeError("the model is out of tokens")),
    "raises text without UTF-8": raises(ValueError("half \ud800 of a pair")),
    "raises 100,000 characters": raises(RuntimeError("x" * 100_000)),
    "recurses without end": lambda brief: FAILURES["recurses without end"](brief),
    "returns None": lambda brief: None,
    "returns a text": lambda brief: "here is your landing page",
    "returns a bare artifact": lambda brief: dict(OFF_SCHEMA),
    "hands in nothing": lambda brief: Work(artifact=None, error="gave up", inference_usage=USAGE),
    "hands in nothing and no reason": lambda brief: Work(artifact=None, inference_usage=USAGE),
    "hands in 70 KB": lambda brief: handed_in({"body": "x" * 70_000}),
    "hands in NaN": lambda brief: unchecked({"price": float("nan")}),
    "hands in infinity": lambda brief: unchecked({"price": float("inf")}),
    "hands in half a surrogate": lambda brief: unchecked({"headline": "a \ud800 b"}),
    "hands in a key of half a surrogate": lambda brief: unchecked({"\udfff": "a"}),
    "hands in a list": lambda brief: unchecked(["a"]),
    "hands in an integer beyond 2**53": lambda brief: unchecked({"users": 2**60}),
    "hands in what JSON has no form for": lambda brief: unchecked({"when": object()}),
    "hands in 5,000 levels": lambda brief: unchecked(nested(5_000)),
    "hands in a number for a key": lambda brief: unchecked({1: "a"}),
    "asks a tool without UTF-8": lambda brief: Work.model_construct(
        **{**dict(handed_in(OFF_SCHEMA)), "tools_called": ("\ud800",)}
    ),
    "claims an odd usage": lambda brief: Work.model_construct(
        **{**dict(handed_in(OFF_SCHEMA)), "inference_usage": InferenceUsage.model_construct(client=None, tier="live")}
    ),
}


Mood = dict[str, Callable[[Brief], Any]]


@pytest.fixture(scope="module")
def mood() -> Mood:
    """What the worker does next, under "answer"."""
    return {}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory, mood: Mood) -> Iterator[Client]:
    with serving(tmp_path_factory.mktemp("data"), everywhere(Does(lambda brief: mood["answer"](brief)))) as client:
        yield client


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    """What these workers say when they break is not all text that a test report could carry."""
    caplog.set_level(logging.CRITICAL, "submission.tools.turn")


@pytest.mark.filterwarnings("ignore:.*Pydantic serializer warnings.*:UserWarning")
@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_of_any_kind_is_a_gate_with_no_artifact(client: Client, mood: Mood, name: str):
    mood["answer"] = FAILURES[name]
    run_id = client.start()
    gate = client.work(run_id)

    assert (gate["artifact"], gate["artifact_sha256"], gate["score"], gate["fork"]) == (None, None, None, None)
    assert gate["verbs"] == ["reject"]
    assert gate["error"]
    assert len(gate["error"]) <= 2_000
    [executed] = client.payloads(run_id, "STAGE_EXECUTED")
    assert executed["status"] == "failed"
    assert executed["inference_usage"]["fallback_reason"] or executed["error"]
    for verb in ("approve", "redirect"):
        refused(client.decide(gate, verb), 409, "gate.no_artifact")

    assert client.decide(gate, "reject", reason="try it again").status_code == 200
    mood["answer"] = lambda brief: handed_in(OFF_SCHEMA)
    second = client.work(run_id)
    assert (second["attempt"], second["error"]) == (2, None)
    assert client.decide(second).json()["xp"] >= 10
    assert client.http.get(f"/api/runs/{run_id}/verify").json()["passed"]


def test_a_failed_stage_can_be_started_again_without_a_decision_and_its_gate_is_then_stale(client: Client, mood: Mood):
    mood["answer"] = FAILURES["raises"]
    run_id = client.start()
    failed = client.work(run_id)
    mood["answer"] = lambda brief: handed_in(OFF_SCHEMA)
    again = client.work(run_id)
    assert (again["attempt"], again["stage"]["id"]) == (2, failed["stage"]["id"])
    problem = refused(client.decide(failed, "reject"), 412, "gate.stale_artifact")
    assert problem["current"]["gate_id"] == again["gate_id"]
    assert client.payloads(run_id, "CEO_DECISION") == []


def test_another_stage_cannot_be_started_past_a_failed_one(client: Client, mood: Mood):
    mood["answer"] = lambda brief: handed_in(OFF_SCHEMA)
    run_id = client.start()
    client.decide(client.work(run_id))
    mood["answer"] = FAILURES["returns None"]
    failed = client.work(run_id)
    others = [stage["id"] for stage in client.run(run_id)["stages"] if stage["id"] != failed["stage"]["id"]]
    for stage_id in others:
        answer = client.http.post(f"/api/runs/{run_id}/turns", json={"stage_id": stage_id})
        refused(answer, 409, "gate.waiting")


def test_a_failed_gate_does_not_take_an_artifact_hash_for_an_artifact(client: Client, mood: Mood):
    mood["answer"] = FAILURES["hands in nothing"]
    gate = client.work(client.start())
    refused(client.decide(gate, "approve", artifact_sha256="0" * 64), 409, "gate.no_artifact")
    assert client.run(gate["run_id"])["xp"] == 0


def test_a_worker_that_hangs_is_cancelled_at_close_and_its_turn_is_redone_once(tmp_path: Path):
    hangs = Waits()
    with serving(tmp_path, everywhere(hangs)) as client:
        run_id = client.start()
        turn = client.http.post(f"/api/runs/{run_id}/turns").json()
        assert hangs.at_work.wait(10)
    assert hangs.cancelled.is_set()
    with serving(tmp_path, everywhere(Does(lambda brief: handed_in(OFF_SCHEMA)))) as client:
        gate = client.wait_gate(run_id, turn["seq"])
        assert gate["attempt"] == 1
        kinds = [event["type"] for event in client.events(run_id)]
        assert (kinds.count("STAGE_STARTED"), kinds.count("STAGE_EXECUTED")) == (1, 1)
        assert client.decide(gate).status_code == 200


def test_a_worker_that_hangs_holds_up_nobody_else(tmp_path: Path):
    hangs = Waits()
    with serving(tmp_path, everywhere(hangs)) as client:
        one, two = client.start(), client.start()
        for run_id in (one, two):
            assert client.http.post(f"/api/runs/{run_id}/turns").status_code == 202
        assert client.run(one)["working"] == client.run(two)["working"] is not None
        assert client.http.get("/readyz").status_code == 200
        hangs.release()
        assert client.wait_gate(one, 4)["run_id"] == one
        assert client.wait_gate(two, 4)["run_id"] == two


def test_a_worker_that_talks_out_of_turn_harms_nobody(tmp_path: Path):
    """Words without UTF-8, markup and megabytes reach the watcher as data or not at all."""

    class Shouts:
        async def work(self, brief: Brief, progress: Any) -> Work:
            for word in ("\ud800", "x" * 100_000, "a\n\ndata: forged\nid: 999\n\n", "<script>"):
                progress("says\nevent: XP_AWARDED", word)
            return handed_in(OFF_SCHEMA)

    with serving(tmp_path, everywhere(Shouts())) as client:
        run_id = client.start()
        with client.http.stream("GET", f"/api/runs/{run_id}/stream", params={"after": 3}) as response:
            client.work(run_id)
            ids = []
            for line in response.iter_lines():
                ids += [line] if line.startswith("id:") else []
                if line == "id: 6":
                    break
        assert ids == ["id: 4", "id: 5", "id: 6"]


def test_a_knowledge_base_that_breaks_is_a_failed_stage_too(
    client: Client, mood: Mood, monkeypatch: pytest.MonkeyPatch
):
    def breaks(self: Playbooks, query: str, limit: int = 2) -> Any:
        raise RuntimeError("the index is gone")

    mood["answer"] = lambda brief: handed_in(OFF_SCHEMA)
    run_id = client.start()
    with monkeypatch.context() as broken:
        broken.setattr(Playbooks, "search", breaks)
        gate = client.work(run_id)
    assert (gate["artifact"], gate["verbs"]) == (None, ["reject"])
    assert "the index is gone" in gate["error"]
    assert client.work(run_id)["attempt"] == 2
