"""The shapes of a pack's YAML files where they differ from the law's types: references are ids here."""

from __future__ import annotations

from typing import Any

from submission.state.canonical import Frozen, FrozenDict

Items = tuple[Any, ...]
"""A list whose items are read one by one, so that one bad item does not hide the others."""


class Price(Frozen):
    """A consequence; `adds_worker` is the id of a worker in roles.yaml."""

    id: str
    deltas: FrozenDict[str, int]
    consolidates: bool = False
    adds_worker: str | None = None


class OptionEntry(Price):
    """One side of a fork and its price; `checks` are ids of the checks in forks.yaml."""

    title: str
    summary: str
    tradeoff: str
    direction: str
    lean: str
    checks: tuple[str, ...] = ()


class ForkEntry(Frozen):
    stage: str
    question: str
    options: tuple[OptionEntry, ...]


class WorldFile(Frozen):
    id: str
    version: str
    title: str
    summary: str
    meters: Items
    levels: Items
    own_direction: Price


class RolesFile(Frozen):
    roles: Items
    workers: Items = ()


class StagesFile(Frozen):
    stages: Items


class ValidatorsFile(Frozen):
    validators: Items


class ForksFile(Frozen):
    forks: Items
    checks: Items = ()
