"""YAML and JSON read with the line of every value, and with every problem instead of the first."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import yaml

from submission.state.canonical import MAX_DEPTH, freeze

Where = tuple[int | str, ...]
"""The way to a value: keys and positions from the top of its file."""

# libyaml's where PyYAML was built with it: ten times faster.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Lined(NamedTuple):
    """A document: its lists are tuples, `lines` has the line of each key and list item, `problems` are
    (line, message). `value` is None when nothing could be read."""

    value: Any
    lines: Mapping[Where, int]
    problems: tuple[tuple[int, str], ...]

    def nearest(self, at: Where) -> Where:
        """The place itself, or the nearest thing around it that has a line."""
        while at and at not in self.lines:
            at = at[:-1]
        return at

    def line(self, at: Where) -> int:
        return self.lines.get(self.nearest(at), 1)


def read_yaml(text: str) -> Lined:
    """Only what JSON could say too: no aliases, tags or dates, and of booleans only true and false."""
    try:
        node = yaml.compose(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        return _unreadable(error.problem_mark.line + 1 if error.problem_mark else 1, f"not YAML: {error.problem}")
    except yaml.reader.ReaderError as error:
        position = error.position if isinstance(error.position, int) else 0
        return _unreadable(text.count("\n", 0, position) + 1, f"not YAML: {error.reason}")
    except RecursionError:
        return _unreadable(1, "nested too deeply")
    if node is None:
        return _unreadable(1, "the file is empty")
    reading = _Reading()
    value = reading.convert(node, ())
    return Lined(value, reading.lines, tuple(reading.problems))


def read_json(text: str) -> Lined:
    try:
        value = freeze(json.loads(text, object_pairs_hook=_unique))
    except json.JSONDecodeError as error:
        return _unreadable(error.lineno, f"not JSON: {error.msg}")
    except _Duplicate as error:
        return Lined(None, {}, read_yaml(text).problems or ((1, str(error)),))
    except (ValueError, RecursionError) as error:
        return _unreadable(1, f"not JSON: {error}")
    # JSON is YAML to a parser that knows lines; where it is not (tabs), the first line has to do.
    return Lined(value, read_yaml(text).lines, ())


def _unreadable(line: int, message: str) -> Lined:
    return Lined(None, {}, ((line, message),))


class _Duplicate(ValueError):
    pass


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping: dict[str, Any] = {}
    for key, value in pairs:
        if key in mapping:
            raise _Duplicate(f"duplicate key {key!r}")
        mapping[key] = value
    return mapping


class _Reading:
    """One walk over the nodes of a document."""

    def __init__(self) -> None:
        self.lines: dict[Where, int] = {}
        self.problems: list[tuple[int, str]] = []
        self._seen: set[int] = set()

    def convert(self, node: yaml.Node, at: Where) -> Any:
        line = self.lines.setdefault(at, node.start_mark.line + 1)
        if id(node) in self._seen:
            self.problems.append((line, "an alias (*name); write the value out"))
            return None
        self._seen.add(id(node))
        if len(at) > MAX_DEPTH:
            self.problems.append((line, f"nested deeper than {MAX_DEPTH} levels"))
            return None
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, at)
        if isinstance(node, yaml.SequenceNode):
            return tuple([self.convert(child, (*at, index)) for index, child in enumerate(node.value)])
        return self._scalar(node, line)

    def _mapping(self, node: yaml.MappingNode, at: Where) -> dict[str, Any]:
        mapping: dict[str, Any] = {}
        for key, child in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                self.problems.append((line, "a key must be a plain word"))
            elif key.value in mapping:
                self.problems.append((line, f"duplicate key {key.value!r}"))
            else:
                self.lines[(*at, key.value)] = line
                mapping[key.value] = self.convert(child, (*at, key.value))
        return mapping

    def _scalar(self, node: yaml.Node, line: int) -> Any:
        read = _SCALARS.get(node.tag)
        try:
            if read is not None:
                return read(node.value)
            self.problems.append((line, f"{node.value!r} has the tag {node.tag}; put it in quotes"))
        except (ValueError, KeyError):
            self.problems.append((line, f"{node.value!r} looks like a {node.tag.rpartition(':')[2]}; put it in quotes"))
        return None


_SCALARS: Mapping[str, Callable[[str], Any]] = {
    "tag:yaml.org,2002:str": str,
    "tag:yaml.org,2002:null": lambda text: None,
    "tag:yaml.org,2002:bool": lambda text: {"true": True, "false": False}[text.lower()],
    "tag:yaml.org,2002:int": int,
    "tag:yaml.org,2002:float": float,
}
