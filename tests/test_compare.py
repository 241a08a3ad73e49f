"""Where two runs part, and how the companies they made differ."""

from dataclasses import replace

import pytest

from submission.state.canonical import freeze
from submission.state.compare import Comparison, compare, differences
from submission.state.refusals import BrokenLog
from tests.given import GOOD, HUMAN, Game, approve, given, go, reject, start, submit, whole
from tests.logs import changed, everything, two_stages


def with_option(option_id: str) -> Game:
    return given(start(), go(), submit(), approve(option_id=option_id))


def test_the_same_game_never_parts():
    found = compare(whole().events, whole().events)
    assert found.same
    assert found.parting is None
    assert all(pair.same for pair in found.artifacts)


def test_times_people_and_keys_do_not_count():
    mine = whole().events
    mallory = HUMAN.model_copy(update={"id": "someone", "name": "Someone"})
    theirs = [replace(event, at="2027-01-01T00:00:00.000Z", actor=mallory, run_id="r-2") for event in mine]
    theirs[6] = changed(theirs[6], idempotency_key="another")
    usage = theirs[4].payload.inference_usage.model_copy(update={"latency_ms": 812})
    theirs[4] = changed(theirs[4], inference_usage=usage)
    found = compare(mine, theirs)
    assert found.parting is None
    assert found.same


def test_a_fork_is_where_two_runs_part():
    found = compare(with_option("a.depth").events, with_option("a.breadth").events)
    assert not found.same
    assert found.parting is not None
    assert (found.parting.seq, found.parting.a_type, found.parting.b_type) == (7, "CEO_DECISION", "CEO_DECISION")
    fields = {entry.path: (entry.a, entry.b) for entry in found.parting.differences}
    assert fields["option_id"] == ("a.depth", "a.breadth")


def test_meters_team_memories_and_options_differ_by_the_fork():
    found = compare(with_option("a.depth").events, with_option("a.breadth").events)
    assert {meter.id: (meter.a, meter.b) for meter in found.meters} == {
        "proof": (39, 0),
        "runway_months": (11, 14),
        "revenue": (400, 0),
    }
    assert [worker.id for worker in found.team.only_a] == ["moat"]
    assert [worker.id for worker in found.team.only_b] == ["scout-a"]
    procedural = next(memory for memory in found.memories if memory.kind == "procedural")
    assert len(procedural.only_a) == len(procedural.only_b) == 1
    stage = found.stages[0]
    assert stage.a is not None
    assert stage.b is not None
    assert (stage.a.options, stage.b.options) == (("a.depth",), ("a.breadth",))


def test_another_verb_is_another_event():
    found = compare(given(start(), go(), submit(), approve()).events, given(start(), go(), submit(), reject()).events)
    assert found.parting is not None
    assert {entry.path: (entry.a, entry.b) for entry in found.parting.differences}["verb"] == ("approve", "reject")


def test_one_log_may_go_on_where_the_other_ends():
    found = compare(two_stages().events, two_stages().events[:12])
    assert found.parting is not None
    assert (found.parting.seq, found.parting.a_type, found.parting.b_type) == (13, "STAGE_EXECUTED", None)


def test_artifacts_are_compared_field_by_field():
    other = freeze({**GOOD, "title": "Lanterns for day clinics", "notes": ["a", "b", "c"]})
    found = compare(given(start(), go(), submit()).events, given(start(), go(), submit(other)).events)
    pair = found.artifacts[0]
    assert not pair.same
    assert [(entry.path, entry.a, entry.b) for entry in pair.differences] == [
        ("title", "Lanterns for night clinics", "Lanterns for day clinics"),
        ("notes[2]", None, "c"),
    ]


def test_a_rescinded_decision_does_not_stand():
    found = compare(everything().events, whole(mode="rehearsal").events)
    stage = found.stages[0]
    assert stage.a is not None
    assert (stage.a.attempts, stage.a.decision, stage.a.options) == (4, "approve", ("a.breadth",))


def test_differences_are_counted_beyond_the_limit_and_clamped():
    found, left_out = differences({str(i): i for i in range(50)}, {}, limit=40)
    assert (len(found), left_out) == (40, 10)
    ((entry,), _) = differences("a" * 1_000, "b" * 1_000)
    assert entry.a is not None
    assert len(entry.a) == 160
    assert differences({"x": True}, {"x": 1})[0][0].path == "x"
    assert differences({"x": [1, {"y": 2}]}, {"x": [1, {"y": 2}]}) == ((), 0)


def test_broken_logs_compare_up_to_their_breaks():
    events = two_stages().events
    broken = [*events[:9], *events[10:]]
    found = compare(events, broken)
    assert found.a.broken is None
    assert found.b.broken is not None
    assert (found.b.broken.seq, found.b.seq) == (11, 9)
    with pytest.raises(BrokenLog):
        compare(events, events[1:])
    with pytest.raises(BrokenLog):
        compare([], events)


def test_a_comparison_is_json_and_back():
    found = compare(whole().events, everything().events)
    assert Comparison.model_validate_json(found.model_dump_json()) == found
