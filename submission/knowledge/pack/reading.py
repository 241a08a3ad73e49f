"""A pack as far as it can be read, and the world it becomes when nothing is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from submission.knowledge.pack.faults import Fault
from submission.knowledge.pack.files import content_sha256
from submission.knowledge.pack.models import (
    ForkEntry,
    ForksFile,
    OptionEntry,
    Price,
    RolesFile,
    StagesFile,
    ValidatorsFile,
    WorldFile,
)
from submission.knowledge.pack.sheet import Entry, Sheet
from submission.state.canonical import FrozenDict
from submission.state.world import (
    Check,
    Fork,
    Level,
    Meter,
    Option,
    Playbook,
    Role,
    Rule,
    Stage,
    Validator,
    Worker,
    World,
)

TABLES = ("world.yaml", "roles.yaml", "stages.yaml", "validators.yaml", "forks.yaml")


@dataclass(frozen=True, slots=True)
class Pack:
    """The sheets to find fault with, and their well-formed entries. `paths` are those of all files, also of the
    ones without a text because they could not be read."""

    name: str
    paths: frozenset[str]
    texts: Mapping[str, str]
    faults: list[Fault]
    world: Sheet
    roles: Sheet
    stages: Sheet
    validators: Sheet
    forks: Sheet
    schemas: Mapping[str, Sheet]
    head: WorldFile | None
    meters: list[Entry[Meter]]
    levels: list[Entry[Level]]
    role_entries: list[Entry[Role]]
    workers: list[Entry[Worker]]
    stage_entries: list[Entry[Stage]]
    validator_entries: list[Entry[Validator]]
    fork_entries: list[Entry[ForkEntry]]
    checks: list[Entry[Check]]

    def fault(self, path: str, message: str) -> None:
        """A fault of a file as a whole."""
        self.faults.append(Fault(f"{self.name}/{path}", 1, message))


def read_pack(name: str, texts: Mapping[str, str], faults: list[Fault]) -> Pack:
    """Read every table and schema; what is malformed goes to `faults`."""
    unread = {fault.file.partition("/")[2] for fault in faults} - {""}

    def sheet(path: str) -> Sheet:
        # A file that could not be read has its fault already.
        return Sheet(f"{name}/{path}", texts.get(path), [] if path in unread else faults)

    world, roles, stages, validators, forks = (sheet(path) for path in TABLES)
    roles.parse(RolesFile)
    stages.parse(StagesFile)
    validators.parse(ValidatorsFile)
    forks.parse(ForksFile)
    return Pack(
        name=name,
        paths=frozenset(texts) | unread,
        texts=texts,
        faults=faults,
        world=world,
        roles=roles,
        stages=stages,
        validators=validators,
        forks=forks,
        schemas={path[8:-5]: sheet(path) for path in sorted(unread | texts.keys()) if _is_schema(path)},
        head=world.parse(WorldFile),
        meters=world.entries("meters", Meter),
        levels=world.entries("levels", Level),
        role_entries=roles.entries("roles", Role),
        workers=roles.entries("workers", Worker),
        stage_entries=stages.entries("stages", Stage),
        validator_entries=validators.entries("validators", Validator),
        fork_entries=forks.entries("forks", ForkEntry),
        checks=forks.entries("checks", Check),
    )


def build_world(pack: Pack) -> World:
    """Only for a pack without faults."""
    assert pack.head is not None, "a pack without faults has a head"
    workers = {entry.item.id: entry.item for entry in pack.workers}
    checks = {entry.item.id: entry.item for entry in pack.checks}
    return World(
        id=pack.head.id,
        version=pack.head.version,
        title=pack.head.title,
        summary=pack.head.summary,
        sha256=content_sha256(pack.texts),
        meters=tuple(entry.item for entry in pack.meters),
        levels=tuple(entry.item for entry in pack.levels),
        roles=tuple(entry.item for entry in pack.role_entries),
        stages=tuple(entry.item for entry in pack.stage_entries),
        validators=tuple(entry.item for entry in pack.validator_entries),
        forks=tuple(_fork(entry.item, workers, checks) for entry in pack.fork_entries),
        own_direction=_rule(pack.head.own_direction, workers),
        schemas=FrozenDict({name: sheet.value for name, sheet in pack.schemas.items()}),
        playbooks=tuple(
            Playbook(source=path, text=pack.texts[path]) for path in sorted(pack.texts) if path.startswith("playbooks/")
        ),
        files=FrozenDict(
            {path: text for path, text in pack.texts.items() if path.startswith(("simulation/", "prompts/"))}
        ),
    )


def _is_schema(path: str) -> bool:
    return path.startswith("schemas/") and path.endswith(".json")


def _fork(entry: ForkEntry, workers: Mapping[str, Worker], checks: Mapping[str, Check]) -> Fork:
    first, second = (_option(option, workers, checks) for option in entry.options)
    return Fork(stage=entry.stage, question=entry.question, options=(first, second))


def _option(entry: OptionEntry, workers: Mapping[str, Worker], checks: Mapping[str, Check]) -> Option:
    return Option(
        id=entry.id,
        title=entry.title,
        summary=entry.summary,
        tradeoff=entry.tradeoff,
        direction=entry.direction,
        lean=entry.lean,
        rule=_rule(entry, workers),
        checks=tuple(checks[name] for name in entry.checks),
    )


def _rule(price: Price, workers: Mapping[str, Worker]) -> Rule:
    hire = workers[price.adds_worker] if price.adds_worker is not None else None
    return Rule(id=price.id, deltas=price.deltas, consolidates=price.consolidates, adds_worker=hire)
