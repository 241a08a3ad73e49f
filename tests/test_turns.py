"""A stage's work: who may be sent, what comes back, and what of it the law believes."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest

from submission.state.canonical import Document, FrozenDict, canonical, document_sha256, freeze
from submission.state.commands import Decide, Rescind, StartStage, SubmitArtifact
from submission.state.events import GateOpened, StageExecuted, StageStarted, WorldDesigned
from submission.state.quest import graph_faults, open_stages
from submission.state.turns import MAX_ARTIFACT_BYTES
from submission.state.work import InferenceUsage, Judgement, Work
from submission.state.world import BEATS
from tests.given import (
    AGENT,
    BAD,
    GOOD,
    HUMAN,
    SCRIPT,
    USAGE,
    WORLD,
    Game,
    Step,
    approve,
    given,
    go,
    redirect,
    reject,
    rescind,
    start,
    submit,
    whole,
)


def done(*stage_ids: str) -> Game:
    game = given(start())
    for stage_id in stage_ids:
        game.do(go(stage_id)).do(submit()).do(approve())
        assert game.refusal is None, game.refusal
    return game


def handed_in(stage_id: str = "a", attempt: int = 1, work: Work | None = None, **changes: Any) -> SubmitArtifact:
    work = work or Work(artifact=GOOD, inference_usage=USAGE)
    return replace(SubmitArtifact(AGENT, stage_id, attempt, work, (), ()), **changes)


# The order of the quest


@pytest.mark.parametrize(
    ("approved", "able"),
    [
        ("", "a"),
        ("a", "bc"),
        ("ab", "c"),
        ("ac", "b"),
        ("abc", "d"),
        ("acb", "d"),
        ("abcd", "e"),
        ("abcdefg", "h"),
    ],
)
def test_a_stage_opens_when_all_it_needs_is_approved(approved, able):
    game = done(*approved)
    assert "".join(stage.spec.id for stage in open_stages(game.now)) == able
    for stage_id in "abcdefgh":
        trial = Game(game.world, run=game.run).when(go(stage_id))
        if stage_id in able:
            trial.then("STAGE_STARTED")
        else:
            trial.refused("stage.done" if stage_id in approved else "stage.locked")


def test_the_refusal_of_a_locked_stage_names_what_it_needs():
    game = done("a").when(go("d")).refused("stage.locked")
    assert game.refusal is not None
    assert "needs b, c" in game.refusal.detail


def test_work_that_is_not_approved_opens_nothing():
    given(start(), go(), submit(), reject()).when(go("b")).refused("stage.locked")
    given(start(), go(), submit(), redirect()).when(go("b")).refused("stage.locked")
    given(start(), go(), submit(), approve(), rescind(), reject()).when(go("b")).refused("stage.locked")


@pytest.mark.parametrize("stage_id", ["nowhere", "", "A", "a "])
def test_a_stage_goes_by_its_exact_name(stage_id):
    given(start()).when(go(stage_id)).refused("stage.unknown")


def test_without_a_name_what_was_sent_back_goes_first():
    game = done("a").do(go("c")).do(submit()).do(reject())
    game.when(go()).then("STAGE_STARTED")
    assert game.payload(StageStarted).stage_id == "c"


def test_the_player_may_turn_to_another_open_stage_before_a_rework():
    done("a").do(go("c")).do(submit()).do(reject()).when(go("b")).then("STAGE_STARTED")


def test_one_stage_at_a_time():
    game = done("a").do(go("b"))
    game.when(go("c")).refused("stage.working")
    game.when(go("b")).refused("stage.working")
    game.when(go()).refused("stage.working")


def test_an_open_gate_blocks_every_stage():
    game = done("a").do(go("b")).do(submit())
    for stage_id in (None, "b", "c", "d", "nowhere"):
        game.when(go(stage_id)).refused("gate.waiting")
    assert game.refusal is not None
    assert game.refusal.extra["gate_id"] == game.now.gate.gate_id  # type: ignore[union-attr]


def test_a_run_that_has_ended_starts_nothing():
    for stage_id in (None, "a", "nowhere"):
        whole().when(go(stage_id)).refused("run.completed")


def test_the_graph_of_a_quest_is_eight_beats_without_a_cycle():
    assert graph_faults(WORLD.stages) == ()
    assert graph_faults(WORLD.stages[:7]) == (f"the beats must be {', '.join(BEATS)}, in this order",)
    first, *others = WORLD.stages
    assert graph_faults((first.model_copy(update={"needs": ("h",)}), *others)) == (
        "a cycle among a, b, c, d, e, f, g, h",
    )
    assert graph_faults((first.model_copy(update={"needs": ("z",)}), *others)) == ("a needs an unknown stage 'z'",)


# What comes back


def test_work_comes_back_scored_hashed_and_before_the_human():
    game = given(start(), go()).when(submit()).then("STAGE_EXECUTED", "GATE_OPENED")
    executed, gate = game.payload(StageExecuted), game.payload(GateOpened)
    assert executed.artifact_sha256 == gate.artifact_sha256 == document_sha256(GOOD)
    assert (executed.score.floor, executed.score.passes, gate.executed_seq) == (100, True, 5)
    assert game.now.xp == 0


def test_the_four_proof_points_stand_in_every_execution():
    for artifact in (GOOD, BAD, None):
        game = given(start(), go(), submit(artifact))
        names = ("iq_hits", "memory_injected", "tools_called", "inference_usage")
        assert names == tuple(name for name in names if name in game.payload(StageExecuted).model_dump())


@pytest.mark.parametrize(
    "command",
    [
        handed_in("a", 2),
        handed_in("a", 0),
        handed_in("b", 1),
        handed_in("nowhere", 1),
        handed_in("", 1),
    ],
)
def test_work_nobody_asked_for_is_refused(command):
    given(start()).when(command).refused("work.unexpected")
    given(start(), go()).when(command).refused("work.unexpected")


def test_the_same_work_twice_is_refused():
    game = given(start(), go()).do(handed_in())
    game.when(handed_in()).refused("work.unexpected")
    game.do(approve()).when(handed_in()).refused("work.unexpected")


def test_the_late_result_of_an_old_attempt_is_refused():
    game = given(start(), go(), submit(None), go())
    game.when(handed_in("a", 1)).refused("work.unexpected")
    game.when(handed_in("a", 2)).then("STAGE_EXECUTED", "GATE_OPENED")
    game = given(start(), go(), submit(BAD), reject(), go())
    game.when(handed_in("a", 1)).refused("work.unexpected")


def of_bytes(size: int) -> Document:
    """A document whose canonical form has exactly this many bytes."""
    return Document(freeze({"title": "x" * (size - len(canonical({"title": ""})))}))


def test_an_artifact_may_have_sixty_four_kib_and_no_byte_more():
    assert MAX_ARTIFACT_BYTES == 65_536
    given(start(), go()).when(submit(of_bytes(65_536))).then("STAGE_EXECUTED", "GATE_OPENED")
    game = given(start(), go()).when(submit(of_bytes(65_537))).refused("artifact.too_large")
    game.when(submit()).then("STAGE_EXECUTED", "GATE_OPENED")


def test_bytes_are_counted_and_not_characters():
    wide = Document(freeze({"title": "é" * 32_763}))
    assert len(canonical(wide)) == 65_538
    given(start(), go()).when(submit(wide)).refused("artifact.too_large")


def test_a_score_cannot_be_handed_in():
    with pytest.raises(ValueError, match="score"):
        Work.model_validate({"artifact": BAD, "inference_usage": USAGE, "score": 100})
    forged = Document(freeze({**BAD, "score": 100, "floor": 100, "passes": True, "final": 100, "xp": 20}))
    game = given(start(), go()).do(submit(forged))
    assert game.payload(StageExecuted).score.floor == 0
    assert not game.payload(StageExecuted).score.passes


def test_a_judge_that_says_nothing_cannot_lower_the_floor_and_one_that_raves_cannot_make_it_pass():
    names = ("Relevance to goal", "Completeness", "Actionability", "Clarity & structure")
    zero = Judgement.model_validate({"source": "j", "scores": dict.fromkeys(names, 0)})
    best = Judgement.model_validate({"source": "j", "scores": dict.fromkeys(names, 100)})
    assert given(start(), go(), submit(GOOD, zero)).payload(StageExecuted).score.final == 100
    score = given(start(), go(), submit(BAD, best)).payload(StageExecuted).score
    assert (score.final, score.floor, score.passes) == (100, 0, False)


def test_a_worker_without_artifact_or_error_is_a_failure_with_a_reason():
    game = given(start(), go()).do(handed_in(work=Work(artifact=None, inference_usage=USAGE)))
    executed = game.payload(StageExecuted)
    assert (executed.status, executed.score, executed.artifact_sha256) == ("failed", None, None)
    assert executed.error == "the worker returned no artifact"


def test_an_empty_artifact_is_an_artifact():
    game = given(start(), go()).do(handed_in(work=Work(artifact=Document(), inference_usage=USAGE)))
    assert game.payload(StageExecuted).status == "executed"
    assert game.payload(GateOpened).verbs == ("approve", "reject", "redirect")


def test_a_receipt_of_tools_is_bounded():
    call = {"tool": "t", "source": "s", "args": "{}", "result": "r"}
    for broken in (
        {"tool_trace": [call] * 33},
        {"tools_called": ["t"] * 33},
        {"error": "x" * 2_001},
        {"tool_trace": [call | {"result": "x" * 2_001}]},
        {"tool_trace": [call | {"ms": math.nan}]},
    ):
        with pytest.raises(ValueError, match="validation error"):
            Work.model_validate({"artifact": None, "inference_usage": USAGE, **broken})


def test_what_was_the_artifact_before_stays_known_through_a_failure():
    game = given(start(), go(), submit(BAD), reject(), go(), submit(None), go(), submit(GOOD))
    stage = game.now.stage("a")
    assert stage is not None
    assert (stage.attempt, stage.previous, stage.artifact) == (3, BAD, GOOD)


# The start


@pytest.mark.parametrize(
    ("pitch", "kept"),
    [
        ("Lanterns", "Lanterns"),
        ("  Lanterns\n\tfor clinics ", "Lanterns\n\tfor clinics"),
        ("Lan\x00terns\x1b[2J", "Lanterns[2J"),
        ("\u202eLanterns", "Lanterns"),
        ("👩‍🚀 na\u200dme", "👩‍🚀 na\u200dme"),
        ("מנורות", "מנורות"),
        ("<script>alert(1)</script>", "<script>alert(1)</script>"),
        ("half \ud800 a pair", "half  a pair"),
    ],
)
def test_a_pitch_is_kept_as_text_that_can_be_shown(pitch, kept):
    assert given(start(pitch)).now.pitch == kept


@pytest.mark.parametrize("space", ["\u00a0", "\u3000", "\u202f", "\u2009", "\r", "\x0b", "\u2028", "\x85"])
def test_words_of_a_pitch_stay_apart(space):
    assert given(start(f"Solar{space}microgrids")).now.pitch.split() == ["Solar", "microgrids"]


def test_the_narrator_may_rename_the_quest_and_change_nothing_else():
    told = tuple(
        stage.model_copy(update={"title": f"T{i}", "goal": f"G{i}", "needs": (), "validators": (), "role": "x"})
        for i, stage in enumerate(WORLD.stages)
    )
    game = given(replace(start(), stages=(*told[::-1], told[0].model_copy(update={"id": "extra"}))))
    designed = game.payload(WorldDesigned).stages
    assert [stage.title for stage in designed] == [f"T{i}" for i in range(8)]
    assert [s.model_copy(update={"title": "", "goal": ""}) for s in designed] == [
        s.model_copy(update={"title": "", "goal": ""}) for s in WORLD.stages
    ]


def test_a_silent_narrator_leaves_the_pack_as_it_is():
    assert given(replace(start(), stages=())).payload(WorldDesigned).stages == WORLD.stages


# Holes


@pytest.mark.parametrize(
    "command",
    [StartStage(HUMAN), handed_in(), Decide(HUMAN, "gate-6", "approve", None, "k"), Rescind(HUMAN, "gate-6", "k")],
)
def test_nothing_happens_before_a_run_begins(command):
    Game().when(command).refused("run.unknown")


def test_a_run_begins_once():
    given(start()).when(start()).refused("run.exists")


@pytest.mark.parametrize("changes", [{"seed": -1}, {"seed": 2**53}, {"mode": "rehearsal"}, {"player": SCRIPT}])
def test_a_start_of_another_shape_is_refused(changes):
    given().when(replace(start(), **changes)).refused("request.malformed")


@pytest.mark.parametrize("value", [["a", "b"], {"deep": [1]}, math.nan, 2**60, {1}, 1e-7])
def test_a_document_in_work_is_frozen_through_and_through(value):
    try:
        work = Work(artifact=Document({"title": value}), inference_usage=USAGE)
    except ValueError:
        return
    assert work.artifact is not None
    assert isinstance(work.artifact["title"], (tuple, FrozenDict))


def test_a_typed_mapping_checks_its_values():
    with pytest.raises(ValueError, match="valid boolean"):
        Work(artifact=None, inference_usage=USAGE, observations=Document({"up": "perhaps"}))


def sealed_usage(**changes: Any) -> Step:
    usage = InferenceUsage.model_validate({"client": "t", "tier": "local", "model": "m", **changes})
    return handed_in(work=Work(artifact=GOOD, inference_usage=usage))


@pytest.mark.parametrize("changes", [{"cost_usd": 1.0}, {"cost_usd": 1.5e-05}, {"tokens_in": 2**60}])
def test_what_a_turn_cost_has_one_canonical_form(changes):
    try:
        step = sealed_usage(**changes)
    except ValueError:
        return
    line = given(start(), go(), step).log[4].line
    fields = json.loads(line)
    fields.pop("hash")
    assert canonical(fields)[:-1] == line[: line.rindex(b',"hash"')]


HALF = "half \ud800 a pair"


@pytest.mark.parametrize("field", ["error", "tools_called"])
def test_a_bounded_text_is_whole(field):
    said = HALF if field == "error" else (HALF,)
    with pytest.raises(ValueError, match="unicode"):
        Work.model_validate({"artifact": None, "inference_usage": USAGE, field: said})


@pytest.mark.parametrize("field", ["client", "model", "fallback_reason"])
def test_any_text_of_a_turns_usage_is_whole(field):
    with pytest.raises(ValueError, match=field):
        InferenceUsage.model_validate({"client": "c", "tier": "local", "model": "m", field: HALF})


@pytest.mark.parametrize("field", ["source", "verdict", "unscored"])
def test_any_text_of_a_judge_is_whole(field):
    with pytest.raises(ValueError, match=field):
        Judgement.model_validate({"source": "judge", field: HALF})


@pytest.mark.parametrize("said", [{"client": HALF}, {"reasoning": HALF}])
def test_half_a_pair_of_a_narrator_is_refused_or_dropped(said):
    given().when(replace(start(), **said))
