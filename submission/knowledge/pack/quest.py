"""Whether the stages of a pack make a quest: eight beats in order, every reference met, no way in a circle."""

from __future__ import annotations

from collections.abc import Mapping

from submission.knowledge.pack.lined import Where
from submission.knowledge.pack.reading import Pack
from submission.knowledge.pack.references import known, refer
from submission.state.world import BEATS, Stage


def check_quest(pack: Pack) -> None:
    _check_beats(pack)
    for at, stage in pack.stage_entries:
        _check_stage(pack, at, stage)
    _check_cycles(pack)


def _check_beats(pack: Pack) -> None:
    count = len(list(pack.stages.raw("stages")))
    if count != len(BEATS):
        if pack.stages.value is not None:
            pack.stages.fault(("stages",), f"there are {count} stages; a quest has {len(BEATS)}")
        return
    for at, stage in pack.stage_entries:
        belongs = BEATS[int(at[-1])]
        if stage.beat != belongs:
            pack.stages.fault((*at, "beat"), f"the beat {stage.beat} stands where {belongs} belongs")


def _check_stage(pack: Pack, at: Where, stage: Stage) -> None:
    sheet = pack.stages
    refer(sheet, (*at, "role"), "role", stage.role, known(pack.roles, "roles"))
    refer(sheet, (*at, "artifact"), "schema", stage.artifact, pack.schemas.keys())
    for index, need in enumerate(stage.needs):
        refer(sheet, (*at, "needs", index), "stage", need, known(sheet, "stages"))
    if not stage.validators:
        sheet.fault((*at, "validators"), f"{stage.id} has no validator, so that no artifact could pass")
    held = next((role.validators for _, role in pack.role_entries if role.id == stage.role), stage.validators)
    for index, name in enumerate(stage.validators):
        place: Where = (*at, "validators", index)
        exists = refer(sheet, place, "validator", name, known(pack.validators, "validators"))
        if exists and name not in held:
            sheet.fault(place, f"the validator {name!r} is not one of the role {stage.role}")


def _check_cycles(pack: Pack) -> None:
    """One fault for each knot: cycles that share a stage are most often mended by the same edit."""
    needs = {stage.id: stage.needs for _, stage in pack.stage_entries}
    knotted: set[str] = set()
    for at, stage in pack.stage_entries:
        cycle = _cycle(stage.id, needs)
        if cycle and knotted.isdisjoint(cycle):
            pack.stages.fault((*at, "needs"), f"a cycle: {' needs '.join((*cycle, stage.id))}")
        knotted.update(cycle)


def _cycle(start: str, needs: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The stages on a way from the start back to itself; empty when there is none."""
    ways: list[tuple[str, ...]] = [(start,)]
    seen: set[str] = set()
    while ways:
        way = ways.pop()
        for need in needs.get(way[-1], ()):
            if need == start:
                return way
            if need not in seen:
                seen.add(need)
                ways.append((*way, need))
    return ()
