"""Reading and writing inside artifacts by dotted path, and what approved artifacts hand down to later ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

T = TypeVar("T")

LARGEST = 1_000_000_000
LONGEST_TEXT = 300


class Upstream:
    """The approved artifacts a stage builds on. They may come from a live model, so nothing in them is trusted:
    a value counts when it has the type of the default."""

    def __init__(self, documents: Mapping[str, Mapping[str, Any]]) -> None:
        self._documents = documents

    def value(self, path: str, default: T) -> T:
        """The first value at a path in any of them, or the default."""
        for document in self._documents.values():
            found = _like(get(document, path), default)
            if found:
                return found  # type: ignore[no-any-return]
        return default

    def total(self, path: str, key: str) -> int:
        """The sum of a number over the items of a list; 0 unless every item has it."""
        for document in self._documents.values():
            items = get(document, path)
            if isinstance(items, (list, tuple)) and items:
                numbers = [_number(get(item, key)) if isinstance(item, Mapping) else None for item in items]
                if None not in numbers:
                    return sum(number or 0 for number in numbers)
        return 0


def get(document: Mapping[str, Any], path: str) -> Any:
    """The value at a dotted path, or None."""
    value: Any = document
    for name in path.split("."):
        if not isinstance(value, Mapping) or name not in value:
            return None
        value = value[name]
    return value


def put(document: dict[str, Any], path: str, value: Any) -> None:
    """Sets the value at a dotted path whose objects exist."""
    *parents, last = path.split(".")
    for name in parents:
        document = document[name]
    document[last] = value


def _number(value: Any) -> int | None:
    fits = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= LARGEST
    return int(value) if fits else None


def _like(value: Any, model: Any) -> Any:
    """The value when it can stand for the model: a short text, or a whole number in range."""
    if isinstance(model, str):
        return value if isinstance(value, str) and len(value) <= LONGEST_TEXT else None
    return _number(value)
