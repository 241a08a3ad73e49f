"""Just enough English grammar to set a stranger's noun into a sentence: articles, plurals, verb forms."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from submission.agents.craft.cleaning import words

LINKERS = words(
    """
    for of in with from that which who whom whose to on at by using where when so without under over into via through
    about between across near after before during against than as and or but inside connecting matching linking
    teaching helping around within per like while until because if instead online nationwide worldwide locally
    everywhere
    """
)
"""Words that end a noun phrase's core: its head is the word before the first of them."""

DETERMINERS = words("a an the my our your their his her its this that these those some any each every")
ADVERBS = words("still always never often really just only even not also so better all finally")
_AN_SOUND = re.compile(r"a|e(?!u)|i|o(?!ne\b|nce)|u(?!ni(?![nmd])|s[aei]|ti|bi|k)|hour|honest|heir|8|11\b|18\b")
_PREPOSITIONS = words("by with for from in on at to of as out")
_LETTER_BY_LETTER = re.compile(r"[A-Z][A-Z0-9&]+s?\b")


class English:
    """The lists come from the pack's lexicon; the rules are the language's."""

    def __init__(self, lists: Mapping[str, Any]) -> None:
        """From the `english` part of a lexicon: lists as words in one text, irregular plurals as a mapping."""
        self.verbs, self.people, self.things = (words(lists[name]) for name in ("verbs", "people", "things"))
        self._mass, self._doubling, self._proper = (words(lists[name]) for name in ("mass", "doubling", "proper"))
        self._weak = words(lists["weak_verbs"])
        self._plurals: dict[str, str] = dict(lists["plurals"])
        self._singulars = {many: one for one, many in self._plurals.items()}
        self._bases: dict[str, str] = {}
        for verb in sorted(self.verbs):
            for form in (verb, self._third(verb), self._gerund(verb)):
                self._bases.setdefault(form, verb)

    def knows(self, word: str) -> bool:
        """Whether a lower-case word is an ordinary one, and so hardly a name."""
        ordinary = word in self.verbs or word in self._mass or word in self.people or word in self.things
        return ordinary or self.is_plural_word(word)

    # Nouns

    def plural(self, noun: str) -> str:
        """Plural of one word."""
        low = noun.lower()
        if low in self._plurals:
            return _like(noun, self._plurals[low])
        if low in self._mass or self.is_plural_word(low):
            return noun
        if re.search(r"(s|x|z|ch|sh)$", low):
            return noun + "es"
        return noun[:-1] + "ies" if re.search(r"[^aeiou]y$", low) else noun + "s"

    def singular(self, noun: str) -> str:
        """Singular of one word."""
        low = noun.lower()
        if low in self._singulars:
            return _like(noun, self._singulars[low])
        if not self.is_plural_word(low):
            return noun
        if low.endswith("ies") and len(low) > 4:
            return noun[:-3] + "y"
        return noun[:-2] if re.search(r"(ss|x|z|ch|sh)es$", low) else noun[:-1]

    def is_plural_word(self, word: str) -> bool:
        low = word.lower()
        if low in self._singulars:
            return True
        return (
            len(low) > 3 and low.endswith("s") and low[-2] not in "su'" and low[-2:] != "is" and low not in self._mass
        )

    def head(self, phrase: str) -> int:
        """Index of the word that a noun phrase is about: "solar lamps for nurses" is about lamps."""
        said = phrase.split()
        end = self._end(said, LINKERS)
        whole = self._end(said, LINKERS - {"and", "or"})
        # "yoga and meditation studio" is one studio, "lamps and fridges" are two things.
        return (whole if whole > end and self._is_counted(said[whole - 1]) else end) - 1 if said else 0

    def head_word(self, phrase: str) -> str:
        said = phrase.split()
        return said[self.head(phrase)].strip(",.'").lower() if said else ""

    def is_plural(self, phrase: str) -> bool:
        """Whether the phrase takes a plural verb; a list ("lamps and fridges") does too."""
        said, after = phrase.split(), self.head(phrase) + 1
        return said[after : after + 1] == ["and"] or self.is_plural_word(self.head_word(phrase))

    def _end(self, said: list[str], linkers: frozenset[str]) -> int:
        """Index of the first word that only describes."""
        for index, word in enumerate(said[1:], 1):
            follows = said[index + 1].lower() if index + 1 < len(said) else ""
            if word.lower() in linkers or word in "-/" or (word.endswith("ed") and follows in _PREPOSITIONS):
                return index
        return len(said)

    def _is_counted(self, word: str) -> bool:
        return not self.is_plural_word(word) and not self.is_mass(word)

    def is_mass(self, phrase: str) -> bool:
        word = self.head_word(phrase).rsplit("-", 1)[-1]
        return word in self._mass or bool(re.search(r"\w{2}(ing|ware|ness|ism|ics)$", word)) or word.isdigit()

    def with_article(self, phrase: str) -> str:
        """The phrase as a sentence can hold it: "an app", "solar lamps", "cold storage"."""
        first = phrase.split(" ", 1)[0]
        if not first or first.lower() in DETERMINERS or first[0].isdigit() or first[0] in "“$€£":
            return phrase
        if self.is_plural(phrase) or self.is_mass(phrase):
            return phrase
        return f"{'an' if self._sounds_like_a_vowel(first) else 'a'} {phrase}"

    def pluralised(self, phrase: str) -> str:
        """The phrase with its head in the plural: "school in the hills" -> "schools in the hills"."""
        said, head = phrase.split(), self.head(phrase)
        if said:
            said[head] = self.plural(said[head])
        return " ".join(said)

    def is_people(self, phrase: str) -> bool:
        """Whether the phrase's head can be asked what it wants: people, or an organisation of people."""
        word = self.singular(self.head_word(phrase)).rsplit("-", 1)[-1]
        if word in self.things:
            return False
        return word in self.people or bool(re.search(r"\w{2}(er|or|ist|ian|ee|man|woman|person|folk)$", word))

    # Verbs

    def base(self, verb: str) -> str | None:
        """Base form of a known verb in any of its present forms, or None."""
        return self._bases.get(verb.lower())

    def may_be_noun(self, word: str) -> bool:
        """Whether a word is a noun as well as a verb, such as "book", or no verb at all."""
        return self.base(word) is None or word.lower() in self._weak

    def is_gerund(self, phrase: str) -> bool:
        """Whether the phrase says what is done: "turning waste into bricks"."""
        first = phrase.split(" ", 1)[0].lower()
        return first.endswith("ing") and self.base(first) not in (None, first) and " " in phrase

    def third(self, phrase: str) -> str:
        """A verb phrase for a singular subject: "collect and sell jars" -> "collects and sells jars"."""
        return self._conjugate(phrase, self._third)

    def gerund(self, phrase: str) -> str:
        """A verb phrase as a noun: "collect and sell jars" -> "collecting and selling jars"."""
        return self._conjugate(phrase, self._gerund)

    def based(self, phrase: str) -> str:
        """A verb phrase in its base form: "turning waste into bricks" -> "turn waste into bricks"."""
        return self._conjugate(phrase, lambda verb: verb)

    def lower_first(self, phrase: str) -> str:
        """The phrase as it stands inside a sentence; names and abbreviations keep their capitals."""
        first = phrase.split(" ", 1)[0]
        stem = re.split(r"['-]", first.lower(), maxsplit=1)[0]
        if any(letter.isupper() for letter in first[1:]) or stem in self._proper or first == "I":
            return phrase
        return first.lower() + phrase[len(first) :]

    def _conjugate(self, phrase: str, form: Callable[[str], str]) -> str:
        said = phrase.split()
        first = 1 if len(said) > 1 and said[0].lower() in ADVERBS else 0
        for index, word in enumerate(said[first:], first):
            after = index == first or said[index - 1].lower() in ("and", "or") or said[index - 1].endswith(",")
            verb = self.base(word.rstrip(",")) if after else None
            if verb is None and index == first:
                verb = word
            # After "and", a word that is also a plural noun is far more often the noun.
            if verb is not None and (index == first or word.lower().rstrip(",") == verb or word.endswith("ing")):
                said[index] = form(verb) + ("," if word.endswith(",") else "")
        return " ".join(said)

    def _third(self, verb: str) -> str:
        if verb in ("have", "be"):
            return {"have": "has", "be": "is"}[verb]
        if re.search(r"(s|x|z|ch|sh|o)$", verb):
            return verb + "es"
        return verb[:-1] + "ies" if re.search(r"[^aeiou]y$", verb) else verb + "s"

    def _gerund(self, verb: str) -> str:
        if verb in self._doubling:
            return verb + verb[-1] + "ing"
        if verb.endswith("ie"):
            return verb[:-2] + "ying"
        return verb[:-1] + "ing" if re.search(r"[^eyo]e$", verb) and verb != "be" else verb + "ing"

    def _sounds_like_a_vowel(self, word: str) -> bool:
        if _LETTER_BY_LETTER.match(word):
            return word[0] in "AEFHILMNORSX"
        return bool(_AN_SOUND.match(word.lower()))


def _like(model: str, word: str) -> str:
    return word[:1].upper() + word[1:] if model[:1].isupper() else word
