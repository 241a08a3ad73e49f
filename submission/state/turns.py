"""A stage's work: sent out, brought back, scored, and laid before the human."""

from __future__ import annotations

from submission.state.canonical import FrozenDict, canonical_frozen, sha256
from submission.state.commands import StartStage, SubmitArtifact
from submission.state.compliance import check_compliance, in_force
from submission.state.consequences import calculate_consequence
from submission.state.events import VERBS, Actor, GateOpened, PricedFork, PricedOption, StageExecuted, StageStarted
from submission.state.evolve import may_decide
from submission.state.quest import missing_needs, open_stages
from submission.state.refusals import refuse
from submission.state.run import Run, StageState, gate_id_of
from submission.state.scoring import Score, score_artifact
from submission.state.unfold import Unfolding
from submission.state.world import World

MAX_ARTIFACT_BYTES = 64 * 1024


def start_stage(log: Unfolding, command: StartStage) -> None:
    """Refuses while another stage is at work, a gate is open, or the stage's needs are not approved; and whoever is
    not the run's player, for a stage that starts ends the time in which a decision can be rescinded."""
    require_player(log.run, command.actor)
    stage = _choose(log.run, command.stage_id)
    log.add(
        StageStarted(
            stage_id=stage.spec.id,
            attempt=stage.attempt + 1,
            role=stage.spec.role,
            directions=tuple(direction.seq for direction in in_force(log.run.directions, stage.spec.id)),
        ),
        command.actor,
        log.run.decided[-1].decision_seq if log.run.decided else None,
    )


def require_player(run: Run, actor: Actor) -> None:
    """Refuses everyone but the one whose run it is: its human, or in a rehearsal its script."""
    if not may_decide(run, actor.kind) or actor.id != run.player:
        refuse("decision.not_yours", f"this is the run of {run.player}, not of {actor.id}")


def _choose(run: Run, stage_id: str | None) -> StageState:
    if run.outcome is not None:
        refuse("run.completed")
    if run.working is not None:
        refuse("stage.working", f"{run.working.spec.id}, attempt {run.working.attempt}, is at work")
    retry = run.stage(run.gate.stage_id) if run.gate and run.gate.artifact_sha256 is None else None
    if run.gate is not None and (retry is None or stage_id not in (None, retry.spec.id)):
        refuse(
            "gate.waiting",
            f"{run.gate.gate_id} of stage {run.gate.stage_id} is open",
            gate_id=run.gate.gate_id,
        )
    if retry is not None:
        return retry
    if stage_id is None:
        return open_stages(run)[0]
    stage = run.stage(stage_id)
    if stage is None:
        refuse("stage.unknown", f"no stage {stage_id!r}")
    if stage.status == "done":
        refuse("stage.done")
    if missing := missing_needs(run, stage):
        refuse("stage.locked", f"{stage_id} needs {', '.join(missing)}")
    return stage


def submit_artifact(log: Unfolding, command: SubmitArtifact, world: World) -> None:
    """The law scores the artifact itself, so a submitted score cannot be forged. A result that comes late,
    for an attempt that is not at work, is refused."""
    run, work = log.run, command.work
    stage = run.stage(command.stage_id)
    if stage is None or stage.status != "working" or stage.attempt != command.attempt:
        refuse("work.unexpected", f"{command.stage_id}, attempt {command.attempt}, is not at work")
    body = canonical_frozen(work.artifact) if work.artifact is not None else None
    if body is not None and len(body) > MAX_ARTIFACT_BYTES:
        refuse("artifact.too_large", f"{len(body)} bytes")
    executed_seq = log.add(
        StageExecuted(
            stage_id=command.stage_id,
            attempt=command.attempt,
            status="failed" if body is None else "executed",
            artifact=work.artifact,
            artifact_sha256=sha256(body) if body is not None else None,
            score=_score(run, stage, command),
            iq_hits=command.knowledge,
            memory_injected=command.memories,
            tools_called=work.tools_called,
            inference_usage=work.inference_usage,
            tool_trace=work.tool_trace,
            observations=FrozenDict(work.observations),
            error=work.error if body is not None else work.error or "the worker returned no artifact",
        ),
        command.actor,
        run.seq,
    )
    open_gate(log, command.stage_id, executed_seq, world)


def _score(run: Run, stage: StageState, command: SubmitArtifact) -> Score | None:
    if command.work.artifact is None:
        return None
    rules = tuple(rule for rule in run.validators if rule.id in stage.spec.validators)
    return score_artifact(rules, command.work.artifact, command.judgement, command.work.observations)


def open_gate(log: Unfolding, stage_id: str, cause: int, world: World, reopens: str | None = None) -> None:
    """Lay the stage's artifact before the human, with every price it can cost."""
    run = log.run
    stage = run.stage(stage_id)
    assert stage, "a gate opens on a stage"
    assert stage.executed_seq, "a gate opens on executed work"
    failed = stage.artifact is None
    log.add(
        GateOpened(
            gate_id=gate_id_of(log.seq + 1),
            stage_id=stage_id,
            attempt=stage.attempt,
            artifact_sha256=stage.artifact_sha256,
            executed_seq=stage.executed_seq,
            verbs=("reject",) if failed else VERBS,
            fork=None if failed else _priced_fork(run, stage, world),
            own_direction=None
            if failed
            else calculate_consequence(world.own_direction, run.meter_specs, run.meters, run.team),
            compliance=()
            if stage.artifact is None
            else check_compliance(run.directions, stage_id, stage.artifact, stage.previous),
            reopens=reopens,
        ),
        cause=cause,
    )


def _priced_fork(run: Run, stage: StageState, world: World) -> PricedFork | None:
    fork = world.fork(stage.spec.id)
    if fork is None or stage.fork_settled:
        return None
    return PricedFork(
        question=fork.question,
        options=tuple(
            PricedOption(
                option=option,
                consequence=calculate_consequence(option.rule, run.meter_specs, run.meters, run.team),
            )
            for option in fork.options
        ),
    )
