"""How first drafts fail: which stages of a venture have a faulty one, what the fault is, and what cures it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from submission.agents.craft.choices import Choices
from submission.agents.craft.upstream import get, put
from submission.agents.craft.wording import Node, Scene, Wording

MOST_FLAWED = 3


@dataclass(frozen=True, slots=True)
class _Flaw:
    """A fault of one field: another value, or its paragraphs without those that hold one of the markers."""

    field: str
    sets: Node | None
    without: tuple[str, ...]


class Flaws:
    """Built from a pack's flaws.yaml. One to three of a venture's stages have a faulty first draft."""

    def __init__(self, data: Mapping[str, Any], stage_ids: Sequence[str], wording: Wording) -> None:
        self._stage_ids = stage_ids
        self._drafts: dict[str, list[list[str]]] = data["drafts"]
        self._flaws = {
            name: _Flaw(
                field=flaw["field"],
                sets=wording.node(flaw["sets"], name) if "sets" in flaw else None,
                without=tuple(flaw.get("without", ())),
            )
            for name, flaw in data["flaws"].items()
        }

    def of(self, pitch: str, seed: int, stage_id: str, kind: str) -> tuple[str, ...]:
        """The faults of a stage's first draft, mostly none."""
        choose = Choices("flaws", pitch, seed)
        flawed = choose.order("stages", self._stage_ids)[: 1 + choose.number("count", MOST_FLAWED)]
        return tuple(choose.pick(stage_id, self._drafts[kind])) if stage_id in flawed else ()

    def spoil(self, names: Iterable[str], cured: Collection[str], artifact: dict[str, Any], scene: Scene) -> None:
        """Puts the faults into a draft, but for those whose field a human has named."""
        for flaw in map(self._flaws.__getitem__, names):
            if _any_related(flaw.field, cured):
                continue
            if flaw.sets is not None:
                put(artifact, flaw.field, flaw.sets(scene))
            else:
                paragraphs = str(get(artifact, flaw.field)).split("\n\n")
                kept = (text for text in paragraphs if not any(marker in text for marker in flaw.without))
                put(artifact, flaw.field, "\n\n".join(kept))


def _any_related(field: str, others: Collection[str]) -> bool:
    return any(one == field or one.startswith(f"{field}.") or field.startswith(f"{one}.") for one in others)
