"""The shapes a pitch comes in, the most telling first: each takes a sentence apart, or says that it does not fit."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from submission.agents.craft.cleaning import clip
from submission.agents.craft.lexicon import CUT, Lexicon, Opening

LONGEST_PHRASE = 64
LONGEST_DOING = 80
GENERIC_OFFER = "new service"
"""What is offered by a pitch that does not say."""


@dataclass(slots=True)
class Parts:
    """What the grammar of one sentence gives, before the lexicon fills the gaps. `goal` is what the customer does with
    the offer; `joined` a relative clause that belongs to it; `told` says that the clause names the audience already;
    `quoted` that the offer is in words that cannot be taken apart."""

    offer: str = ""
    audience: str = ""
    goal: str = ""
    joined: str = ""
    told: bool = False
    how: str = ""
    subject: str = ""
    quoted: bool = False
    named: str = ""
    problem: str = ""


GOAL_CUT = re.compile(
    r"(?:, | )(?:which|because|unlike|instead of|rather than|although|but|using|we|it|our|based on|powered by) .*$"
    r"|(?: -|:|;|\(|\)| \.).*$",
    re.I,
)
BEFORE_HOW = re.compile(r" (?:before|so|without|when|while|with|using|from|in|that|at|by) ")
HELPS = re.compile(
    r"^(?P<pre>.*?)(?:\b(?:that|which|who|to|can|and) )?\b(?:help|let|allow|enable|empower|train|teach|support|assist"
    r"|equip)(?:s|es|ing)? (?P<rest>.+)$",
    re.I,
)
_GIVES = re.compile(
    r"^(?P<pre>.*?)(?:\b(?:that|which|who|to) )?\b(?:give|bring|deliver|provide|offer)(?:s|ing)? "
    r"(?P<who>[\w' -]{3,60}?) (?P<what>(?:an?|the|more|better|instant|real|direct|cheap|free|fresh|safe|clean"
    r"|affordable|reliable|early|access)\b.+)$",
    re.I,
)
_CONNECTS = re.compile(
    r"^(?P<pre>.*?)(?:\b(?:that|which|who|to) )?\b(?:connect|match|link|pair|introduc)(?:s|es|ing|e)? "
    r"(?P<who>.+?) (?:with|to|and) (?P<whom>.+)$",
    re.I,
)
_FOR_TO = re.compile(r"^(?P<pre>.+?) for (?P<who>[\w' -]{3,60}?) to (?P<goal>\w.+)$", re.I)
_WHERE = re.compile(
    r"^(?P<pre>.+?),? (?:where|so that|so|through which|with which) (?P<who>[\w' -]{3,60}?) (?:can|could|may) "
    r"(?P<goal>.+)$",
    re.I,
)
_TO = re.compile(r"^(?P<pre>.+?) to (?P<goal>\w.+)$", re.I)
_THAT = re.compile(r"^(?P<pre>.+?),? (?P<that>that|which) (?P<verb>\S+)(?P<rest> .+)?$", re.I)
_WHY = re.compile(r"^(?:why|how come) (?:do|does|did|can't|cannot|can|must|should|is|are|still)? ?(?P<rest>.+)$", re.I)
_IF = re.compile(r"^(?:what )?if (?P<who>.+?) had (?P<offer>.+)$", re.I)
_HOW = re.compile(
    r"^(?:how (?:can|could|might|do|should|would)|what if|if|can|could|should|would|will) "
    r"(?P<who>.+?)(?: could| can)? (?P<rest>\S.*)$",
    re.I,
)


def taken_apart(opening: Opening, lexicon: Lexicon) -> Parts:
    """The parts of a sentence in the first shape that fits it; failing all, the whole of it is the offer."""
    for shape in _SHAPES:
        parts = shape(opening, lexicon)
        if parts is not None:
            return parts
    return Parts(offer=opening.text)


def _brand(opening: Opening, lexicon: Lexicon) -> Parts | None:
    """ "Airbnb for boats"."""
    match = lexicon.brand_pattern.match(opening.text)
    thing = lexicon.english.lower_first(clip(CUT.sub("", match["thing"]), 40)) if match else ""
    if match is None or not thing:
        return None
    brand = lexicon.brands[match["brand"].lower()]
    people = lexicon.audience(thing) if lexicon.english.is_people(thing) else ""
    if people:
        return Parts(offer=brand["people"], audience=people)
    plural = "mass" not in brand or lexicon.english.is_plural(thing)
    owners = brand.get("audience", "") if plural else brand["mass"]
    single = " ".join([*thing.split()[:-1], lexicon.english.singular(thing.split()[-1])])
    audience = owners.replace("{thing}", single if owners.startswith("{thing}") else thing)
    return Parts(offer=brand["thing"].replace("{thing}", thing), audience=audience, subject=thing)


def _question(opening: Opening, lexicon: Lexicon) -> Parts | None:
    """ "Why do libraries close at five?", "How can farmers sell directly?"."""
    why, had, how = (pattern.match(opening.text) for pattern in (_WHY, _IF, _HOW))
    if had:
        return Parts(offer=had["offer"], audience=lexicon.audience(had["who"]))
    if why:
        return _wondering(*lexicon.split_actor(why["rest"]), lexicon)
    if how:
        who, goal = lexicon.split_actor(f"{how['who']} {how['rest']}")
        if goal and (lexicon.audience(who) or lexicon.is_crowd(who)):
            return Parts(audience=lexicon.audience(who), goal=goal)
        if goal:
            return _wondering(who, goal, lexicon)
    return None


def _wondering(who: str, doing: str, lexicon: Lexicon) -> Parts:
    """What is asked about is the subject, and what is asked is the problem."""
    english = lexicon.english
    topic = english.lower_first(clip(re.sub(r"^(?:the|a|an|our|my) ", "", who), LONGEST_PHRASE, 6))
    if not doing:
        return Parts(offer=f"answer to {topic}", subject=topic)
    problem = f"{topic} {doing if english.is_plural(topic) else english.third(doing)}"
    about = topic if english.is_mass(topic) else english.pluralised(topic)
    return Parts(offer=GENERIC_OFFER, audience=lexicon.audience(about), subject=about, problem=problem)


def _helps(opening: Opening, lexicon: Lexicon) -> Parts | None:
    """ "An app that helps parents find babysitters"."""
    match = HELPS.match(opening.text)
    if match is None:
        return None
    who, goal = lexicon.split_actor(match["rest"], acts=True)
    audience = lexicon.audience(who)
    if not goal or not (audience or lexicon.is_crowd(who)):
        return None
    return Parts(offer=_noun(match["pre"]), audience=audience, goal=goal)


def _connects(opening: Opening, lexicon: Lexicon) -> Parts | None:
    """ "A marketplace connecting farmers with restaurants"."""
    match = _CONNECTS.match(opening.text)
    who = lexicon.audience(match["who"]) if match else ""
    whom = clip(CUT.sub("", match["whom"]), 40) if match else ""
    if match is None or not who or not whom or len(match["pre"].split()) > 7:
        return None
    whom = lexicon.audience(whom) or lexicon.english.lower_first(whom)
    offer = _noun(match["pre"])
    subject = f"{lexicon.offer_phrase(offer, 30) or 'network'} for {who} and {whom}"
    joined = f"that connects {who} with {whom}"
    return Parts(offer=offer, audience=who, subject=clip(subject, LONGEST_PHRASE), joined=joined, told=True)


def _sells_to(opening: Opening, lexicon: Lexicon) -> Parts | None:
    """ "X for Y to do Z", "X where Y can do Z", "X that gives Y Z"."""
    for match in (_WHERE.match(opening.text), _FOR_TO.match(opening.text)):
        if match is None or " who " in match["who"] or lexicon.english.base(match["goal"].split()[0]) is None:
            continue
        audience = lexicon.audience(match["who"])
        if audience or lexicon.is_crowd(match["who"]):
            return Parts(offer=_noun(match["pre"]), audience=audience, goal=match["goal"])
    pre, where, rest = opening.text.partition(" where ")
    who, goal = lexicon.split_actor(rest)
    if where and goal and lexicon.audience(who):
        return Parts(offer=_noun(pre), audience=lexicon.audience(who), goal=goal)
    gives = _GIVES.match(opening.text)
    audience = lexicon.audience(gives["who"]) if gives else ""
    if gives is None or not audience:
        return None
    return Parts(offer=_noun(gives["pre"]), audience=audience, goal=f"get {gives['what']}")


def _acts(opening: Opening, lexicon: Lexicon) -> Parts | None:
    """ "We deliver groceries to seniors", "Turning waste into bricks": the venture does it. "Rent out your boat":
    the customer does."""
    if not lexicon.starts_with_verb(opening):
        return None
    if " your " in opening.text and not opening.acts:
        goal, audience = lexicon.split_for(opening.text)
        return Parts(goal=goal, audience=audience)
    return _doing("", opening.text, lexicon)


def _to_do(opening: Opening, lexicon: Lexicon) -> Parts | None:
    """ "A platform to rent camping gear": the customer does it."""
    match = _TO.match(opening.text)
    if match is None or " who " in match["pre"] or lexicon.english.is_people(match["pre"]):
        return None
    if lexicon.english.base(match["goal"].split()[0]) is None:
        return None
    offer, before = lexicon.split_for(_noun(match["pre"]))
    goal, after = lexicon.split_for(match["goal"])
    return Parts(offer=offer, goal=goal, audience=before or after)


def _that_does(opening: Opening, lexicon: Lexicon) -> Parts | None:
    """ "A lamp that charges phones for refugees"."""
    match = _THAT.match(opening.text)
    if match is None or lexicon.english.base(match["verb"]) is None or " for " in match["pre"]:
        return None
    return _doing(_noun(match["pre"]), f"{match['verb']}{match['rest'] or ''}", lexicon)


def _doing(offer: str, doing: str, lexicon: Lexicon) -> Parts:
    """What the venture, or its product, does; the offer may be empty, then the kind of venture names it."""
    english = lexicon.english
    doing, audience = lexicon.split_for(doing)
    doing = english.lower_first(clip(theirs(GOAL_CUT.sub("", doing)), LONGEST_DOING))
    told = "" if audience else lexicon.recipient(doing)
    plural = bool(offer) and english.is_plural(offer)
    joined = f"that {english.based(doing) if plural else english.third(english.based(doing))}"
    subject = "" if offer else clip(BEFORE_HOW.split(english.gerund(english.based(doing)))[0], 44, 7)
    return Parts(offer=offer, audience=audience or told, joined=joined, told=bool(told), subject=subject)


def _for_whom(opening: Opening, lexicon: Lexicon) -> Parts | None:
    """ "Solar microgrids for rural clinics", "organic honey to cafes"."""
    offer, audience = lexicon.split_for(opening.text)
    if not audience and " to " in opening.text:
        offer, _, right = opening.text.rpartition(" to ")
        audience = lexicon.audience(right)
    return Parts(offer=offer, audience=audience) if audience else None


_SHAPES: tuple[Callable[[Opening, Lexicon], Parts | None], ...] = (
    _brand,
    _question,
    _helps,
    _connects,
    _sells_to,
    _acts,
    _to_do,
    _that_does,
    _for_whom,
)


def theirs(text: str) -> str:
    """What a pitch says to "you", said of them."""
    return re.sub(r"\byour\b", "their", text, flags=re.I)


def _noun(phrase: str) -> str:
    return re.sub(r"[ ,]+(?:that|which|who|to|and|can|is|designed|built|made)$", "", phrase.strip(" ,")).strip(" ,")
