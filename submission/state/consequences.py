"""A rule of the pack applied to the company: the numbers a choice moves, before and after."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from pydantic import ConfigDict

from submission.state.canonical import Frozen
from submission.state.world import Meter, Rule, Worker


@dataclass(frozen=True, slots=True)
class MeterChange:
    """`delta` is what really moved: after - before, once clamped to the meter's range."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")
    meter: str
    before: int
    after: int
    delta: int


class Consequence(Frozen):
    """What a rule does, or did. Every meter is listed, also those that did not move."""

    rule_id: str
    meters: tuple[MeterChange, ...]
    workers_added: tuple[Worker, ...] = ()
    workers_retired: tuple[Worker, ...] = ()

    @property
    def summary(self) -> str:
        moved = ", ".join(f"{change.meter} {change.delta:+d}" for change in self.meters if change.delta)
        hired = "".join(f"; {worker.title} joins" for worker in self.workers_added)
        left = "".join(f"; {worker.title} leaves" for worker in self.workers_retired)
        return (moved or "no meter moved") + hired + left


def calculate_consequence(
    rule: Rule, specs: tuple[Meter, ...], meters: Mapping[str, int], team: tuple[Worker, ...]
) -> Consequence:
    """What the rule would do to these meters and to the workers that earlier choices hired.
    A consolidating rule retires the newest of those; a rule hires each worker once."""
    changes = tuple(_change(spec, meters[spec.id], rule.deltas.get(spec.id, 0)) for spec in specs)
    hire = rule.adds_worker
    others = tuple(worker for worker in team if hire is None or worker.id != hire.id)
    retired = others[-1:] if rule.consolidates else ()
    added = (hire,) if hire is not None and hire.id not in {worker.id for worker in team} else ()
    return Consequence(rule_id=rule.id, meters=changes, workers_added=added, workers_retired=retired)


def reverse(consequence: Consequence) -> Consequence:
    """The consequence that undoes this one, when nothing else moved in between."""
    return Consequence(
        rule_id=consequence.rule_id,
        meters=tuple(
            MeterChange(meter=change.meter, before=change.after, after=change.before, delta=-change.delta)
            for change in consequence.meters
        ),
        workers_added=consequence.workers_retired,
        workers_retired=consequence.workers_added,
    )


def _change(spec: Meter, before: int, delta: int) -> MeterChange:
    after = max(spec.least, before + delta)
    if spec.most is not None:
        after = min(spec.most, after)
    return MeterChange(meter=spec.id, before=before, after=after, delta=after - before)
