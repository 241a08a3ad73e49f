"""Reading a pitch: what it offers, to whom, against which problem, in which field. Words in, words out:
nothing in a pitch is ever evaluated, obeyed or looked up."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from submission.agents.craft import cleaning
from submission.agents.craft.choices import Choices
from submission.agents.craft.cleaning import clip
from submission.agents.craft.lexicon import LONGEST_COMPLAINT, Lexicon
from submission.agents.craft.naming import LONGEST_NAME
from submission.agents.craft.shapes import (
    BEFORE_HOW,
    GENERIC_OFFER,
    GOAL_CUT,
    HELPS,
    LONGEST_PHRASE,
    Parts,
    taken_apart,
    theirs,
)

LONGEST_SENTENCE = 320
LONGEST_GOAL = 70
HIGHEST_PRICE = 20_000


@dataclass(frozen=True, slots=True)
class Reading:
    """A pitch as a writer can use it. `offer` and `subject` are noun phrases without an article, `audience` a plural
    one, `goal` a verb phrase or empty; `problem`, `claim` and `ambition` are whole sentences of the pitch or empty.
    `for_whom` says the offer and its audience in one noun phrase. `field`, `theme`, `kind` and `crowd` are ids of the
    pack; `price` is a monthly one that the pitch names."""

    offer: str
    audience: str
    an_offer: str
    for_whom: str
    subject: str
    a_subject: str
    goal: str
    problem: str
    claim: str
    ambition: str
    how: str
    place: str
    field: str
    theme: str
    kind: str
    crowd: str
    name: str
    slug: str
    price: int | None
    audience_given: bool


_NAMED = re.compile(
    r"^(?P<name>(?:[A-Z][\w'&.-]*)(?: [A-Z][\w'&.-]*){0,2})(?P<separator> is |: | - |, )(?P<rest>\S.+)$"
)
_CALLED = re.compile(r"\b(?:called|named) (?P<name>[A-Z][\w'&-]*(?: [A-Z][\w'&-]*){0,2})")
_TAIL = re.compile(r"(?:,| -|:|;)? (?:using|by|via|with the help of) \S.*$", re.I)
_CLAIM = re.compile(
    r"(?:we|i|our \w+)(?: have| has|'ve)?(?: already)? (?:have|has|installed|sold|built|tested|served|signed|trained"
    r"|raised|won|reached|helped|ran|piloted|delivered)\b.*\d",
    re.I,
)
_AMBITION = re.compile(r"(?:we|i|our (?:goal|aim|dream|plan|vision|mission))\b.{0,20}\b(?:to|will|is) .*", re.I)
_PLACE = re.compile(
    r"\b(?:in|across|around|throughout) ((?:(?:rural|urban|northern|southern|eastern|western|central|coastal) )?"
    r"[A-Z][a-zà-ÿ]+(?:[ -][A-Z][a-zà-ÿ]+){0,2})"
)
_PRICE = re.compile(
    r"[$€£] ?(\d{1,5})(?:\.\d\d)? ?(?:usd )?(?:a|per|each|every|/) ?(?:\w+ ?(?:per|a|/) ?)?(?:mo\b|month)", re.I
)


@lru_cache(maxsize=256)
def read_pitch(pitch: str, lexicon: Lexicon) -> Reading:
    """What a pitch says. Any text has a reading; the same text always has the same one."""
    text = cleaning.clean(pitch)
    if not any(sign.isalnum() for sign in text):
        text = cleaning.pictures(pitch)
    lines = [_calm(line, lexicon) for line in cleaning.sentences(text) if not lexicon.gives_orders(line)]
    return _complete(pitch, _parts(lines, lexicon), lines, lexicon)


def retold(reading: Reading, audience: str, lexicon: Lexicon) -> Reading:
    """The same venture for another audience, as a human decided it."""
    if not audience or audience == reading.audience:
        return reading
    return replace(
        reading,
        audience=audience,
        audience_given=True,
        crowd=lexicon.topics.crowd_of(audience, reading.field, True),
        for_whom=reading.for_whom.replace(reading.audience, audience),
    )


def _parts(lines: list[str], lexicon: Lexicon) -> Parts:
    if not lines:
        return Parts()
    if lexicon.is_foreign(lines):
        quote = clip(re.split(r"[،、(]", lines[0])[0].strip(".!?¿¡ "), LONGEST_PHRASE, 9) or "…"
        return Parts(offer=f"“{quote}”", subject=f"“{quote}”", quoted=True)
    weights = [_telling(line, lexicon) - index for index, line in enumerate(lines)]
    main = weights.index(max(weights))
    parts = _sentence(lines[main], lexicon)
    others = (line for index, line in enumerate(lines) if index != main)
    parts.problem = parts.problem or next(filter(lexicon.is_complaint, others), "")
    return parts


def _telling(line: str, lexicon: Lexicon) -> int:
    """How likely a sentence is the one that says what the venture offers."""
    opening = lexicon.without_opening(line)
    said = 4 * opening.makes + 2 * (opening.text != line) + 2 * (HELPS.match(line) is not None) + (" for " in line)
    return 2 * said - (10 if len(opening.text) < 3 or lexicon.is_complaint(line) else 0)


def _sentence(line: str, lexicon: Lexicon) -> Parts:
    """The parts of the one sentence that says what the venture does, and the name it gives itself."""
    line = clip(line.rstrip(".!?"), LONGEST_SENTENCE)
    called, head, name = _CALLED.search(line), _NAMED.match(line), ""
    if called:
        name = called["name"]
        line = f"{line[: called.start()].rstrip()}{line[called.end() :]}".strip(" ,")
    elif head and lexicon.is_name(head["name"], head["separator"], head["rest"]):
        name, line = head["name"], head["rest"]
    parts = taken_apart(lexicon.without_opening(line), lexicon)
    parts.named = clip(name, LONGEST_NAME)
    return parts


def _calm(line: str, lexicon: Lexicon) -> str:
    """Lower case for a sentence that shouts or that is set as a title."""
    said = line.split()
    letters = [word for word in said if word[0].isalpha()]
    shouts = line.upper() == line and (len(letters) > 1 or len(line) > 4)
    titled = len(letters) > 2 and sum(word[0].isupper() for word in letters) > 0.6 * len(letters)
    return " ".join(lexicon.lowered(word, shouts) for word in said) if shouts or titled else line


def _complete(pitch: str, parts: Parts, lines: list[str], lexicon: Lexicon) -> Reading:
    """Fills what the sentence left open from the lexicon, and puts all of it into grammar."""
    topics, choose, text = lexicon.topics, Choices("pitch", pitch), " ".join(lines)
    _tidy(parts, lexicon)
    said = f"{parts.offer} {parts.joined} {parts.subject}"
    field, theme = topics.field_of(said, parts.goal, parts.audience, text)
    audience = parts.audience or topics.audience_of(parts.offer, field, theme, choose)
    crowd = topics.crowd_of(audience, field, bool(parts.audience))
    kind = topics.kind_of(parts.offer, field, theme, crowd)
    phrases = _phrases(parts, audience, kind, lexicon)
    about = f"{parts.offer} {phrases['subject']} {parts.goal} {parts.joined}"
    name = parts.named or lexicon.names.name(about, parts.audience, field, choose)
    place, price = _PLACE.search(text), _PRICE.search(text)
    return Reading(
        audience=audience,
        goal=parts.goal,
        problem=_whole(parts.problem),
        claim=_whole(next(filter(_CLAIM.match, lines), "")),
        ambition=_whole(next(filter(_AMBITION.match, lines[1:]), "")),
        how=parts.how,
        place=f"in {clip(place[1], 40)}" if place else "",
        field=field,
        theme=theme,
        kind=kind,
        crowd=crowd,
        name=name,
        slug=lexicon.names.slug(name, choose),
        price=min(max(int(price[1]), 1), HIGHEST_PRICE) if price else None,
        audience_given=bool(parts.audience),
        **phrases,
    )


def _tidy(parts: Parts, lexicon: Lexicon) -> None:
    """Clips the phrases and parts what is offered from how it is done; finds the audience in a problem."""
    english = lexicon.english
    if not parts.quoted:
        tail = _TAIL.search(parts.offer)
        parts.how = english.lower_first(clip(tail.group().strip(" ,-:;"), LONGEST_PHRASE)) if tail else ""
        parts.offer = lexicon.offer_phrase(_TAIL.sub("", parts.offer), LONGEST_PHRASE)
        parts.goal = english.based(clip(theirs(GOAL_CUT.sub("", english.lower_first(parts.goal))), LONGEST_GOAL))
    if not parts.audience and parts.problem:
        parts.audience = lexicon.audience(lexicon.split_actor(parts.problem)[0])


def _phrases(parts: Parts, audience: str, kind: str, lexicon: Lexicon) -> dict[str, str]:
    """The noun phrases of a reading, with and without article and audience."""
    english = lexicon.english
    offer = parts.offer or ("" if parts.goal or parts.joined else GENERIC_OFFER)
    noun = offer or lexicon.topics.noun_of(kind)
    a_noun = english.with_article(noun)
    if parts.goal and not parts.joined:
        doing = clip(BEFORE_HOW.split(english.gerund(parts.goal))[0], 44, 7)
        subject = a_subject = parts.subject or doing
        an_offer = f"{a_noun} to {parts.goal}"
        for_whom = f"{a_noun} that {'help' if english.is_plural(noun) else 'helps'} {audience} {parts.goal}"
    else:
        subject = parts.subject or lexicon.short(offer) or noun
        as_it_is = parts.quoted or (parts.subject and english.is_gerund(subject))
        a_subject = subject if as_it_is else english.with_article(subject)
        an_offer = f"{a_noun} {parts.joined}".strip()
        made = ", made" if " for " in an_offer else ""
        for_whom = an_offer if parts.told else f"{an_offer}{made} for {audience}"
    return {"offer": noun, "an_offer": an_offer, "for_whom": for_whom, "subject": subject, "a_subject": a_subject}


def _whole(text: str) -> str:
    """A sentence of the pitch as a sentence of ours, or nothing when it is too long for that."""
    text = text.strip(" ,-")
    return f"{text[:1].upper()}{text[1:].rstrip('.!')}." if 0 < len(text) <= LONGEST_COMPLAINT else ""
