"""Everything that can have happened. An event carries its own numbers, so a log outlives its pack."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import ConfigDict, Field

from submission.state.canonical import Document, Frozen
from submission.state.consequences import Consequence
from submission.state.scoring import Score
from submission.state.text import Clamped, Short
from submission.state.work import Direction, Hit, InferenceUsage, Memory, MemoryKind, ToolCall
from submission.state.world import Level, Meter, Option, Stage, Validator, WorldPin

SCHEMA_VERSION = 1

Verb = Literal["approve", "reject", "redirect"]
VERBS: tuple[Verb, ...] = ("approve", "reject", "redirect")
Mode = Literal["human", "rehearsal"]
Outcome = Literal["victory"]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Actor(Frozen):
    """Who did it. Only a human, or in a rehearsal a scripted approver, decides gates."""

    kind: Literal["human", "scripted", "agent", "system"]
    id: str
    name: str


SYSTEM = Actor(kind="system", id="referee", name="Referee")


class Payload(Frozen):
    """What an event says. `type` is its capital name on the log."""

    type: ClassVar[str]


class RunStarted(Payload):
    type = "RUN_STARTED"
    pitch: str
    seed: Annotated[int, Field(ge=0, lt=2**53)]
    mode: Mode
    world: WorldPin
    meters: tuple[Meter, ...]
    levels: tuple[Level, ...]
    validators: tuple[Validator, ...]
    """The rules every artifact of this run is measured by, so that a judge can score again without the pack."""


class WorldDesigned(Payload):
    """The narrator's quest graph: eight stages in the words of this pitch."""

    type = "WORLD_DESIGNED"
    stages: tuple[Stage, ...]
    client: Short
    reasoning: Clamped = ""


class StageStarted(Payload):
    type = "STAGE_STARTED"
    stage_id: str
    attempt: int
    role: str
    directions: tuple[int, ...]
    """The decisions that bind this attempt, by the seq of their CEO_DECISION."""


class StageExecuted(Payload):
    """A worker came back. The four proof points stand here on every tier; `status` failed has no artifact."""

    type = "STAGE_EXECUTED"
    stage_id: str
    attempt: int
    status: Literal["executed", "failed"]
    artifact: Document | None
    artifact_sha256: Sha256 | None
    score: Score | None
    iq_hits: tuple[Hit, ...]
    memory_injected: tuple[Memory, ...]
    tools_called: tuple[str, ...]
    inference_usage: InferenceUsage
    tool_trace: tuple[ToolCall, ...] = ()
    observations: Document = Document()
    error: str | None = None


class PricedOption(Frozen):
    """An option with its price: what the company will be if it is chosen, to the unit."""

    option: Option
    consequence: Consequence


class PricedFork(Frozen):
    question: str
    options: tuple[PricedOption, ...]


@dataclass(frozen=True, slots=True)
class Compliance:
    """Whether the artifact followed one direction in force, and by what it was seen."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")
    decision_seq: int
    text: str
    verdict: Literal["followed", "not_followed", "not_checkable"]
    evidence: tuple[str, ...] = ()


class GateOpened(Payload):
    """What the human is shown beside the artifact and its score. `fork` is None when an earlier redirect of
    this stage settled it; `own_direction` prices a redirect in the player's words."""

    type = "GATE_OPENED"
    gate_id: str
    stage_id: str
    attempt: int
    artifact_sha256: Sha256 | None
    executed_seq: int
    verbs: tuple[Verb, ...]
    fork: PricedFork | None
    own_direction: Consequence | None
    compliance: tuple[Compliance, ...] = ()
    reopens: str | None = None
    """The gate whose decision was rescinded, when this one poses it again."""


class CeoDecision(Payload):
    type = "CEO_DECISION"
    gate_id: str
    stage_id: str
    attempt: int
    verb: Verb
    artifact_sha256: Sha256 | None
    idempotency_key: str
    option_id: str | None = None
    reason: str | None = None
    override_reason: str | None = None
    direction_text: str | None = None
    """A redirect's own words, as they were sent."""
    direction: Direction | None = None
    """What this decision binds later work to, if anything."""


class XpAwarded(Payload):
    """The only event that carries XP; negative only where a rescinded approval is withdrawn."""

    type = "XP_AWARDED"
    amount: int
    stage_id: str
    gate_id: str
    artifact_sha256: Sha256
    score: int
    decision_seq: int


class ConsequenceApplied(Payload):
    type = "CONSEQUENCE_APPLIED"
    decision_seq: int
    consequence: Consequence
    summary: str


class MemoryWritten(Payload):
    type = "MEMORY_WRITTEN"
    kind: MemoryKind
    text: str
    origin: str = "local-memory"
    stage_id: str | None = None
    decision_seq: int | None = None


class MemoryRetracted(Payload):
    type = "MEMORY_RETRACTED"
    memory_seq: int
    decision_seq: int


class LevelUp(Payload):
    type = "LEVEL_UP"
    level: int
    title: str
    xp: int


class DecisionRescinded(Payload):
    type = "DECISION_RESCINDED"
    gate_id: str
    stage_id: str
    verb: Verb
    decision_seq: int
    idempotency_key: str
    reason: str | None = None


class RunCompleted(Payload):
    type = "RUN_COMPLETED"
    outcome: Outcome
    xp: int
    level: int


PAYLOADS: dict[str, type[Payload]] = {
    payload.type: payload
    for payload in (
        RunStarted,
        WorldDesigned,
        StageStarted,
        StageExecuted,
        GateOpened,
        CeoDecision,
        XpAwarded,
        ConsequenceApplied,
        MemoryWritten,
        MemoryRetracted,
        LevelUp,
        DecisionRescinded,
        RunCompleted,
    )
}


class Draft(NamedTuple):
    """An event before the referee stamps it. `cause` is the seq it follows, or the id of its command."""

    payload: Payload
    actor: Actor = SYSTEM
    cause: int | str | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """One entry of the log. `seq` counts 1, 2, 3… in its run; `at` is UTC with milliseconds; `hash` is the
    SHA-256 of the canonical bytes of all the other fields, `prev_hash` that of the event before."""

    seq: int
    run_id: str
    type: str
    at: str
    actor: Actor
    payload: Any
    cause: int | str | None
    schema_version: int
    prev_hash: str
    hash: str
