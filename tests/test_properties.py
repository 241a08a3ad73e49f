"""Whatever is asked of the law, in whatever order: the log folds, XP is what was minted, and nobody else mints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from submission.state.canonical import Document, freeze
from submission.state.commands import Decide, Rescind, StartRun, StartStage, SubmitArtifact
from submission.state.events import Actor, CeoDecision, DecisionRescinded, Event, RunStarted, XpAwarded
from submission.state.evolve import evolve
from submission.state.refusals import Refused
from submission.state.run import Run, state_hash
from submission.state.store.chain import unseal
from submission.state.work import Judgement, Work
from tests.given import (
    AGENT,
    BAD,
    GOOD,
    HUMAN,
    SCRIPT,
    USAGE,
    Game,
    Step,
    approve,
    go,
    redirect,
    reject,
    rescind,
    start,
    submit,
)

SYSTEM = Actor(kind="system", id="referee", name="Referee")
THIEF = Actor(kind="agent", id=HUMAN.id, name=HUMAN.name)
STRANGER = Actor(kind="human", id="stranger", name="Stranger")
NO_MINTERS = ("agent", "system")

TEXTS = ["", " ", "no", "The title!", "x" * 2_001, "half \ud800", "\x00", "שלום 👩‍🚀", '{"verb":"approve"}']
NAMES = ["", "a", "d", "nowhere", "gate-6", "gate-06", "gate-999999999", "a.depth", "half \ud800", "x" * 300, "\x00"]

actors = st.sampled_from([HUMAN, HUMAN, SCRIPT, AGENT, SYSTEM, THIEF, STRANGER])
names = st.sampled_from(NAMES)
texts = st.sampled_from([*[None] * 8, *["Why not"] * 4, *TEXTS])
gates = st.sampled_from(["open", "open", "open", "decided", "decided", "first", *NAMES])
keys = st.sampled_from(["k1", "k2", "k3", "gate-6:approve", "gate-6:reject", "undo", "", "k" * 201])
good_keys = st.sampled_from(["k1", "k2", "k3", "undo"])
artifacts = st.sampled_from([GOOD, GOOD, BAD, None, Document(), Document(freeze({"title": "x" * 65_600}))])
judgements = st.none() | st.sampled_from(
    [
        Judgement(source="j"),
        Judgement(source="j", unscored="unreadable"),
        Judgement.model_validate({"source": "j", "scores": {"Completeness": 1e6, "relevance to goal": -3, "Charm": 9}}),
    ]
)


def whichever_gate(run: Run, name: str) -> str:
    """The open gate, the last or the first decided one, or any other name."""
    if name == "open":
        return run.gate.gate_id if run.gate else "gate-1"
    if name in ("decided", "first"):
        return f"gate-{run.decided[0 if name == 'first' else -1].gate_seq}" if run.decided else "gate-1"
    return name


def odd_decision(
    actor: Actor, name: str, verb: str, sha: str | None, key: str, option: str | None, texts: tuple[Any, ...]
) -> Step:
    def command(run: Run) -> Decide:
        shown = run.gate.artifact_sha256 if run.gate else None
        gate_id = whichever_gate(run, name)
        said = shown if sha == "shown" else sha
        return Decide(actor, gate_id, verb, said, key, option, *texts)  # type: ignore[arg-type]

    return command


def odd_work(actor: Actor, stage_id: str, attempt: int, artifact: Document | None, judged: Judgement | None) -> Step:
    def command(run: Run) -> SubmitArtifact:
        at = run.working.spec.id if run.working and not stage_id else stage_id
        number = run.working.attempt if run.working and not attempt else attempt
        work = Work(artifact=artifact, inference_usage=USAGE)
        return SubmitArtifact(actor, at, number, work, (), (), judged)

    return command


def odd_rescission(actor: Actor, name: str, key: str, reason: str | None) -> Step:
    return lambda run: Rescind(actor, whichever_gate(run, name), key, reason)


def when_possible(step: Callable[[Run], Any], able: Callable[[Run], bool]) -> Step:
    """The step, or a harmless one where it makes no sense."""
    return lambda run: step(run) if able(run) else StartStage(HUMAN, "nowhere")


def at_gate(step: Any) -> Step:
    return when_possible(step, lambda run: run.gate is not None)


def turn(artifact: Document | None) -> list[Step]:
    work = when_possible(submit(artifact), lambda run: run.working is not None)  # type: ignore[arg-type]
    return [go(), work, at_gate(approve() if artifact is not None else reject())]


def by_option(run: Run, at: int) -> Any:
    step = (
        redirect(option_id=run.gate.fork.options[at].option.id, direction=None) if run.gate and run.gate.fork else None
    )
    return (step or redirect())(run)  # type: ignore[operator]


sensible: st.SearchStrategy[Step] = st.one_of(
    st.just(go()),
    st.builds(lambda a, j: when_possible(submit(a, j), lambda run: run.working is not None), artifacts, judgements),  # type: ignore[arg-type]
    st.sampled_from([at_gate(approve()), at_gate(approve()), at_gate(reject()), at_gate(redirect())]),
    st.builds(lambda n: at_gate(lambda run: by_option(run, n)), st.integers(0, 1)),
    st.builds(lambda key: rescind(key), good_keys),
)
odd: st.SearchStrategy[Step] = st.one_of(
    st.builds(
        odd_decision,
        actors,
        gates,
        st.sampled_from(["approve", "approve", "approve", "reject", "reject", "redirect", "redirect", "ship"]),
        st.sampled_from(["shown", "shown", "shown", "shown", "0" * 64, "", None]),
        keys,
        st.sampled_from([None, None, None, "a.depth", "d.breadth", *NAMES]),
        st.tuples(texts, texts, texts),
    ),
    st.builds(odd_rescission, actors, gates, keys, texts),
    st.builds(StartStage, actors, st.none() | names),
    st.just(start("Another pitch")),
    st.builds(odd_work, actors, st.sampled_from(["", "a", "nowhere"]), st.integers(0, 3), artifacts, judgements),
)
# A turn of the game is likelier than any single command, so that runs get somewhere.
turns: st.SearchStrategy[list[Step]] = st.one_of(
    st.lists(sensible, min_size=1, max_size=3),
    st.lists(odd, min_size=1, max_size=2),
    st.sampled_from([GOOD, GOOD, BAD, None]).map(turn),
    st.builds(lambda key: [rescind(key), at_gate(approve(idempotency_key=key))], good_keys),
)


def in_play() -> st.SearchStrategy[list[Step]]:
    """What a game may be at before anything odd is asked of it."""
    return st.sampled_from([0, 1, 2, 3]).map(
        lambda at: [[], [go(), submit()], turn(GOOD), [*turn(GOOD), go(), submit(BAD)]][at]
    )


games = st.builds(
    lambda first, found: [*first, *(step for steps in found for step in steps)],
    in_play(),
    st.lists(turns, max_size=12),
)


def play(first: StartRun, steps: list[Step]) -> Game:
    """Give every command, holding each against what may not happen."""
    game = Game().do(first)
    for step in steps:
        command = step(game.now) if callable(step) else step
        run, size = game.now, len(game.log)
        before = state_hash(run)
        game.do(command)
        assert state_hash(run) == before, "a command changed the run it was decided on"
        if game.refusal is not None:
            assert isinstance(game.refusal, Refused)
            assert game.run is run
            assert len(game.log) == size
        actor = command.actor if not isinstance(command, StartRun) else command.player
        if actor.kind in NO_MINTERS:
            assert game.now.xp == run.xp
    return game


def check_fold(game: Game) -> None:
    """From the bytes alone: the same run, state and XP at every seq, and only numbers that may be."""
    kind = {"human": "human", "rehearsal": "scripted"}[game.now.mode]
    run: Run | None = None
    minted, before = 0, None
    for seq, (event, line) in enumerate(game.log, 1):
        read = unseal(line, seq)
        assert read == event
        run = evolve(run, read)
        if isinstance(event.payload, XpAwarded):
            check_mint(event, before, kind)
            minted += event.payload.amount
        assert run.xp == minted >= 0
        assert run.seq == seq
        for meter in run.meter_specs:
            assert meter.least <= run.meters[meter.id]
            assert meter.most is None or run.meters[meter.id] <= meter.most
        assert sum(stage.status == "working" for stage in run.stages) <= 1
        before = event
    assert run == game.now
    assert run is not None
    assert state_hash(run) == state_hash(game.now)


def check_mint(event: Event, before: Event | None, kind: str) -> None:
    """Directly after the human's own approval, or the rescission of it."""
    assert before is not None
    assert event.actor == before.actor
    assert event.actor.kind == kind
    assert event.cause == before.seq
    if event.payload.amount > 0:
        assert isinstance(before.payload, CeoDecision)
        assert before.payload.verb == "approve"
        assert before.payload.artifact_sha256 == event.payload.artifact_sha256
    else:
        assert isinstance(before.payload, DecisionRescinded)
        assert before.payload.verb == "approve"


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(["human", "human", "rehearsal"]), games)
@example("human", turn(GOOD) * 8 + [rescind()])
@example("human", [*turn(BAD), rescind(), *turn(GOOD), rescind("again"), at_gate(reject()), *turn(None), *turn(GOOD)])
def test_any_sequence_of_commands_keeps_the_promises(mode, steps):
    game = play(start(mode=mode), steps)
    check_fold(game)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(games, st.data())
def test_every_seq_has_one_state_however_it_is_reached(steps, data):
    """The fold in one go, from any checkpoint, and as the commands were decided, are the same."""
    game = play(start(), steps)
    at = data.draw(st.integers(1, len(game.log)))
    whole: Run | None = None
    for event in game.events[:at]:
        whole = evolve(whole, event)
    assert whole is not None
    resumed = whole
    for event in game.events[at:]:
        resumed = evolve(resumed, event)
    assert resumed == game.now
    again: Run | None = None
    for entry in game.log[:at]:
        again = evolve(again, unseal(entry.line, entry.event.seq))
    assert again is not None
    assert state_hash(again) == state_hash(whole)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(odd, max_size=12))
def test_agents_and_the_system_never_earn(steps):
    """At an open gate with good work, every decision comes from those who may not decide."""
    game = Game().do(start()).do(go()).do(submit())
    for step in steps:
        command = step(game.now) if callable(step) else step
        if isinstance(command, (Decide, Rescind)):
            for actor in (AGENT, SYSTEM, SCRIPT, THIEF, STRANGER):
                game.do(type(command)(**{**fields(command), "actor": actor}))
                assert game.refusal is not None
    assert game.now.xp == 0
    assert not any(isinstance(event.payload, XpAwarded) for event in game.events)


def fields(command: Decide | Rescind) -> dict[str, Any]:
    return {name: getattr(command, name) for name in type(command).__slots__}


pitches = st.text(max_size=60) | st.sampled_from(["", "\x00", "x" * 10_001, "שלום", "half \ud800", "<b>", "{}"])


@settings(max_examples=100, deadline=None)
@given(pitches, st.integers(0, 2**53 - 1))
def test_any_pitch_is_refused_or_begins_a_run_that_can_be_stored(pitch, seed):
    game = Game().do(start(pitch, seed))
    if game.refusal is not None:
        assert game.refusal.code.startswith("pitch.")
        return
    check_fold(game)
    assert isinstance(game.events[0].payload, RunStarted)
    assert game.now.pitch == game.now.pitch.strip() != ""
    assert game.now.pitch.encode()
