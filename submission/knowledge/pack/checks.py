"""Everything that can be wrong with a pack although each of its files can be read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from submission.knowledge.pack.forks import check_forks
from submission.knowledge.pack.lined import Where
from submission.knowledge.pack.quest import check_quest
from submission.knowledge.pack.reading import TABLES, Pack
from submission.knowledge.pack.references import known, refer
from submission.knowledge.pack.rules import check_validator
from submission.knowledge.pack.schemas import schema_problems
from submission.knowledge.pack.sheet import Sheet, spell

_ID = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*")
_VERSION = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+")
_FOLDERS: Mapping[str, str] = {"schemas": ".json", "prompts": ".md", "playbooks": ".md", "simulation": ""}
_BESIDE = ("README.md", "LICENSE")


def check_pack(pack: Pack) -> None:
    """Add every fault to the pack's list."""
    _check_files(pack)
    for sheet in (pack.world, pack.roles, pack.stages, pack.validators, pack.forks):
        _check_blanks(sheet, sheet.value, ())
    _check_head(pack)
    _check_ids(pack)
    _check_meters(pack)
    _check_levels(pack)
    _check_roles(pack)
    for validator in pack.validator_entries:
        check_validator(pack.validators, validator)
    _check_schemas(pack)
    check_quest(pack)
    check_forks(pack)


def _check_files(pack: Pack) -> None:
    for path in pack.paths:
        top, _, rest = path.partition("/")
        known_here = rest and top in _FOLDERS and path.endswith(_FOLDERS[top])
        if not known_here and path not in (*TABLES, *_BESIDE):
            pack.fault(path, "a pack has no such file")
        elif top in ("prompts", "playbooks") and not pack.texts.get(path, "unread").strip():
            pack.fault(path, "the file is empty")
    if not any(path.startswith("playbooks/") for path in pack.paths):
        pack.fault("playbooks", "a pack needs at least one playbook for its workers to look things up in")
    for _, role in pack.roles.ids("roles"):
        if f"prompts/{role}.md" not in pack.paths:
            pack.fault(f"prompts/{role}.md", f"the file is missing: the role {role!r} has no prompt")


def _check_blanks(sheet: Sheet, value: Any, at: Where) -> None:
    if isinstance(value, str) and not value.strip():
        sheet.fault(at, f"{spell(at)} is blank")
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            _check_blanks(sheet, inner, (*at, key))
    elif isinstance(value, tuple):
        for index, inner in enumerate(value):
            _check_blanks(sheet, inner, (*at, index))


def _check_head(pack: Pack) -> None:
    if pack.head is None:
        return
    _check_id(pack.world, ("id",), pack.head.id)
    _check_id(pack.world, ("own_direction", "id"), pack.head.own_direction.id)
    if not _VERSION.fullmatch(pack.head.version):
        pack.world.fault(("version",), f"the version {pack.head.version!r} must be three numbers, such as 1.0.0")


def _check_ids(pack: Pack) -> None:
    """Each well formed and once in its list; seats once over both of theirs, options once in the whole pack."""
    _check_unique(pack.world, pack.world.ids("meters"))
    _check_unique(pack.stages, pack.stages.ids("stages"))
    _check_unique(pack.roles, [*pack.roles.ids("roles"), *pack.roles.ids("workers")])
    _check_unique(pack.validators, pack.validators.ids("validators"))
    for at, validator in pack.validator_entries:
        checks = [((*at, "checks", index, "id"), check.id) for index, check in enumerate(validator.checks)]
        _check_unique(pack.validators, checks)
    _check_unique(pack.forks, pack.forks.ids("checks"))
    options = [
        ((*at, "options", index, "id"), option.id)
        for at, fork in pack.fork_entries
        for index, option in enumerate(fork.options)
    ]
    _check_unique(pack.forks, options)


def _check_unique(sheet: Sheet, named: Iterable[tuple[Where, str]]) -> None:
    seen: set[str] = set()
    for at, name in named:
        _check_id(sheet, at, name)
        if name in seen:
            sheet.fault(at, f"duplicate id {name!r}")
        seen.add(name)


def _check_id(sheet: Sheet, at: Where, name: str) -> None:
    if name.strip() and not _ID.fullmatch(name):
        sheet.fault(at, f"the id {name!r} may hold only a to z, digits, underscores and single dots")


def _check_meters(pack: Pack) -> None:
    for at, meter in pack.meters:
        if meter.start < meter.least or (meter.most is not None and meter.start > meter.most):
            pack.world.fault((*at, "start"), f"{meter.id} starts at {meter.start}, outside its range")


def _check_levels(pack: Pack) -> None:
    before = -1
    for at, level in pack.levels:
        place = int(at[-1]) + 1
        if level.level != place:
            pack.world.fault((*at, "level"), f"level {level.level} stands where level {place} belongs")
        if place == 1 and level.xp != 0:
            pack.world.fault((*at, "xp"), f"the first level starts at 0 XP, not {level.xp}")
        if level.xp <= before:
            pack.world.fault((*at, "xp"), f"level {level.level} takes {level.xp} XP, no more than the one before")
        before = level.xp
    if pack.head is not None and not pack.head.levels:
        pack.world.fault(("levels",), "a pack needs at least one level")


def _check_roles(pack: Pack) -> None:
    validators = known(pack.validators, "validators")
    for at, role in pack.role_entries:
        for index, name in enumerate(role.validators):
            refer(pack.roles, (*at, "validators", index), "validator", name, validators)


def _check_schemas(pack: Pack) -> None:
    for name, sheet in pack.schemas.items():
        _check_id(sheet, (), name)
        if sheet.value is not None:
            for at, problem in schema_problems(sheet.value):
                sheet.fault(at, problem)
