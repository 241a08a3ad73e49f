"""What a pitch is about: its field and theme, the kind of thing it offers, the sort of people it is for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

from submission.agents.craft.choices import Choices
from submission.agents.craft.cleaning import is_latin
from submission.agents.craft.english import LINKERS, English

GENERAL = "general"
"""The field of a pitch whose field is not known; every lexicon has one."""

_WORD = re.compile(r"[^\W_]+(?:[+#]+)?")
_SIGN_WEIGHT = 3
_TEXT_READ = 1_200


class Topics:
    """The fields, kinds and crowds a pack knows, found by their words. A keyword may carry a weight: `library*3`."""

    def __init__(
        self,
        english: English,
        fields: Mapping[str, Mapping[str, Any]],
        kinds: Mapping[str, Mapping[str, Any]],
        crowds: Mapping[str, Mapping[str, Any]],
    ) -> None:
        self._english, self._fields, self._kinds, self._crowds = english, fields, kinds, crowds
        self._index: dict[str, Counter[str]] = {}
        self._signs: list[tuple[str, str]] = []
        for field_id, data in fields.items():
            self._learn(f"{field_id}/", data["keywords"])
            for theme, words in data["themes"].items():
                self._learn(f"{field_id}/{theme}", words["keywords"])
        self._kind_of = {word: key for key, data in kinds.items() for word in _listed(data["heads"])}
        self._crowd_of = {word: key for key, data in crowds.items() for word in _listed(data["keywords"])}

    def _learn(self, place: str, keywords: str) -> None:
        for keyword in _listed(keywords):
            word, _, weight = keyword.partition("*")
            if is_latin(word):
                term = " ".join(self._english.singular(part) for part in _WORD.findall(word.lower()))
                self._index.setdefault(term, Counter())[place] += int(weight or 1)
            else:
                # Scripts that do not part their words are searched for, not split.
                self._signs.append((word, place))

    def field_of(self, offer: str, goal: str, audience: str, text: str) -> tuple[str, str]:
        """The field and its theme that the words point to; what is offered weighs more than to whom."""
        score: Counter[str] = Counter()
        for words, weight in ((offer, 6), (goal, 4), (audience, 4), (text[:_TEXT_READ], 1)):
            for term in self._terms(words):
                for place, points in self._index.get(term, {}).items():
                    score[place] += points * weight
        for sign, place in self._signs:
            if sign in text:
                score[place] += _SIGN_WEIGHT
        totals: Counter[str] = Counter()
        for place, points in score.items():
            totals[place.split("/")[0]] += points
        field_id = max(totals, key=lambda key: totals[key]) if totals else GENERAL
        theme = max(self._fields[field_id]["themes"], key=lambda name: score[f"{field_id}/{name}"])
        return field_id, theme if score[f"{field_id}/{theme}"] else ""

    def is_topical(self, word: str) -> bool:
        """Whether a word belongs to any field, as things do that people make, use or trade."""
        return self._english.singular(word.lower()) in self._index

    def belongs(self, word: str, field_id: str) -> bool:
        places = self._index.get(self._english.singular(word.lower()), ())
        return any(place.startswith(f"{field_id}/") for place in places)

    def kind_of(self, offer: str, field_id: str, crowd_id: str) -> str:
        """Which kind of offer it is: software, goods, a service… Private customers may get a kind of their own."""
        kind = self._kind(offer, self._fields[field_id])
        consumers = self._crowds[crowd_id]["buys"] == "consumer"
        return str(self._kinds[kind].get("for_consumers", kind)) if consumers else kind

    def _kind(self, offer: str, field: Mapping[str, Any]) -> str:
        usual = str(field["kind"])
        if not offer:
            return str(self._kinds[usual].get("acting", usual))
        head = self._english.singular(self._english.head_word(offer))
        for term in (head, head.rsplit("-", 1)[-1], *self._terms(offer)):
            if term in self._kind_of:
                return self._kind_of[term]
        counted = not self._english.is_mass(offer) and not offer.startswith("“")
        return str(field.get("kind_of_things", usual)) if counted else usual

    def crowd_of(self, audience: str, field_id: str) -> str:
        """Which sort of people an audience is; its head decides before its other words."""
        words = audience.split()
        end = next((at for at, word in enumerate(words) if at and word.lower() in LINKERS - {"and", "or"}), len(words))
        terms = self._terms(" ".join(words[:end]))
        pairs, singles = terms[: max(end - 1, 0)], terms[max(end - 1, 0) :]
        order = (*pairs, *reversed(singles), *self._terms(" ".join(words[end:])))
        found = (self._crowd_of[term] for term in order if term in self._crowd_of and term != "person")
        return next(found, str(self._fields[field_id]["crowd"]))

    def audience_of(self, field_id: str, theme: str, choose: Choices) -> str:
        """An audience for a pitch that names none."""
        data = self._fields[field_id]
        return str(choose.pick("audience", data["themes"].get(theme, {}).get("audience") or data["audience"]))

    def noun_of(self, kind: str) -> str:
        """What to call an offer of a kind that has no noun of its own."""
        return str(self._kinds[kind]["noun"])

    def _terms(self, text: str) -> list[str]:
        """Pairs of words first, then single ones, all in the singular."""
        words = [self._english.singular(word.lower()) for word in _WORD.findall(text)]
        return [*(f"{one} {two}" for one, two in pairwise(words)), *words]


def words_in(text: str) -> list[str]:
    """The words of a text, without punctuation."""
    return _WORD.findall(text)


def _listed(text: str) -> Iterable[str]:
    return filter(None, (part.strip() for part in str(text).split(",")))
