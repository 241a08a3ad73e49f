"""The human gate: approve, reject, redirect, and rescind. Nothing else turns work into progress."""

from __future__ import annotations

from submission.state.commands import Decide, Rescind
from submission.state.consequences import Consequence
from submission.state.events import (
    VERBS,
    CeoDecision,
    ConsequenceApplied,
    DecisionRescinded,
    GateOpened,
    LevelUp,
    MemoryRetracted,
    MemoryWritten,
    PricedOption,
    RunCompleted,
    Verb,
)
from submission.state.evolve import fingerprint
from submission.state.memory import clamp
from submission.state.mint import mint_xp
from submission.state.quest import is_complete
from submission.state.refusals import refuse
from submission.state.ruling import binding, option_of
from submission.state.run import Decided, Run, StageState, gate_seq
from submission.state.text import said
from submission.state.turns import open_gate, require_player
from submission.state.unfold import Unfolding
from submission.state.work import MemoryKind
from submission.state.world import World

MAX_TEXT = 2_000
_NOT_FOR: dict[Verb, tuple[str, ...]] = {
    "approve": ("direction",),
    "reject": ("option_id", "direction", "override_reason"),
    "redirect": ("override_reason",),
}
"""What a verb takes no notice of, so that nobody believes it was heard."""


def decide_gate(log: Unfolding, command: Decide) -> None:
    """One decision on one gate. Adds nothing when the same key already carried the same decision; refuses
    a decided gate (with the seq of the decision that won), a stale artifact, and whatever the verb lacks."""
    _require_whole(command)
    decided = log.run.find_decided(command.gate_id)
    if decided is not None:
        return _answer_again(log.run, decided, command)
    gate = _open_gate(log.run, command)
    stage = log.run.stage(gate.stage_id)
    assert stage is not None, "a gate stands on a stage"
    chosen = _chosen(gate, command.option_id)
    payload = _decision(log, gate, stage, command, chosen)
    decision_seq = log.add(payload, command.actor, gate_seq(gate.gate_id))
    if log.run.award is not None:
        log.add(mint_xp(log.run.award), command.actor, decision_seq)
    if price := log.run.price:
        log.add(
            ConsequenceApplied(decision_seq=decision_seq, consequence=price, summary=price.summary),
            cause=decision_seq,
        )
    for kind, text in _memories(stage, command, chosen, price):
        log.add(
            MemoryWritten(kind=kind, text=clamp(text), stage_id=gate.stage_id, decision_seq=decision_seq),
            cause=decision_seq,
        )
    _announce(log, command, decision_seq)


def _require_key(key: str) -> None:
    if not 1 <= len(key) <= 200 or not key.isprintable() or key.isspace():
        refuse("decision.key_required")


def _require_storable(text: str) -> None:
    if len(text) > MAX_TEXT:
        refuse("text.too_long", f"{len(text):,} characters")
    try:
        text.encode()
    except UnicodeEncodeError:
        refuse("request.malformed", "a text holds half of a surrogate pair")


def _require_whole(command: Decide) -> None:
    """What any decision must have, whatever the gate."""
    if command.verb not in VERBS:
        refuse("decision.verb_unknown", f"not {command.verb!r}")
    _require_key(command.idempotency_key)
    for text in (
        command.reason,
        command.direction,
        command.override_reason,
        command.option_id,
        command.artifact_sha256,
    ):
        if text is not None:
            _require_storable(text)


def _answer_again(run: Run, decided: Decided, command: Decide) -> None:
    """A decided gate takes no second answer: the same one again is fine, any other is refused."""
    require_player(run, command.actor)
    if decided.idempotency_key == command.idempotency_key:
        if decided.fingerprint != _fingerprint(command):
            refuse("decision.key_reused", decision_seq=decided.decision_seq)
        return
    stage = run.stage(decided.stage_id)
    if stage is not None and stage.attempt > decided.attempt:
        _refuse_stale(run, stage, decision_seq=decided.decision_seq)
    refuse("gate.decided", f"{decided.verb} at seq {decided.decision_seq} won", decision_seq=decided.decision_seq)


def _fingerprint(command: Decide) -> str:
    words = (command.option_id, command.reason, command.direction, command.override_reason)
    return fingerprint(command.verb, command.artifact_sha256, *words)


def _refuse_stale(run: Run, stage: StageState, decision_seq: int | None = None) -> None:
    gate = run.gate if run.gate and run.gate.stage_id == stage.spec.id else None
    refuse(
        "gate.stale_artifact",
        f"{stage.spec.id} is at attempt {stage.attempt}",
        current={
            "stage_id": stage.spec.id,
            "attempt": stage.attempt,
            "gate_id": gate.gate_id if gate else None,
            "artifact_sha256": stage.artifact_sha256,
        },
        decision_seq=decision_seq,
    )


def _refuse_stale_at(run: Run, gate: GateOpened) -> None:
    stage = run.stage(gate.stage_id)
    assert stage is not None, "a gate stands on a stage"
    _refuse_stale(run, stage)


def _open_gate(run: Run, command: Decide) -> GateOpened:
    """The open gate the command names, once it is seen to be the right actor on the right artifact."""
    gate = run.gate
    if gate is None or gate.gate_id != command.gate_id:
        lapsed = run.stage(dict(run.lapsed).get(gate_seq(command.gate_id) or 0, ""))
        if lapsed is not None:
            _refuse_stale(run, lapsed)
        refuse("gate.unknown", f"no gate {command.gate_id[:40]!r} in this run")
    require_player(run, command.actor)
    if gate.artifact_sha256 is None:
        if command.verb not in gate.verbs:
            refuse("gate.no_artifact")
        if command.artifact_sha256 is not None:
            _refuse_stale_at(run, gate)
        return gate
    if command.artifact_sha256 is None:
        refuse("decision.hash_required")
    if command.artifact_sha256 != gate.artifact_sha256:
        _refuse_stale_at(run, gate)
    return gate


def _chosen(gate: GateOpened, option_id: str | None) -> PricedOption | None:
    if option_id is None:
        return None
    if gate.fork is None:
        refuse("decision.option_not_posed")
    chosen = option_of(gate, option_id)
    if chosen is None:
        refuse("option.unknown", f"the options are {', '.join(priced.option.id for priced in gate.fork.options)}")
    return chosen


def _decision(
    log: Unfolding, gate: GateOpened, stage: StageState, command: Decide, chosen: PricedOption | None
) -> CeoDecision:
    """The event of this decision, once the verb has what it needs."""
    reason, words, override = said(command.reason), said(command.direction), said(command.override_reason)
    spare = {name for name in _NOT_FOR[command.verb] if getattr(command, name) is not None}
    if spare:
        refuse("decision.not_for_verb", f"{command.verb} takes no {' and no '.join(sorted(spare))}")
    if command.verb == "reject" and reason is None:
        refuse("decision.reason_required")
    if command.verb == "redirect" and (chosen is None) == (words is None):
        refuse("decision.direction_required")
    if command.verb == "approve" and gate.fork is not None and chosen is None:
        options = [priced.option.id for priced in gate.fork.options]
        refuse("decision.option_required", f"the options are {', '.join(options)}", options=options)
    if command.verb == "approve" and stage.score is not None and not stage.score.passes and override is None:
        refuse("decision.override_required", f"the floor is {stage.score.floor}")
    decision = CeoDecision(
        gate_id=gate.gate_id,
        stage_id=gate.stage_id,
        attempt=gate.attempt,
        verb=command.verb,
        artifact_sha256=gate.artifact_sha256,
        idempotency_key=command.idempotency_key,
        option_id=command.option_id,
        reason=command.reason,
        override_reason=command.override_reason,
        direction_text=command.direction,
    )
    return decision.model_copy(update={"direction": binding(gate, log.seq + 1, decision)})


def _memories(
    stage: StageState, command: Decide, chosen: PricedOption | None, price: Consequence | None
) -> list[tuple[MemoryKind, str]]:
    """A choice, a rejection and a redirect teach a procedure; an approval closes a chapter."""
    title, reason = stage.spec.title, said(command.reason)
    lines: list[tuple[MemoryKind, str]] = []
    if command.verb == "approve":
        score = stage.score.final if stage.score else 0
        lines.append(("chat_summary", f"Stage '{title}' shipped by the {stage.spec.role} (score {score}/100)."))
    if command.verb == "reject":
        lines.append(("procedural", f"CEO rejected '{title}', attempt {stage.attempt}: {reason}"))
    elif chosen is not None and price is not None:
        option = chosen.option
        lines.append(
            (
                "procedural",
                f"CEO chose '{option.title}' at the '{title}' gate accepting: {option.tradeoff} "
                f"Binding: {option.direction} Consequence: {price.summary}.",
            )
        )
    elif command.verb == "redirect":
        lines.append(("procedural", f"CEO redirected '{title}', attempt {stage.attempt}: {said(command.direction)}"))
    override = said(command.override_reason)
    if override is not None and stage.score is not None and not stage.score.passes:
        lines.append(("procedural", f"CEO approved '{title}' below the floor: {override}"))
    return lines


def _announce(log: Unfolding, command: Decide, decision_seq: int) -> None:
    """A level reached, and the end of the run."""
    run, before = log.run, log.run.undo
    if before is not None and run.level.level > before.level.level:
        log.add(LevelUp(level=run.level.level, title=run.level.title, xp=run.xp), cause=decision_seq)
    if is_complete(run.stages):
        log.add(RunCompleted(outcome="victory", xp=run.xp, level=run.level.level), cause=decision_seq)


def rescind(log: Unfolding, command: Rescind, world: World) -> None:
    """Withdraw the last decision's XP, consequence and memory by events, and pose its gate again. Adds nothing
    when the same key already rescinded it; refuses once the next stage has started."""
    _require_key(command.idempotency_key)
    _require_storable(command.reason or "")
    run = log.run
    decided = run.find_decided(command.gate_id)
    if decided is None:
        if run.gate is not None and run.gate.gate_id == command.gate_id:
            refuse("gate.waiting", f"{command.gate_id} is not decided yet", gate_id=command.gate_id)
        refuse("gate.unknown", f"no gate {command.gate_id[:40]!r} in this run")
    require_player(run, command.actor)
    if decided.rescinded_key is not None and decided.rescinded_key == command.idempotency_key:
        return
    undo = run.undo
    if undo is None or decided.rescinded_key is not None or decided != run.decided[-1]:
        refuse("gate.rescind_too_late", decision_seq=decided.decision_seq)
    _withdraw(log, command, decided, world)


def _withdraw(log: Unfolding, command: Rescind, decided: Decided, world: World) -> None:
    written = [memory.seq for memory in log.run.memories if memory.decision_seq == decided.decision_seq]
    seq = log.add(
        DecisionRescinded(
            gate_id=command.gate_id,
            stage_id=decided.stage_id,
            verb=decided.verb,
            decision_seq=decided.decision_seq,
            idempotency_key=command.idempotency_key,
            reason=said(command.reason),
        ),
        command.actor,
        decided.decision_seq,
    )
    if log.run.award is not None:
        log.add(mint_xp(log.run.award), command.actor, seq)
    if back := log.run.price:
        log.add(
            ConsequenceApplied(decision_seq=decided.decision_seq, consequence=back, summary=back.summary),
            cause=seq,
        )
    for memory_seq in reversed(written):
        log.add(MemoryRetracted(memory_seq=memory_seq, decision_seq=decided.decision_seq), cause=seq)
    open_gate(log, decided.stage_id, seq, world, reopens=command.gate_id)
