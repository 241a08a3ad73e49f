"""Given these commands, when this one comes, then these events: the law spoken as sentences.

given(*start(), work()).when(approve()).then("CEO_DECISION", "XP_AWARDED", ...)
given(*start()).when(approve()).refused("gate.unknown")
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from submission.state.canonical import Document, FrozenDict, freeze
from submission.state.commands import Command, Decide, Rescind, StartRun, StartStage, SubmitArtifact
from submission.state.decide import decide
from submission.state.events import Actor, Draft, Mode
from submission.state.evolve import GENESIS, fold
from submission.state.refusals import Refused
from submission.state.run import Run, state_hash
from submission.state.store.chain import Sealed, seal
from submission.state.work import InferenceUsage, Judgement, Work
from submission.state.world import (
    BEATS,
    Check,
    Fork,
    Level,
    Meter,
    Option,
    Role,
    Rule,
    Stage,
    Validator,
    Worker,
    World,
)

HUMAN = Actor(kind="human", id="player", name="The player")
SCRIPT = Actor(kind="scripted", id="policy-strict", name="Scripted approver")
AGENT = Actor(kind="agent", id="writer", name="Writer")
AT = "2026-12-01T09:00:00.000Z"
GOOD = freeze({"title": "Lanterns for night clinics", "notes": ["a", "b"]})
BAD = freeze({"title": "x", "notes": []})

# a needs nothing, b and c need a, d needs b and c, then a chain.
_NEEDS: dict[str, tuple[str, ...]] = {
    "a": (),
    "b": ("a",),
    "c": ("a",),
    "d": ("b", "c"),
    "e": ("d",),
    "f": ("e",),
    "g": ("f",),
    "h": ("g",),
}


def small_world() -> World:
    """Eight stages, one role, one validator (title 60, notes 40, passes at 70), a fork at `a` and `d`."""
    note = Validator(
        id="note",
        title="Note",
        passes_at=70,
        checks=(
            Check(id="has_title", rule="min_chars", path="title", at_least=10, points=60, feedback="title: too short"),
            Check(id="has_notes", rule="min_items", path="notes", at_least=2, points=40, feedback="notes: too few"),
        ),
    )
    return World(
        id="small",
        version="1",
        title="Small",
        summary="A world for tests.",
        sha256="5" * 64,
        meters=(
            Meter(id="proof", title="Proof", start=30),
            Meter(id="runway_months", title="Runway", start=12, most=60, unit="months"),
            Meter(id="revenue", title="Revenue", start=0, most=None, unit="usd/month"),
        ),
        levels=(Level(level=1, title="Founder", xp=0), Level(level=2, title="Builder", xp=35)),
        roles=(Role(id="writer", title="Writer", mandate="Writes.", validators=("note",)),),
        stages=tuple(
            Stage(
                id=stage_id,
                beat=beat,
                title=f"Stage {stage_id}",
                goal=f"Reach {stage_id}",
                role="writer",
                needs=needs,
                artifact="note",
                validators=("note",),
            )
            for beat, (stage_id, needs) in zip(BEATS, _NEEDS.items(), strict=True)
        ),
        validators=(note,),
        forks=(_fork("a"), _fork("d")),
        own_direction=Rule(id="own", deltas=FrozenDict({"proof": -2})),
        schemas=FrozenDict({"note": Document()}),
        playbooks=(),
        files=FrozenDict(),
    )


def forked(*stage_ids: str) -> World:
    """The small world with its fork at these stages."""
    return small_world().model_copy(update={"forks": tuple(_fork(stage_id) for stage_id in stage_ids)})


def _fork(stage_id: str) -> Fork:
    narrow = Option(
        id=f"{stage_id}.depth",
        title="Depth",
        summary="One thing well",
        tradeoff="slower reach",
        direction="Keep two notes and no more.",
        lean="depth",
        rule=Rule(
            id=f"{stage_id}.depth",
            deltas=FrozenDict({"proof": 9, "runway_months": -1, "revenue": 400}),
            consolidates=True,
            adds_worker=Worker(id="moat", title="Moat keeper"),
        ),
        checks=(Check(id="few", rule="max_items", path="notes", at_most=2),),
    )
    wide = narrow.model_copy(
        update={
            "id": f"{stage_id}.breadth",
            "title": "Breadth",
            "lean": "breadth",
            "direction": "Bring at least three notes.",
            "rule": Rule(
                id=f"{stage_id}.breadth",
                deltas=FrozenDict({"proof": -40, "runway_months": 2}),
                adds_worker=Worker(id=f"scout-{stage_id}", title="Scout"),
            ),
            "checks": (Check(id="many", rule="min_items", path="notes", at_least=3),),
        }
    )
    return Fork(stage=stage_id, question="Depth or breadth?", options=(narrow, wide))


WORLD = small_world()
Step = Command | Callable[[Run], Command]


@dataclass
class Game:
    """A log under test: the run, its sealed events, and what the last command did."""

    world: World = field(default_factory=small_world)
    run_id: str = "r-test"
    run: Run | None = None
    log: list[Sealed] = field(default_factory=list)
    drafts: list[Draft] = field(default_factory=list)
    refusal: Refused | None = None

    def do(self, step: Step) -> Game:
        """Handle one command; a refusal is kept, and changes nothing."""
        command = step(self.run) if callable(step) else step  # type: ignore[arg-type]
        self.refusal, self.drafts = None, []
        try:
            self.drafts = decide(self.run, command, self.world)
        except Refused as refusal:
            self.refusal = refusal
            return self
        sealed = seal(self.drafts, self.run_id, self.run.seq if self.run else 0, self.head, AT)
        self.run = fold([entry.event for entry in sealed], self.run)
        self.log += sealed
        return self

    @property
    def head(self) -> str:
        return self.run.head if self.run else GENESIS

    @property
    def now(self) -> Run:
        assert self.run is not None
        return self.run

    @property
    def events(self) -> list[Any]:
        return [entry.event for entry in self.log]

    def when(self, step: Step) -> Game:
        return self.do(step)

    def then(self, *types: str) -> Game:
        assert self.refusal is None, f"refused: {self.refusal}"
        assert [draft.payload.type for draft in self.drafts] == list(types)
        return self

    def then_nothing(self) -> Game:
        return self.then()

    def refused(self, code: str) -> Game:
        assert self.refusal is not None, f"not refused; caused {[d.payload.type for d in self.drafts]}"
        assert self.refusal.code == code
        return self

    def payload(self, kind: type) -> Any:
        """The last event of this kind in the log."""
        return next(e.payload for e in reversed(self.events) if isinstance(e.payload, kind))


def given(*steps: Step, world: World = WORLD) -> Game:
    game = Game(world)
    for step in steps:
        game.do(step)
        assert game.refusal is None, f"given: {game.refusal}"
    return game


def start(pitch: str = "Lanterns for night clinics", seed: int = 1, mode: Mode = "human") -> StartRun:
    player = HUMAN if mode == "human" else SCRIPT
    return StartRun(pitch=pitch, seed=seed, mode=mode, player=player, stages=WORLD.stages, client="test")


def go(stage_id: str | None = None) -> Step:
    """The run's own player sends a worker to work."""

    def command(run: Run | None) -> Command:
        return StartStage(SCRIPT if run and run.mode == "rehearsal" else HUMAN, stage_id)

    return command


USAGE = InferenceUsage(client="test", tier="simulation", model="none")


def submit(artifact: Document | None = GOOD, judgement: Judgement | None = None) -> Step:
    """The work of whatever stage is on; no artifact is a failed worker."""

    def command(run: Run) -> Command:
        assert run.working is not None, "no stage is at work"
        work = Work(artifact=artifact, error=None if artifact else "boom", inference_usage=USAGE)
        return SubmitArtifact(AGENT, run.working.spec.id, run.working.attempt, work, (), (), judgement)

    return command


def answer(verb: str = "approve", actor: Actor | None = None, **changes: Any) -> Step:
    """A whole decision at the open gate: what the verb needs is filled in unless given."""

    def command(run: Run) -> Command:
        gate = run.gate
        assert gate is not None, "no gate is open"
        script = run.mode == "rehearsal"
        fields: dict[str, Any] = {
            "actor": actor or (SCRIPT if script else HUMAN),
            "gate_id": gate.gate_id,
            "verb": verb,
            "artifact_sha256": gate.artifact_sha256,
            "idempotency_key": f"{gate.gate_id}:{verb}",
        }
        if verb == "approve":
            fields["option_id"] = gate.fork.options[0].option.id if gate.fork else None
            stage = run.stage(gate.stage_id)
            failing = stage is not None and stage.score is not None and not stage.score.passes
            fields["override_reason"] = "good enough for a test" if failing else None
        elif verb == "reject":
            fields["reason"] = "The title must mention lanterns"
        elif "option_id" not in changes:
            fields["direction"] = "Speak of winter nights"
        return Decide(**{**fields, **changes})

    return command


def approve(**changes: Any) -> Step:
    return answer("approve", **changes)


def reject(**changes: Any) -> Step:
    return answer("reject", **changes)


def redirect(**changes: Any) -> Step:
    return answer("redirect", **changes)


def rescind(key: str = "undo", gate_id: str | None = None, actor: Actor = HUMAN) -> Step:
    """Take back the last decision."""

    def command(run: Run) -> Command:
        last = f"gate-{run.decided[-1].gate_seq}" if run.decided else "gate-1"
        return Rescind(actor, gate_id or last, key)

    return command


def whole(mode: Mode = "human", seed: int = 1) -> Game:
    """A campaign of eight approvals."""
    game = given(start(seed=seed, mode=mode))
    while game.now.outcome is None:
        game.do(go()).do(submit()).do(approve())
        assert game.refusal is None, game.refusal
    return game


__all__ = [name for name in dir() if not name.startswith("_")] + ["state_hash"]
