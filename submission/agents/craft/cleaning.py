"""From whatever a stranger typed to a few plain sentences: markup, code and control characters fall away."""

from __future__ import annotations

import html
import re
import unicodedata

READ_AT_MOST = 4_000
"""Characters of a pitch that are read; the rest is kept in the log but adds nothing to the reading."""

_CODE = re.compile(r"<(script|style)\b[^>]{0,300}>[^<]{0,2000}(?:</\1\s*>)?", re.I)
_TAG = re.compile(r"<[/!?a-zA-Z][^<>]{0,300}>")
_PLACEHOLDER = re.compile(r"\{\{[^{}]{0,300}\}\}|\{%[^{}]{0,300}%\}|\{#[^{}]{0,300}#\}|\$\{[^{}]{0,300}\}")
_JSON_TEXT = re.compile(r'"((?:[^"\\]|\\.){0,2000})"(\s*:)?')
_FOR_KEY = re.compile(r"^(?:for|audience|target\w*|customers?|users?|who|whom)$", re.I)
_URL = re.compile(r"(?:https?://|www\.)\S{1,500}|[\w.+-]{1,64}@[\w-]{1,64}\.\w{2,10}", re.I)
_QUOTES = str.maketrans(
    {
        "’": "'",
        "‘": "'",
        "ʼ": "'",
        "´": "'",
        "`": "'",
        "„": '"',
        "“": '"',
        "”": '"',
        "–": "-",
        "—": "-",
        "―": "-",
        "…": ".",
        "\u00a0": " ",
        "•": ". ",
        "·": ". ",
    }
)
_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+|[。！？；\n]+|[;؛؟۔]\s*|(?<=[!?])(?=\w)")
_PHRASE = re.compile(r"[^\w\s'&+#%$€£/.,:?!()-]|_")
_ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|etc|vs|mr|mrs|ms|dr|st|no|inc|ltd|co|approx)\.$", re.I)


def clean(text: str) -> str:
    """The text without markup, addresses and anything invisible, on one line per line."""
    text = html.unescape(text[:READ_AT_MOST])
    text = _CODE.sub(" ", text)
    text = _TAG.sub(" ", text)
    bare = _PLACEHOLDER.sub(" ", text)
    text = bare if any(sign.isalnum() for sign in bare) else text
    if text.lstrip()[:1] in ("{", "[") and '"' in text:
        text = _told(text) or text
    text = _URL.sub(" ", text).translate(_QUOTES)
    return unicodedata.normalize("NFC", "".join(map(_visible, text)))


def _told(text: str) -> str:
    """The texts of a JSON value as sentences; what stands under a key such as "for" joins the one before."""
    said, key = "", ""
    for value, colon in _JSON_TEXT.findall(text):
        if colon:
            key = value
            continue
        said += (" for " if said and _FOR_KEY.match(key) else ". " if said else "") + value
    return said.replace("\\n", "\n").replace('\\"', "'")


def sentences(text: str, at_most: int = 8) -> list[str]:
    """The first sentences of a cleaned text, each one line of letters, digits and plain punctuation."""
    found: list[str] = []
    for part in _END.split(text):
        line = " ".join(_PHRASE.sub(" ", part.replace(" & ", " and ")).split()).strip(" ,:-/&+")
        if found and _ABBREVIATION.search(found[-1]):
            found[-1] += " " + line
        elif any(letter.isalnum() for letter in line):
            found.append(line)
        if len(found) > at_most:
            break
    return found[:at_most]


def clip(phrase: str, characters: int, words: int = 99) -> str:
    """The phrase cut at a word, never ending in a word that promises another."""
    kept = phrase.split()[:words]
    while kept and (len(" ".join(kept)) > characters or kept[-1].lower().strip(",") in _DANGLING):
        if len(kept) == 1 and kept[0].lower() not in _DANGLING:
            return kept[0][:characters]
        kept.pop()
    return " ".join(kept).strip(" ,.:;-/&+!?")


def pictures(text: str) -> str:
    """What the pictures in a text show, when it has nothing else: "🍕" is a slice of pizza."""
    names = [unicodedata.name(sign, "").lower() for sign in text[:READ_AT_MOST] if unicodedata.category(sign) == "So"]
    names = [re.sub(r"^(?:black|white|heavy) | with .*", "", name) for name in names]
    names = [name for name in names if name and len(name) < 24 and name.replace(" ", "").isalpha()]
    return " and ".join(dict.fromkeys(names[:2]))


def is_latin(text: str) -> bool:
    """Whether most letters are of the Latin alphabet."""
    letters = [letter for letter in text if letter.isalpha()]
    latin = sum(1 for letter in letters if letter < "\u0250" or "\u1e00" <= letter < "\u1f00")
    return 2 * latin >= len(letters)


def _visible(sign: str) -> str:
    category = unicodedata.category(sign)
    if category[0] == "C":
        return "\n" if sign in "\n\r" else " " if sign == "\t" else ""
    return "\n" if category in ("Zl", "Zp") else sign


def words(text: str) -> frozenset[str]:
    """A list of words, written as one text."""
    return frozenset(text.split())


_DANGLING = words(
    """
    a an the and or but of for to in on at by with from that which who whose into their our your its my than as so
    if is are was be can will not very more most when where while because using via through without between about
    under over both each every how what why one any some such then
    """
)
