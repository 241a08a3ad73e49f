"""From an artifact to its score: the floor, and the rubric above it."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from submission.state.canonical import freeze
from submission.state.scoring import (
    RICHNESS_CAP,
    RUBRIC_DIMENSIONS,
    Score,
    richness,
    rubric_from_floor,
    rubric_from_judgement,
    score_artifact,
    xp_for,
)
from submission.state.work import Judgement
from submission.state.world import Check, Validator

NAMES = tuple(name for name, _ in RUBRIC_DIMENSIONS)


def says(path: str, points: int, passes_at: int = 70) -> Validator:
    """Gives these points where there is a text at the path."""
    rest = Check(id="rest", rule="min_chars", path="never", points=100 - points)
    return Validator(
        id=f"{path}{points}",
        title=path,
        passes_at=passes_at,
        checks=(Check(id=path, rule="min_chars", path=path, points=points), rest),
    )


def judgement(**said: Any) -> Judgement:
    return Judgement.model_validate({"source": "judge", **said})


def scores(*values: float) -> Judgement:
    return judgement(scores=dict(zip(NAMES, values, strict=True)))


def dims(rubric: Any) -> list[int]:
    return [dimension.score for dimension in rubric.dimensions]


# The floor


@pytest.mark.parametrize(
    ("validators", "floor", "giver", "passes"),
    [
        ([says("a", 80)], 80, "a80", True),
        ([says("a", 69)], 69, "a69", False),
        ([says("a", 70)], 70, "a70", True),
        ([says("a", 40), says("a", 90)], 90, "a90", True),
        ([says("a", 90), says("a", 40)], 90, "a90", True),
        ([says("a", 60, passes_at=50), says("a", 65)], 65, "a65", False),
        ([says("none", 90), says("a", 30)], 30, "a30", False),
        ([], 0, None, False),
        ([says("none", 90)], 0, None, False),
    ],
)
def test_the_floor_is_the_best_validator_and_passes_as_that_one_does(validators, floor, giver, passes):
    score = score_artifact(validators, {"a": "x"}, None)
    assert (score.floor, score.floor_from, score.passes) == (floor, giver, passes)
    assert [report.validator for report in score.reports] == [validator.id for validator in validators]


LONG = [f"A text about lanterns that is long enough, number {n}" for n in range(20)]


@pytest.mark.parametrize(
    ("artifact", "floor"),
    [
        ({}, 0),
        ({"x": LONG[0]}, 5),
        ({"x": "x" * 39}, 0),
        ({"x": "x" * 40}, 5),
        ({"x": " " * 20 + "x" * 20}, 0),
        ({"x": LONG[0], "y": [LONG[0], {"z": LONG[0]}]}, 5),
        ({LONG[0]: "keys do not count"}, 0),
        ({"x": LONG[:6]}, 30),
        ({"x": LONG[:7]}, 35),
        ({"x": LONG}, RICHNESS_CAP),
        (LONG, 0),
        (LONG[0], 0),
        (None, 0),
    ],
)
def test_an_off_schema_artifact_is_no_flat_zero_and_never_passes(artifact, floor):
    score = score_artifact([says("a", 80, passes_at=0)], artifact, None)
    assert (richness(artifact), score.floor, score.floor_from, score.passes) == (floor, floor, None, False)


def test_richness_lifts_only_a_floor_of_zero():
    assert score_artifact([says("a", 10)], {"a": "x", "more": LONG}, None).floor == 10


# The rubric of the simulation


@pytest.mark.parametrize(
    ("floor", "spread", "total"),
    [
        (0, [5, 0, 0, 0], 2),
        (3, [8, 3, 0, 3], 4),
        (5, [10, 5, 0, 5], 5),
        (50, [55, 50, 45, 50], 50),
        (70, [75, 70, 65, 70], 70),
        (95, [100, 95, 90, 95], 95),
        (98, [100, 98, 93, 98], 97),
        (100, [100, 100, 95, 100], 99),
    ],
)
def test_without_a_judge_the_rubric_is_the_floor_with_a_fixed_spread(floor, spread, total):
    rubric = rubric_from_floor(floor)
    assert (dims(rubric), rubric.weighted_total) == (spread, total)
    assert (rubric.status, rubric.source) == ("derived", "floor")


# The rubric of a judge


@pytest.mark.parametrize(
    ("given_scores", "kept", "total"),
    [
        ((0, 0, 0, 0), [0, 0, 0, 0], 0),
        ((100, 100, 100, 100), [100, 100, 100, 100], 100),
        ((100, 0, 0, 0), [100, 0, 0, 0], 30),
        ((0, 100, 0, 0), [0, 100, 0, 0], 25),
        ((0, 0, 100, 0), [0, 0, 100, 0], 25),
        ((0, 0, 0, 100), [0, 0, 0, 100], 20),
        ((-5, 101, 9_000_000, -1_000_000), [0, 100, 100, 0], 50),
        ((99.9, 0.9, 50.5, 1), [99, 0, 50, 1], 42),
    ],
)
def test_a_judges_scores_are_clamped_and_weighed_by_us(given_scores, kept, total):
    rubric = rubric_from_judgement(40, scores(*given_scores))
    assert (dims(rubric), rubric.weighted_total, rubric.status) == (kept, total, "judged")


def test_a_judge_can_neither_add_a_dimension_nor_weigh_one():
    said = {"Relevance to goal": 50, "Charm": 100, "weight": 100, "Completeness weight": 100}
    rubric = rubric_from_judgement(10, judgement(scores=said))
    assert [(dimension.name, dimension.weight) for dimension in rubric.dimensions] == list(RUBRIC_DIMENSIONS)
    assert dims(rubric) == [50, 10, 10, 10]


def test_a_name_is_known_in_any_case_and_with_spaces_around_it():
    rubric = rubric_from_judgement(10, judgement(scores={" RELEVANCE to Goal ": 90, "clarity & STRUCTURE": 80}))
    assert dims(rubric) == [90, 10, 10, 80]


def test_a_missing_dimension_takes_the_floor():
    rubric = rubric_from_judgement(60, judgement(scores={"Completeness": 80}))
    assert dims(rubric) == [60, 80, 60, 60]


@pytest.mark.parametrize("score", [math.nan, math.inf, "high", None, [90], {"score": 90}])
def test_a_score_that_is_no_number_never_reaches_the_rubric(score):
    with pytest.raises(ValueError, match="validation error"):
        judgement(scores={"Completeness": score})


def test_what_a_judge_writes_is_bounded():
    rubric = rubric_from_judgement(
        0, judgement(verdict="v" * 999, notes={"Completeness": "n" * 999}, scores={"Completeness": 1})
    )
    assert (len(rubric.verdict), len(rubric.dimensions[1].note)) == (300, 120)


def test_a_judge_that_cannot_be_read_is_unscored_and_the_floor_stands():
    score = score_artifact([says("a", 64)], {"a": "x"}, judgement(unscored="no JSON in the answer"))
    assert (score.rubric.status, score.rubric.reason) == ("unscored", "no JSON in the answer")
    assert (score.rubric.weighted_total, score.final) == (0, 64)


@pytest.mark.parametrize("said", [{}, {"Charm": 90}, {"relevance": 90, "clarity": 80}])
def test_a_judge_that_scores_nothing_we_asked_is_unscored(said):
    assert rubric_from_judgement(64, judgement(scores=said)).status == "unscored"


# Both together


any_scores = st.dictionaries(st.sampled_from([*NAMES, "Charm", ""]), st.integers(-(10**6), 10**6) | st.floats(1, 100))
artifacts = st.dictionaries(st.sampled_from("abcd"), st.text(max_size=60) | st.lists(st.sampled_from(LONG)))


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.builds(says, st.sampled_from("ab"), st.integers(0, 100), st.integers(0, 100)), max_size=3),
    artifacts,
    st.none() | any_scores,
    st.booleans(),
)
def test_the_final_score_is_the_better_of_floor_and_rubric(validators, artifact, said, unscored):
    judged = None if said is None else judgement(scores=freeze(said), unscored="why" if unscored else None)
    score = score_artifact(validators, artifact, judged)
    assert score.final == max(score.floor, score.rubric.weighted_total)
    assert 0 <= score.floor <= score.final <= 100
    assert all(0 <= dimension.score <= 100 for dimension in score.rubric.dimensions)
    best = max((report.score for report in score.reports), default=0)
    assert score.floor == best or (best == 0 and score.floor <= RICHNESS_CAP)
    assert not score.passes or score.floor_from is not None
    assert Score.model_validate(score.model_dump()) == score
    assert sum(weight for _, weight in RUBRIC_DIMENSIONS) == 100


@pytest.mark.parametrize(("score", "xp"), [(0, 10), (9, 10), (10, 11), (72, 17), (99, 19), (100, 20)])
def test_an_approval_is_worth_ten_and_a_tenth_of_its_score(score, xp):
    assert xp_for(score) == xp
