"""A pack in typed form: all the content a game has, none of its state."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from submission.state.canonical import Document, Frozen, FrozenDict, Number

Beat = Literal["YOU", "NEED", "GO", "SEARCH", "FIND", "TAKE", "RETURN", "CHANGE"]
BEATS: tuple[Beat, ...] = ("YOU", "NEED", "GO", "SEARCH", "FIND", "TAKE", "RETURN", "CHANGE")

RuleName = Literal[
    "min_chars",
    "url",
    "observed",
    "contains_any",
    "is_object",
    "min_items",
    "max_items",
    "items_have_numbers",
    "items_have_list",
    "any_item_says",
    "non_decreasing",
    "number_between",
]


_SPARE = Field(exclude_if=lambda value: value in (None, "", ()))
"""What a check leaves unsaid is left out of the log."""


class Check(Frozen):
    """One rule over one path of an artifact.

    `path` is dotted; a segment may give alternatives (`okrs_q1|okrs`) or a glob over keys (`*mrr*`);
    the first that exists is read. What `at_least`, `at_most`, `any_of` and `keys` mean depends on the
    rule (see `validation.RULES`). `points` are given when the rule holds; `feedback` is shown when it does not.
    """

    id: str
    rule: RuleName
    path: Annotated[str, _SPARE] = ""
    points: Annotated[int, Field(exclude_if=lambda value: value == 0)] = 0
    feedback: Annotated[str, _SPARE] = ""
    at_least: Annotated[Number | None, _SPARE] = None
    at_most: Annotated[Number | None, _SPARE] = None
    any_of: Annotated[tuple[str, ...], _SPARE] = ()
    keys: Annotated[tuple[str, ...], _SPARE] = ()


class Validator(Frozen):
    """Checks whose points sum to 100; the artifact passes at `passes_at`."""

    id: str
    title: str
    passes_at: int
    checks: tuple[Check, ...]


class Worker(Frozen):
    """A seat in the workforce."""

    id: str
    title: str
    mandate: str = ""


class Role(Frozen):
    id: str
    title: str
    mandate: str
    validators: tuple[str, ...]


class Stage(Frozen):
    """One of eight. `needs` are the stages that must be approved before this one opens;
    `artifact` names the schema of what its worker owes; `validators` give the floor."""

    id: str
    beat: Beat
    title: str
    goal: str
    role: str
    needs: tuple[str, ...] = ()
    artifact: str
    validators: tuple[str, ...]


class Meter(Frozen):
    """A number of the company, clamped to least..most (most None: unbounded)."""

    id: str
    title: str
    start: int
    least: int = 0
    most: int | None = 100
    unit: str = ""


class Level(Frozen):
    level: int
    title: str
    xp: int


class Rule(Frozen):
    """A consequence: what a choice does to the company. The rule moves the numbers, never the prose."""

    id: str
    deltas: FrozenDict[str, int]
    consolidates: Annotated[bool, Field(exclude_if=lambda value: not value)] = False
    adds_worker: Annotated[Worker | None, _SPARE] = None


class Option(Frozen):
    """One side of a fork. `direction` is what later briefs are bound by; `lean` groups options that
    pull the same way; `checks` say what an artifact that follows it looks like."""

    id: str
    title: str
    summary: str
    tradeoff: str
    direction: str
    lean: str
    rule: Rule
    checks: tuple[Check, ...] = ()


class Fork(Frozen):
    stage: str
    question: str
    options: tuple[Option, Option]


class Playbook(Frozen):
    """A document of the knowledge base; `source` is its path inside the pack."""

    source: str
    text: str


class WorldPin(Frozen):
    """Which content a run was started with."""

    id: str
    version: str
    sha256: str


class World(Frozen):
    """A loaded pack. `files` are the raw texts of `simulation/` and `prompts/` by path inside the pack;
    `schemas` the artifact shapes by id; `own_direction` prices a redirect in the player's own words."""

    id: str
    version: str
    title: str
    summary: str
    sha256: str
    meters: tuple[Meter, ...]
    levels: tuple[Level, ...]
    roles: tuple[Role, ...]
    stages: tuple[Stage, ...]
    validators: tuple[Validator, ...]
    forks: tuple[Fork, ...]
    own_direction: Rule
    schemas: FrozenDict[str, Document]
    playbooks: tuple[Playbook, ...]
    files: FrozenDict[str, str]

    @property
    def pin(self) -> WorldPin:
        return WorldPin(id=self.id, version=self.version, sha256=self.sha256)

    def role(self, role_id: str) -> Role:
        return next(role for role in self.roles if role.id == role_id)

    def fork(self, stage_id: str) -> Fork | None:
        return next((fork for fork in self.forks if fork.stage == stage_id), None)
