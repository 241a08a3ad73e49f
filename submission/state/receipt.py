"""A decision's receipt: what followed from it, read off its own events, so that it never changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from submission.state.canonical import Frozen
from submission.state.consequences import Consequence
from submission.state.events import (
    Actor,
    CeoDecision,
    ConsequenceApplied,
    DecisionRescinded,
    Event,
    GateOpened,
    LevelUp,
    MemoryRetracted,
    MemoryWritten,
    RunCompleted,
    Verb,
    XpAwarded,
)
from submission.state.work import Memory

MAX_EVENTS = 16
"""A decision causes at most this many events."""


class NextBrief(Frozen):
    """What the decision binds, and which work: this stage's rework, or that and every later brief."""

    text: str
    scope: Literal["this stage", "every later brief"]
    option_id: str | None = None


class Receipt(Frozen):
    """You decided; consequence; workers learned; next brief. `xp` is what this decision awarded (negative when
    it rescinded an approval); `seq` and `hash` are those of the deciding event."""

    run_id: str
    gate_id: str
    stage_id: str
    attempt: int | None
    verb: Verb | Literal["rescind"]
    artifact_sha256: str | None
    option_id: str | None
    reason: str | None
    direction: str | None
    override_reason: str | None
    idempotency_key: str
    actor: Actor
    at: str
    seq: int
    hash: str
    prev_hash: str
    xp: int
    consequence: Consequence | None
    workers_learned: tuple[Memory, ...]
    workers_forgot: tuple[int, ...]
    next_brief: NextBrief | None
    level_up: int | None
    run_completed: bool
    reopened_gate_id: str | None


def receipt(events: Sequence[Event]) -> Receipt:
    """The receipt of the decision that `events` begin with; events that do not follow from it are left out."""
    first = events[0]
    decision = first.payload
    assert isinstance(decision, (CeoDecision, DecisionRescinded)), "a receipt begins with a decision"
    caused = [event for event in events[1:] if event.cause == first.seq]
    return Receipt(
        run_id=first.run_id,
        gate_id=decision.gate_id,
        stage_id=decision.stage_id,
        verb=decision.verb if isinstance(decision, CeoDecision) else "rescind",
        idempotency_key=decision.idempotency_key,
        reason=decision.reason,
        actor=first.actor,
        at=first.at,
        seq=first.seq,
        hash=first.hash,
        prev_hash=first.prev_hash,
        **_said(decision),
        **_followed(caused),
    )


def _said(decision: CeoDecision | DecisionRescinded) -> dict[str, Any]:
    if isinstance(decision, DecisionRescinded):
        names = ("attempt", "artifact_sha256", "option_id", "direction", "override_reason", "next_brief")
        return dict.fromkeys(names)
    return {
        "attempt": decision.attempt,
        "artifact_sha256": decision.artifact_sha256,
        "option_id": decision.option_id,
        "direction": decision.direction_text,
        "override_reason": decision.override_reason,
        "next_brief": _next_brief(decision),
    }


def _next_brief(decision: CeoDecision) -> NextBrief | None:
    if decision.direction is None:
        return None
    scope: Literal["this stage", "every later brief"] = (
        "this stage" if decision.verb == "reject" else "every later brief"
    )
    return NextBrief(text=decision.direction.text, scope=scope, option_id=decision.option_id)


def _followed(caused: Sequence[Event]) -> dict[str, Any]:
    payloads = [event.payload for event in caused]
    return {
        "xp": sum(p.amount for p in payloads if isinstance(p, XpAwarded)),
        "consequence": next((p.consequence for p in payloads if isinstance(p, ConsequenceApplied)), None),
        "workers_learned": tuple(
            Memory(seq=event.seq, **event.payload.model_dump())
            for event in caused
            if isinstance(event.payload, MemoryWritten)
        ),
        "workers_forgot": tuple(p.memory_seq for p in payloads if isinstance(p, MemoryRetracted)),
        "level_up": next((p.level for p in payloads if isinstance(p, LevelUp)), None),
        "run_completed": any(isinstance(p, RunCompleted) for p in payloads),
        "reopened_gate_id": next((p.gate_id for p in payloads if isinstance(p, GateOpened)), None),
    }
