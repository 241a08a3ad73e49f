"""Five verdicts that fail apart: each forgery turns the right one red, at the right seq, and hides no other."""

from dataclasses import replace

import pytest
from hypothesis import given as for_any
from hypothesis import settings
from hypothesis import strategies as st

from submission.state.canonical import FrozenDict, document_sha256, sha256
from submission.state.events import RunCompleted
from submission.state.run import state_hash
from submission.state.store.export import LogHeader
from submission.state.store.verify import verify_lines, verify_log
from submission.state.world import WorldPin
from tests.given import AGENT, GOOD, HUMAN, WORLD, given, go, reject, start, submit, whole
from tests.logs import (
    FORGER,
    KEY,
    as_file,
    changed,
    everything,
    joined,
    lines_of,
    parts,
    resealed,
    statuses,
    two_stages,
    verdict,
)

ALL = ("integrity", "completeness", "schema", "xp", "rescoring")
SOUND = as_file(lines_of(everything()))


def failing(data: bytes, key: str | None = None) -> dict[str, int | None]:
    """The verdicts that fail, with their first broken seq."""
    return {v.name: v.seq for v in verify_log(data, trusted_key=key).verdicts if v.status == "failed"}


def signed(events, key=KEY) -> bytes:
    """A forger's file: chain recomputed, head signed anew."""
    return as_file(resealed(events), key)


def test_a_sound_log_passes_all_five():
    game = everything()
    found = verify_log(as_file(lines_of(game)), {"small": WORLD}, KEY.key_id)
    assert found.passed
    assert found.is_log
    assert tuple(v.name for v in found.verdicts) == ALL
    assert (found.seq, found.head, found.key_id) == (game.now.seq, game.now.head, KEY.key_id)
    assert (found.run_id, found.mode, found.world) == ("r-test", "rehearsal", WORLD.pin)
    assert found.state_hash == state_hash(game.now)


def test_an_unfinished_run_passes_too():
    for game in (given(start()), given(start(), go()), given(start(), go(), submit(None)), two_stages()):
        assert verify_log(as_file(lines_of(game))).passed


def test_each_sentence_says_what_was_not_checked():
    says = {v.name: v.says for v in verify_log(SOUND).verdicts}
    assert "no key to trust was named" in says["completeness"]
    assert "not here to compare" in says["rescoring"]
    assert not any("tamper-proof" in text for text in says.values())


# One edited, dropped or moved line


def test_one_edited_byte():
    """A byte of the pitch: only integrity breaks, everything else is still judged and still true."""
    data = SOUND.replace(b"night clinics", b"light clinics", 1)
    assert failing(data) == {"integrity": 1}
    assert list(statuses(verify_log(data)).values()).count("passed") == 4


def test_one_edited_byte_of_an_artifact():
    first, lines, last = parts(as_file(lines_of(two_stages())))
    lines[4] = lines[4].replace(b"Lanterns for", b"Lanterns fur", 1)
    assert failing(joined(first, lines, last)) == {"integrity": 5, "rescoring": 5}


def test_one_edited_byte_of_a_structure():
    first, lines, last = parts(SOUND)
    lines[4] = lines[4].replace(b'"score":{', b'"score":[', 1)
    found = verify_log(joined(first, lines, last))
    assert verdict(found, "integrity") == ("failed", 5)
    assert verdict(found, "schema") == ("failed", 5)
    assert verdict(found, "xp") == ("not_checkable", 5)
    assert verdict(found, "rescoring") == ("not_checkable", 5)
    assert verdict(found, "completeness") == ("passed", None)
    assert found.state_hash is None


def test_the_last_event_dropped():
    first, lines, last = parts(SOUND)
    assert failing(joined(first, lines[:-1], last)) == {"completeness": len(lines)}


def test_the_last_event_and_the_head_dropped():
    first, lines, _ = parts(SOUND)
    data = b"\n".join([first, *lines[:-1]]) + b"\n"
    assert failing(data) == {"completeness": len(lines)}


@pytest.mark.parametrize(
    ("seq", "others"),
    [
        (1, {"schema": 1}),
        (3, {}),
        (5, {"schema": 5, "xp": 6}),
        (8, {"xp": 8}),
        (10, {}),
    ],
)
def test_a_middle_event_dropped(seq, others):
    first, lines, last = parts(as_file(lines_of(two_stages())))
    del lines[seq - 1]
    fails = failing(joined(first, lines, last))
    assert fails.pop("completeness") == 14
    assert fails == {"integrity": seq, **others}


def test_two_events_swapped():
    first, lines, last = parts(SOUND)
    lines[9], lines[10] = lines[10], lines[9]
    assert failing(joined(first, lines, last))["integrity"] == 10


def test_an_event_repeated():
    first, lines, last = parts(as_file(lines_of(two_stages())))
    lines.insert(8, lines[7])
    assert failing(joined(first, lines, last)) == {"integrity": 9, "completeness": 15, "xp": 9}


def test_an_event_of_another_run():
    first, lines, last = parts(SOUND)
    stranger = given(start("Water filters for schools"))
    lines[0] = resealed(stranger.events, "r-other")[0]
    assert failing(joined(first, lines, last))["integrity"] in (1, 2)


def test_a_header_of_another_run_or_world():
    _, lines, last = parts(SOUND)
    other_world = LogHeader("r-test", WorldPin(id="small", version="2", sha256="6" * 64))
    for header in (LogHeader("r-other", WORLD.pin), other_world):
        found = verify_log(joined(header.line(), lines, last))
        assert verdict(found, "integrity") == ("failed", 1)
        assert verdict(found, "completeness")[0] == "failed"


# A chain recomputed by a forger


@pytest.mark.parametrize("key", [KEY, FORGER])
def test_forged_xp_with_a_recomputed_and_signed_chain(key):
    game = two_stages()
    xp = game.events[7]
    data = signed([*game.events[:11], xp, *game.events[11:13]], key)
    assert failing(data) == {"xp": 12}
    assert "completeness" in failing(data, key=game.now.head[:16])


def test_forged_xp_with_the_old_head():
    game = two_stages()
    lines = resealed([*game.events[:11], game.events[7], *game.events[11:13]])
    first, _, last = parts(as_file(lines_of(game)))
    fails = failing(joined(first, lines, last))
    assert fails["xp"] == 12
    assert "completeness" in fails
    assert "integrity" not in fails


def test_a_raised_award():
    events = two_stages().events
    events[7] = changed(events[7], amount=2_000)
    assert failing(signed(events)) == {"xp": 8}


def test_an_approval_by_an_agent():
    events = two_stages().events
    events[6] = replace(events[6], actor=AGENT)
    events[7] = replace(events[7], actor=AGENT)
    assert failing(signed(events)) == {"xp": 7}


def test_an_approval_by_another_human():
    mallory = HUMAN.model_copy(update={"id": "mallory"})
    events = two_stages().events
    events[6], events[7] = replace(events[6], actor=mallory), replace(events[7], actor=mallory)
    assert failing(signed(events))["xp"] == 7


def test_an_approval_without_its_xp():
    events = two_stages().events
    del events[7]
    assert failing(signed(events[:10]))["xp"] == 8
    assert failing(signed(events[:7])) == {"xp": 7}


def test_a_gate_that_pays_for_another_stage():
    """The approval of b's artifact is booked on a, which is thereby paid twice."""
    game = two_stages()
    events, gate = game.events, game.events[13].payload
    on_b = {"gate_id": gate.gate_id, "artifact_sha256": gate.artifact_sha256}
    approval = changed(events[6], **on_b, option_id=None, direction=None)
    award = changed(events[7], **on_b, decision_seq=15)
    assert failing(signed([*events, approval, award]))["xp"] == 15


def test_a_quest_laid_out_again_cannot_erase_xp():
    events = two_stages().events
    assert set(failing(signed([*events[:11], events[1]])).values()) == {12}


def test_a_victory_that_claims_more_xp():
    events = whole().events
    assert isinstance(events[-1].payload, RunCompleted)
    events[-1] = changed(events[-1], xp=9_999)
    assert failing(signed(events)) == {"xp": len(events)}


def test_a_score_raised_with_a_recomputed_chain():
    game = given(start(), go(), submit(FrozenDict({"title": "Lanterns for night clinics", "notes": ()})), reject())
    events = game.events
    score = events[4].payload.score
    events[4] = changed(events[4], score=score.model_copy(update={"final": 100}))
    assert failing(signed(events)) == {"rescoring": 5}
    report = score.reports[0].model_copy(update={"score": 100, "passes": True})
    events[4] = changed(events[4], score=score.model_copy(update={"reports": (report,), "floor": 100, "final": 100}))
    assert failing(signed(events)) == {"rescoring": 5}


def test_an_artifact_swapped_under_its_hash():
    events = two_stages().events
    other = FrozenDict({**GOOD, "title": "Lanterns for day clinics"})
    events[4] = changed(events[4], artifact=other)
    assert failing(signed(events)) == {"rescoring": 5}
    events[4] = changed(events[4], artifact_sha256=document_sha256(other))
    assert failing(signed(events))["integrity"] == 6


def test_easier_rules_than_those_of_the_pack():
    events = two_stages().events
    rule = WORLD.validators[0]
    easy = rule.model_copy(update={"passes_at": 1})
    events[0] = changed(events[0], validators=(easy,))
    assert failing(signed(events)) == {}
    found = verify_log(signed(events), {"small": WORLD})
    assert verdict(found, "rescoring") == ("failed", 1)
    events = two_stages().events
    stages = tuple(stage.model_copy(update={"validators": ()}) for stage in WORLD.stages)
    events[1] = changed(events[1], stages=stages)
    assert verdict(verify_log(signed(events), {"small": WORLD}), "rescoring") == ("failed", 2)


def test_another_fork_or_price_than_the_pack_has():
    events = two_stages().events
    fork = events[5].payload.fork
    depth, breadth = fork.options
    free = breadth.model_copy(update={"consequence": depth.consequence})
    for forged in ({"question": "Will you sell?"}, {"options": (depth, free)}):
        events[5] = changed(events[5], fork=fork.model_copy(update=forged))
        assert failing(signed(events)) == {}
        assert verdict(verify_log(signed(events), {"small": WORLD}), "rescoring") == ("failed", 6)


def test_a_price_of_another_company():
    events = two_stages().events
    fork = events[5].payload.fork
    meters = (
        replace(fork.options[1].consequence.meters[0], before=99, after=69),
        *fork.options[1].consequence.meters[1:],
    )
    price = fork.options[1].consequence.model_copy(update={"meters": meters})
    option = fork.options[1].model_copy(update={"consequence": price})
    events[5] = changed(events[5], fork=fork.model_copy(update={"options": (fork.options[0], option)}))
    assert failing(signed(events)) == {"schema": 6}


def test_wrong_xp_does_not_hide_what_cannot_follow():
    events = two_stages().events
    events[7] = changed(events[7], amount=2_000)
    events[12] = changed(events[12], attempt=7)
    assert failing(signed(events)) == {"xp": 8, "schema": 13}


def test_an_unknown_event_and_an_unknown_version():
    game = two_stages()
    lines = lines_of(game)
    for old, new in ((b"STAGE_STARTED", b"STAGE_WHATEVER"), (b'"schema_version":1', b'"schema_version":2')):
        damaged = [*lines[:3], lines[3].replace(old, new), *lines[4:]]
        fails = failing(as_file(damaged))
        assert (fails["integrity"], fails["schema"]) == (4, 4)


def test_a_value_of_the_wrong_type_is_not_guessed_at():
    lines = lines_of(two_stages())
    lines[7] = lines[7].replace(b'"amount":20', b'"amount":"20"')
    assert failing(as_file(lines))["schema"] == 8


# Keys, stored lines, files that are no logs


def test_the_key_is_named_and_held_against_the_one_trusted():
    assert "completeness" not in failing(SOUND, KEY.key_id)
    assert "completeness" not in failing(SOUND, f" {KEY.key_id.upper()}\n")
    assert failing(SOUND, FORGER.key_id) == {"completeness": None}
    assert failing(as_file(lines_of(everything()), FORGER), KEY.key_id) == {"completeness": None}


def test_stored_lines_have_no_signed_head_to_check():
    found = verify_lines(lines_of(everything()))
    assert not found.passed
    assert statuses(found) == {**dict.fromkeys(ALL, "passed"), "completeness": "not_checkable"}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n\n\n",
        b"hello",
        b"\x00" * 5_000,
        b"\xff\xfe\xfd\n" * 20,
        b"[" * 200_000,
        b'{"actor":' * 50_000,
        b'{"a":1}\n{"b":2}\n{"c":3}\n',
        b"{}\n" * 400,
        bytes(range(256)) * 40,
    ],
)
def test_what_is_no_log_gets_verdicts_too(data):
    found = verify_log(data)
    assert not found.passed
    assert not found.is_log
    assert tuple(v.name for v in found.verdicts) == ALL


@pytest.mark.parametrize(
    "value",
    [
        b"NaN",
        b"1e999",
        b"-Infinity",
        b"9" * 4_000,
        b"9" * 20_000,
        b"9007199254740993",
        b'"\\ud800"',
        b'"\xff"',
        b'"\x01"',
        b"[" * 5_000,
        b"[" * 400 + b"]" * 400,
        b'{"a":' * 40 + b"1" + b"}" * 40,
        b"null",
        b"",
    ],
)
@pytest.mark.parametrize("field", [b'"title":"Lanterns for night clinics"', b'"final":100', b'"seq":5'])
def test_any_value_in_any_field(field, value):
    """Also with the chain recomputed, so that the hash does not shield what reads the line."""
    lines = lines_of(two_stages())
    for line in (lines[4].replace(field, field.split(b":")[0] + b":" + value), _rehashed(lines[4], field, value)):
        found = verify_log(as_file([*lines[:4], line, *lines[5:]]))
        assert verdict(found, "schema") == ("failed", 5) or verdict(found, "rescoring") == ("failed", 5)


def _rehashed(line: bytes, field: bytes, value: bytes) -> bytes:
    body = line[:-75].replace(field, field.split(b":")[0] + b":" + value) + b"}"
    return body[:-1] + b',"hash":"' + sha256(body).encode() + b'"}'


@settings(max_examples=150, deadline=None)
@for_any(data=st.data())
def test_no_damage_raises_and_none_passes(data):
    damaged = bytearray(SOUND)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(SOUND) - 2))
        match data.draw(st.sampled_from(["flip", "cut", "drop", "copy", "insert"])):
            case "flip":
                damaged[at % len(damaged)] ^= data.draw(st.integers(1, 255))
            case "cut":
                del damaged[at + 1 :]
            case "drop":
                del damaged[at : at + data.draw(st.integers(1, 2_000))]
            case "copy":
                damaged[at:at] = damaged[at : at + data.draw(st.integers(1, 2_000))]
            case "insert":
                damaged[at:at] = data.draw(st.binary(min_size=1, max_size=40))
        if not damaged:
            break
    if bytes(damaged).rstrip(b"\n") == SOUND.rstrip(b"\n"):
        return
    found = verify_log(bytes(damaged))
    assert not found.passed
    assert len(found.verdicts) == 5


@settings(max_examples=60, deadline=None)
@for_any(order=st.permutations(range(14)))
def test_no_order_but_one_passes(order):
    lines = lines_of(two_stages())
    first, _, last = parts(as_file(lines))
    found = verify_log(joined(first, [lines[i] for i in order], last))
    assert found.passed == (list(order) == sorted(order))


@settings(max_examples=100, deadline=None)
@for_any(data=st.binary(max_size=600))
def test_any_bytes_get_five_verdicts(data):
    assert len(verify_log(data).verdicts) == 5
