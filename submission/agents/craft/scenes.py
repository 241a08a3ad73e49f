"""What a writer knows before writing: the pitch as read, the field's own words in this venture's order, its numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import cache, lru_cache
from typing import Any

import yaml

from submission.agents.craft.choices import Choices
from submission.agents.craft.lexicon import Lexicon
from submission.agents.craft.wording import Node, Scene, Wording
from submission.agents.pitch import Reading, read_pitch, retold

FOLDER = "simulation/"
Settings = tuple[tuple[str, str | int], ...]
"""Facts that a human set: (`audience`, "midwives"), (`price`, 29)."""

Card = tuple[Node, frozenset[str]]
"""A phrase or a row, and the telling words by which a pitch may be seen to speak of the same thing."""


class Scenes:
    """Reads a pack's `simulation/` folder once. The words of a venture follow from its pitch, the run's seed, the lean
    of the last choice and what a human set; they are the same for all its stages."""

    def __init__(self, files: Mapping[str, str], wording: Wording) -> None:
        self._wording = wording
        self._fields = {
            path.removeprefix(f"{FOLDER}fields/").removesuffix(".yaml"): parsed(text)
            for path, text in sorted(files.items())
            if path.startswith(f"{FOLDER}fields/")
        }
        self._kinds, self._crowds = parsed(files[f"{FOLDER}offers.yaml"]), parsed(files[f"{FOLDER}crowds.yaml"])
        facts = parsed(files[f"{FOLDER}facts.yaml"])
        self._columns: dict[str, list[str]] = {deck: str(names).split() for deck, names in facts["columns"].items()}
        self._in_order = frozenset(str(facts["in_order"]).split())
        self._before = [(name, wording.node(value, name)) for name, value in facts["before"].items()]
        self._after = [(name, wording.node(value, name)) for name, value in facts["after"].items()]
        self.lexicon = Lexicon(parsed(files[f"{FOLDER}lexicon.yaml"]), self._fields, self._kinds, self._crowds)
        self._cards: Callable[..., dict[str, list[Card]]] = cache(self._compiled)
        self.words: Callable[[str, int, str, Settings], dict[str, Any]] = lru_cache(maxsize=128)(self._words)

    def _words(self, pitch: str, seed: int, lean: str, settings: Settings) -> dict[str, Any]:
        """Every name a text of this venture may use. Shared by all who ask: copy before adding."""
        reading = read_pitch(pitch, self.lexicon)
        given = dict(settings)
        if "audience" in given:
            reading = retold(reading, str(given["audience"]), self.lexicon)
        scene = Scene(self._said(reading, lean, given), Choices("facts", pitch, seed))
        for name, node in self._before:
            scene.words[name] = node(scene)
        about = self.lexicon.telling_words(f"{reading.offer} {reading.goal}")
        for name, cards in self._decks(reading).items():
            self._deal(scene, name, cards, about)
        for name, node in self._after:
            scene.words[name] = node(scene)
        return scene.words

    def _said(self, reading: Reading, lean: str, given: dict[str, str | int]) -> dict[str, Any]:
        """The reading as words, and the plain facts of its field, kind and crowd."""
        field, kind, crowd = self._fields[reading.field], self._kinds[reading.kind], self._crowds[reading.crowd]
        english = self.lexicon.english
        buys = crowd["buys"]
        unit = crowd["unit"] if kind["unit"][buys] == "*" else kind["unit"][buys]
        plural = english.is_plural(reading.a_subject)
        return asdict(reading) | {
            "lean": lean,
            "given": given,
            "aim": reading.goal,
            "in_place": f" {reading.place}" if reading.place and reading.place not in reading.audience else "",
            "short_audience": self.lexicon.short_audience(reading.audience),
            "product": reading.name if english.is_gerund(reading.subject) else reading.subject,
            "subject_is": "are" if plural else "is",
            "subject_it": "them" if plural else "it",
            "sector": field["sector"],
            "field_title": field["title"],
            "makes": kind["makes"],
            "make": kind["make"],
            "unit": unit,
            "units": english.plural(unit),
            "prices": kind["prices"][buys],
            "margin": kind["margin"],
            "other": kind["other"],
            "costs": kind["costs"],
            "trial": kind["trial"],
            "first": kind["first"],
            "signers": crowd["signers"],
        }

    def _deal(self, scene: Scene, name: str, cards: list[Card], about: frozenset[str]) -> None:
        """A deck in this venture's order, cards that share its words first: as a list, and one by one as `pain1`…"""
        if name.rpartition("_")[2] not in self._in_order:
            cards = sorted(scene.choose.order(name, cards), key=lambda card: -len(about & card[1]))
        items = scene.words[name] = [node(scene) for node, _ in cards]
        for index in range(4):
            scene.words[f"{name}{index + 1}"] = items[index % len(items)]

    def _decks(self, reading: Reading) -> dict[str, list[Card]]:
        """The decks of a venture's field, theme, kind and crowd; what a theme has of its own replaces the field's."""
        return {
            **self._cards("field", reading.field),
            **self._cards("theme", reading.field, reading.theme),
            **{f"kind_{name}": cards for name, cards in self._cards("kind", reading.kind).items()},
            **{f"crowd_{name}": cards for name, cards in self._cards("crowd", reading.crowd).items()},
        }

    def _compiled(self, source: str, key: str, theme: str = "") -> dict[str, list[Card]]:
        """The decks of one part of the pack. Compiled when first needed: most runs use a few of hundreds."""
        parts = {"field": self._fields, "theme": self._fields, "kind": self._kinds, "crowd": self._crowds}
        data = parts[source][key]["themes"][theme] if source == "theme" else parts[source][key]
        return {
            name: [(self._item(name, str(text)), self.lexicon.telling_words(str(text))) for text in several]
            for name, several in data.items()
            if isinstance(several, list) and name != "audience"
        }

    def _item(self, deck: str, text: str) -> Node:
        columns = self._columns.get(deck)
        if columns is None:
            return self._wording.phrase(text)
        parts = [part.strip() for part in text.split(" | ")]
        cells = [
            (key, int(part) if part.isdigit() else self._wording.phrase(part))
            for key, part in zip(columns, parts, strict=True)
        ]
        return lambda scene: {key: cell if isinstance(cell, int) else cell(scene) for key, cell in cells}


def parsed(text: str) -> Any:
    return yaml.load(text, yaml.CSafeLoader)
