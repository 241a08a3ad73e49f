"""A name for a venture that has none, and the host name that goes with it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from submission.agents.craft.choices import Choices
from submission.agents.craft.cleaning import is_latin
from submission.agents.craft.english import ADVERBS, DETERMINERS, LINKERS, English
from submission.agents.craft.topics import Topics

LONGEST_NAME = 28
LONGEST_SLUG = 40


class Names:
    """Made of a coinage and a word of what the venture is about: "Larkfield Solar", "Solarloom"."""

    def __init__(self, lists: Mapping[str, Any], english: English, topics: Topics, plain: frozenset[str]) -> None:
        self._english, self._topics = english, topics
        self._coins = str(lists["coins"]).split()
        self._endings = str(lists["endings"]).split()
        self._unfit = plain | LINKERS | DETERMINERS | ADVERBS

    def name(self, offer: str, audience: str, field_id: str, choose: Choices) -> str:
        """The name follows from what is offered, or from whom it is for when the offer has no telling word."""
        root = self._root(offer, field_id, self._english.head_word(offer)) or self._root(audience, field_id, "")
        coin = choose.pick("coin", self._coins)
        style = choose.number("style", 5)
        if not root:
            return coin
        if style < 2 and root.isascii() and 3 < len(root) < 8 and root[-1] not in "sy":
            return root.capitalize() + choose.pick("ending", self._endings)
        shown = root if any(letter.isupper() for letter in root) else root.capitalize()
        return f"{coin} {shown}" if style < 4 else f"{coin} & {shown}"

    def slug(self, name: str, choose: Choices) -> str:
        """The name as a host name."""
        plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
        slug = re.sub(r"[^a-z0-9]+", "-", plain.replace("'", "").replace("&", "and"))[:LONGEST_SLUG].strip("-")
        return slug if len(slug) > 2 else choose.pick("coin", self._coins).lower()

    def _root(self, about: str, field_id: str, head: str) -> str:
        """The word to be named after: one of the field before the head of the offer, and that before any other."""
        usable = [word for word in (word.strip(",.'") for word in about.split()) if self._fits(word)]
        preferred = [word for word in usable if self._topics.belongs(word, field_id)]
        return (preferred or [word for word in usable if word.lower() == head] or usable or [""])[0]

    def _fits(self, word: str) -> bool:
        low = word.lower()
        noun = self._english.may_be_noun(low)
        shown = 2 < len(word) < 14 and word.isalpha() and is_latin(word)
        return shown and noun and not low.endswith("ed") and low not in self._unfit
