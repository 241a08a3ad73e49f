"""The rules a pack can declare, and the JSON that tries to break them."""

from __future__ import annotations

import json
import math
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from submission.state.scoring import richness, score_artifact
from submission.state.validation import (
    MAX_ITEMS,
    RULES,
    Finding,
    find,
    holds,
    is_number,
    is_url,
    resolve,
    strings,
    validate,
)
from submission.state.world import Check, RuleName, Validator

NAN, INF = math.nan, math.inf


def check(rule: str, **fields: Any) -> Check:
    return Check.model_validate(
        {"id": "c", "rule": rule, "path": "at", "points": 10, "feedback": "do better", **fields}
    )


CHARS = check("min_chars", at_least=5)
URL = check("url")
WORDS = check("contains_any", any_of=("[CTA]", "Sign up"))
OBJECT = check("is_object")
SOME = check("min_items", at_least=2)
FEW = check("max_items", at_most=2)
NUMBERS = check("items_have_numbers", keys=("hours", "cost"))
LISTS = check("items_have_list", keys=("results",), at_least=2)
SAYS = check("any_item_says", any_of=("Founder",))
RAMP = check("non_decreasing", at_least=3)
MONTH = check("number_between", at_least=1, at_most=24)
FROM = check("number_between", at_least=0)
UP_TO = check("number_between", at_most=0.5)

HOLDS: list[tuple[Check, Any]] = [
    (CHARS, "abcde"),
    (CHARS, "  abcde  "),
    (CHARS, "שלום!"),
    (check("min_chars"), "x"),
    (URL, "https://example.com"),
    (URL, " http://localhost:8000/a?b#c "),
    (URL, "HTTPS://EXAMPLE.CO.UK"),
    (URL, "https://a-b.example.com/%20"),
    (WORDS, "please [cta] now"),
    (WORDS, "SIGN UP"),
    (OBJECT, {"a": None}),
    (SOME, [1, 2]),
    (SOME, [None, None, None]),
    (SOME, list(range(MAX_ITEMS))),
    (FEW, [1]),
    (FEW, [1, 2]),
    (NUMBERS, [{"hours": 1, "cost": 0.5, "more": "x"}, {"hours": 0, "cost": -1}]),
    (LISTS, [{"results": ["a", "b"]}, {"results": [1, 2, 3]}]),
    (SAYS, ["a founder"]),
    (SAYS, [{"role": {"title": ["CO-FOUNDER"]}}]),
    (RAMP, [1, 1, 1]),
    (RAMP, [0, 0.5, 2, 2]),
    (RAMP, [-3, -2, -1]),
    (MONTH, 1),
    (MONTH, 24),
    (MONTH, 23.5),
    (FROM, 0),
    (FROM, 10**400),
    (UP_TO, -5),
]

FAILS: list[tuple[Check, Any]] = [
    (CHARS, "abcd"),
    (CHARS, "    a    "),
    (CHARS, ["abcde"]),
    (CHARS, 12345),
    (CHARS, True),
    (check("min_chars"), " "),
    (URL, "example.com"),
    (URL, "ftp://example.com"),
    (URL, "https://example"),
    (URL, "https://"),
    (URL, "https://exa mple.com"),
    (URL, "https://example.com/a b"),
    (URL, "https://-a.com"),
    (URL, "https://user@example.com"),
    (URL, "https://example.com/\x00"),
    (URL, "https://example.com:port"),
    (URL, "javascript:alert(1)//https://example.com"),
    (URL, "https://example.com/" + "a" * 2_000),
    (URL, ["https://example.com"]),
    (WORDS, "nothing of it"),
    (WORDS, ["[CTA]"]),
    (check("contains_any"), "anything"),
    (OBJECT, {}),
    (OBJECT, [1]),
    (OBJECT, "{}"),
    (SOME, [1]),
    (SOME, "ab"),
    (SOME, {"0": 1, "1": 2}),
    (SOME, [0] * (MAX_ITEMS + 1)),
    (FEW, []),
    (FEW, [1, 2, 3]),
    (FEW, "a"),
    (NUMBERS, []),
    (NUMBERS, [{"hours": 1}]),
    (NUMBERS, [{"hours": 1, "cost": "2"}]),
    (NUMBERS, [{"hours": 1, "cost": True}]),
    (NUMBERS, [{"hours": 1, "cost": NAN}]),
    (NUMBERS, [{"hours": INF, "cost": 1}]),
    (NUMBERS, [{"hours": 1, "cost": 2}, "and more"]),
    (NUMBERS, {"hours": 1, "cost": 2}),
    (LISTS, []),
    (LISTS, [{"results": ["a"]}]),
    (LISTS, [{"results": "ab"}]),
    (LISTS, [{"results": ["a", "b"]}, {}]),
    (LISTS, [{"results": ["a", "b"]}, None]),
    (SAYS, []),
    (SAYS, "Founder"),
    (SAYS, [{"Founder": "a key and not a text"}]),
    (SAYS, [["x"], 1, None, True]),
    (RAMP, [1, 2]),
    (RAMP, [3, 2, 1]),
    (RAMP, [1, 2, True]),
    (RAMP, [1, 2, "3"]),
    (RAMP, [1, NAN, 2]),
    (RAMP, [1, 2, INF]),
    (RAMP, "123"),
    (MONTH, 0),
    (MONTH, 25),
    (MONTH, NAN),
    (MONTH, INF),
    (MONTH, True),
    (MONTH, "12"),
    (MONTH, None),
    (FROM, -1),
    (FROM, -INF),
    (UP_TO, 0.51),
]

HUGE = 10**400


def cases(table: list[tuple[Check, Any]]) -> list[Any]:
    return [pytest.param(rule, value, id=f"{rule.rule}-{n}") for n, (rule, value) in enumerate(table)]


@pytest.mark.parametrize(("rule", "value"), cases(HOLDS))
def test_holds(rule, value):
    assert find(rule, {"at": value}) == Finding(check="c", verdict="passed", points=10, of=10, feedback="")


@pytest.mark.parametrize(("rule", "value"), cases(FAILS))
def test_fails(rule, value):
    assert find(rule, {"at": value}) == Finding(check="c", verdict="failed", points=0, of=10, feedback="do better")


def test_the_tables_know_every_rule():
    names = set(get_args(RuleName))
    assert set(RULES) == names
    for table in (HOLDS, FAILS):
        assert {rule.rule for rule, _ in table} == names - {"observed"}


# What the outside world says


@pytest.mark.parametrize(
    ("url", "observations", "verdict", "points"),
    [
        ("https://example.com", {}, "not_run", 10),
        ("https://example.com", {"other": True}, "not_run", 10),
        ("https://example.com", {"c": True}, "passed", 10),
        ("https://example.com", {"c": False}, "failed", 0),
        ("https://example.com", {"c": 1}, "failed", 0),
        ("https://example.com", {"c": "yes"}, "failed", 0),
        ("no url", {"c": True}, "failed", 0),
        ("no url", {}, "failed", 0),
        (None, {}, "failed", 0),
    ],
)
def test_a_check_that_was_not_run_keeps_its_points_and_says_so(url, observations, verdict, points):
    found = find(check("observed"), {"at": url}, observations)
    assert (found.verdict, found.points) == (verdict, points)


# Paths


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("", {"a": {"b": 1, "c_mrr": [2]}, "x|y": 3, "n": None}),
        ("a.b", 1),
        ("z|a.b", 1),
        ("a.*mrr*", (2,)),
        ("a.z|b", 1),
        ("n|a", None),
        ("n.deeper", None),
        ("a.b.c", None),
        ("missing", None),
        ("a.", None),
        (".", None),
    ],
)
def test_a_path_leads_to_the_first_that_exists(path, value):
    found = resolve({"a": {"b": 1, "c_mrr": [2]}, "x|y": 3, "n": None}, path)
    assert (tuple(found) if isinstance(found, list) else found) == value


def test_a_glob_takes_the_first_key_in_order_whatever_the_case():
    assert resolve({"z_MRR": 1, "b_mrr": 2, "Amrr": 3}, "*mrr*") == 3
    assert resolve({1: "x", "mrr": 2}, "*mrr*") == 2


# Reports


def validator(*checks: Check, passes_at: int = 70) -> Validator:
    return Validator(id="v", title="V", passes_at=passes_at, checks=checks)


@pytest.mark.parametrize(("points", "passes"), [(69, False), (70, True), (71, True)])
def test_a_validator_passes_at_its_mark(points, passes):
    rest = check("min_chars", id="rest", path="none", points=100 - points)
    report = validate(validator(check("min_chars", points=points), rest), {"at": "x"})
    assert (report.score, report.passes) == (points, passes)


def test_only_what_failed_has_feedback():
    report = validate(validator(CHARS, check("is_object", id="o")), {"at": "abcde"})
    assert [finding.feedback for finding in report.findings] == ["", "do better"]


def test_a_field_no_check_names_is_never_scored():
    bare, rich = {"at": "abcde"}, {"at": "abcde", "score": 100, "c": 100, "points": 100}
    assert validate(validator(CHARS), bare) == validate(validator(CHARS), rich)


# Hostile values


def nested(depth: int, leaf: Any = "x") -> Any:
    for level in range(depth):
        leaf = [leaf] if level % 2 else {"at": leaf}
    return leaf


HOSTILE: dict[str, Any] = {
    "null": None,
    "true": True,
    "zero": 0,
    "nan": NAN,
    "inf": INF,
    "-inf": -INF,
    "denormal": 5e-324,
    "huge float": 1.7e308,
    "huge integer": 10**300,
    "empty": "",
    "surrogate": "\ud800",
    "nul": "\x00",
    "100k characters": "x" * 100_000,
    "100k spaces": " " * 100_000,
    "100k of a url": "https://" + "a." * 50_000,
    "url that almost is": "https://" + "a-" * 990 + "!",
    "10k nulls": [None] * 10_000,
    "10k numbers": list(range(10_000)),
    "10k objects": [{"hours": 1, "cost": "x"}] * 10_000,
    "10k keys": {f"k{n}": n for n in range(10_000)},
    "100k items": [0] * 100_000,
    "mixed": [None, True, 1, 1.5, "x", [], {}, NAN],
    "empty list": [],
    "empty object": {},
    "empty key": {"": {"": ""}},
    "odd keys": {"*": 1, "a|b": 2, "a.b": 3, "[": 4},
    "500 deep": nested(500),
    "500 deep lists": json.loads("[" * 500 + "]" * 500),
}
EVERY_RULE = [CHARS, URL, check("observed"), WORDS, OBJECT, SOME, FEW, NUMBERS, LISTS, SAYS, RAMP, MONTH, FROM, UP_TO]
PATHS = ["", "at", "at.at", "at.*", "*.at", "at|on.at|on", "*x*.hours"]


@pytest.mark.parametrize("value", HOSTILE.values(), ids=HOSTILE.keys())
def test_no_value_at_any_path_raises(value):
    every = validator(*(rule.model_copy(update={"path": path}) for rule in EVERY_RULE for path in PATHS))
    for artifact in (value, {"at": value}, {"at": {"at": value}}, {"at": [value]}, {"at": [{"hours": value}]}):
        report = validate(every, artifact, {})
        assert len(report.findings) == len(every.checks)
        assert 0 <= richness(artifact) <= 35


@pytest.mark.parametrize("value", [HUGE, -HUGE, [1, 2, HUGE], [{"hours": HUGE, "cost": 1}]])
def test_an_integer_beyond_every_float_raises_nowhere(value):
    validate(validator(*EVERY_RULE), json.loads(json.dumps({"at": value})))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**300), 10**300) | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.sampled_from(["at", "hours", "", "x"]), inner),
    max_leaves=15,
)


@settings(max_examples=120, deadline=None)
@given(json_values, st.sampled_from(EVERY_RULE), st.sampled_from(PATHS))
def test_a_verdict_is_reached_on_any_json(value, rule, path):
    found = find(rule.model_copy(update={"path": path}), value)
    assert found.points == (0 if found.verdict == "failed" else 10)
    assert (found.feedback == "") == (found.verdict != "failed")


def test_texts_are_found_to_a_depth_and_no_further():
    assert list(strings(["a", {"k": "b", "n": 1}, ("c",)])) == ["a", "b", "c"]
    assert list(strings(nested(32))) == ["x"]
    assert list(strings(nested(33))) == []
    assert len(list(strings(["x"] * 20_000))) == MAX_ITEMS


@pytest.mark.parametrize("value", [0, -1, 1.5, 10**15, -0.0])
def test_a_number_is_finite(value):
    assert is_number(value)


@pytest.mark.parametrize("value", [True, False, NAN, INF, -INF, "1", None, [], {}, 1j])
def test_what_is_no_number(value):
    assert not is_number(value)


@pytest.mark.parametrize("url", ["https://\u212aelvin.com", "https://example.\u017fe", "http\u017f://example.com"])
def test_a_url_is_ascii(url):
    assert not is_url(url)


def test_at_most_none_is_none():
    assert not holds(check("max_items", at_most=0), {"at": [1]})


def test_what_nobody_can_read_is_no_text():
    assert not holds(CHARS, {"at": "\u200b\u2060\ufeff\u200e\u200d"})


def test_a_hostile_artifact_has_a_score():
    for value in HOSTILE.values():
        score = score_artifact([validator(*EVERY_RULE)], {"at": value}, None)
        assert 0 <= score.floor <= 100
