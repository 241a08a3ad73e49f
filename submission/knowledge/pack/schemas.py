"""Whether a document is a JSON Schema (2020-12) that a worker and a model service can both be given."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from submission.knowledge.pack.lined import Where
from submission.state.validation import is_number

DIALECT = "https://json-schema.org/draft/2020-12/schema"
TYPES = ("null", "boolean", "object", "array", "number", "integer", "string")

Problems = Iterator[tuple[Where, str]]


def schema_problems(document: Any) -> Problems:
    """Everything that keeps it from being the schema of an artifact, with its place."""
    if not isinstance(document, Mapping):
        yield (), "a schema is an object"
        return
    if document.get("$schema") != DIALECT:
        yield ("$schema",), f"$schema must be {DIALECT}"
    if document.get("type") != "object" or not isinstance(document.get("properties"), Mapping):
        yield ("type",), 'an artifact is an object: the schema needs "type": "object" and properties'
    yield from _schema(document, ())


def _schema(value: Any, at: Where) -> Problems:
    if isinstance(value, bool):
        return
    if not isinstance(value, Mapping):
        yield at, "a schema is an object, true or false"
        return
    for keyword, content in value.items():
        if keyword in _NESTED:
            yield from _NESTED[keyword](content, (*at, keyword))
        elif keyword not in _PLAIN:
            yield (*at, keyword), f"unknown keyword {keyword!r}"
        elif not _PLAIN[keyword][0](content):
            yield (*at, keyword), f"{keyword} must be {_PLAIN[keyword][1]}"
    yield from _required(value, at)


def _required(value: Mapping[str, Any], at: Where) -> Problems:
    names, properties = value.get("required"), value.get("properties")
    if isinstance(names, tuple) and isinstance(properties, Mapping):
        for name in names:
            if name not in properties:
                yield (*at, "required"), f"required names {name!r}, which is not among the properties"


def _each_value(value: Any, at: Where) -> Problems:
    if not isinstance(value, Mapping):
        yield at, f"{at[-1]} must be an object of schemas"
        return
    for name, inner in value.items():
        yield from _schema(inner, (*at, name))


def _each_item(value: Any, at: Where) -> Problems:
    if not isinstance(value, tuple) or not value:
        yield at, f"{at[-1]} must be a list of schemas"
        return
    for index, inner in enumerate(value):
        yield from _schema(inner, (*at, index))


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_texts(value: Any) -> bool:
    return isinstance(value, tuple) and all(isinstance(item, str) for item in value)


def _is_type(value: Any) -> bool:
    return value in TYPES if isinstance(value, str) else _is_texts(value) and bool(value) and set(value) <= set(TYPES)


_NESTED: Mapping[str, Callable[[Any, Where], Problems]] = {
    **dict.fromkeys(("items", "additionalProperties", "contains", "not", "if", "then", "else"), _schema),
    **dict.fromkeys(("properties", "$defs", "patternProperties"), _each_value),
    **dict.fromkeys(("anyOf", "oneOf", "allOf", "prefixItems"), _each_item),
}
_PLAIN: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "type": (_is_type, f"one or several of {', '.join(TYPES)}"),
    "required": (_is_texts, "a list of names"),
    "enum": (lambda value: isinstance(value, tuple) and bool(value), "a list"),
    "$ref": (lambda value: _is_text(value) and value.startswith("#"), "a place in this file, such as #/$defs/seat"),
    "uniqueItems": (lambda value: isinstance(value, bool), "true or false"),
    **dict.fromkeys(("const", "default"), (lambda value: True, "anything")),
    **dict.fromkeys(("examples",), (lambda value: isinstance(value, tuple), "a list")),
    **dict.fromkeys(("$schema", "$id", "$comment", "title", "description", "pattern", "format"), (_is_text, "a text")),
    **dict.fromkeys(
        ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains"),
        (_is_count, "a whole number from 0"),
    ),
    **dict.fromkeys(
        ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"), (is_number, "a number")
    ),
}
"""Keywords a pack may use. An unknown one is most often a misspelt one, which a validator would silently ignore."""
