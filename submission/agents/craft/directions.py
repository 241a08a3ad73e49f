"""What a human's words ask of an artifact: which fields they name, what these should say, and in what manner.
The words are data. They are looked at, clipped and quoted; nothing in them is ever run or filled in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

from submission.agents.craft import cleaning
from submission.agents.craft.cleaning import clip, words
from submission.agents.craft.lexicon import Lexicon
from submission.state.work import Direction
from submission.state.world import Check

Manner = Literal["mention", "become", "drop", "shorter", "sharper", "lower", "higher", "again"]
Form = Literal["noun", "verb", "clause"]
LONGEST_ASK = 90
LONGEST_TEXT = 1_200


@dataclass(frozen=True, slots=True)
class Ask:
    """One direction, understood. `fields` are dotted paths it names; `cures` those whose failed check it quotes."""

    quote: str
    fields: tuple[str, ...]
    cures: frozenset[str]
    manner: Manner
    phrase: str = ""
    form: Form = "noun"
    number: int | None = None


_MENTION = (
    r"(?:mentions?|includes?|names?|address(?:es)?|covers?|acknowledges?|speaks? (?:to|of|about)|talks? (?:to|about)"
    r"|focus(?:es)? (?:more )?(?:on|only on)|concentrates? on|emphasi[sz]es?|highlights?|stress(?:es)?|underlines?"
    r"|explains?|promises?|shows?|reflects?|(?:lead|start|begin|open)s? with|adds?|features?|brings? (?:in|up)"
    r"|refers? to|references?|accounts? for|considers?|offers?|lists?|hires?|contains?|lacks?|missing|misses|forgets?"
    r"|ignores?|omits?|no (?:mention|word) of|nothing (?:about|on)|what about|where (?:is|are)|more (?:about|on)"
    r"|know about|needs?|says? that|write (?:more )?(?:to|for|about)|say (?:something|more) about"
    r"|make (?:it )?clear that|tell (?:them|us|people) (?:that|about))"
)
_BECOME = (
    r"(?:says?(?! it\b)|reads?|becomes?|targets?|serves?|be about|be for|be aimed at|aims? (?:at|for)"
    r"|goes? (?:for|after)|changes? (?:\S+ ){0,3}to|uses?|calls? it|make (?:it|them)|set (?:\S+ ){0,3}(?:to|at)"
    r"|(?:this|it|that|we) (?:is|are) for|narrows? (?:\S+ ){0,3}to|switch(?:es)? to|replaces? (?:\S+ ){0,4}with"
    r"|should be|must be|be|only)"
)
_LEAD = r"(?:also |only |just |exactly |clearly |explicitly |the words? )*"
_STOP = (
    r"(?=[.:;!?\n]|, (?:not|and not|instead|because|so|since|as|but|please)\b| instead\b| rather than\b| because\b"
    r"| please\b| so that\b| and (?:speak|say|tell|be|make|show|use|keep|add|drop|remove|mention|not)\b|$)"
)
_TAKE = re.compile(rf"\b{_MENTION}:? {_LEAD}(?P<what>[^.:;!?\n]+?){_STOP}", re.I)
_SET = re.compile(rf"\b{_BECOME}:? {_LEAD}(?P<what>[^.:;!?\n]+?){_STOP}", re.I)
_BUT = re.compile(rf"\bnot [^.;,]{{1,60}},? but (?P<what>[^.;!?\n]+?){_STOP}", re.I)
_DROP = re.compile(
    r"\b(?:do not|don't|must not|should not|shouldn't|mustn't|never|stop|no longer|avoid|remove|drop|delete|leave out"
    r"|get rid of) (?:(?:say|saying|mention|mentioning|using|use|the|words?|talk|talking|about|any|all) )*"
    r"(?P<what>[^.;,!?\n]+)",
    re.I,
)
_QUOTED = re.compile(r"\"([^\"]{2,160})\"|(?<!\w)'([^']{3,160})'(?!\w)")
_NUMBER = re.compile(r"(?<![\w.])[$€£]?\s?(\d{1,3}(?:,\d{3})+|\d{1,7})(?![\w.]*\d)\s?(k\b)?", re.I)
_MASK = "\ue000"
_NAMED_AFTER = re.compile(rf"\s(?:in|to|on|for|as|of|into|at)(?: the| an?| our| this)? {_MASK}+$", re.I)
_NAMED_BEFORE = re.compile(rf"^(?:the |an? |our |any )?{_MASK}+ (?:about|of|on|for|that|against|with) ", re.I)
_FINITE = words("is are was were will can must has have do does should would am come comes")
_IDLE = words(
    """
    a an the this that these those it its is are was be been and or but of to in on at for with as by from too so
    very more much not no do does don't doesn't did i we you our your my me us they their there here what which who
    where when why how must should needs need has have had could would can will please make made say said says like
    want wants feel feels looks look seems sound sounds just only really quite bit little again still also yet well
    good bad better wrong right fine ok okay field text words word line change rewrite redo fix improve rework write
    new different one enough
    """
)
_OBJECTS = words("a an the your our their us now")
_SPEAKERS = words("we they you it i there nobody everyone")


def read_ask(
    direction: Direction,
    names: Mapping[str, str],
    manners: Mapping[Manner, frozenset[str]],
    checks: Iterable[Check],
    lexicon: Lexicon,
) -> Ask:
    """Understands one rejection or redirect. `names` maps what a field may be called, longest first, to its path."""
    text = " ".join(cleaning.clean(direction.text).split())[:LONGEST_TEXT]
    cures, rest = _quoted_checks(text, checks, set(names.values()))
    quote = clip(" ".join(cleaning.sentences(text, 6)), 150) or "no words"
    rest = " ".join(line for line in re.split(r"(?<=[.!?]) ", rest) if not lexicon.gives_orders(line))
    if not any(sign.isalnum() for sign in rest):
        return Ask(quote, tuple(sorted(cures)), cures, "again")
    masked, places = _masked(rest, names)
    manner, phrase, fields = _wish(rest, masked, places, manners, lexicon)
    number = _NUMBER.search(rest)
    value = int(number[1].replace(",", "")) * (1000 if number[2] else 1) if number else None
    if manner == "become" and not fields:
        manner = "mention"
    return Ask(
        quote, tuple(dict.fromkeys((*fields, *sorted(cures)))), cures, manner, phrase, _form(phrase, lexicon), value
    )


def names_of(paths: Iterable[str], aliases: Mapping[str, str]) -> dict[str, str]:
    """What each field may be called, longest name first: its path, its own name, and the pack's aliases for it."""
    names: dict[str, str] = {}
    paths = list(paths)
    for path, said in aliases.items():
        if path in paths:
            names |= {name.strip().lower(): path for name in str(said).split(",")}
    for path in paths:
        own = path.rsplit(".", 1)[-1].lower()
        for name in (path.lower(), own, own.replace("_", " ")):
            names.setdefault(name, path)
    return dict(sorted(names.items(), key=lambda item: (-len(item[0]), item[0])))


def _quoted_checks(text: str, checks: Iterable[Check], fields: Iterable[str]) -> tuple[frozenset[str], str]:
    """The fields of the checks whose feedback stands in the text, and the text without it."""
    cures: set[str] = set()
    for check in checks:
        said = " ".join(cleaning.clean(check.feedback).split())
        if said and said in text:
            cures |= {field for field in fields if _leads_to(check.path, field)}
            text = text.replace(said, " ")
    return frozenset(cures), text


def _leads_to(path: str, field: str) -> bool:
    """Whether a check's path, with its alternatives and globs, is this field's."""
    segments, names = path.split("."), field.split(".")
    same = zip(segments, names, strict=False)
    return len(segments) == len(names) and all(
        any(fnmatchcase(name, one) for one in segment.split("|")) for segment, name in same
    )


def _masked(text: str, names: Mapping[str, str]) -> tuple[str, list[tuple[int, str]]]:
    """The text with the names of fields masked, so that no verb is found inside them; and where each stood."""
    # One sign for one sign, or the places would not fit: some letters are longer in lower case.
    masked, places = "".join(sign.lower() if len(sign.lower()) == 1 else sign for sign in text), []
    for name, path in names.items():
        for found in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", masked):
            places.append((found.start(), path))
            masked = masked[: found.start()] + _MASK * len(name) + masked[found.end() :]
    return masked, sorted(places)


def _wish(
    text: str, masked: str, places: list[tuple[int, str]], manners: Mapping[Manner, frozenset[str]], lexicon: Lexicon
) -> tuple[Manner, str, tuple[str, ...]]:
    """What to do, the words to take up, and the fields meant."""
    everywhere = tuple(path for _, path in places)
    quoted = _QUOTED.search(text)
    said = _phrase(quoted[1] or quoted[2], lexicon, keep_case=True) if quoted else ""
    if quoted and said:
        outside = tuple(path for at, path in places if not quoted.start() < at < quoted.end())
        return ("become" if _SET.search(masked[: quoted.start()] + "x") else "mention"), said, outside
    drop = None if _BUT.search(masked) else _DROP.search(masked)
    what = _phrase(text[drop.start("what") : drop.end("what")], lexicon) if drop else ""
    said = masked[drop.start("what") : drop.end("what")] if drop else ""
    if drop and what and not _only(said.replace(_MASK, ""), manners):
        return "drop", what, tuple(path for at, path in places if at < drop.start("what"))
    for manner, pattern in _PATTERNS:
        for found in pattern.finditer(masked):
            start, end, fields = _span(masked, found.start("what"), found.end("what"), places)
            what = _phrase(text[start:end], lexicon)
            if what and not _only(what, manners):
                return manner, what, fields or everywhere
    tone = _tone(masked, manners)
    if tone:
        return tone, "", everywhere
    rest = _longest_run("".join(" " if sign == _MASK else text[index] for index, sign in enumerate(masked)))
    # "audience: only maternity wards": what follows a field's name and a colon is what it should be.
    becomes = rest and re.search(rf"{_MASK}[^:.]{{0,30}}: ", masked)
    return ("become" if becomes else "mention" if rest else "again"), rest, everywhere


_PATTERNS: tuple[tuple[Manner, re.Pattern[str]], ...] = (("become", _BUT), ("mention", _TAKE), ("become", _SET))


def _span(masked: str, start: int, end: int, places: list[tuple[int, str]]) -> tuple[int, int, tuple[str, ...]]:
    """The words of a wish without the name of the field they are for; and the fields named outside these words."""
    after = _NAMED_AFTER.search(masked[start:end])
    end = start + after.start() if after else end
    before = _NAMED_BEFORE.search(masked[start:end])
    start = start + before.end() if before else start
    return start, end, tuple(path for at, path in places if not start <= at < end)


def _tone(masked: str, manners: Mapping[Manner, frozenset[str]]) -> Manner | None:
    padded = f" {re.sub(r'[^a-z]+', ' ', masked)} "
    return next((manner for manner, several in manners.items() if any(f" {word} " in padded for word in several)), None)


def _only(phrase: str, manners: Mapping[Manner, frozenset[str]]) -> bool:
    """Whether a phrase is nothing but a remark on manner: "more concrete", "too long"."""
    said = re.findall(r"[a-z]+", phrase.lower())
    remarks = {word for several in manners.values() for remark in several for word in remark.split()}
    return all(word in remarks or word in _IDLE for word in said)


def _phrase(text: str, lexicon: Lexicon, keep_case: bool = False) -> str:
    """The words as they can stand inside a sentence."""
    line = " ".join(cleaning.sentences(text, 1))
    line = re.sub(r"^(?:that|the fact that|how|about|to) ", "", line.strip(" -"), flags=re.I)
    line = re.sub(r" (?:as well|too|more|more clearly|at the gate|in it|there|somewhere)$", "", line, flags=re.I)
    line = clip(line, LONGEST_ASK, 14)
    if all(word.lower().strip(",") in _IDLE for word in line.split()):
        return ""
    return line if keep_case else lexicon.english.lower_first(line)


def _longest_run(text: str) -> str:
    """The longest stretch of words that say something, when no verb tells what is wanted."""
    runs: list[list[str]] = [[]]
    for word in " ".join(cleaning.sentences(text, 4)).split():
        bare = word.lower().strip(",.:;!?()\"'")
        if bare and bare not in _IDLE:
            runs[-1].append(word.strip(",.:;!?()"))
        elif runs[-1] and bare in ("and", "of", "for", "in", "at", "the", "with"):
            runs[-1].append(word)
        else:
            runs.append([])
    return clip(" ".join(max(runs, key=lambda run: sum(len(word) > 3 for word in run))), LONGEST_ASK, 12).lower()


def _form(phrase: str, lexicon: Lexicon) -> Form:
    said = phrase.lower().split()
    if not said:
        return "noun"
    if said[0] in _SPEAKERS or _FINITE & set(said[1:7]):
        return "clause"
    english = lexicon.english
    if said[0] in english.verbs and len(said) > 1:
        sure = not english.may_be_noun(said[0]) or said[1] in _OBJECTS
        return "verb" if sure else "noun"
    return "noun"
