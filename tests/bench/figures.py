"""A measured figure, the floor it stands on, and what was aimed at."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple


@dataclass(frozen=True, slots=True)
class Aim:
    """A bound on a figure's value or on its ratio to the floor."""

    on: Literal["value", "ratio"]
    bound: float
    way: Literal["at most", "at least"] = "at most"

    def kept(self, value: float, ratio: float | None) -> bool | None:
        """None where the aim is on a ratio and there is no floor."""
        found = value if self.on == "value" else ratio
        if found is None:
            return None
        return found <= self.bound if self.way == "at most" else found >= self.bound


class Pairs(NamedTuple):
    """The same measurement of ours and of the floor, made in turns."""

    ours: Sequence[float]
    floors: Sequence[float]

    @property
    def value(self) -> float:
        return statistics.median(self.ours)

    @property
    def floor(self) -> float:
        return statistics.median(self.floors)

    @property
    def ratio(self) -> float:
        """The median of each pair's own ratio: what slows a whole pair down leaves it alone."""
        return statistics.median(ours / floor for ours, floor in zip(self.ours, self.floors, strict=True))


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table. `note` says what the floor is, or what the value consists of."""

    name: str
    value: float
    unit: str
    floor: float | None = None
    ratio: float | None = None
    aim: Aim | None = None
    note: str = ""

    @property
    def kept(self) -> bool | None:
        return self.aim.kept(self.value, self.ratio) if self.aim else None

    def document(self) -> dict[str, Any]:
        """The figure as --json prints it."""
        aim = {"on": self.aim.on, "way": self.aim.way, "bound": self.aim.bound} if self.aim else None
        return {
            "name": self.name,
            "value": self.value,
            "unit": self.unit,
            "floor": self.floor,
            "ratio": self.ratio,
            "aim": aim,
            "kept": self.kept,
            "note": self.note,
        }


def paired(name: str, unit: str, pairs: Pairs, aim: Aim | None = None, note: str = "") -> Figure:
    """The figure that pairs of measurements give."""
    return Figure(name, pairs.value, unit, pairs.floor, pairs.ratio, aim, note)


def in_turns(repetitions: int, ours: Callable[[], float], floor: Callable[[], float]) -> Pairs:
    """Measure both again and again, every other time the floor first."""
    values: list[float] = []
    floors: list[float] = []
    for turn in range(repetitions):
        for measure, into in ((ours, values), (floor, floors))[:: -1 if turn % 2 else 1]:
            into.append(measure())
    return Pairs(values, floors)


def percentile(values: Iterable[float], percent: float) -> float:
    """The smallest value that at least `percent` of all do not exceed."""
    ordered = sorted(values)
    rank = -(-len(ordered) * percent // 100)
    return ordered[max(int(rank), 1) - 1]


def table(figures: Iterable[Figure]) -> str:
    """The figures as aligned text, each with its aim and whether it was kept."""
    rows: list[tuple[str, ...]] = [("figure", "value", "floor", "ratio", "aim", "")]
    rows += [_row(figure) for figure in figures]
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    return "\n".join(_aligned(row, widths) for row in rows)


def _row(figure: Figure) -> tuple[str, ...]:
    verdict = {True: "kept", False: "MISSED", None: ""}[figure.kept]
    return (
        figure.name,
        f"{_short(figure.value)} {figure.unit}",
        "" if figure.floor is None else _short(figure.floor),
        "" if figure.ratio is None else f"{figure.ratio:.2f}x",
        _said(figure.aim),
        f"{verdict:6} {figure.note}".rstrip(),
    )


def _aligned(row: Sequence[str], widths: Sequence[int]) -> str:
    numbers = (cell.rjust(width) for cell, width in zip(row[1:5], widths[1:], strict=True))
    return "  ".join([row[0].ljust(widths[0]), *numbers, row[5]]).rstrip()


def _said(aim: Aim | None) -> str:
    if aim is None:
        return ""
    sign = "<=" if aim.way == "at most" else ">="
    return f"{sign} {_short(aim.bound)}{'x' if aim.on == 'ratio' else ''}"


def _short(value: float) -> str:
    """Three significant digits, thousands apart."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"
