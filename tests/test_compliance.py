"""Which decisions bind a stage, and whether its artifact followed them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from submission.state.canonical import Document, freeze
from submission.state.compliance import check_compliance, content_words, in_force
from submission.state.evolve import MAX_DIRECTIONS
from submission.state.work import Direction
from submission.state.world import Check
from tests.given import approve, given, go, redirect, reject, start, submit

FEW = Check(id="few", rule="max_items", path="notes", at_most=2)
SHORT = Check(id="short", rule="contains_any", path="title", any_of=("one",))
DEEP = Check(id="deep", rule="min_items", path="plan.steps", at_least=1)


def said(text: str, verb: str = "reject", stage: str = "a", seq: int = 7) -> Direction:
    return Direction.model_validate({"seq": seq, "verb": verb, "stage_id": stage, "text": text})


def chosen(*checks: Check, lean: str | None = "depth", seq: int = 7, verb: str = "redirect") -> Direction:
    return Direction.model_validate(
        {
            "seq": seq,
            "verb": verb,
            "stage_id": "a",
            "text": "Keep it narrow.",
            "option_id": "a.depth",
            "lean": lean,
            "checks": checks,
        }
    )


def verdict(direction: Direction, artifact: Any, previous: Any = None, stage: str = "a") -> tuple[str, tuple[str, ...]]:
    before = None if previous is None else Document(freeze(previous))
    (found,) = check_compliance((direction,), stage, Document(freeze(artifact)), before)
    return found.verdict, found.evidence


# In force


def test_a_rejection_binds_its_stage_and_the_rest_binds_all():
    directions = (
        said("r", "reject", "a", 1),
        said("o", "redirect", "a", 2),
        chosen(seq=3),
        said("r", "reject", "b", 4),
    )
    assert [d.seq for d in in_force(directions, "a")] == [2, 3, 1]
    assert [d.seq for d in in_force(directions, "b")] == [2, 3, 4]
    assert [d.seq for d in in_force(directions, "c")] == [2, 3]


def test_a_choice_that_leans_the_other_way_ends_those_before_it():
    directions = (chosen(lean="depth", seq=1), said("own", "redirect", "a", 2), chosen(lean="breadth", seq=3))
    assert [d.seq for d in in_force(directions, "z")] == [2, 3]
    assert [d.seq for d in in_force((*directions, chosen(lean="depth", seq=4)), "z")] == [1, 2, 4]
    assert in_force((), "z") == ()


def test_so_many_directions_are_in_force_and_no_more():
    game = given(start(), go(), submit())
    for number in range(MAX_DIRECTIONS + 6):
        game.do(reject(reason=f"reason {number}")).do(go()).do(submit())
    assert len(game.now.directions) == MAX_DIRECTIONS
    assert game.now.gate is not None
    assert len(game.now.gate.compliance) == MAX_DIRECTIONS


def test_rejections_of_one_stage_do_not_evict_a_redirect_that_binds_every_later_brief():
    game = given(start(), go(), submit(), redirect(option_id="a.depth"), go(), submit())
    for number in range(MAX_DIRECTIONS):
        game.do(reject(reason=f"reason {number}")).do(go()).do(submit())
    assert any(direction.option_id == "a.depth" for direction in game.now.directions)


# A choice, by its checks


@pytest.mark.parametrize(
    ("checks", "artifact", "expected"),
    [
        ((FEW,), {"notes": ["x"]}, "followed"),
        ((FEW,), {"notes": ["x", "y", "z"]}, "not_followed"),
        ((FEW, SHORT), {"notes": ["x"], "title": "one thing"}, "followed"),
        ((FEW, SHORT), {"notes": ["x"], "title": "many"}, "not_followed"),
        ((FEW, SHORT), {"notes": ["x"]}, "followed"),
        ((FEW,), {"other": 1}, "not_checkable"),
        ((FEW,), {"notes": None}, "not_checkable"),
        ((), {"notes": ["x"]}, "not_checkable"),
        ((DEEP,), {"plan": {"steps": [1]}}, "followed"),
        ((DEEP,), {"plan": {}}, "not_followed"),
        ((DEEP,), {"steps": [1]}, "not_checkable"),
    ],
)
def test_a_choice_is_seen_in_the_fields_it_shows_in(checks, artifact, expected):
    assert verdict(chosen(*checks), artifact)[0] == expected


def test_the_evidence_of_a_choice_is_its_rules():
    assert verdict(chosen(FEW, SHORT), {"notes": ["x"], "title": "many"})[1] == (
        "notes: max_items holds",
        "title: contains_any fails",
    )


# Words


BEFORE = {"title": "Old title", "plan": {"weekly_hours": 5}, "notes": ["x"]}


@pytest.mark.parametrize(
    ("text", "after", "expected"),
    [
        ("The title is dull", {"title": "New title"}, "followed"),
        ("The title is dull", {}, "not_followed"),
        ("The title is dull", {"notes": ["z"]}, "not_followed"),
        ("Fewer weekly hours", {"plan": {"weekly_hours": 2}}, "followed"),
        ("Fewer weekly hours", {}, "not_followed"),
        ("weekly_hours!", {"plan": {"weekly_hours": 2}}, "followed"),
        ("Speak about lanterns", {"notes": ["lanterns, and they speak"]}, "followed"),
        ("Speak about lanterns", {"notes": ["lanterns at night"]}, "followed"),
        ("Speak of lanterns, winter, price", {"notes": ["lanterns at night"]}, "not_followed"),
        ("Speak about lanterns", {}, "not_followed"),
        ("לא", {}, "not_checkable"),
        ("!!!", {}, "not_checkable"),
    ],
)
def test_words_are_seen_in_the_field_they_name_or_in_what_the_artifact_says(text, after, expected):
    found, evidence = verdict(said(text), {**BEFORE, **after}, BEFORE)
    assert found == expected
    assert evidence


def test_a_change_is_shown_before_and_after():
    assert verdict(said("The title!"), {**BEFORE, "title": "New"}, BEFORE)[1] == ("title: Old title → New",)
    assert verdict(said("The plan!"), {**BEFORE, "plan": 1}, BEFORE)[1][0].startswith('plan: {"weekly_hours":5} → 1')


def test_on_another_stage_words_that_are_not_taken_up_are_not_held_against_the_work():
    direction = said("Speak of winter nights", "redirect", stage="a")
    assert verdict(direction, {"title": "summer"}, stage="b")[0] == "not_checkable"
    assert verdict(direction, {"title": "winter nights"}, stage="b")[0] == "followed"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Please make the title mention Lanterns", {"title", "mention", "lanterns"}),
        ("a an the of 1234 ab3d", set()),
        ("größere Küchen", {"größere", "küchen"}),
        ("under_score", {"under", "score"}),
        ("", set()),
    ],
)
def test_telling_words(text, words):
    assert content_words(text) == words


def test_the_evidence_is_bounded():
    wide = {f"title{n}": "x" * 5_000 for n in range(9)}
    _, evidence = verdict(said("title0 title1 title2 title3 title4"), wide, dict.fromkeys(wide, "y"))
    assert len(evidence) == 3
    assert all(len(line) <= 160 for line in evidence)


ODD: list[dict[str, Any]] = [
    {},
    {"title": None},
    {"": {"": ""}},
    {"a|b": 1, "a.b": 2, "*": 3},
    {"title": [None, True, 1.5]},
    {"deep": json.loads("[" * 30 + "]" * 30)},
    {"_": 1, "__": 2},
]


@pytest.mark.parametrize("before", ODD)
@pytest.mark.parametrize("after", ODD)
def test_no_artifact_raises(before, after):
    texts = ("title a b * _ deep", "", "x" * 2_000)
    for direction in (*(said(text, "redirect") for text in texts), chosen(FEW, SHORT, DEEP)):
        for stage in ("a", "b"):
            verdict(direction, after, before, stage)


def test_an_empty_key_is_not_what_was_named():
    before = {"": 1, "title": "Old", "notes": []}
    assert verdict(said("Mention lanterns, kerosene and prices"), {**before, "notes": ["x"]}, before)[0] != "followed"


def test_a_field_is_not_named_by_letters_inside_a_word():
    before = {"cta": "Go", "title": "Old"}
    found, _ = verdict(
        said("Speak of the cafeteria's vernacular and octagonal spectacles"), {**before, "cta": "Now"}, before
    )
    assert found == "not_followed"


# At the gate


def test_the_gate_shows_whether_the_last_word_was_followed():
    first = Document(freeze({"title": "Lanterns for night clinics", "notes": ["a", "b"]}))
    game = given(start(), go(), submit(first), reject(reason="The title must name winter"), go(), submit(first))
    assert game.now.gate is not None
    assert [c.verdict for c in game.now.gate.compliance] == ["not_followed"]
    game.do(reject(reason="The title!")).do(go())
    game.do(submit(Document(freeze({**first, "title": "Lanterns for winter nights"}))))
    assert [c.verdict for c in game.now.gate.compliance] == ["followed", "followed"]


def test_the_gate_of_a_later_stage_shows_the_choice_that_binds_it():
    game = given(start(), go(), submit(), approve(option_id="a.breadth"), go(), submit())
    assert game.now.gate is not None
    assert [(c.decision_seq, c.verdict, c.evidence) for c in game.now.gate.compliance] == [
        (7, "not_followed", ("notes: min_items fails",))
    ]


def test_a_failed_worker_is_not_asked_whether_it_followed():
    game = given(start(), go(), submit(), reject(), go(), submit(None))
    assert game.now.gate is not None
    assert game.now.gate.compliance == ()
