"""The bench's arithmetic: medians, ratios of pairs, percentiles, and when an aim is kept. No timing is asserted."""

from __future__ import annotations

import json

import pytest

from tests.bench.figures import Aim, Figure, Pairs, in_turns, paired, percentile, table
from tests.bench.floor import Step
from tests.bench.player import answer, end_of


def test_a_ratio_is_the_median_of_each_pairs_own():
    pairs = Pairs([2.0, 40.0, 3.0], [1.0, 10.0, 3.0])
    assert (pairs.value, pairs.floor, pairs.ratio) == (3.0, 3.0, 2.0)


def test_pairs_must_be_whole():
    with pytest.raises(ValueError, match="shorter"):
        _ = Pairs([1.0, 2.0], [1.0]).ratio


def test_measurements_come_in_turns():
    order: list[str] = []
    numbers = iter(range(10))

    def measured(name: str) -> float:
        order.append(name)
        return float(next(numbers))

    pairs = in_turns(3, lambda: measured("ours"), lambda: measured("floor"))
    assert order == ["ours", "floor", "floor", "ours", "ours", "floor"]
    assert pairs == Pairs([0.0, 3.0, 4.0], [1.0, 2.0, 5.0])


@pytest.mark.parametrize(
    ("aim", "value", "ratio", "kept"),
    [
        (Aim("value", 100), 100.0, None, True),
        (Aim("value", 100), 100.1, None, False),
        (Aim("value", 3_000, "at least"), 3_000.0, 0.1, True),
        (Aim("value", 3_000, "at least"), 2_999.0, 9.9, False),
        (Aim("ratio", 2.5), 99.0, 2.5, True),
        (Aim("ratio", 2.5), 0.1, 2.6, False),
        (Aim("ratio", 2.5), 0.1, None, None),
        (None, 1.0, 1.0, None),
    ],
)
def test_an_aim_is_kept_or_missed(aim: Aim | None, value: float, ratio: float | None, kept: bool | None):
    assert Figure("f", value, "ms", None, ratio, aim).kept is kept


@pytest.mark.parametrize(("percent", "found"), [(0, 1), (50, 50), (99, 99), (100, 100)])
def test_a_percentile_is_a_value_that_was_measured(percent: float, found: int):
    assert percentile(reversed(range(1, 101)), percent) == found


def test_a_percentile_of_one_value_is_that_value():
    assert percentile([7.0], 99) == 7.0


def test_the_table_says_value_floor_ratio_aim_and_verdict():
    figures = [
        paired("cpu", "ms", Pairs([30.0], [10.0]), Aim("ratio", 2.5), "a note"),
        Figure("rate", 3_456.0, "/s", aim=Aim("value", 3_000, "at least")),
    ]
    _, cpu, rate = table(figures).splitlines()
    assert cpu.split() == ["cpu", "30", "ms", "10", "3.00x", "<=", "2.5x", "MISSED", "a", "note"]
    assert rate.split() == ["rate", "3,456", "/s", ">=", "3,000", "kept"]


def test_a_figure_is_json():
    figure = paired("cpu", "ms", Pairs([30.0], [10.0]), Aim("ratio", 4.0))
    document = json.loads(json.dumps(figure.document()))
    assert document["kept"] is True
    assert document["aim"] == {"on": "ratio", "way": "at most", "bound": 4.0}


def test_each_step_of_a_tape_gets_the_lines_it_caused():
    types = ["RUN_STARTED", "WORLD_DESIGNED", "STAGE_STARTED", "STAGE_EXECUTED", "GATE_OPENED", "CEO_DECISION", "XP"]
    posted, page, gate = Step("POST", "", [], "{}"), Step("GET", "", [], '{"events":[]}'), Step("GET", "", [], "{}")
    ends, at = [], 0
    for step in (posted, posted, page, gate, posted):
        at = end_of(step, types, at)
        ends.append(at)
    assert ends == [2, 3, 5, 5, 7]


def test_the_bench_answers_as_the_strict_policy_does():
    finding = {"check": "has_title", "verdict": "failed", "feedback": "title: too short"}
    gate = {
        "artifact_sha256": "a" * 64,
        "attempt": 1,
        "fork": {"options": [{"option": {"id": "deep"}}, {"option": {"id": "wide"}}]},
        "score": {"passes": False, "reports": [{"findings": [finding]}]},
    }
    assert answer(gate)["reason"] == "title: too short"
    late = answer({**gate, "attempt": 4})
    assert (late["verb"], late["option_id"], bool(late["override_reason"])) == ("approve", "deep", True)
