"""The words a world knows: how it tells an offer from an audience, content from an opening, people from things."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from submission.agents.craft.cleaning import clip, is_latin, words
from submission.agents.craft.english import ADVERBS, DETERMINERS, LINKERS, English
from submission.agents.craft.naming import Names
from submission.agents.craft.topics import Topics, words_in

CUT = re.compile(
    r"(?:, | )(?:which|because|so that|so|unlike|instead of|rather than|while|although|but|by|using|via|through|without"
    r"|before|after|starting|we|it|they|our|based on|powered by) .*$"
    r"|(?: -|:|;|\(|\)| \.|,? (?:and|with|where|to) (?:we|it|the|an?|help|make|get|give|let)\b"
    r"|, (?:with|at|the|an?|paid|sold|delivered)\b).*$",
    re.I,
)
"""Where a phrase ends and the telling of how, why or when begins."""

LONGEST_AUDIENCE = 60
LONGEST_COMPLAINT = 150

_MAKER = (
    r"(?:build|mak|creat|develop|launch|start|offer|provid|sell|open|design|suppl|produc|manufactur|run|publish|bak)"
    r"(?:ying|ning|ing|ies|es|s|e|y)?(?: and (?:build|make|create|sell|offer|provide|run|maintain|install|rent|lease"
    r"|operate|distribute|market)\w*)? "
)
_MAKES = re.compile(_MAKER, re.I)
_MAKES_IT = re.compile(_MAKER + r"(?=an? |the |our |my |new |some |\w+-\w+ )", re.I)
_COMPLAINT = re.compile(
    r"\b(?:los(?:e|es|ing)|wast(?:e|es|ed|ing)|spends?|struggl\w+|cannot|can't|fail\w*|lacks?|suffers?|miss(?:es)?"
    r"|dies?|wait|too|no access|without|hard|difficult|expensive|still|nobody|never|unable|afraid|overpay\w*|thrown?"
    r"|broken|dangerous|unsafe|alone|rots?|goes to waste|only \d)\b",
    re.I,
)
_NO_COMPLAINER = words("we i our it this that my with no so and but because they")
_PRONOUNS = words("i we it they you he she there what why how")
_FUNCTION_WORDS = words("the a an and of to in with that we our for is are my on by it this you they i")
_FOREIGN_FOR = words("para pour für per voor för til dla")
_AFTER_VERB = DETERMINERS | words("out up more less everything")
_OFFER_OPENERS = DETERMINERS | words("like about just")
_LISTS = "ourselves hype plain_nouns conditions owners operators crowds foreign leading_gerunds serving"


class Opening(NamedTuple):
    """A sentence without its opening. `acts` says that the venture itself is the subject of the verb that follows,
    `makes` that the verb was one of making or selling and fell away too."""

    text: str
    acts: bool
    makes: bool = False


class Lexicon:
    """Built once from the parsed data of a pack's `simulation/` folder. Compared by identity, so that readings can
    be cached by it."""

    def __init__(
        self, lists: Mapping[str, Any], fields: Mapping[str, Any], kinds: Mapping[str, Any], crowds: Mapping[str, Any]
    ) -> None:
        self.english = English(lists["english"])
        self.topics = Topics(self.english, fields, kinds, crowds)
        self._words = {name: words(str(lists[name])) for name in _LISTS.split()}
        self.names = Names(lists["names"], self.english, self.topics, self._words["plain_nouns"])
        self.brands: Mapping[str, Mapping[str, str]] = lists["brands"]
        brand = "|".join(sorted(self.brands, key=len, reverse=True))
        self.brand_pattern = re.compile(
            rf"^(?:(?:it's|like|think|an?|the|of|basically|kind|is) )*(?P<brand>{brand}),?(?: but| style)? (?:for|of) "
            r"(?P<thing>.+)$",
            re.I,
        )
        self._acronyms = {word.lower(): word for word in str(lists["acronyms"]).split()}
        self._adjectives: Mapping[str, str] = lists["adjectives"]
        self._openings, self._subjects = _any_of(lists["openings"]), _any_of(lists["subjects"])
        self._orders = _any_of(lists["orders"])

    # Sentences

    def gives_orders(self, line: str) -> bool:
        """Whether a sentence talks to the machine instead of about the venture."""
        return bool(self._orders.search(line))

    def is_foreign(self, lines: list[str]) -> bool:
        """Whether the text is in a language or script this grammar cannot take apart."""
        text = " ".join(lines[:3])
        said = text.lower().split()
        foreign = sum(word in self._words["foreign"] for word in said) + sum(word in _FOREIGN_FOR for word in said)
        return not is_latin(text) or foreign >= 2 + sum(word in _FUNCTION_WORDS for word in said)

    def without_opening(self, line: str) -> Opening:
        """The sentence from its first word of content on."""
        acts = False
        for _ in range(5):
            subject = self._subjects.match(line)
            opening = subject or self._openings.match(line)
            if opening is None or opening.end() >= len(line):
                break
            acts = acts or subject is not None
            line = line[opening.end() :].lstrip()
        maker = (_MAKES if acts else _MAKES_IT).match(line)
        if maker and maker.end() < len(line):
            return Opening(line[maker.end() :], acts=False, makes=True)
        return Opening(line, acts)

    def is_complaint(self, line: str) -> bool:
        """Whether a sentence states a problem that someone has."""
        said = line.split()
        told = len(said) >= 4 and len(line) <= LONGEST_COMPLAINT and not line.endswith("?")
        return told and said[0].lower() not in _NO_COMPLAINER and bool(_COMPLAINT.search(line))

    def is_name(self, name: str, separator: str, rest: str) -> bool:
        """Whether "Solara" in "Solara: …" is the venture's own name and not a noun that opens the sentence."""
        if any(self._is_known(word) for word in name.lower().split()):
            return False
        article = rest.lower().startswith(("a ", "an ", "the ", "our ", "your "))
        return len(rest.split()) > 1 and (article or separator.strip() in (":", "-"))

    def _is_known(self, word: str) -> bool:
        known = word in DETERMINERS or word in LINKERS or word in _PRONOUNS or word in self._words["plain_nouns"]
        return known or word in self.brands or self.english.knows(word) or self.topics.is_topical(word)

    def lowered(self, word: str, shouts: bool) -> str:
        """A word of a title or of a shout, as it would stand in running text."""
        low = word.lower()
        bare = low.strip(",.:!?")
        if bare in self._acronyms:
            return low.replace(bare, self._acronyms[bare])
        if self.english.lower_first(low.capitalize()) != low:
            return low.capitalize()
        return low if shouts or not any(letter.isupper() for letter in word[1:]) else word

    # Verbs and actors

    def starts_with_verb(self, opening: Opening) -> bool:
        """Whether the sentence opens with what is done: "turn waste into bricks", but not "design tools for teams"."""
        said = opening.text.split()
        base = self.english.base(said[0]) if said else None
        if base is None or len(said) < 2:
            return False
        if opening.acts:
            return True
        if said[0].lower().endswith("ing") and not base.endswith("ing"):
            return base in self._words["leading_gerunds"]
        return not self.english.may_be_noun(base) or said[1].lower() in _AFTER_VERB

    def split_actor(self, rest: str, acts: bool = False) -> tuple[str, str]:
        """ "parents find babysitters" -> ("parents", "find babysitters"); the second is empty when no verb is found.
        Where they are known to act, what follows the first plural is taken for a verb, known or not."""
        said, english = rest.split(), self.english
        for index in range(1, min(len(said) - 1, 9)):
            word, before = said[index].lower(), said[index - 1].lower()
            if word == "to" and english.base(said[index + 1]) == said[index + 1].lower():
                return " ".join(said[:index]), " ".join(said[index + 1 :])
            if word not in english.verbs:
                continue
            adverb = index > 1 and (before in ADVERBS or re.fullmatch(r"(?!elderly)\w+ly", before))
            start = index - 1 if adverb else index
            actor = said[start - 1]
            if not english.may_be_noun(word) or english.is_plural_word(actor) or self.is_crowd(actor):
                return " ".join(said[:start]), " ".join(said[start:])
        for index in range(1, min(len(said), 6) if acts else 0):
            if english.is_plural_word(said[index - 1]) and said[index].lower() not in LINKERS:
                return " ".join(said[:index]), " ".join(said[index:])
        return rest, ""

    def is_crowd(self, who: str) -> bool:
        """Whether someone is named, be it no one in particular."""
        return who.strip().lower() in self._words["crowds"] or self.english.is_people(who)

    # Offer and audience

    def split_for(self, line: str) -> tuple[str, str]:
        """ "solar lamps for nurses using old cells" -> ("solar lamps using old cells", "nurses")."""
        places = [found.span() for found in re.finditer(r" for ", line)][:6]
        for lenient in (False, True):
            for start, end in places:
                right = line[end:]
                cut = CUT.search(right) or self._told_of_offer(right)
                audience = self.audience(right[: cut.start()] if cut else right, lenient)
                if audience:
                    return f"{line[:start]}{right[cut.start() :] if cut else ''}", audience
        return line, ""

    def _told_of_offer(self, text: str) -> re.Match[str] | None:
        """Where a clause begins that tells of the one offer, not of the many it is for: "… that automates"."""
        clause = re.search(r" (?:that|which) (\w+)\b", text)
        return clause if clause and self.english.base(clause[1]) not in (None, clause[1].lower()) else None

    def recipient(self, line: str) -> str:
        """Who receives what the venture does: "delivers groceries to seniors", "teaches children maths"."""
        said = line.split()
        if said and self.english.base(said[0]) in self._words["serving"]:
            for end in (4, 3, 2):
                who = self.audience(" ".join(said[1:end]))
                if who and len(said) > end and self.english.is_people(said[end - 1]):
                    return who
        starts = [found.end() for found in re.finditer(r" (?:to|with|from|of|between) ", line)][:6]
        return next(filter(None, (self.audience(line[start:]) for start in starts)), "")

    def audience(self, text: str, lenient: bool = False) -> str:
        """The phrase as people who can be spoken to, in the plural, or nothing when it names none. Lenient: a plural
        that this lexicon does not know counts as people."""
        phrase = re.sub(r"^(?:all|both|most|many|those|these|some|other) ", "", text.strip(" ,.!?"), flags=re.I)
        phrase = clip(CUT.sub("", phrase), LONGEST_AUDIENCE)
        first, _, rest = phrase.partition(" ")
        if not phrase or phrase.lower() in self._words["crowds"]:
            return ""
        if first.lower() in DETERMINERS:
            phrase = rest if first.lower() == "the" else self._many(rest)
        # "the elderly and their carers": what stands for people becomes people.
        who, joined, others = phrase.lower().partition(" and ")
        if who in self._adjectives:
            return f"{self._adjectives[who]}{joined}{others}"
        return self.english.lower_first(self._people(phrase, lenient)) if phrase else ""

    def _people(self, phrase: str, lenient: bool) -> str:
        core, english = self._core(phrase), self.english
        last = english.singular(core[-1].lower())
        whole = "-".join([*(word.lower() for word in core[:-1]), last])
        if core[-1].lower() in self._words["conditions"]:
            return f"people living with {phrase}"
        if last in self._words["owners"] and len(core) == len(phrase.split()):
            return " ".join([*core[:-1], last, "owners"])
        if last in self._words["operators"] or whole in self._words["operators"]:
            return " ".join([*core[:-1], last, "operators"])
        if self.is_crowd(core[-1]):
            return self._many(phrase)
        unknown = english.is_plural_word(core[-1]) and last not in english.things and not self.topics.is_topical(last)
        return phrase if lenient and unknown else ""

    def offer_phrase(self, text: str, longest: int) -> str:
        """The offer without article, praise and ending."""
        said = CUT.sub("", text).strip(" ,.!?'-").split()
        ends = (at for at, word in enumerate(said) if at > 1 and said[at - 1].lower() == "and" and self._goes_on(word))
        said = said[: next(ends, len(said) + 1) - 1]
        while said and (said[0].lower().strip(",'") in self._words["hype"] or said[0].lower() in _OFFER_OPENERS):
            said.pop(0)
        while len(said) > 1 and said[-1].endswith("ed"):
            said.pop()  # "bread delivered", once the telling of how is cut off
        if " ".join(said).lower() in self._words["ourselves"]:
            return ""
        return clip(self.english.lower_first(" ".join(said)), longest, 9)

    def _goes_on(self, word: str) -> bool:
        """Whether a word after "and" starts another thing the venture does: "lamps and charge $5"."""
        return word.lower() in self.english.verbs and (not self.english.may_be_noun(word) or word.lower() == "charge")

    def short(self, offer: str) -> str:
        """The offer in a few words, for headings."""
        said = offer.split()
        return offer if len(said) <= 5 else " ".join(said[: self.english.head(offer) + 1][-4:])

    def short_audience(self, audience: str) -> str:
        """An audience by its first words, once it has been introduced: "clinics in the hills" -> "clinics"."""
        core = self._core(audience)
        return audience if not core or core[-1].lower() in self._words["crowds"] else " ".join(core)

    def telling_words(self, text: str) -> frozenset[str]:
        """The nouns by which two texts can be seen to speak of the same thing."""
        common = self._words["plain_nouns"] | self.english.people
        found = (self.english.singular(word.lower()) for word in words_in(text))
        return frozenset(
            word for word in found if len(word) > 3 and word not in common and word not in self.english.verbs
        )

    def _core(self, phrase: str) -> list[str]:
        """The words up to the first that only describes: "people leaving prison" -> ["people"]."""
        said = phrase.replace(",", "").split()
        for index, word in enumerate(said[1:], 1):
            links = word.lower() in LINKERS and word.lower() not in ("and", "or")
            doing = word.endswith("ing") and self.english.base(word) is not None and self.is_crowd(said[index - 1])
            if links or doing:
                return said[:index]
        return said

    def _many(self, phrase: str) -> str:
        core = self._core(phrase)
        said = phrase.split()
        if core and core[-1].lower() not in self._words["crowds"]:
            said[len(core) - 1] = self.english.plural(said[len(core) - 1])
        return " ".join(said)


def _any_of(patterns: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.I)
