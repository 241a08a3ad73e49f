"""Where two runs part, and how the companies they made differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from submission.state.canonical import Frozen, canonical
from submission.state.events import Event, Mode, Outcome, Verb
from submission.state.memory import KINDS
from submission.state.refusals import BrokenLog
from submission.state.replay import replay
from submission.state.run import Run, StageState, StageStatus, state_hash
from submission.state.work import MemoryKind
from submission.state.world import Worker, WorldPin

MAX_DIFFERENCES = 40
MAX_TEXT = 160

INCIDENTAL = frozenset({"idempotency_key", "latency_ms", "ms"})
"""Fields that differ between two plays of the same game."""


class Break(Frozen):
    """The event at which a log could not be followed any further."""

    seq: int
    why: str


class Side(Frozen):
    """One of the two runs, at its end or at its break."""

    run_id: str
    mode: Mode
    pitch: str
    seed: int
    world: WorldPin
    seq: int
    xp: int
    level: int
    outcome: Outcome | None
    state_hash: str
    broken: Break | None


class Difference(Frozen):
    """One field, as text clamped to 160 characters (None: absent)."""

    path: str
    a: str | None
    b: str | None


class Parting(Frozen):
    """The first event that differs. A type of None: that log has ended."""

    seq: int
    a_type: str | None
    b_type: str | None
    differences: tuple[Difference, ...]
    left_out: int


class MeterPair(Frozen):
    id: str
    title: str
    unit: str
    a: int | None
    b: int | None


class StageOutcome(Frozen):
    """What became of a stage. `decision` is the last that stands, `options` all that were chosen and stand."""

    status: StageStatus
    attempts: int
    floor: int | None
    score: int | None
    xp: int
    decision: Verb | None
    options: tuple[str, ...]


class StagePair(Frozen):
    id: str
    a: StageOutcome | None
    b: StageOutcome | None


class ArtifactPair(Frozen):
    """A stage's last artifact on both sides; a hash of None: there is none."""

    stage_id: str
    same: bool
    a_sha256: str | None
    b_sha256: str | None
    differences: tuple[Difference, ...]
    left_out: int


class MemoryPair(Frozen):
    kind: MemoryKind
    shared: int
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]


class TeamPair(Frozen):
    shared: int
    only_a: tuple[Worker, ...]
    only_b: tuple[Worker, ...]


class Comparison(Frozen):
    """`same` is true when the two ended in the same state."""

    a: Side
    b: Side
    same: bool
    parting: Parting | None
    meters: tuple[MeterPair, ...]
    stages: tuple[StagePair, ...]
    artifacts: tuple[ArtifactPair, ...]
    memories: tuple[MemoryPair, ...]
    team: TeamPair


def compare(a: Sequence[Event], b: Sequence[Event]) -> Comparison:
    """Compare two logs, each as far as it can be folded. Raises BrokenLog where one cannot be folded at all."""
    (run_a, side_a), (run_b, side_b) = _side(a), _side(b)
    pairs = _stage_pairs(run_a, run_b)
    return Comparison(
        a=side_a,
        b=side_b,
        same=side_a.state_hash == side_b.state_hash,
        parting=_parting(a, b),
        meters=_meters(run_a, run_b),
        stages=tuple(StagePair(id=name, a=_outcome(run_a, x), b=_outcome(run_b, y)) for name, x, y in pairs),
        artifacts=tuple(_artifact(name, x, y) for name, x, y in pairs if _has_artifact(x) or _has_artifact(y)),
        memories=tuple(_memories(kind, run_a, run_b) for kind in KINDS),
        team=_team(run_a, run_b),
    )


def _side(events: Sequence[Event]) -> tuple[Run, Side]:
    run, broken = replay(events)
    if run is None:
        raise broken or BrokenLog(1, "the log holds no event")
    side = Side(
        run_id=run.run_id,
        mode=run.mode,
        pitch=run.pitch,
        seed=run.seed,
        world=run.world,
        seq=run.seq,
        xp=run.xp,
        level=run.level.level,
        outcome=run.outcome,
        state_hash=state_hash(run),
        broken=Break(seq=broken.seq, why=broken.why) if broken else None,
    )
    return run, side


def _parting(a: Sequence[Event], b: Sequence[Event]) -> Parting | None:
    """The first pair of events that say different things; who did them, when, and under which ids does not count."""
    for seq, (one, other) in enumerate(zip_longest(a, b), 1):
        said, answered = _said(one), _said(other)
        if said != answered or _type(one) != _type(other):
            found, left_out = differences(said, answered)
            return Parting(seq=seq, a_type=_type(one), b_type=_type(other), differences=found, left_out=left_out)
    return None


def _type(event: Event | None) -> str | None:
    return event.type if event else None


def _said(event: Event | None) -> Any:
    return _essential(event.payload.model_dump()) if event else {}


def _essential(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _essential(item) for key, item in value.items() if key not in INCIDENTAL}
    if isinstance(value, (list, tuple)):
        return [_essential(item) for item in value]
    return value


def differences(a: Any, b: Any, limit: int = MAX_DIFFERENCES) -> tuple[tuple[Difference, ...], int]:
    """What differs between two JSON values, outermost first, and how many more there are than `limit`."""
    found = [Difference(path=path, a=_text(x), b=_text(y)) for path, x, y in _walk(a, b, "")]
    found.sort(key=lambda entry: entry.path.count(".") + entry.path.count("["))
    return tuple(found[:limit]), max(0, len(found) - limit)


_ABSENT = object()


def _walk(a: Any, b: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        for key in sorted(a.keys() | b.keys()):
            yield from _walk(a.get(key, _ABSENT), b.get(key, _ABSENT), f"{path}.{key}" if path else key)
    elif isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        for index, (x, y) in enumerate(zip_longest(a, b, fillvalue=_ABSENT)):
            yield from _walk(x, y, f"{path}[{index}]")
    elif a != b or isinstance(a, bool) != isinstance(b, bool):
        yield path, a, b


def _text(value: Any) -> str | None:
    if value is _ABSENT:
        return None
    text = value if isinstance(value, str) else canonical(value).decode()
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"


def _meters(a: Run, b: Run) -> tuple[MeterPair, ...]:
    specs = {meter.id: meter for meter in (*b.meter_specs, *a.meter_specs)}
    return tuple(
        MeterPair(id=spec.id, title=spec.title, unit=spec.unit, a=a.meters.get(spec.id), b=b.meters.get(spec.id))
        for spec in specs.values()
    )


_StagePair = tuple[str, StageState | None, StageState | None]


def _stage_pairs(a: Run, b: Run) -> list[_StagePair]:
    names = dict.fromkeys(stage.spec.id for stage in (*a.stages, *b.stages))
    return [(name, a.stage(name), b.stage(name)) for name in names]


def _outcome(run: Run, stage: StageState | None) -> StageOutcome | None:
    if stage is None:
        return None
    standing = [entry for entry in run.decided if entry.stage_id == stage.spec.id and entry.rescinded_key is None]
    return StageOutcome(
        status=stage.status,
        attempts=stage.attempt,
        floor=stage.score.floor if stage.score else None,
        score=stage.score.final if stage.score else None,
        xp=stage.xp,
        decision=standing[-1].verb if standing else None,
        options=tuple(entry.option_id for entry in standing if entry.option_id is not None),
    )


def _has_artifact(stage: StageState | None) -> bool:
    return stage is not None and stage.artifact is not None


def _artifact(name: str, a: StageState | None, b: StageState | None) -> ArtifactPair:
    hashes = [stage.artifact_sha256 if stage else None for stage in (a, b)]
    bodies = [stage.artifact if stage and stage.artifact is not None else {} for stage in (a, b)]
    found, left_out = differences(bodies[0], bodies[1])
    return ArtifactPair(
        stage_id=name,
        same=hashes[0] == hashes[1],
        a_sha256=hashes[0],
        b_sha256=hashes[1],
        differences=found,
        left_out=left_out,
    )


def _memories(kind: MemoryKind, a: Run, b: Run) -> MemoryPair:
    texts_a, texts_b = ([memory.text for memory in run.memories if memory.kind == kind] for run in (a, b))
    return MemoryPair(
        kind=kind,
        shared=len(set(texts_a) & set(texts_b)),
        only_a=tuple(text for text in texts_a if text not in texts_b),
        only_b=tuple(text for text in texts_b if text not in texts_a),
    )


def _team(a: Run, b: Run) -> TeamPair:
    return TeamPair(
        shared=len(set(a.team) & set(b.team)),
        only_a=tuple(worker for worker in a.team if worker not in b.team),
        only_b=tuple(worker for worker in b.team if worker not in a.team),
    )
