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
_FROM = re.compile(r" (?:from|with|without|in|near|at|on|made of|based on) ")
_SIGN_WEIGHT = 3
_AUDIENCE_COUNTS = 6
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
        self._kind_of = {self._stem(word): key for key, data in kinds.items() for word in _listed(data["heads"])}
        self._crowd_of = {self._stem(word): key for key, data in crowds.items() for word in _listed(data["keywords"])}

    def _learn(self, place: str, keywords: str) -> None:
        for keyword in _listed(keywords):
            word, _, weight = keyword.partition("*")
            if is_latin(word):
                self._index.setdefault(self._stem(word), Counter())[place] += int(weight or 1)
            else:
                # Scripts that do not part their words are searched for, not split.
                self._signs.append((word, place))

    def _stem(self, term: str) -> str:
        return " ".join(self._english.singular(part) for part in _WORD.findall(term.lower()))

    def field_of(self, offer: str, goal: str, audience: str, text: str) -> tuple[str, str]:
        """The field and its theme that the words point to; what is offered weighs more than to whom."""
        score: Counter[str] = Counter()
        thing, _, source = _FROM.sub("\n", offer, count=1).partition("\n")
        for words, weight, most in (
            (thing, 6, 99),
            (source, 3, 99),
            (goal, 4, 99),
            (audience, 4, _AUDIENCE_COUNTS),
            (text[:_TEXT_READ], 1, 99),
        ):
            found: Counter[str] = Counter()
            for term in self._terms(words):
                for place, points in self._index.get(term, {}).items():
                    found[place] += points * weight
            score.update({place: min(points, most) for place, points in found.items()})
        for sign, place in self._signs:
            if sign in text:
                score[place] += _SIGN_WEIGHT
        totals: Counter[str] = Counter()
        for place, points in score.items():
            totals[place.split("/")[0]] += points
        field_id = max(totals, key=lambda key: totals[key]) if totals else GENERAL
        # Without a word of any theme it is the field's first, the one it is best known for.
        return field_id, max(self._fields[field_id]["themes"], key=lambda name: score[f"{field_id}/{name}"])

    def is_topical(self, word: str) -> bool:
        """Whether a word belongs to any field, as things do that people make, use or trade."""
        return self._english.singular(word.lower()) in self._index

    def belongs(self, word: str, field_id: str) -> bool:
        places = self._index.get(self._english.singular(word.lower()), ())
        return any(place.startswith(f"{field_id}/") for place in places)

    def kind_of(self, offer: str, field_id: str, theme: str, crowd_id: str) -> str:
        """Which kind of offer it is: software, goods, a service… Private customers may get a kind of their own."""
        field = self._fields[field_id]
        kind = self._kind(offer, {**field, **field["themes"][theme]})
        consumers = self._crowds[crowd_id]["buys"] == "consumer"
        return str(self._kinds[kind].get("for_consumers", kind)) if consumers else kind

    def _kind(self, offer: str, field: Mapping[str, Any]) -> str:
        usual = str(field["kind"])
        if not offer:
            return str(self._kinds[usual].get("acting", usual))
        english = self._english
        head = english.singular(english.head_word(offer))
        terms = self._terms(offer)
        pairs = [term for term in terms if term.endswith(f" {head}")]
        order = (*pairs, head, head.rsplit("-", 1)[-1], *terms)
        found = next((self._kind_of[term] for term in order if term in self._kind_of), "")
        if found:
            unless: Mapping[str, str] = self._kinds[found].get("unless", {})
            return next((unless[term] for term in terms if term in unless), found)
        if english.is_people(head):
            return str(self._kinds[usual].get("acting", usual))
        counted = not english.is_mass(offer) and not offer.startswith("“")
        return str(field.get("kind_of_things", usual)) if counted else usual

    def crowd_of(self, audience: str, field_id: str, given: bool) -> str:
        """Which sort of people an audience is; its head decides before its other words. One that is given and not
        known is the pack's first sort; one that comes from the field is the field's usual."""
        words = audience.split()
        end = next((at for at, word in enumerate(words) if at and word.lower() in LINKERS - {"and", "or"}), len(words))
        terms = self._terms(" ".join(words[:end]))
        pairs, singles = terms[: max(end - 1, 0)], terms[max(end - 1, 0) :]
        order = (*pairs, *reversed(singles), *self._terms(" ".join(words[end:])))
        found = (self._crowd_of[term] for term in order if term in self._crowd_of and term != "person")
        return next(found, next(iter(self._crowds)) if given else str(self._fields[field_id]["crowd"]))

    def audience_of(self, offer: str, field_id: str, theme: str, choose: Choices) -> str:
        """An audience for a pitch that names none. "Insurance for crops" is for those who have to do with crops,
        unless its own field is about crops too."""
        whose = offer.partition(" for ")[2]
        theirs = self.field_of(whose, "", "", "")
        if theirs[0] != GENERAL and not any(self.belongs(word, field_id) for word in _WORD.findall(whose)):
            field_id, theme = theirs
        data = self._fields[field_id]
        return str(choose.pick("audience", data["themes"][theme].get("audience") or data["audience"]))

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
