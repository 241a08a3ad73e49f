"""What goes into a worker and what comes out of it: the brief, the work, and their receipts."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from submission.state.canonical import Document, Frozen, FrozenDict, Number
from submission.state.text import Clamped, Short
from submission.state.world import Check, Role, Stage, WorldPin

Tier = Literal["simulation", "local", "cloud"]
MemoryKind = Literal["user_profile", "procedural", "chat_summary"]
MAX_CALLS = 32
Count = Annotated[int, Field(ge=0, lt=2**53)]


class Hit(Frozen):
    """A passage of the knowledge base: `source` path in the pack, lines `start_line`..`end_line`
    (1-based, inclusive), at most 400 characters of text, and the retriever it came from."""

    source: str
    start_line: int
    end_line: int
    text: str
    origin: str


class Memory(Frozen):
    """A live memory; `seq` is the event that wrote it, `decision_seq` the decision behind it."""

    seq: int
    kind: MemoryKind
    text: str
    origin: str = "local-memory"
    stage_id: str | None = None
    decision_seq: int | None = None


class Direction(Frozen):
    """A decision in force. `text` binds the worker; `checks` say how an artifact shows it was followed
    (none for words of the player's own). `seq` is the CEO_DECISION that gave it."""

    seq: int
    verb: Literal["approve", "reject", "redirect"]
    stage_id: str
    text: str
    option_id: str | None = None
    lean: str | None = None
    checks: tuple[Check, ...] = ()


class Brief(Frozen):
    """All a worker is told. `directions` are binding, oldest first: those of the whole run, then those of
    this stage. `previous` is the artifact the last direction answers; `faults` are the feedback lines of the
    checks it failed. `upstream` holds the approved artifacts of the stages this one needs, by stage id."""

    run_id: str
    world: WorldPin
    pitch: str
    seed: int
    stage: Stage
    role: Role
    attempt: int
    directions: tuple[Direction, ...] = ()
    knowledge: tuple[Hit, ...] = ()
    memories: tuple[Memory, ...] = ()
    previous: Document | None = None
    faults: tuple[str, ...] = ()
    upstream: FrozenDict[str, Document] = FrozenDict()


class FromOutside(Frozen):
    """A value that a worker hands in: looked at anew wherever it is set into another, however it was made."""

    model_config = ConfigDict(revalidate_instances="always")


class ToolCall(FromOutside):
    """One capped tool call of a worker: what it was asked, what it answered, how long it took (ms)."""

    tool: Short
    source: Short
    args: Clamped
    result: Clamped
    ms: Number = 0


class InferenceUsage(FromOutside):
    """Who wrote the artifact and what that cost. `fallback_reason` is None only when the tier that was
    asked for is the tier that answered."""

    client: Short
    tier: Tier
    model: Short
    fallback_reason: Clamped | None = None
    tokens_in: Count = 0
    tokens_out: Count = 0
    reasoning_tokens: Count = 0
    latency_ms: Number = 0
    cost_usd: Number | None = None


class Judgement(Frozen):
    """A judge's answer, untrusted: scores by dimension name, and how far repeats differed (points).
    `unscored` says why there is none; then the floor stands."""

    source: Short
    scores: FrozenDict[str, Number] = FrozenDict()
    notes: FrozenDict[str, str] = FrozenDict()
    verdict: Clamped = ""
    spread: Number = 0
    unscored: Clamped | None = None


class Work(Frozen):
    """What a worker hands in: an artifact, or the error that kept it from one; never a score."""

    artifact: Document | None
    error: Clamped | None = None
    tools_called: Annotated[tuple[Short, ...], Field(max_length=MAX_CALLS)] = ()
    tool_trace: Annotated[tuple[ToolCall, ...], Field(max_length=MAX_CALLS)] = ()
    inference_usage: InferenceUsage
    observations: FrozenDict[str, bool] = FrozenDict()
    """Facts of the outside world the worker's tier measured, by check id, such as `http_status_200`."""
