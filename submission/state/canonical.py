"""JSON as the log knows it: frozen values and their one canonical byte form (RFC 8785)."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from typing import Annotated, Any, Generic, NoReturn, TypeVar, cast, get_args

import rfc8785
from pydantic import AfterValidator, BaseModel, ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

K = TypeVar("K")
V = TypeVar("V")

MAX_DEPTH = 32
"""Deepest nesting of lists and objects a frozen document may have."""

# Where json.dumps and RFC 8785 differ: integral floats, exponents, integers of 16 digits or more, and keys
# that sort differently as UTF-16. A match inside a string only costs the slower path, never correctness.
_NEEDS_RFC8785 = re.compile(r"(?:^|[:,\[])-?[0-9]+(?:\.0(?:[,\]}]|$)|[.0-9]*e|[0-9]{15})|[\ue000-\U0010ffff]")
_SORTS_APART = re.compile("[\ue000-\U0010ffff]")
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


class FrozenDict(dict[K, V], Generic[K, V]):
    """A mapping that cannot be changed after it is made. Its values are frozen by `freeze`."""

    __slots__ = ("deep",)
    deep: bool

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("a frozen mapping cannot be changed")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        key, value = get_args(source) or (Any, Any)
        inner = core_schema.dict_schema(handler.generate_schema(key), handler.generate_schema(value))
        if value is not Any:
            return core_schema.no_info_after_validator_function(freeze, inner)
        # What `freeze` made was checked through and through; a mapping made by hand was not.
        return core_schema.no_info_wrap_validator_function(
            lambda given, check: (
                given if type(given) is cls and getattr(given, "deep", False) else freeze(check(given))
            ),
            inner,
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return handler(cast(Any, schema)["schema"])


Document = FrozenDict[str, Any]
"""Any JSON object, deeply frozen."""


class Frozen(BaseModel):
    """Base of every value of the law: unchangeable, and refusing fields it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


def freeze(value: Any, depth: int = MAX_DEPTH) -> Any:
    """Deeply frozen copy of a JSON value. Raises ValueError on anything RFC 8785 has no form for:
    NaN, infinities, lone surrogates, integers beyond 2**53, fractions whose shortest form has an exponent,
    keys that are not text, nesting over MAX_DEPTH. Whole floats become integers, as RFC 8785 writes them."""
    if isinstance(value, str):
        if not value.isascii():
            value.encode()  # UnicodeEncodeError, a ValueError, on lone surrogates
        return value
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        if abs(value) > 2**53 - 1:
            raise ValueError("an integer is beyond 2**53")
        return value
    if isinstance(value, float):
        return _number(value)
    if depth == 0:
        raise ValueError(f"nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise ValueError("an object key is not text")
        frozen = FrozenDict({freeze(key): freeze(item, depth - 1) for key, item in value.items()})
        frozen.deep = True
        return frozen
    if isinstance(value, (list, tuple)):
        return tuple(freeze(item, depth - 1) for item in value)
    if isinstance(value, BaseModel):
        return value
    raise ValueError(f"{type(value).__name__} is not JSON")


def _number(value: float) -> int | float:
    if not math.isfinite(value):
        raise ValueError("NaN and infinities are not JSON")
    if value.is_integer() and abs(value) < 2**53:
        return int(value)
    if not 1e-4 <= abs(value) < 2**53:
        raise ValueError(f"{value!r} has no exact short form")
    return value


Number = Annotated[int | float, AfterValidator(lambda value: freeze(value))]
"""A finite number that has one canonical form."""


def canonical(value: Any) -> bytes:
    """RFC 8785 bytes of any JSON value. Raises ValueError where the value has no such form."""
    text = _ENCODER.encode(value)
    return rfc8785.dumps(value) if _NEEDS_RFC8785.search(text) else text.encode()


def canonical_frozen(value: Any) -> bytes:
    """The same for a value whose every part has passed `freeze`: three times faster, since numbers need no look."""
    text = _ENCODER.encode(value)
    return text.encode() if text.isascii() or not _SORTS_APART.search(text) else rfc8785.dumps(value)


def sha256(data: bytes) -> str:
    """Lower-case hex SHA-256."""
    return hashlib.sha256(data).hexdigest()


def document_sha256(document: Mapping[str, Any]) -> str:
    """The hash a human signs: SHA-256 over the document's canonical bytes."""
    return sha256(canonical_frozen(document))
