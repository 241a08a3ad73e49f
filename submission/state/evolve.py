"""The fold: what each event makes of a run. Needs no world pack, and refuses a log the law could not have written."""

from __future__ import annotations

from collections.abc import Iterable

from submission.state.canonical import FrozenDict, canonical_frozen, sha256
from submission.state.compliance import in_force
from submission.state.consequences import reverse
from submission.state.events import (
    VERBS,
    CeoDecision,
    ConsequenceApplied,
    DecisionRescinded,
    Event,
    GateOpened,
    LevelUp,
    MemoryRetracted,
    MemoryWritten,
    Mode,
    RunCompleted,
    RunStarted,
    StageExecuted,
    StageStarted,
    WorldDesigned,
    XpAwarded,
)
from submission.state.memory import MAX_CHARS, written
from submission.state.quest import graph_faults, is_complete, missing_needs
from submission.state.refusals import BrokenLog
from submission.state.ruling import binding, lack, price_of
from submission.state.run import Award, Decided, Run, StageState, gate_id_of, gate_seq
from submission.state.scoring import xp_for
from submission.state.work import Direction, Memory

MAX_DIRECTIONS = 24
"""Rejections, and choices and redirects, in force at once; the oldest beyond this give way, so that a brief and a
gate stay bounded."""

GENESIS = "0" * 64
"""The prev_hash of a run's first event."""


def fold(events: Iterable[Event], run: Run | None = None) -> Run | None:
    """The run after these events. Raises BrokenLog at the first that cannot follow."""
    for event in events:
        run = evolve(run, event)
    return run


def evolve(run: Run | None, event: Event) -> Run:
    """The run after one more event; raises BrokenLog when the law could not have written it here."""
    if run is None:
        return _started(event)
    if event.seq != run.seq + 1:
        raise BrokenLog(event.seq, f"seq {event.seq} follows {run.seq}", "integrity")
    if event.run_id != run.run_id:
        raise BrokenLog(event.seq, "belongs to another run", "integrity")
    if event.prev_hash != run.head:
        raise BrokenLog(event.seq, "prev_hash is not the hash of the event before", "integrity")
    if run.award is not None and not isinstance(event.payload, XpAwarded):
        raise BrokenLog(event.seq, "a decision on an approval is not followed by its XP", "xp")
    if run.award is None and run.price is not None and not isinstance(event.payload, (ConsequenceApplied, XpAwarded)):
        raise BrokenLog(event.seq, "a decision is not followed by its consequence")
    if run.outcome is not None and not isinstance(event.payload, DecisionRescinded):
        raise BrokenLog(event.seq, "the run has ended")
    if isinstance(event.cause, int) and not 1 <= event.cause < event.seq:
        raise BrokenLog(event.seq, f"its cause, seq {event.cause}, does not come before it")
    return _apply(run, event)._replace(seq=event.seq, head=event.hash)


def _apply(run: Run, event: Event) -> Run:
    payload = event.payload
    match payload:
        case WorldDesigned():
            return _designed(run, event, payload)
        case StageStarted():
            return _stage_started(run, event, payload)
        case StageExecuted():
            return _stage_executed(run, event, payload)
        case GateOpened():
            return _gate_opened(run, event, payload)
        case CeoDecision():
            return _decided(run, event, payload)
        case XpAwarded():
            return _awarded(run, event, payload)
        case ConsequenceApplied():
            return _consequence(run, event, payload)
        case MemoryWritten():
            _require(_may_teach(run, payload), event, "a memory that neither the pitch nor a decision wrote")
            return run._replace(memories=written(run.memories, _memory(event.seq, payload)))
        case MemoryRetracted():
            return _memory_retracted(run, event, payload)
        case LevelUp():
            level = run.level
            due = (level.level, level.title, run.xp)
            _require((payload.level, payload.title, payload.xp) == due, event, "a level that was not reached", "xp")
            _require(run.undo is not None, event, "a level that no decision reached")
            return run
        case DecisionRescinded():
            return _rescinded(run, event, payload)
        case RunCompleted():
            _require(
                bool(run.stages) and is_complete(run.stages), event, "completed before its eight stages were approved"
            )
            _require(payload.xp == run.xp, event, "completed with another XP than was awarded", "xp")
            _require(payload.level == run.level.level, event, "completed at another level than was reached", "xp")
            return run._replace(outcome=payload.outcome)
        case _:
            raise BrokenLog(event.seq, f"an event of type {event.type} cannot stand here")


def _require(ok: bool, event: Event, why: str, verdict: str = "schema") -> None:
    if not ok:
        raise BrokenLog(event.seq, why, verdict)


def _started(event: Event) -> Run:
    payload = event.payload
    _require(isinstance(payload, RunStarted) and event.seq == 1, event, "a run begins with RUN_STARTED at seq 1")
    _require(event.prev_hash == GENESIS, event, "the first event follows another", "integrity")
    _require(
        event.actor.kind == _decider(payload.mode), event, f"a {payload.mode} run begun for {event.actor.kind}", "xp"
    )
    _require(bool(payload.levels) and payload.levels[0].xp <= 0, event, "no level to begin at")
    return Run(
        run_id=event.run_id,
        seq=event.seq,
        head=event.hash,
        pitch=payload.pitch,
        seed=payload.seed,
        mode=payload.mode,
        player=event.actor.id,
        world=payload.world,
        meter_specs=payload.meters,
        meters=FrozenDict({meter.id: meter.start for meter in payload.meters}),
        levels=payload.levels,
        validators=payload.validators,
    )


def _designed(run: Run, event: Event, payload: WorldDesigned) -> Run:
    _require(not run.stages, event, "a quest laid out twice")
    ids, rules = {stage.id for stage in payload.stages}, {rule.id for rule in run.validators}
    _require(len(ids) == len(payload.stages) and not graph_faults(payload.stages), event, "these stages are no quest")
    known = all(rules.issuperset(stage.validators) for stage in payload.stages)
    _require(known, event, "a stage is measured by rules the run did not pin")
    return run._replace(stages=tuple(StageState(spec=stage) for stage in payload.stages))


def _stage(run: Run, event: Event, stage_id: str) -> StageState:
    stage = run.stage(stage_id)
    if stage is None:
        raise BrokenLog(event.seq, f"no stage {stage_id!r} in this run")
    return stage


def _stage_started(run: Run, event: Event, payload: StageStarted) -> Run:
    stage = _stage(run, event, payload.stage_id)
    retry = stage.status == "gate" and stage.artifact is None
    _require(run.gate is None or retry, event, "a stage starts while a gate is open")
    _require(run.working is None, event, "two stages at work at once")
    _require(stage.status in ("waiting", "rework") or retry, event, f"{payload.stage_id} is not open")
    _require(not missing_needs(run, stage), event, f"{payload.stage_id} lacks what it needs")
    _require(payload.attempt == stage.attempt + 1, event, "attempts count 1, 2, 3")
    _require(payload.role == stage.spec.role, event, f"{payload.stage_id} is not the work of the {payload.role}")
    bound = tuple(direction.seq for direction in in_force(run.directions, payload.stage_id))
    _require(payload.directions == bound, event, f"the decisions that bind it are {bound}")
    at_work = stage._replace(
        status="working",
        attempt=payload.attempt,
        artifact=None,
        artifact_sha256=None,
        previous=stage.artifact or stage.previous,
        error=None,
    )
    lapsed = (*run.lapsed, (gate_seq(run.gate.gate_id) or 0, stage.spec.id)) if run.gate else run.lapsed
    return run._replace(stages=run.with_stage(at_work), gate=None, undo=None, lapsed=lapsed)


def _stage_executed(run: Run, event: Event, payload: StageExecuted) -> Run:
    stage = _stage(run, event, payload.stage_id)
    _require(stage.status == "working" and stage.attempt == payload.attempt, event, "work nobody had started")
    _require((payload.artifact is None) == (payload.status == "failed"), event, "a failed stage has no artifact")
    _require((payload.artifact is None) == (payload.score is None), event, "an artifact has a score")
    _require(
        (payload.artifact is None) == (payload.artifact_sha256 is None),
        event,
        "an artifact has a hash",
        "integrity",
    )
    back = stage._replace(
        status="gate",
        artifact=payload.artifact,
        artifact_sha256=payload.artifact_sha256,
        score=payload.score,
        executed_seq=event.seq,
        error=payload.error,
    )
    return run._replace(stages=run.with_stage(back))


def _gate_opened(run: Run, event: Event, payload: GateOpened) -> Run:
    stage = _stage(run, event, payload.stage_id)
    _require(payload.gate_id == gate_id_of(event.seq), event, "a gate is named by its seq")
    _require(run.gate is None, event, "two gates open at once")
    _require(stage.status == "gate" and stage.attempt == payload.attempt, event, "a gate without work before it")
    _require(stage.artifact_sha256 == payload.artifact_sha256, event, "a gate on another artifact", "integrity")
    _require(payload.executed_seq == stage.executed_seq, event, "a gate on another execution")
    failed = stage.artifact is None
    _require(payload.verbs == (("reject",) if failed else VERBS), event, "a gate with other verbs than the law's")
    _require(payload.fork is None or not (failed or stage.fork_settled), event, "a fork that was settled")
    _require((payload.own_direction is None) == failed, event, "a gate without the price of an own direction")
    last = run.decided[-1] if run.decided and run.undo is not None else None
    reopens = gate_id_of(last.gate_seq) if last and last.rescinded_key is not None else None
    _require(payload.reopens == reopens, event, "poses another gate again than was rescinded")
    kept = reopens is not None and any(m.decision_seq == last.decision_seq for m in run.memories if last)
    _require(not kept, event, "a memory outlives its rescinded decision")
    return run._replace(gate=payload, undo=None)


def fingerprint(verb: str, artifact_sha256: str | None, *said: str | None) -> str:
    """What makes two decisions under one Idempotency-Key the same: the verb, the artifact, the option and the words."""
    return sha256(canonical_frozen((verb, artifact_sha256, *said)))


def may_decide(run: Run, kind: str) -> bool:
    """Only a human decides; only in a rehearsal, a script does."""
    return kind == _decider(run.mode)


def _require_player(run: Run, event: Event, what: str) -> None:
    _require(may_decide(run, event.actor.kind), event, f"{what} by a {event.actor.kind} actor", "xp")
    _require(event.actor.id == run.player, event, f"{what} by another than the run's player", "xp")


def _decider(mode: Mode) -> str:
    return "human" if mode == "human" else "scripted"


def _decided(run: Run, event: Event, payload: CeoDecision) -> Run:
    gate, stage = run.gate, _stage(run, event, payload.stage_id)
    if gate is None or gate.gate_id != payload.gate_id:
        raise BrokenLog(event.seq, f"a decision at {payload.gate_id}, which is not open")
    _require_player(run, event, "a decision")
    _require(payload.artifact_sha256 == gate.artifact_sha256, event, "a decision on another artifact", "integrity")
    same = (payload.stage_id, payload.attempt) == (gate.stage_id, gate.attempt)
    _require(same, event, "a decision on another stage than its gate's")
    _require(payload.verb in gate.verbs, event, f"the gate does not offer {payload.verb}")
    lacking = lack(gate, stage, payload)
    _require(not lacking, event, lacking)
    _require(payload.direction == binding(gate, event.seq, payload), event, "binds to other than was decided")
    decided = Decided(
        gate_seq=gate_seq(payload.gate_id) or 0,
        stage_id=payload.stage_id,
        attempt=payload.attempt,
        verb=payload.verb,
        artifact_sha256=payload.artifact_sha256,
        decision_seq=event.seq,
        option_id=payload.option_id,
        idempotency_key=payload.idempotency_key,
        fingerprint=fingerprint(
            payload.verb,
            payload.artifact_sha256,
            payload.option_id,
            payload.reason,
            payload.direction_text,
            payload.override_reason,
        ),
    )
    settled = stage.fork_settled or (payload.verb == "redirect" and payload.option_id is not None)
    stage = stage._replace(status="done" if payload.verb == "approve" else "rework", fork_settled=settled)
    directions = (*run.directions, payload.direction) if payload.direction else run.directions
    if payload.verb == "approve":
        directions = tuple(d for d in directions if d.verb != "reject" or d.stage_id != payload.stage_id)
    return run._replace(
        stages=run.with_stage(stage),
        gate=None,
        decided=(*run.decided, decided),
        directions=_bounded(directions),
        award=_award(stage, payload, event.seq),
        price=price_of(gate, payload.verb, payload.option_id),
        undo=run._replace(undo=None),
    )


def _bounded(directions: tuple[Direction, ...]) -> tuple[Direction, ...]:
    """The newest of each kind: rejections never push out a choice that binds the whole run."""
    if len(directions) <= MAX_DIRECTIONS:
        return directions
    kept = {
        d.seq
        for kind in (True, False)
        for d in [d for d in directions if (d.verb == "reject") is kind][-MAX_DIRECTIONS:]
    }
    return tuple(d for d in directions if d.seq in kept)


def _award(stage: StageState, payload: CeoDecision, seq: int) -> Award | None:
    if payload.verb != "approve" or stage.score is None or payload.artifact_sha256 is None:
        return None
    final = stage.score.final
    return Award(payload.gate_id, payload.stage_id, payload.artifact_sha256, xp_for(final), final, seq)


def _awarded(run: Run, event: Event, payload: XpAwarded) -> Run:
    if run.award is None:
        raise BrokenLog(event.seq, "XP that follows no decision on an approval", "xp")
    due = Award(
        payload.gate_id,
        payload.stage_id,
        payload.artifact_sha256,
        payload.amount,
        payload.score,
        payload.decision_seq,
    )
    _require(due == run.award, event, f"XP that differs from what was decided ({run.award.amount})", "xp")
    _require_player(run, event, "XP awarded")
    _require(event.cause == run.seq, event, "XP that names another cause than its decision", "xp")
    stage = _stage(run, event, payload.stage_id)
    return run._replace(stages=run.with_stage(stage._replace(xp=stage.xp + payload.amount)), award=None)


def _consequence(run: Run, event: Event, payload: ConsequenceApplied) -> Run:
    consequence = payload.consequence
    last = run.decided[-1].decision_seq if run.decided else None
    _require(consequence == run.price and payload.decision_seq == last, event, "a consequence that no decision has")
    for change in consequence.meters:
        _require(run.meters.get(change.meter) == change.before, event, f"{change.meter} was not {change.before}")
        _require(change.after - change.before == change.delta, event, f"{change.meter} does not add up")
    retired = {worker.id for worker in consequence.workers_retired}
    team = tuple(worker for worker in run.team if worker.id not in retired) + consequence.workers_added
    if run.undo is not None and run.decided[-1].rescinded_key is not None:
        _require(set(team) == set(run.undo.team), event, "another team than before the decision")
        team = run.undo.team
    meters = FrozenDict({**run.meters, **{change.meter: change.after for change in consequence.meters}})
    return run._replace(meters=meters, team=team, price=None)


def _may_teach(run: Run, payload: MemoryWritten) -> bool:
    """Only the pitch, before any work, and the last decision, until something follows it."""
    if len(payload.text) > MAX_CHARS:
        return False
    if payload.decision_seq is None:
        return payload.kind == "user_profile" and all(stage.attempt == 0 for stage in run.stages)
    last = run.decided[-1] if run.decided and run.undo is not None else None
    return last is not None and last.decision_seq == payload.decision_seq and last.rescinded_key is None


def _memory(seq: int, payload: MemoryWritten) -> Memory:
    return Memory(
        seq=seq,
        kind=payload.kind,
        text=payload.text,
        origin=payload.origin,
        stage_id=payload.stage_id,
        decision_seq=payload.decision_seq,
    )


def _memory_retracted(run: Run, event: Event, payload: MemoryRetracted) -> Run:
    """The memories of the rescinded decision go, and what they had displaced comes back."""
    last = run.decided[-1] if run.decided and run.undo is not None else None
    rescinded_seq = last.decision_seq if last and last.rescinded_key is not None else None
    _require(payload.decision_seq == rescinded_seq, event, "a retraction without a rescission")
    theirs = any(m.seq == payload.memory_seq and m.decision_seq == rescinded_seq for m in run.memories)
    _require(theirs, event, "retracts what the rescinded decision did not write")
    kept = tuple(memory for memory in run.memories if memory.seq != payload.memory_seq)
    rescinded = any(memory.decision_seq == payload.decision_seq for memory in kept)
    return run._replace(memories=kept if rescinded or run.undo is None else run.undo.memories)


def _rescinded(run: Run, event: Event, payload: DecisionRescinded) -> Run:
    undo, last = run.undo, run.decided[-1] if run.decided else None
    if undo is None or last is None or last.decision_seq != payload.decision_seq:
        raise BrokenLog(event.seq, "rescinds a decision that can no longer be rescinded")
    _require_player(run, event, "a rescission")
    _require(last.rescinded_key is None, event, "rescinds a decision twice")
    theirs = (gate_seq(payload.gate_id), payload.stage_id, payload.verb) == (last.gate_seq, last.stage_id, last.verb)
    _require(theirs, event, "rescinds another decision than it names")
    before = undo.stage(payload.stage_id)
    now = _stage(run, event, payload.stage_id)
    award = None
    if now.xp and last.artifact_sha256 is not None and now.score is not None:
        award = Award(
            payload.gate_id,
            payload.stage_id,
            last.artifact_sha256,
            -now.xp,
            now.score.final,
            last.decision_seq,
        )
    reopened = (before or now)._replace(xp=now.xp)
    paid = price_of(undo.gate, last.verb, last.option_id) if undo.gate else None
    return run._replace(
        stages=run.with_stage(reopened),
        directions=undo.directions,
        decided=(
            *run.decided[:-1],
            last._replace(rescinded_key=payload.idempotency_key, rescinded_seq=event.seq),
        ),
        outcome=None,
        award=award,
        price=reverse(paid) if paid else None,
    )
