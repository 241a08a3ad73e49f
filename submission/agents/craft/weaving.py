"""Sets a human's words into an artifact: a sentence that takes them up, a new item in a list, another number."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from submission.agents.craft.choices import Choices
from submission.agents.craft.directions import Ask
from submission.agents.craft.lexicon import Lexicon
from submission.agents.craft.wording import Scene, Wording

_ARTICLE = re.compile(r"^(?:an?|the|one|some) ", re.I)
_FINAL = re.compile(r"[.!?]+$")
LONGEST_SHORT = 150
"""Characters of a field that is one line, such as a headline."""


class Weaver:
    """Built from a pack's weave.yaml: patterns by field and by kind of words, with `*` for any other field."""

    def __init__(self, data: Mapping[str, Any], labels: Mapping[str, str], wording: Wording, lexicon: Lexicon) -> None:
        self._lexicon, self._labels = lexicon, labels
        self._call: str = data["call"]
        self._keeps_first = frozenset(data["keeps_first"])
        self._texts = {
            field: {form: [wording.node(text) for text in several] for form, several in forms.items()}
            for field, forms in data["texts"].items()
        }
        self._sharper = {field: [wording.node(text) for text in several] for field, several in data["sharper"].items()}
        self._becomes = {field: wording.node(text) for field, text in data["becomes"].items()}
        self._items = {field: wording.node(item) for field, item in data["items"].items()}
        self._followed = [wording.node(text) for text in data["followed"]]

    def woven(self, path: str, value: Any, ask: Ask, scene: Scene) -> Any:
        """The value of a field once it follows an ask; itself where the ask gives this field nothing to say."""
        if isinstance(value, str):
            return self._text(path, value, ask, scene)
        if isinstance(value, list):
            return self._list(path, value, ask, scene)
        if isinstance(value, int) and not isinstance(value, bool):
            return nudged(value, ask)
        return value

    def followed(self, ask: Ask, where: Sequence[str], scene: Scene) -> str:
        """One sentence that quotes an ask and says where it shows."""
        shown = " and ".join(self._labels.get(path, path.rsplit(".", 1)[-1].replace("_", " ")) for path in where[:2])
        node = self._followed[Choices(ask.quote).number("followed", len(self._followed))]
        return str(node(scene.within(quote=ask.quote, where=f"the {shown}" if shown else "the whole draft")))

    def _text(self, path: str, base: str, ask: Ask, scene: Scene) -> str:
        field, pick = path.rsplit(".", 1)[-1], Choices(ask.quote, scene.words["name"])
        if ask.manner == "shorter":
            return _shorter(base)
        if ask.manner == "drop":
            return self._without(base, ask)
        if ask.manner == "sharper" or not ask.phrase:
            patterns = self._sharper.get(field, self._sharper["*"])
            return str(pick.pick(path, patterns)(self._about(base, ask, scene))) if ask.manner == "sharper" else base
        if ask.manner == "become":
            return str(self._becomes.get(field, self._becomes["*"])(self._about(base, ask, scene)))
        options = self._texts.get(field, self._texts["*"])[ask.form]
        return str(pick.pick(path, options)(self._about(base, ask, scene)))

    def _about(self, base: str, ask: Ask, scene: Scene) -> Scene:
        """What a pattern may speak of: the ask in its forms, and the draft's own text in its parts."""
        lower = self._lexicon.english.lower_first
        opened = _FINAL.sub("", base.strip())
        paragraphs = base.split("\n\n")
        call = next((index for index, text in enumerate(paragraphs) if self._call in text), len(paragraphs) - 1)
        return scene.within(
            ask=ask.phrase,
            ask_lower=lower(ask.phrase),
            ask_title=_ARTICLE.sub("", ask.phrase)[:1].upper() + _ARTICLE.sub("", ask.phrase)[1:],
            ask_slug=self._lexicon.names.slug(" ".join(ask.phrase.split()[:4]), Choices(ask.phrase)),
            base=base if base.endswith((".", "!", "?", "\n")) else f"{base}.",
            open=opened,
            base_lower=lower(opened),
            head="\n\n".join(paragraphs[:call]),
            tail="\n\n".join(paragraphs[call:]),
        )

    def _without(self, base: str, ask: Ask) -> str:
        """The text without the sentences that say what is not wanted; if none would be left, without the words."""
        words = [word for word in re.findall(r"\w+", ask.phrase.lower()) if len(word) > 3]
        kept = [part for part in re.split(r"(?<=[.!?]) ", base) if not any(word in part.lower() for word in words)]
        if kept:
            return " ".join(kept)
        return " ".join(re.sub(rf"\b{re.escape(ask.phrase)}\b", " ", base, flags=re.I).split()) or base

    def _list(self, path: str, value: list[Any], ask: Ask, scene: Scene) -> list[Any]:
        """The list with the ask as its first item but for a fixed head; without words to take up, in another order."""
        if not value or isinstance(value[0], int):
            return value
        fixed = 1 if path in self._keeps_first else 0
        head, rest = value[:fixed], value[fixed:]
        template = self._items.get(path.rsplit(".", 1)[-1]) or (self._items["*"] if isinstance(value[0], str) else None)
        if ask.phrase and ask.manner in ("mention", "become") and template is not None:
            return [*head, template(self._about("", ask, scene)), *(rest[:-1] if len(rest) > 1 else rest)]
        if ask.phrase and ask.manner == "drop":
            words = [word for word in re.findall(r"\w+", ask.phrase.lower()) if len(word) > 3]
            kept = [item for item in rest if not any(word in str(item).lower() for word in words)]
            return [*head, *kept] if kept and len(kept) < len(rest) else [*head, *rest[1:], *rest[:1]]
        return [*head, *rest[1:], *rest[:1]]


def nudged(value: int, ask: Ask) -> int:
    """A number as an ask wants it: the one it gives, or a fifth less or more."""
    if ask.number is not None:
        return min(ask.number, 10**9)
    if ask.manner == "higher":
        return value + max(value // 5, 1)
    return max(value - max(value // 5, 1), 0) if value > 1 else value + 1


def _shorter(base: str) -> str:
    """The first half of a text's sentences, or of its clauses when it has one sentence."""
    parts = re.split(r"(?<=[.!?]) ", base.strip())
    if len(parts) > 1:
        return " ".join(parts[: (len(parts) + 1) // 2])
    clause = re.split(r"[,;:] | (?:and|so that|with) ", base, maxsplit=1)[0].rstrip(" .")
    return f"{clause}." if base.endswith(".") else clause
