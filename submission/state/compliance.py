"""Whether an artifact followed the decisions in force, and by what that is seen. Advice to the human, never a score."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from submission.state.canonical import canonical
from submission.state.events import Compliance
from submission.state.memory import clamp
from submission.state.validation import holds, resolve, strings
from submission.state.work import Direction

_STOP_WORDS = """
about after again also attempt artifact because before being cannot change changed could does done each else every
from have here into just less like make makes more most much must name names need needs only other over please says
should some such than that their them then there these they this those very want what when where which while will
with without would your yours
"""
_STOP = frozenset(_STOP_WORDS.split())


ACKNOWLEDGEMENT = "direction_followed"
"""The field in which a worker says what it followed; its word is no evidence."""
Found = Literal["followed", "not_followed", "not_checkable"]


def in_force(directions: tuple[Direction, ...], stage_id: str) -> tuple[Direction, ...]:
    """The decisions that bind work on a stage, oldest first: choices and redirects of the whole run, then the
    rejections of this stage. A choice that leans one way ends the earlier ones that leaned the other."""
    lean = next((d.lean for d in reversed(directions) if d.lean), None)
    wide = tuple(d for d in directions if d.verb != "reject" and (d.lean is None or d.lean == lean))
    return wide + tuple(d for d in directions if d.verb == "reject" and d.stage_id == stage_id)


def check_compliance(
    directions: tuple[Direction, ...],
    stage_id: str,
    artifact: Mapping[str, Any],
    previous: Mapping[str, Any] | None,
) -> tuple[Compliance, ...]:
    """One verdict for each direction in force."""
    return tuple(_check(d, stage_id, artifact, previous) for d in in_force(directions, stage_id))


def _check(
    direction: Direction, stage_id: str, artifact: Mapping[str, Any], previous: Mapping[str, Any] | None
) -> Compliance:
    if direction.option_id is not None:
        verdict, evidence = _by_rules(direction, artifact)
    else:
        verdict, evidence = _by_words(direction.text, artifact, previous, own_stage=direction.stage_id == stage_id)
    return Compliance(direction.seq, clamp(direction.text, 200), verdict, tuple(clamp(e, 160) for e in evidence[:3]))


def _by_rules(direction: Direction, artifact: Mapping[str, Any]) -> tuple[Found, list[str]]:
    checks = [check for check in direction.checks if resolve(artifact, check.path.split(".")[0]) is not None]
    if not checks:
        return "not_checkable", ["this artifact has none of the fields the choice shows in"]
    results = [(check, holds(check, artifact)) for check in checks]
    evidence = [f"{check.path}: {check.rule} {'holds' if ok else 'fails'}" for check, ok in results]
    return ("followed" if all(ok for _, ok in results) else "not_followed"), evidence


def _by_words(
    text: str, artifact: Mapping[str, Any], previous: Mapping[str, Any] | None, own_stage: bool
) -> tuple[Found, list[str]]:
    named = _named_fields(text, artifact, previous) if own_stage and previous is not None else []
    changed = [line for line in (_change(path, artifact, previous or {}) for path in named) if line]
    if named:
        return ("followed" if changed else "not_followed"), changed or [f"{named[0]}: unchanged"]
    words = content_words(text)
    spoken = {key: value for key, value in artifact.items() if key != ACKNOWLEDGEMENT}
    said = content_words(" ".join(strings(spoken)))
    taken = sorted(words & said)
    if words and 2 * len(taken) >= len(words):
        return "followed", [f"the artifact says: {', '.join(taken)}"]
    return ("not_followed" if own_stage and words else "not_checkable"), [
        f"{len(taken)} of {len(words)} words taken up"
    ]


def content_words(text: str) -> set[str]:
    """Lower-case words of four letters or more that carry meaning."""
    return {word for word in re.findall(r"[^\W\d_]{4,}", text.lower()[:20_000]) if word not in _STOP}


def _named_fields(text: str, artifact: Mapping[str, Any], previous: Mapping[str, Any]) -> list[str]:
    """Paths (`a` or `a.b`) whose name, or a telling word of it, stands in the text."""
    words = re.findall(r"[^\W_]+", text.lower())
    spoken, known = f" {' '.join(words)} ", set(words)
    named = []
    for path in _paths({**previous, **artifact}):
        parts = re.findall(r"[^\W_]+", path.rsplit(".", 1)[-1].lower())
        telling = {part for part in parts if len(part) > 2 and part not in _STOP}
        if parts and (f" {' '.join(parts)} " in spoken or telling & known):
            named.append(path)
    return named


def _paths(artifact: Mapping[str, Any]) -> list[str]:
    nested = [f"{key}.{inner}" for key, value in artifact.items() if isinstance(value, Mapping) for inner in value]
    return [key for key in artifact if key != ACKNOWLEDGEMENT] + nested


def _change(path: str, artifact: Mapping[str, Any], previous: Mapping[str, Any]) -> str | None:
    before, after = resolve(previous, path), resolve(artifact, path)
    if before == after:
        return None
    return f"{path}: {clamp(_brief(before), 60)} → {clamp(_brief(after), 60)}"


def _brief(value: Any) -> str:
    return value if isinstance(value, str) else canonical(value).decode()
