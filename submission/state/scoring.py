"""From an artifact to its score: a floor that cannot be argued with, and a rubric above it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from pydantic import ConfigDict

from submission.state.canonical import Frozen, Number
from submission.state.validation import Report, is_number, strings, validate
from submission.state.work import Judgement
from submission.state.world import Validator

RUBRIC_DIMENSIONS: tuple[tuple[str, int], ...] = (
    ("Relevance to goal", 30),
    ("Completeness", 25),
    ("Actionability", 25),
    ("Clarity & structure", 20),
)
DERIVED_SPREAD = (5, 0, -5, 0)
RICHNESS_CAP = 35


@dataclass(frozen=True, slots=True)
class Dimension:
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")
    name: str
    weight: int
    score: int
    note: str = ""


class Rubric(Frozen):
    """`status` says whether a judge gave the scores, the floor did, or a judge gave nothing usable.
    `spread` is how far a judge's repeats differed, in points."""

    status: Literal["judged", "derived", "unscored"]
    source: str
    dimensions: tuple[Dimension, ...]
    weighted_total: int
    verdict: str = ""
    spread: Number = 0
    reason: str = ""


class Score(Frozen):
    """`floor` is the best validator's score, given by `floor_from` (None: the richness heuristic, which
    never passes); `final = max(floor, rubric.weighted_total)`, all 0..100."""

    reports: tuple[Report, ...]
    floor: int
    floor_from: str | None
    passes: bool
    rubric: Rubric
    final: int


def score_artifact(
    validators: Iterable[Validator],
    artifact: Any,
    judgement: Judgement | None,
    observations: Mapping[str, bool] = {},
) -> Score:
    """Validators first, judge second. Without a judgement the rubric derives from the floor."""
    reports = tuple(validate(validator, artifact, observations) for validator in validators)
    best = max(reports, key=lambda report: report.score, default=None)
    if best is not None and best.score > 0:
        floor, floor_from, passes = best.score, best.validator, best.passes
    else:
        floor, floor_from, passes = richness(artifact), None, False
    rubric = rubric_from_judgement(floor, judgement) if judgement else rubric_from_floor(floor)
    return Score(
        reports=reports,
        floor=floor,
        floor_from=floor_from,
        passes=passes,
        rubric=rubric,
        final=max(floor, rubric.weighted_total),
    )


def richness(artifact: Any) -> int:
    """0..35: five points for each distinct text of 40 characters or more. It keeps an off-schema artifact
    from a flat zero and can never make it pass."""
    if not isinstance(artifact, Mapping):
        return 0
    long_texts = {text for text in strings(artifact) if len(text.strip()) >= 40}
    return min(RICHNESS_CAP, 5 * len(long_texts))


def rubric_from_floor(floor: int, status: Literal["derived", "unscored"] = "derived", reason: str = "") -> Rubric:
    """The rubric without a judge: the floor with the fixed spread 5, 0, -5, 0."""
    dimensions = tuple(
        Dimension(name=name, weight=weight, score=_clamp(floor + spread), note="derived from the floor")
        for (name, weight), spread in zip(RUBRIC_DIMENSIONS, DERIVED_SPREAD, strict=True)
    )
    total = _weighted(dimensions) if status == "derived" else 0
    return Rubric(status=status, source="floor", dimensions=dimensions, weighted_total=total, reason=reason)


def rubric_from_judgement(floor: int, judgement: Judgement) -> Rubric:
    """Our dimensions and weights, the judge's scores: clamped, and the floor where one is missing."""
    if judgement.unscored is not None:
        return rubric_from_floor(floor, "unscored", judgement.unscored)
    scores = {name.strip().lower(): value for name, value in judgement.scores.items() if is_number(value)}
    if not any(name.lower() in scores for name, _ in RUBRIC_DIMENSIONS):
        return rubric_from_floor(floor, "unscored", "the judge scored none of our dimensions")
    notes = {name.strip().lower(): note for name, note in judgement.notes.items()}
    dimensions = tuple(
        Dimension(
            name=name,
            weight=weight,
            score=_clamp(scores.get(name.lower(), floor)),
            note=notes.get(name.lower(), "")[:120],
        )
        for name, weight in RUBRIC_DIMENSIONS
    )
    return Rubric(
        status="judged",
        source=judgement.source,
        dimensions=dimensions,
        weighted_total=_weighted(dimensions),
        verdict=judgement.verdict[:300],
        spread=judgement.spread,
    )


def xp_for(score: int) -> int:
    """What an approval is worth: 10 and a tenth of the score (seed 01)."""
    return 10 + score // 10


def _clamp(score: float) -> int:
    return max(0, min(100, int(score)))


def _weighted(dimensions: Iterable[Dimension]) -> int:
    """Weighted mean, rounded half up."""
    return (sum(dimension.weight * dimension.score for dimension in dimensions) + 50) // 100
