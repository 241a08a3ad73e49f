"""What is shown of a run: pure projections, the same for browser, terminal and judge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from submission.state.canonical import Document, Frozen
from submission.state.consequences import Consequence
from submission.state.events import Compliance, Mode, Outcome, PricedFork, StageExecuted, Verb
from submission.state.memory import KINDS
from submission.state.quest import missing_needs
from submission.state.receipt import Receipt
from submission.state.run import Run, StageState, state_hash
from submission.state.scoring import Score
from submission.state.validation import MAX_ITEMS
from submission.state.work import Direction, Hit, InferenceUsage, Memory, MemoryKind, ToolCall
from submission.state.world import Beat, Worker, WorldPin

ShownStatus = Literal["locked", "open", "working", "gate", "rework", "done"]


class StageView(Frozen):
    """A stage on the board. `locked` lacks what it needs, `open` can be worked on, `rework` was sent back."""

    id: str
    beat: Beat
    title: str
    goal: str
    role: str
    artifact: str
    needs: tuple[str, ...]
    status: ShownStatus
    attempt: int
    floor: int | None
    passes: bool | None
    score: int | None
    xp: int
    artifact_sha256: str | None
    error: str | None


class MeterView(Frozen):
    id: str
    title: str
    value: int
    least: int
    most: int | None
    unit: str


class Change(Frozen):
    """One difference between two attempts: a dotted path and its text before and after (None: absent)."""

    path: str
    before: str | None
    after: str | None


class GateView(Frozen):
    """All a human needs to decide, and the verbs that are theirs. Once decided, what they were shown then, and
    the `receipt` of their answer."""

    run_id: str
    mode: Mode
    gate_id: str
    stage: StageView
    attempt: int
    artifact: Document | None
    artifact_sha256: str | None
    changes: tuple[Change, ...]
    score: Score | None
    compliance: tuple[Compliance, ...]
    fork: PricedFork | None
    own_direction: Consequence | None
    verbs: tuple[Verb, ...]
    reopens: str | None
    iq_hits: tuple[Hit, ...]
    memory_injected: tuple[Memory, ...]
    tools_called: tuple[str, ...]
    tool_trace: tuple[ToolCall, ...]
    inference_usage: InferenceUsage
    error: str | None
    receipt: Receipt | None = None


class RunView(Frozen):
    """A run at `seq`. `rescindable` is the gate whose decision can still be taken back."""

    run_id: str
    seq: int
    head: str
    world: WorldPin
    mode: Mode
    pitch: str
    seed: int
    outcome: Outcome | None
    xp: int
    level: int
    level_title: str
    meters: tuple[MeterView, ...]
    stages: tuple[StageView, ...]
    team: tuple[Worker, ...]
    directions: tuple[Direction, ...]
    open_stages: tuple[str, ...]
    working: str | None
    gate_id: str | None
    rescindable: str | None


class RunSummary(Frozen):
    """A run in a list; `gate_id` is what waits for its player, `at_work` the stage a worker is on."""

    run_id: str
    world: str
    mode: Mode
    pitch: str
    outcome: Outcome | None
    xp: int
    level: int
    stages_done: int
    gate_id: str | None
    at_work: str | None
    seq: int
    started_at: str
    updated_at: str


class RunList(Frozen):
    """A page of runs by last change, newest first; `next` continues it as `before`; `broken` names those whose log
    does not fold any more, for `verify` to look at."""

    runs: tuple[RunSummary, ...]
    broken: tuple[str, ...]
    next: str | None


class GateList(Frozen):
    gates: tuple[GateView, ...]


class RunAt(RunView):
    """A run as it was at a seq, with the hash that any fold of the same log up to there must give."""

    state_hash: str


class MemorySnapshot(Frozen):
    """What the workforce remembers, by kind, oldest first."""

    store: str
    configured: bool
    run_id: str
    counts: dict[MemoryKind, int]
    memories: dict[MemoryKind, tuple[Memory, ...]]


def stage_view(run: Run, stage: StageState) -> StageView:
    spec, score = stage.spec, stage.score
    return StageView(
        id=spec.id,
        beat=spec.beat,
        title=spec.title,
        goal=spec.goal,
        role=spec.role,
        artifact=spec.artifact,
        needs=spec.needs,
        status=_status(run, stage),
        attempt=stage.attempt,
        floor=score.floor if score else None,
        passes=score.passes if score else None,
        score=score.final if score else None,
        xp=stage.xp,
        artifact_sha256=stage.artifact_sha256,
        error=stage.error,
    )


def _status(run: Run, stage: StageState) -> ShownStatus:
    if stage.status == "waiting":
        return "locked" if missing_needs(run, stage) else "open"
    return stage.status


def _run_fields(run: Run) -> dict[str, Any]:
    stages = tuple(stage_view(run, stage) for stage in run.stages)
    level, working = run.level, run.working
    rescindable = run.decided[-1].gate_seq if run.undo is not None and run.decided else None
    return {
        "run_id": run.run_id,
        "seq": run.seq,
        "head": run.head,
        "world": run.world,
        "mode": run.mode,
        "pitch": run.pitch,
        "seed": run.seed,
        "outcome": run.outcome,
        "xp": run.xp,
        "level": level.level,
        "level_title": level.title,
        "meters": tuple(
            MeterView(
                id=spec.id,
                title=spec.title,
                value=run.meters[spec.id],
                least=spec.least,
                most=spec.most,
                unit=spec.unit,
            )
            for spec in run.meter_specs
        ),
        "stages": stages,
        "team": run.team,
        "directions": run.directions,
        "open_stages": tuple(stage.id for stage in stages if stage.status in ("open", "rework")),
        "working": working.spec.id if working else None,
        "gate_id": run.gate.gate_id if run.gate else None,
        "rescindable": f"gate-{rescindable}" if rescindable is not None else None,
    }


def run_view(run: Run) -> RunView:
    return RunView(**_run_fields(run))


def run_summary(run: Run, started_at: str, updated_at: str) -> RunSummary:
    working = run.working
    return RunSummary(
        run_id=run.run_id,
        world=run.world.id,
        mode=run.mode,
        pitch=run.pitch[:300],
        outcome=run.outcome,
        xp=run.xp,
        level=run.level.level,
        stages_done=sum(stage.status == "done" for stage in run.stages),
        gate_id=run.gate.gate_id if run.gate else None,
        at_work=working.spec.id if working else None,
        seq=run.seq,
        started_at=started_at,
        updated_at=updated_at,
    )


def run_at(run: Run) -> RunAt:
    return RunAt(**_run_fields(run), state_hash=state_hash(run))


def gate_view(run: Run, executed: StageExecuted) -> GateView:
    """The open gate of a run; `executed` is the event it stands on (`run.gate.executed_seq`)."""
    gate = run.gate
    assert gate is not None, "no gate is open"
    stage = run.stage(gate.stage_id)
    assert stage is not None, "a gate stands on a stage"
    return GateView(
        run_id=run.run_id,
        mode=run.mode,
        gate_id=gate.gate_id,
        stage=stage_view(run, stage),
        attempt=gate.attempt,
        artifact=stage.artifact,
        artifact_sha256=gate.artifact_sha256,
        changes=changes(stage.previous, stage.artifact),
        score=stage.score,
        compliance=gate.compliance,
        fork=gate.fork,
        own_direction=gate.own_direction,
        verbs=gate.verbs,
        reopens=gate.reopens,
        iq_hits=executed.iq_hits,
        memory_injected=executed.memory_injected,
        tools_called=executed.tools_called,
        tool_trace=executed.tool_trace,
        inference_usage=executed.inference_usage,
        error=executed.error,
    )


def changes(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None, limit: int = 60) -> tuple[Change, ...]:
    """What differs between two artifacts, in path order; none when either is absent."""
    if before is None or after is None:
        return ()
    old, new = dict(leaves(before)), dict(leaves(after))
    paths = [path for path in sorted(old.keys() | new.keys()) if old.get(path) != new.get(path)]
    return tuple(Change(path=path, before=old.get(path), after=new.get(path)) for path in paths[:limit])


def leaves(value: Any, path: str = "") -> list[tuple[str, str]]:
    """(dotted path, text) of every scalar in a JSON value."""
    if isinstance(value, Mapping):
        inner = [(f"{path}.{key}" if path else str(key), item) for key, item in list(value.items())[:MAX_ITEMS]]
    elif isinstance(value, (list, tuple)):
        inner = [(f"{path}.{index}", item) for index, item in enumerate(value[:MAX_ITEMS])]
    else:
        return [(path, value if isinstance(value, str) else str(value).lower() if value is not None else "null")]
    return [leaf for name, item in inner for leaf in leaves(item, name)]


def memory_snapshot(run: Run, store: str = "local-memory", configured: bool = False) -> MemorySnapshot:
    """`configured` says whether a remote memory store is set up beside the log."""
    grouped = {kind: tuple(memory for memory in run.memories if memory.kind == kind) for kind in KINDS}
    return MemorySnapshot(
        store=store,
        configured=configured,
        run_id=run.run_id,
        counts={kind: len(memories) for kind, memories in grouped.items()},
        memories=grouped,
    )
