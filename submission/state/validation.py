"""Interprets the checks a pack declares. Never raises, whatever JSON it is given."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import Any, ClassVar, Literal

from pydantic import ConfigDict

from submission.state.canonical import Frozen
from submission.state.text import legible
from submission.state.world import Check, RuleName, Validator

Verdict = Literal["passed", "failed", "not_run"]
MAX_ITEMS = 10_000
"""Items and keys beyond this many are not looked at; a check over more fails."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One check's outcome. A check that was not run keeps its points, and says so."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")
    check: str
    verdict: Verdict
    points: int
    of: int
    feedback: str = ""


class Report(Frozen):
    """One validator's outcome over one artifact; `score` is 0..100."""

    validator: str
    score: int
    passes: bool
    findings: tuple[Finding, ...]


def validate(validator: Validator, artifact: Any, observations: Mapping[str, bool] = {}) -> Report:
    """Run every check. `observations` are facts of the outside world by check id; absent means not run."""
    findings = tuple(find(check, artifact, observations) for check in validator.checks)
    score = sum(finding.points for finding in findings)
    return Report(validator=validator.id, score=score, passes=score >= validator.passes_at, findings=findings)


def find(check: Check, artifact: Any, observations: Mapping[str, bool] = {}) -> Finding:
    verdict = _verdict(check, artifact, observations)
    return Finding(
        check=check.id,
        verdict=verdict,
        points=0 if verdict == "failed" else check.points,
        of=check.points,
        feedback=check.feedback if verdict == "failed" else "",
    )


def holds(check: Check, artifact: Any) -> bool:
    """Whether the rule holds for what its path leads to."""
    return RULES[check.rule](check, resolve(artifact, check.path))


def resolve(artifact: Any, path: str) -> Any:
    """The value at a dotted path, or None. A segment may be `a|b` (first that exists) or a glob over keys
    (the first match in key order)."""
    value = artifact
    for segment in path.split(".") if path else ():
        if not isinstance(value, Mapping):
            return None
        value = _step(value, segment)
    return value


def _step(value: Mapping[Any, Any], segment: str) -> Any:
    for name in segment.split("|"):
        if name in value:
            return value[name]
        if "*" in name:
            keys = sorted(key for key in list(value)[:MAX_ITEMS] if isinstance(key, str))
            match = next((key for key in keys if fnmatchcase(key.lower(), name)), None)
            if match is not None:
                return value[match]
    return None


def _verdict(check: Check, artifact: Any, observations: Mapping[str, bool]) -> Verdict:
    if check.rule != "observed":
        return "passed" if holds(check, artifact) else "failed"
    if not is_url(resolve(artifact, check.path)):
        return "failed"
    if check.id not in observations:
        return "not_run"
    return "passed" if observations[check.id] is True else "failed"


def _text(value: Any) -> str:
    return legible(value) if isinstance(value, str) else ""


def _items(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (list, tuple)) and len(value) <= MAX_ITEMS else ()


def is_number(value: Any) -> bool:
    """A finite number; booleans are not numbers."""
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool)


_URL = re.compile(
    r"https?://(?:localhost|[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)+)"
    r"(?::[0-9]{1,5})?(?:[/?#][!-~]*)?",
    re.IGNORECASE | re.ASCII,
)


def is_url(value: Any) -> bool:
    """An absolute http(s) URL of at most 2,000 ASCII characters with a dotted host or localhost."""
    return isinstance(value, str) and len(value) <= 2_000 and _URL.fullmatch(value.strip()) is not None


def strings(value: Any, depth: int = 32) -> Iterator[str]:
    """Every text inside a JSON value, keys left out, down to `depth` levels."""
    if isinstance(value, str):
        yield value
    elif depth and isinstance(value, Mapping):
        for item in list(value.values())[:MAX_ITEMS]:
            yield from strings(item, depth - 1)
    elif depth and isinstance(value, (list, tuple)):
        for item in value[:MAX_ITEMS]:
            yield from strings(item, depth - 1)


def _min_chars(check: Check, value: Any) -> bool:
    return len(_text(value)) >= (check.at_least or 1)


def _contains_any(check: Check, value: Any) -> bool:
    text = _text(value).lower()
    return any(word.lower() in text for word in check.any_of)


def _is_object(check: Check, value: Any) -> bool:
    return isinstance(value, Mapping) and len(value) > 0


def _min_items(check: Check, value: Any) -> bool:
    return len(_items(value)) >= (check.at_least or 1)


def _max_items(check: Check, value: Any) -> bool:
    return 0 < len(_items(value)) <= (MAX_ITEMS if check.at_most is None else check.at_most)


def _items_have_numbers(check: Check, value: Any) -> bool:
    items = _items(value)
    return len(items) > 0 and all(
        isinstance(item, Mapping) and all(is_number(item.get(key)) for key in check.keys) for item in items
    )


def _items_have_list(check: Check, value: Any) -> bool:
    items, least = _items(value), check.at_least or 1
    return len(items) > 0 and all(
        isinstance(item, Mapping) and all(len(_items(item.get(key))) >= least for key in check.keys) for item in items
    )


def _any_item_says(check: Check, value: Any) -> bool:
    words = [word.lower() for word in check.any_of]
    return any(word in text.lower() for item in _items(value) for text in strings(item) for word in words)


def _non_decreasing(check: Check, value: Any) -> bool:
    items = _items(value)
    if len(items) < (check.at_least or 1) or not all(is_number(item) for item in items):
        return False
    return all(before <= after for before, after in pairwise(items))


def _number_between(check: Check, value: Any) -> bool:
    if not is_number(value):
        return False
    low = check.at_least is None or value >= check.at_least
    return low and (check.at_most is None or value <= check.at_most)


RULES: Mapping[RuleName, Callable[[Check, Any], bool]] = {
    "min_chars": _min_chars,  # at_least characters, spaces at the ends not counted
    "url": lambda check, value: is_url(value),
    "observed": lambda check, value: False,  # a fact of the outside world; see `_verdict`
    "contains_any": _contains_any,  # any_of, case ignored
    "is_object": _is_object,  # an object that is not empty
    "min_items": _min_items,  # at_least items
    "max_items": _max_items,  # 1..at_most items
    "items_have_numbers": _items_have_numbers,  # every item has a number under each of keys
    "items_have_list": _items_have_list,  # every item has at_least items under each of keys
    "any_item_says": _any_item_says,  # some item contains a text that says any_of, case ignored
    "non_decreasing": _non_decreasing,  # at_least numbers, none smaller than the one before
    "number_between": _number_between,  # at_least..at_most, either end open
}
