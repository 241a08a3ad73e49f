"""One file of a pack, read into typed pieces; whatever does not fit becomes a fault with its line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from submission.knowledge.pack.faults import Fault
from submission.knowledge.pack.lined import Lined, Where, read_json, read_yaml

Item = TypeVar("Item", bound=BaseModel)


class Entry(NamedTuple, Generic[Item]):
    """A well-formed item of a list, and where it stands."""

    at: Where
    item: Item


class Sheet:
    """Faults go to the list it was given. `value` is None when the file could not be read at all."""

    def __init__(self, file: str, text: str | None, faults: list[Fault]) -> None:
        self._file, self._faults = file, faults
        self._lined = _read(file, text)
        self._spoilt = {line for line, _ in self._lined.problems}
        self._ids: dict[str, tuple[tuple[Where, str], ...]] = {}
        self.value: Any = self._lined.value
        faults.extend(Fault(file, line, message) for line, message in self._lined.problems)

    def fault(self, at: Where, message: str) -> None:
        """At the line of the key or list item there, or of the nearest thing around it."""
        self._faults.append(Fault(self._file, self._lined.line(at), message))

    def parse(self, model: type[Item], at: Where = ()) -> Item | None:
        """The value there in typed form, or None and every reason why not."""
        if self.value is None:
            return None
        try:
            return model.model_validate(_get(self.value, at), strict=True)
        except ValidationError as error:
            self._report(at, error.errors(include_url=False))
            return None

    def entries(self, key: str, model: type[Item]) -> list[Entry[Item]]:
        """The well-formed items of a list at the top; the others become faults."""
        found = ((at, self.parse(model, at)) for at, _ in self.raw(key))
        return [Entry(at, item) for at, item in found if item is not None]

    def raw(self, key: str) -> Iterator[tuple[Where, Any]]:
        """Every item of a list at the top, well-formed or not."""
        items = self.value.get(key) if isinstance(self.value, Mapping) else None
        for index, item in enumerate(items if isinstance(items, tuple) else ()):
            yield (key, index), item

    def ids(self, key: str) -> tuple[tuple[Where, str], ...]:
        """The ids of a list's items, those of items that are amiss in some other way among them."""
        if key not in self._ids:
            named = ((at, item.get("id")) for at, item in self.raw(key) if isinstance(item, Mapping))
            self._ids[key] = tuple(((*at, "id"), name) for at, name in named if isinstance(name, str))
        return self._ids[key]

    def _report(self, at: Where, errors: list[ErrorDetails]) -> None:
        said: dict[Where, str] = {}
        for error in errors:
            place = (*at, *error["loc"])
            if error["type"] not in ("missing", "extra_forbidden"):
                place = self._lined.nearest(place)  # without the name of the union's member that was tried
            said[place] = _message(place, error)
        for place, message in said.items():
            if self._lined.line(place) not in self._spoilt:
                self.fault(place, message)


def _read(file: str, text: str | None) -> Lined:
    if text is None:
        return Lined(None, {}, ((1, "the file is missing"),))
    return read_json(text) if file.endswith(".json") else read_yaml(text)


def _get(value: Any, at: Where) -> Any:
    for step in at:
        value = value[step]
    return value


def _message(place: Where, error: ErrorDetails) -> str:
    name = place[-1] if place else ""
    match error["type"]:
        case "missing":
            return f"{spell(place[:-1])} misses {name!r}"
        case "extra_forbidden":
            return f"{spell(place[:-1])} has an unknown key {name!r}"
        case "literal_error":
            wanted = error["msg"].removeprefix("Input should be ")
            return f"unknown {name} {error['input']!r}: it must be {wanted}"
        case "tuple_type":
            return f"{spell(place)}: it should be a list"
        case "model_type" | "dict_type":
            return f"{spell(place)}: it should be a mapping of keys to values"
        case _:
            return f"{spell(place)}: {error['msg'].replace('Input should', 'it should')}"


def spell(at: Where) -> str:
    """A place as a reader would write it: `stages[2].needs`."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in at).lstrip(".")
    return text or "the file"
