"""Which stages of the quest graph can be worked on now."""

from __future__ import annotations

from collections.abc import Iterable

from submission.state.run import Run, StageState
from submission.state.world import BEATS, Stage


def missing_needs(run: Run, stage: StageState) -> tuple[str, ...]:
    """The needed stages that are not approved yet."""
    done = {other.spec.id for other in run.stages if other.status == "done"}
    return tuple(need for need in stage.spec.needs if need not in done)


def open_stages(run: Run) -> tuple[StageState, ...]:
    """Stages waiting or sent back whose needs are approved, those sent back first."""
    able = [s for s in run.stages if s.status in ("waiting", "rework") and not missing_needs(run, s)]
    return tuple(sorted(able, key=lambda stage: stage.status != "rework"))


def is_complete(stages: Iterable[StageState]) -> bool:
    return all(stage.status == "done" for stage in stages)


def graph_faults(stages: tuple[Stage, ...]) -> tuple[str, ...]:
    """What keeps these stages from being a quest: not the eight beats in order, unknown needs, a cycle."""
    faults = []
    if tuple(stage.beat for stage in stages) != BEATS:
        faults.append(f"the beats must be {', '.join(BEATS)}, in this order")
    seen: set[str] = set()
    pending = {stage.id: set(stage.needs) for stage in stages}
    for stage_id, needs in pending.items():
        faults += [f"{stage_id} needs an unknown stage {need!r}" for need in sorted(needs - pending.keys())]
    while ready := [stage_id for stage_id, needs in pending.items() if needs <= seen]:
        seen.update(ready)
        pending = {stage_id: needs for stage_id, needs in pending.items() if stage_id not in seen}
    if pending and not faults:
        faults.append(f"a cycle among {', '.join(sorted(pending))}")
    return tuple(faults)
