"""One playthrough as a frozen value: the fold of its log."""

from __future__ import annotations

from bisect import bisect_left
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel

from submission.state.canonical import Document, FrozenDict, canonical, sha256
from submission.state.consequences import Consequence
from submission.state.events import GateOpened, Mode, Outcome, Verb
from submission.state.scoring import Score
from submission.state.work import Direction, Memory
from submission.state.world import Level, Meter, Stage, Validator, Worker, WorldPin

StageStatus = Literal["waiting", "working", "gate", "rework", "done"]


class StageState(NamedTuple):
    """A stage of this run. `artifact` is that of the current attempt, `previous` the one it replaced."""

    spec: Stage
    status: StageStatus = "waiting"
    attempt: int = 0
    artifact: Document | None = None
    artifact_sha256: str | None = None
    previous: Document | None = None
    score: Score | None = None
    executed_seq: int | None = None
    error: str | None = None
    fork_settled: bool = False
    xp: int = 0


class Award(NamedTuple):
    """The XP entry the next event must carry: positive after an approval, negative after its rescission."""

    gate_id: str
    stage_id: str
    artifact_sha256: str
    amount: int
    score: int
    decision_seq: int


class Decided(NamedTuple):
    """A gate that has its answer. Its receipt is the events from `decision_seq` on that follow from it."""

    gate_seq: int
    stage_id: str
    attempt: int
    verb: Verb
    artifact_sha256: str | None
    decision_seq: int
    option_id: str | None
    idempotency_key: str
    fingerprint: str
    rescinded_key: str | None = None
    rescinded_seq: int | None = None


class Run(NamedTuple):
    """`seq` and `head` are those of the last event folded; `undo` is the run as it was before the last
    decision while that can still be rescinded; `lapsed` are gates without an artifact that a retry closed, each
    with its stage; `award` and `price` are what the next events must be: the XP of a decision, then its consequence."""

    run_id: str
    seq: int
    head: str
    pitch: str
    seed: int
    mode: Mode
    player: str
    world: WorldPin
    meter_specs: tuple[Meter, ...]
    meters: FrozenDict[str, int]
    levels: tuple[Level, ...]
    validators: tuple[Validator, ...]
    stages: tuple[StageState, ...] = ()
    team: tuple[Worker, ...] = ()
    memories: tuple[Memory, ...] = ()
    directions: tuple[Direction, ...] = ()
    gate: GateOpened | None = None
    decided: tuple[Decided, ...] = ()
    undo: Run | None = None
    lapsed: tuple[tuple[int, str], ...] = ()
    award: Award | None = None
    price: Consequence | None = None
    outcome: Outcome | None = None

    @property
    def xp(self) -> int:
        return sum(stage.xp for stage in self.stages)

    @property
    def level(self) -> Level:
        xp = self.xp
        reached = [level for level in self.levels if level.xp <= xp]
        return reached[-1] if reached else self.levels[0]

    @property
    def working(self) -> StageState | None:
        """The stage a worker is on, if any; one at a time."""
        return next((stage for stage in self.stages if stage.status == "working"), None)

    def stage(self, stage_id: str) -> StageState | None:
        return next((stage for stage in self.stages if stage.spec.id == stage_id), None)

    def with_stage(self, changed: StageState) -> tuple[StageState, ...]:
        return tuple(changed if stage.spec.id == changed.spec.id else stage for stage in self.stages)

    def find_decided(self, gate_id: str) -> Decided | None:
        """The answer given at a gate, in O(log decisions)."""
        seq = gate_seq(gate_id)
        if seq is None:
            return None
        at = bisect_left(self.decided, (seq,))
        return self.decided[at] if at < len(self.decided) and self.decided[at].gate_seq == seq else None


def gate_id_of(seq: int) -> str:
    """A gate is named by the seq of its GATE_OPENED."""
    return f"gate-{seq}"


def gate_seq(gate_id: str) -> int | None:
    head, _, digits = gate_id.partition("-")
    if head != "gate" or not digits.isascii() or not digits.isdigit() or len(digits) > 9:
        return None
    return int(digits) if str(int(digits)) == digits else None


_NOT_HASHED = {"run_id", "head", "undo", "award", "price", "player", "decided"}


def state_document(run: Run) -> dict[str, Any]:
    """The run as plain JSON without what names this playthrough (ids, hashes, keys, people): two runs that
    were played alike have the same document. Latencies are not state and so not in it."""
    document = {name: _plain(value) for name, value in run._asdict().items() if name not in _NOT_HASHED}
    document["decided"] = [
        {
            "gate_seq": d.gate_seq,
            "verb": d.verb,
            "decision_seq": d.decision_seq,
            "rescinded": bool(d.rescinded_key),
        }
        for d in run.decided
    ]
    return document


def state_hash(run: Run) -> str:
    """SHA-256 over the canonical bytes of `state_document`."""
    return sha256(canonical(state_document(run)))


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump()
    if isinstance(value, StageState):
        return {name: _plain(item) for name, item in value._asdict().items()}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value
