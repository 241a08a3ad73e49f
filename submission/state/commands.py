"""Everything that can be asked of the law. Time, ids, chance and a model's answer arrive here as data."""

from __future__ import annotations

from dataclasses import dataclass

from submission.state.events import Actor, Mode, Verb
from submission.state.work import Hit, Judgement, Memory, Work
from submission.state.world import Stage


@dataclass(frozen=True, slots=True)
class StartRun:
    """Start a run on a pitch. `stages` are the pack's eight in the narrator's words (`client` names it);
    `player` is the human, or in a rehearsal the script, whose decisions the run will take."""

    pitch: str
    seed: int
    mode: Mode
    player: Actor
    stages: tuple[Stage, ...]
    client: str
    reasoning: str = ""


@dataclass(frozen=True, slots=True)
class StartStage:
    """Send the stage's worker to work; None picks the first stage that is open."""

    actor: Actor
    stage_id: str | None = None


@dataclass(frozen=True, slots=True)
class SubmitArtifact:
    """What came back of one attempt, with what the worker was given to read."""

    actor: Actor
    stage_id: str
    attempt: int
    work: Work
    knowledge: tuple[Hit, ...]
    memories: tuple[Memory, ...]
    judgement: Judgement | None = None


@dataclass(frozen=True, slots=True)
class Decide:
    """A human's answer at a gate: a compare-and-swap on the artifact they saw."""

    actor: Actor
    gate_id: str
    verb: Verb
    artifact_sha256: str | None
    idempotency_key: str
    option_id: str | None = None
    reason: str | None = None
    direction: str | None = None
    override_reason: str | None = None


@dataclass(frozen=True, slots=True)
class Rescind:
    """Take back the decision at a gate, while the next stage has not started."""

    actor: Actor
    gate_id: str
    idempotency_key: str
    reason: str | None = None


Command = StartRun | StartStage | SubmitArtifact | Decide | Rescind
