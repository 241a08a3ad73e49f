"""Data that writes: YAML whose texts are sandboxed Jinja2, compiled once, filled without touching a disk.

"{{ name }} is for {{ audience }}."          a text
"=price * 12"                                an expression; its value keeps its type
{one_of: [...]}                              one of these, as the venture's hash says
{between: [3, 6]}                            a whole number, as the hash says
{by: lean, depth: ..., middle: ...}          what a word stands at
{for: month, in: "=months", make: ...}       a list; `index` counts from 0
{join: [[...], [...]]}                       several lists as one
{title: ..., body: ...}, [...]               objects and lists of these; a `null` in an object is left out
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from jinja2 import StrictUndefined, UndefinedError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from submission.agents.craft.choices import Choices

_SLOT = re.compile(r"\{\{ *(\w+(?:\.\w+)?) *\}\}")
_MARKUP = re.compile(r"\{[{%#]")
_SENTENCE = re.compile(r"(^|[.!?] +|\n)([a-zà-ÿ])")
_NAME = re.compile(r"\w+")
_SPECIAL = {"one_of", "between", "by", "for", "join"}


@dataclass(slots=True)
class Scene:
    """What a text may speak of, and how its choices fall. `again` counts how often a field was written anew; `at` is
    the place in a loop."""

    words: dict[str, Any]
    choose: Choices
    again: Mapping[str, int] = field(default_factory=dict)
    at: str = ""

    def pick(self, path: str, below: int) -> int:
        """Which of `below` variants stands at a path. A field that is written anew moves on to the next one."""
        turns = next((n for name, n in self.again.items() if path == name or path.startswith(f"{name}.")), 0)
        return (self.choose.number(path + self.at, below) + turns) % below

    def within(self, **more: Any) -> Scene:
        """The scene with more words."""
        return Scene(self.words | more, self.choose, self.again, self.at)


Node = Callable[[Scene], Any]


class Wording:
    """Compiles data into nodes. Texts see only what a scene holds; the data of a scene is never compiled."""

    def __init__(self) -> None:
        self._jinja = ImmutableSandboxedEnvironment(undefined=StrictUndefined, autoescape=False)
        self._jinja.filters |= {"grouped": "{:,}".format, "lower_first": lambda text: text[:1].lower() + text[1:]}
        self._jinja.filters["sentence"] = polish

    def node(self, value: Any, path: str = "") -> Node:
        """A node for a piece of data; `path` is where in its document it stands."""
        if isinstance(value, str):
            return self._expression(value[1:]) if value.startswith("=") else self._text(value)
        if isinstance(value, list):
            items = [self.node(item, f"{path}.{index}") for index, item in enumerate(value)]
            return lambda scene: [item(scene) for item in items]
        if isinstance(value, dict):
            return self._special(value, path) or self._object(value, path)
        return lambda scene: value

    def phrase(self, source: str) -> Node:
        """A node for a part of a sentence, which takes no capital and no full stop."""
        return self._text(source, whole=False)

    def _object(self, value: dict[str, Any], path: str) -> Node:
        parts = [(key, self.node(part, f"{path}.{key}" if path else key)) for key, part in value.items()]

        def build(scene: Scene) -> dict[str, Any]:
            made = ((key, part(scene)) for key, part in parts)
            return {key: part for key, part in made if part is not None}

        return build

    def _special(self, value: dict[str, Any], path: str) -> Node | None:
        if "one_of" in value:
            return self._one_of(value["one_of"], path)
        if "between" in value:
            low, high = value["between"]
            return lambda scene: low + scene.pick(path, high - low + 1)
        if "by" in value:
            name = value["by"]
            cases = {str(key): self.node(case, path) for key, case in value.items() if key != "by"}
            return lambda scene: cases[str(scene.words[name])](scene)
        if "for" in value:
            return self._loop(value["for"], self.node(value["in"], path), self.node(value["make"], path))
        if "join" in value:
            lists = [self.node(part, f"{path}.{index}") for index, part in enumerate(value["join"])]
            return lambda scene: [item for part in lists for item in part(scene)]
        return None

    def _one_of(self, options: Any, path: str) -> Node:
        if isinstance(options, str):
            several = self.node(options, path)

            def pick(scene: Scene) -> Any:
                found = several(scene)
                return found[scene.pick(path, len(found))]

            return pick
        nodes = [self.node(option, path) for option in options]
        return lambda scene: nodes[scene.pick(path, len(nodes))](scene)

    def _loop(self, name: str, several: Node, make: Node) -> Node:
        def build(scene: Scene) -> list[Any]:
            made = []
            for index, item in enumerate(several(scene)):
                place = Scene(
                    scene.words | {name: item, "index": index}, scene.choose, scene.again, f"{scene.at}#{index}"
                )
                made.append(make(place))
            return made

        return build

    def _expression(self, source: str) -> Node:
        if _NAME.fullmatch(source):
            return lambda scene: scene.words[source]
        template = self._jinja.from_string(f"{{% set value = ({source}) %}}")

        def value(scene: Scene) -> Any:
            # A shared context reads the scene's words where they stand; a copy of them would cost more than the sum.
            context = template.new_context(scene.words, shared=True)
            for _ in template.root_render_func(context):
                pass
            return context.vars["value"]

        return value

    def _text(self, source: str, whole: bool = True) -> Node:
        parts = _SLOT.split(source)
        whole = whole and " " in source and not source.startswith("http")
        if not any(_MARKUP.search(literal) for literal in parts[::2]):
            return _filled(parts, whole)
        template = self._jinja.from_string(source)

        def render(scene: Scene) -> str:
            text = "".join(template.root_render_func(template.new_context(scene.words, shared=True)))
            return polish(text) if whole else text

        return render


def fields_of(template: Mapping[str, Any]) -> list[str]:
    """The dotted paths of the fields a template fills, one level into its objects."""
    plain = {key: value for key, value in template.items() if isinstance(value, dict) and not _SPECIAL & value.keys()}
    return [*template, *(f"{key}.{inner}" for key, value in plain.items() for inner in value)]


def _filled(parts: list[str], whole: bool) -> Node:
    """The plain case, names between double braces and nothing else, without Jinja's cost."""
    if len(parts) == 1:
        fixed = polish(parts[0]) if whole else parts[0]
        return lambda scene: fixed
    literals, names = parts[::2], [name.split(".") for name in parts[1::2]]

    def fill(scene: Scene) -> str:
        text = literals[0]
        for path, after in zip(names, literals[1:], strict=True):
            value: Any = scene.words
            for name in path:
                if name not in value:
                    raise UndefinedError(f"{'.'.join(path)!r} is undefined")
                value = value[name]
            text += f"{value}{after}"
        return polish(text) if whole else text

    return fill


def polish(text: str) -> str:
    """Capitals where sentences begin; no double full stops or spaces where a slot was empty."""
    text = text.replace("  ", " ").replace(" ,", ",").replace("..", ".").replace("?.", "?").replace("!.", "!").strip()
    return _SENTENCE.sub(lambda found: found[1] + found[2].upper(), text)
