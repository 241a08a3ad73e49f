"""XP conservation, kept as a ledger of its own: it shares no step with the fold whose sum it is held against."""

from __future__ import annotations

from typing import Any, NamedTuple

from submission.state.events import (
    Actor,
    CeoDecision,
    DecisionRescinded,
    Event,
    GateOpened,
    LevelUp,
    Mode,
    RunCompleted,
    RunStarted,
    StageExecuted,
    XpAwarded,
)
from submission.state.run import Award, Run
from submission.state.scoring import xp_for
from submission.state.verdicts.lines import Fault, Line, Verdict, count, failed, not_checkable, passed


class Due(NamedTuple):
    """The award that the next event must be, and whose. `award` is None where the log does not say enough to tell."""

    decision: Event
    award: Award | None


class Ledger:
    """Holds each XP_AWARDED against the decision right before it, and the running sum against the folded state.
    An unreadable line may have been anything: what would need it is in doubt, never a failure."""

    def __init__(self) -> None:
        self._fault: Fault | None = None
        self._doubt: Fault | None = None
        self._mode: Mode | None = None
        self._player: str | None = None
        self._work: dict[str, tuple[str | None, int]] = {}
        self._gate: GateOpened | None = None
        self._due: Due | None = None
        self._standing: dict[str, Award] = {}
        self._total = self._awards = self._withdrawals = self._seen = 0
        self._unreadable = self._after_unreadable = False

    def see(self, line: Line, run: Run | None) -> None:
        """`run` is the state after this line, None where it is unknown."""
        self._seen, event = line.seq, line.event
        if event is None:
            self._doubt = self._doubt or Fault(line.seq, f"What seq {line.seq} did to XP cannot be read")
            self._due, self._unreadable, self._after_unreadable = None, True, True
            return
        due, self._due = self._due, None
        if due is not None and not isinstance(event.payload, XpAwarded):
            self._fail(f"not the XP of the approval at seq {due.decision.seq}, which must follow it directly")
        self._enter(event, due)
        self._after_unreadable = False
        if run is None:
            self._doubt = self._doubt or Fault(line.seq, f"From seq {line.seq} on there is no state to hold XP against")
        elif run.xp != self._total:
            self._fail(f"the awards sum to {self._total} XP and the state holds {run.xp}")

    def _enter(self, event: Event, due: Due | None) -> None:
        match event.payload:
            case RunStarted() as payload if self._mode is None:
                self._mode, self._player = payload.mode, event.actor.id
            case StageExecuted() as payload:
                self._work[payload.stage_id] = payload.artifact_sha256, payload.score.final if payload.score else 0
            case GateOpened() as payload:
                self._gate = payload
            case CeoDecision() as payload:
                self._decided(event, payload)
            case DecisionRescinded() as payload:
                self._rescinded(event, payload)
            case XpAwarded() as payload:
                self._awarded(event, payload, due)
            case (RunCompleted() | LevelUp()) as payload if payload.xp != self._total:
                self._fail(f"says {payload.xp} XP where {self._total} were awarded", sure=False)

    def _decided(self, event: Event, payload: CeoDecision) -> None:
        self._check_actor(event.actor, "a decision")
        gate, self._gate = self._gate, None
        if payload.verb != "approve":
            return
        sha, final = self._work.get(payload.stage_id, (None, 0))
        posed = (gate.gate_id, gate.stage_id, gate.artifact_sha256) if gate else None
        award = None
        if posed != (payload.gate_id, payload.stage_id, payload.artifact_sha256):
            self._fail("an approval that no open gate on this artifact asked for", sure=False)
        elif payload.artifact_sha256 is None or sha != payload.artifact_sha256:
            self._fail("an approval of an artifact that is not the stage's last", sure=False)
        elif payload.stage_id in self._standing:
            self._fail(f"stage {payload.stage_id} is approved twice", sure=False)
        else:
            award = Award(payload.gate_id, payload.stage_id, sha, xp_for(final), final, event.seq)
        self._due = Due(event, award)

    def _rescinded(self, event: Event, payload: DecisionRescinded) -> None:
        self._check_actor(event.actor, "a rescission")
        standing = self._standing.get(payload.stage_id)
        if standing is not None and standing.decision_seq == payload.decision_seq:
            self._due = Due(event, standing._replace(amount=-standing.amount))
        elif payload.verb == "approve":
            self._fail("withdraws an approval that had no XP to withdraw", sure=False)

    def _awarded(self, event: Event, payload: XpAwarded, due: Due | None) -> None:
        self._total += payload.amount
        self._awards += payload.amount > 0
        self._withdrawals += payload.amount < 0
        self._check_actor(event.actor, "XP awarded")
        if due is None:
            return self._fail("XP that follows no approval", sure=not self._after_unreadable)
        if event.actor != due.decision.actor:
            self._fail("XP awarded by another than who decided")
        award = Award(**payload.model_dump())
        if due.award is not None and award != due.award:
            self._fail(_difference(award, due.award), sure=False)
        if award.amount > 0:
            self._standing[award.stage_id] = award
        else:
            self._standing.pop(award.stage_id, None)

    def _check_actor(self, actor: Actor, what: str) -> None:
        """Only the run's own human decides; only in a rehearsal, a script does."""
        allowed = {"human": "human", "rehearsal": "scripted"}.get(self._mode or "", actor.kind)
        if actor.kind != allowed:
            self._fail(f"{what} by {_a(actor.kind)} actor in a run that {_a(allowed)} actor decides")
        elif self._player is not None and actor.id != self._player:
            self._fail(f"{what} by another than the run's own player")

    def _fail(self, why: str, sure: bool = True) -> None:
        """`sure`: also where earlier lines could not be read."""
        if sure or not self._unreadable:
            self._fault = self._fault or Fault(self._seen, why)

    def verdict(self) -> Verdict:
        if self._fault is None and self._due is not None:
            self._fault = Fault(self._seen, "the log ends on an approval without its XP")
        if self._fault is not None:
            return failed("xp", self._fault)
        if self._doubt is not None or self._mode is None:
            return not_checkable("xp", self._doubt or Fault(0, "There is no RUN_STARTED to say who may decide"))
        taken = f" and {self._withdrawals:,} withdrawn" if self._withdrawals else ""
        awards = f"{count(self._awards, 'award')}{taken}, {self._total:,} XP"
        return passed("xp", f"{awards}: each follows its decision, and the state holds their sum at every seq.")


def _difference(award: Award, due: Award) -> str:
    """The first field in which an award is not the one that was due."""
    name = next(name for name in Award._fields if getattr(award, name) != getattr(due, name))
    what = f"{name} {getattr(award, name)!r:.60} where the decision at seq {due.decision_seq} makes it"
    return f"XP with {what} {getattr(due, name)!r:.60}"


def _a(kind: Any) -> str:
    return f"an {kind}" if kind == "agent" else f"a {kind}"
