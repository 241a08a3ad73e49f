"""The functions the articles name: validators as tools, memory as projections, a judge's answer as a rubric."""

from __future__ import annotations

from typing import Any

import pytest

from submission.agents.memory import forget_all, memory_snapshot, recall_memories, remember
from submission.agents.worker_factory import rubric_evaluate
from submission.tools import code_interpreter_wrappers as tools
from tests.given import approve, given, go, reject, start, submit

PAGE = {"hero_headline": "Light for night clinics", "cta_text": "Go on", "url": "https://lanterns.example/"}


def test_a_whole_page_passes_and_says_which_check_was_not_run():
    success, results = tools.validate_landing_page(PAGE)
    assert (success, results["score"], results["not_run"]) == (True, 100, ["http_status_200"])
    assert all(results["checks"].values())


@pytest.mark.parametrize(
    ("change", "score"),
    [({"hero_headline": "Light"}, 70), ({"cta_text": "Go"}, 80), ({"url": "lanterns"}, 50), ({"url": None}, 50)],
)
def test_each_check_of_a_page_costs_its_points(change: dict[str, Any], score: int):
    success, results = tools.validate_landing_page({**PAGE, **change})
    assert (success, results["score"]) == (score >= 70, score)
    assert results["feedback"]


def test_each_objective_needs_two_key_results():
    chart = {"org_chart": [{"role": "Founder"}], "okrs_q1": [{"key_results": ["a", "b"]}, {"key_results": ["a"]}]}
    assert tools.validate_org_chart(chart)[1]["score"] == 80


@pytest.mark.parametrize("name", ["landing_page", "positioning", "marketing_email", "financial_plan", "org_chart"])
@pytest.mark.parametrize("artifact", [None, [], "text", float("nan"), {"org_chart": True}])
def test_no_artifact_breaks_a_validator(name: str, artifact: Any):
    success, results = getattr(tools, f"validate_{name}")(artifact)
    assert not success
    assert results["score"] < 70


def test_what_is_remembered_is_scrubbed_clamped_and_of_a_known_kind():
    written = remember("gossip", f"use sk-{'a' * 20} {'x' * 500}")
    assert written is not None
    assert (written.kind, len(written.text)) == ("procedural", 400)
    assert "sk-a" not in written.text
    assert remember("procedural", " \n ") is None


def test_the_newest_procedural_memory_is_always_recalled():
    run = given(start(), go(), submit(), reject(), go(), submit(), approve()).now
    newest = [memory for memory in run.memories if memory.kind == "procedural"][-1]
    assert newest in recall_memories(run, "founder pitch", limit=1)
    assert memory_snapshot(run).counts["procedural"] == 2
    assert forget_all() == ()


def test_a_judge_raises_the_score_and_an_unreadable_one_leaves_the_floor():
    answer = 'Sure: ```json\n{"dimensions": [{"name": "Completeness", "score": 400}], "verdict": "fine"}\n```'
    judged = rubric_evaluate(60, answer, "judge")
    assert [dimension.score for dimension in judged.dimensions] == [60, 100, 60, 60]
    assert rubric_evaluate(60, "no idea", "judge").status == "unscored"
    assert [dimension.score for dimension in rubric_evaluate(60).dimensions] == [65, 60, 55, 60]
