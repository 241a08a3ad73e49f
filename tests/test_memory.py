"""What a run remembers, and how much of it a brief carries."""

from __future__ import annotations

import pytest

from submission.state.brief import brief_for
from submission.state.memory import (
    INJECTED_CHARS,
    MAX_CHARS,
    MAX_LIVE,
    PER_KIND,
    clamp,
    injected,
    newest,
    written,
)
from submission.state.work import Hit, Memory, MemoryKind
from tests.given import BAD, WORLD, approve, given, go, redirect, reject, rescind, start, submit


def memory(seq: int, text: str = "", kind: MemoryKind = "procedural") -> Memory:
    return Memory(seq=seq, kind=kind, text=text or f"memory {seq}")


def remembered(*memories: Memory) -> tuple[Memory, ...]:
    kept: tuple[Memory, ...] = ()
    for each in memories:
        kept = written(kept, each)
    return kept


@pytest.mark.parametrize(
    ("text", "limit", "line"),
    [
        ("", 10, ""),
        ("short", 10, "short"),
        ("exactly te", 10, "exactly te"),
        ("exactly ten", 10, "exactly t…"),
        ("a line\n\tand   another ", 40, "a line and another"),
        ("word after word", 6, "word…"),
        ("x" * 500, 400, "x" * 399 + "…"),
    ],
)
def test_a_memory_is_one_line_of_bounded_length(text, limit, line):
    assert clamp(text, limit) == line
    assert len(clamp(text, limit)) <= limit


def test_the_limit_is_four_hundred():
    assert (MAX_CHARS, len(clamp("x" * 5_000))) == (400, 400)


def test_the_same_kind_and_text_is_remembered_once_and_as_new():
    kept = remembered(memory(1, "a"), memory(2, "b"), memory(3, "a"))
    assert [(m.seq, m.text) for m in kept] == [(2, "b"), (3, "a")]


def test_the_same_text_of_another_kind_is_another_memory():
    assert len(remembered(memory(1, "a"), memory(2, "a", "chat_summary"))) == 2


def test_the_oldest_beyond_two_hundred_drop_out():
    kept = remembered(*(memory(seq) for seq in range(1, 251)))
    assert (MAX_LIVE, len(kept), kept[0].seq, kept[-1].seq) == (200, 200, 51, 250)


def test_a_brief_carries_the_three_newest_of_a_kind_oldest_first():
    assert PER_KIND == 3
    kept = remembered(
        *(memory(seq, kind="chat_summary") for seq in range(1, 6)),
        *(memory(seq) for seq in range(6, 11)),
        memory(11, kind="user_profile"),
    )
    assert [m.seq for m in injected(kept)] == [11, 8, 9, 10, 3, 4, 5]


def test_a_memory_is_injected_with_three_hundred_characters():
    kept = remembered(memory(1, "x" * 300), memory(2, "y" * 301), memory(3, "word " * 80))
    assert INJECTED_CHARS == 300
    assert [len(m.text) for m in injected(kept)] == [300, 300, 300]
    assert injected(kept)[0] == kept[0]
    assert [len(m.text) for m in kept] == [300, 301, 400]


@pytest.mark.parametrize("others", [0, 1, 3, 150, 199, 400])
def test_the_newest_procedural_is_always_there_while_it_lives(others):
    """It is, as long as fewer than two hundred other memories came after it."""
    kept = remembered(memory(1), *(memory(seq, kind="chat_summary") for seq in range(2, 2 + others)))
    assert (1 in [m.seq for m in injected(kept)]) == (others < MAX_LIVE)


def test_newest_of_a_kind():
    kept = remembered(*(memory(seq) for seq in range(1, 5)))
    assert [m.seq for m in newest(kept, "procedural")] == [2, 3, 4]
    assert [m.seq for m in newest(kept, "procedural", 1)] == [4]
    assert newest(kept, "user_profile") == ()
    assert injected(()) == ()


# In a run


def test_a_run_begins_with_the_founder():
    game = given(start("Lanterns for night clinics"))
    assert [(m.kind, m.text) for m in game.now.memories] == [
        ("user_profile", "The founder's pitch: Lanterns for night clinics")
    ]


def test_work_writes_no_memory():
    before = given(start()).now.memories
    assert given(start(), go(), submit()).now.memories == before
    assert given(start(), go(), submit(None), go(), submit()).now.memories == before


@pytest.mark.parametrize(
    ("artifact", "step", "texts"),
    [
        (
            None,
            reject(reason="Try once more"),
            ["CEO rejected 'Stage a', attempt 1: Try once more"],
        ),
        (
            {},
            approve(option_id="a.depth"),
            [
                "Stage 'Stage a' shipped by the writer (score 100/100).",
                "CEO chose 'Depth' at the 'Stage a' gate accepting: slower reach Binding: Keep two notes and no more. "
                "Consequence: proof +9, runway_months -1, revenue +400; Moat keeper joins.",
            ],
        ),
        (
            {},
            redirect(option_id="a.depth"),
            [
                "CEO chose 'Depth' at the 'Stage a' gate accepting: slower reach Binding: Keep two notes and no more. "
                "Consequence: proof +9, runway_months -1, revenue +400; Moat keeper joins.",
            ],
        ),
        ({}, redirect(direction="Speak  of\nwinter"), ["CEO redirected 'Stage a', attempt 1: Speak of winter"]),
    ],
)
def test_each_decision_teaches_and_cites_itself(artifact, step, texts):
    game = given(start(), go(), submit(None) if artifact is None else submit(), step)
    taught = game.now.memories[1:]
    assert [m.text for m in taught] == texts
    assert {m.decision_seq for m in taught} == {game.now.decided[-1].decision_seq}
    for entry in taught:
        assert game.events[entry.seq - 1].type == "MEMORY_WRITTEN"


def test_a_long_reason_is_clamped_in_memory_and_whole_in_the_direction():
    game = given(start(), go(), submit(), reject(reason="x" * 2_000))
    assert (len(game.now.memories[-1].text), len(game.now.directions[-1].text)) == (400, 2_000)


def test_a_rescinded_decision_is_forgotten():
    game = given(start(), go(), submit(), approve())
    before = given(start(), go(), submit()).now.memories
    game.do(rescind())
    assert game.now.memories == before


def test_the_brief_of_a_rework_carries_the_reason_the_faults_and_the_attempt_before():
    game = given(start(), go(), submit(BAD), reject(reason="Name the clinics"), go())
    stage = game.now.working
    assert stage is not None
    brief = brief_for(game.now, stage, WORLD.role("writer"), tuple(_hit(n) for n in range(5)))
    assert brief.memories[-1].text == "CEO rejected 'Stage a', attempt 1: Name the clinics"
    assert brief.faults == ("title: too short", "notes: too few")
    assert (brief.previous, brief.attempt, len(brief.knowledge)) == (BAD, 2, 2)
    assert [direction.text for direction in brief.directions] == ["Name the clinics"]


def test_a_brief_holds_the_approved_work_it_builds_on():
    game = given(start(), go(), submit(), approve(), go("b"))
    stage = game.now.working
    assert stage is not None
    assert list(brief_for(game.now, stage, WORLD.role("writer"), ()).upstream) == ["a"]


def _hit(n: int) -> Hit:
    return Hit(source=f"playbooks/{n}.md", start_line=1, end_line=2, text="t", origin="local")
