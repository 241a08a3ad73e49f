"""Chance without dice: every choice follows from a hash of what the work is about."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Choices:
    """Choices that are the same for the same key and label, on every machine and in every process."""

    __slots__ = ("_key",)

    def __init__(self, *key: object) -> None:
        # Length before content, so that ("ab", "c") and ("a", "bc") differ; surrogates must not raise.
        text = "".join(f"{len(str(part))}:{part};" for part in key)
        self._key = hashlib.sha256(text.encode("utf-8", "surrogatepass"))

    def number(self, label: str, below: int) -> int:
        """A number in 0..below-1."""
        digest = self._key.copy()
        digest.update(label.encode("utf-8", "surrogatepass"))
        return int.from_bytes(digest.digest()[:8], "big") % below

    def pick(self, label: str, options: Sequence[T]) -> T:
        """One of the options, which must not be empty."""
        return options[self.number(label, len(options))]

    def order(self, label: str, options: Sequence[T]) -> list[T]:
        """All the options, in an order that the key decides."""
        digest = self._key.copy()
        digest.update(label.encode("utf-8", "surrogatepass"))
        seed = int.from_bytes(digest.digest(), "big")
        rest, result = list(options), []
        while rest:
            seed, index = divmod(seed, len(rest))
            result.append(rest.pop(index))
        return result
