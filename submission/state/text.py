"""Text from people and models, as it may be stored, bound by and shown."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

_JOINERS = "\u200c\u200d"
"""Zero-width joiners belong to words and emoji of many scripts; bidirectional overrides do not."""
_UNSEEN = _JOINERS + "\u3164\u115f\u1160\u2800\ufe0e\ufe0f"
"""Printable, and yet nothing to read: joiners, fillers, the blank braille cell, variation selectors."""


def legible(text: str) -> str:
    """The text without control characters, bidirectional overrides and lone surrogates; odd spaces become plain
    ones, line ends and tabs stay. Empty where nobody could read anything."""
    if not text.isprintable() and not text.replace("\n", "").replace("\t", "").isprintable():
        text = "".join(_shown(character) for character in text)
    return text.strip() if any(not c.isspace() and c not in _UNSEEN for c in text) else ""


def _shown(character: str) -> str:
    if character in "\n\t" or character.isprintable() or character in _JOINERS:
        return character
    return " " if character.isspace() else ""


def said(text: str | None) -> str | None:
    """The legible text on one line; None where it says nothing."""
    return " ".join(legible(text).split()) or None if text is not None else None


def whole(text: str) -> str:
    """The text itself. Raises ValueError on half of a surrogate pair, which UTF-8 has no form for."""
    if not text.isascii():
        text.encode()
    return text


Short = Annotated[str, Field(max_length=200), AfterValidator(whole)]
Clamped = Annotated[str, Field(max_length=2_000), AfterValidator(whole)]
"""Receipts are bounded, so that an event's line is."""
