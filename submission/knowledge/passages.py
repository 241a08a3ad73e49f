"""A playbook cut into passages that stand on their own and can be cited by line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from submission.state.world import Playbook

MAX_CHARS = 400

_HEADING = re.compile(r"#{1,6}\s+(.+?)\s*#*\s*")


class Passage(NamedTuple):
    """Lines `start`..`end` (1-based, inclusive) joined into one; `headings` are those it stands under."""

    source: str
    start: int
    end: int
    headings: str
    text: str


def cut(playbook: Playbook) -> Iterator[Passage]:
    """One passage a paragraph, more where a paragraph is longer than a passage may be."""
    title = section = ""
    block: list[str] = []
    lines = playbook.text.splitlines()
    for number, line in enumerate([*lines, ""], start=1):
        heading = _HEADING.fullmatch(line)
        if line.strip() and not heading:
            block.append(" ".join(line.split()))
            continue
        yield from _split(playbook.source, number - len(block), f"{title} {section}".strip(), block)
        block = []
        if heading and line.startswith("# "):
            title, section = heading[1], ""
        elif heading:
            section = heading[1]


def _split(source: str, start: int, headings: str, block: list[str]) -> Iterator[Passage]:
    held: list[str] = []
    for number, line in enumerate(block, start=start):
        if held and len(" ".join([*held, line])) > MAX_CHARS:
            yield Passage(source, number - len(held), number - 1, headings, " ".join(held))
            held = []
        held.append(line if len(line) <= MAX_CHARS else line[: MAX_CHARS - 1].rstrip() + "…")
    if held:
        end = start + len(block) - 1
        yield Passage(source, end - len(held) + 1, end, headings, " ".join(held))
