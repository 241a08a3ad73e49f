"""The law about the law: what its source may and may not say. Read with ast, so that a comment cannot break it."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import pkgutil
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pydantic import BaseModel

import submission.state
from submission.state import events, evolve, refusals
from submission.state.canonical import FrozenDict
from submission.state.events import PAYLOADS, Payload
from submission.state.refusals import RIGHT, TREE, Refused

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "submission"
STATE = PACKAGE / "state"
CELLAR = STATE / "store"
WORLDS = PACKAGE / "knowledge" / "worlds"


def sources(*folders: Path) -> dict[str, ast.Module]:
    """Every Python file below these, as a tree, by its path inside the repository."""
    paths = sorted(path for folder in folders for path in (folder.rglob("*.py") if folder.is_dir() else [folder]))
    return {path.relative_to(ROOT).as_posix(): ast.parse(path.read_text(encoding="utf-8")) for path in paths}


ALL = sources(PACKAGE, ROOT / "manage.py")
LAW = {path: tree for path, tree in ALL.items() if path.startswith("submission/state/") and "/store/" not in path}


class Place(NamedTuple):
    path: str
    function: str


def walk(tree: ast.AST, function: str = "") -> Iterator[tuple[ast.AST, str]]:
    """Every node with the name of the function it stands in."""
    for node in ast.iter_child_nodes(tree):
        inside = node.name if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) else function
        yield node, inside
        yield from walk(node, inside)


def name_of(node: ast.AST) -> str:
    """`f` of f, `b.f` of a.b.f."""
    if isinstance(node, ast.Attribute):
        return f"{name_of(node.value).rsplit('.', 1)[-1]}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


NODES = {path: list(walk(tree)) for path, tree in ALL.items()}


def places(wanted: Callable[[ast.AST], bool], paths: Iterable[str] = NODES) -> list[Place]:
    return [Place(path, inside) for path in paths for node, inside in NODES[path] if wanted(node)]


MODULES = {Path(path).stem for path in ALL}


def called(name: str) -> list[Place]:
    """Where `name(…)` or `module.name(…)` is called; a method of that name is another thing."""

    def wanted(node: ast.AST) -> bool:
        if not isinstance(node, ast.Call):
            return False
        owner, _, last = name_of(node.func).rpartition(".")
        return last == name and (not owner or owner in MODULES)

    return places(wanted)


# Who may mint


@pytest.mark.parametrize(
    ("what", "where"),
    [
        ("XpAwarded", [("submission/state/mint.py", "mint_xp")]),
        ("mint_xp", [("submission/state/gate.py", "decide_gate"), ("submission/state/gate.py", "_withdraw")]),
        ("CeoDecision", [("submission/state/gate.py", "_decision")]),
        ("DecisionRescinded", [("submission/state/gate.py", "_withdraw")]),
        (
            "ConsequenceApplied",
            [("submission/state/gate.py", "decide_gate"), ("submission/state/gate.py", "_withdraw")],
        ),
        ("MemoryRetracted", [("submission/state/gate.py", "_withdraw")]),
        ("RunCompleted", [("submission/state/gate.py", "_announce")]),
        ("GateOpened", [("submission/state/turns.py", "open_gate")]),
        ("StageExecuted", [("submission/state/turns.py", "submit_artifact")]),
        ("StageStarted", [("submission/state/turns.py", "start_stage")]),
        ("RunStarted", [("submission/state/decide.py", "_start_run")]),
        ("decide_gate", [("submission/state/decide.py", "decide")]),
        ("rescind", [("submission/state/decide.py", "decide")]),
        ("decide", [("submission/tools/referee.py", "_handle")]),
    ],
)
def test_a_power_is_used_in_one_place(what, where):
    found = [place for place in called(what) if not route(place)]
    assert found == [Place(*place) for place in where]


def route(place: Place) -> bool:
    """An HTTP handler may bear the name of the verb it passes on."""
    return place.path.startswith("submission/tools/routes/") and place.function == "decide_gate"


def test_only_the_fold_of_a_decision_makes_an_award():
    made = [place for place in called("Award") if "/verdicts/" not in place.path]
    assert {place.path for place in made} == {"submission/state/evolve.py"}
    assert {place.function for place in made} == {"_award", "_awarded", "_rescinded"}


def test_no_payload_of_xp_is_made_by_another_name():
    """Not validated, copied or constructed into being, inside the house."""
    odd = ("XpAwarded.model_validate", "XpAwarded.model_construct", "XpAwarded.model_validate_json")
    assert places(lambda node: isinstance(node, ast.Attribute) and name_of(node) in odd) == []
    aliased = places(lambda node: isinstance(node, ast.alias) and node.name == "XpAwarded" and node.asname is not None)
    assert aliased == []
    copied = places(lambda node: isinstance(node, ast.keyword) and node.arg == "xp" and not computed_view(node))
    assert {place.function for place in copied if place.path == "submission/state/evolve.py"} == {
        "_awarded",
        "_rescinded",
    }


def computed_view(node: ast.keyword) -> bool:
    return (
        isinstance(node.value, ast.Attribute)
        and isinstance(node.value.value, ast.Name)
        and node.value.value.id == "run"
    )


def test_only_the_gate_imports_the_mint():
    imports = places(lambda node: isinstance(node, ast.ImportFrom) and node.module == "submission.state.mint")
    assert {place.path for place in imports} == {"submission/state/gate.py"}


def test_only_the_referee_appends_to_a_store():
    """A list has an `append` too; what is awaited, or named a store, is one."""
    appends = places(
        lambda node: (
            isinstance(node, ast.Attribute) and node.attr == "append" and "store" in name_of(node.value).lower()
        )
    )
    awaited = places(
        lambda node: (
            isinstance(node, ast.Await)
            and isinstance(node.value, ast.Call)
            and name_of(node.value.func).endswith(".append")
        )
    )
    assert set(appends) == set(awaited) == {Place("submission/tools/referee.py", "_handle")}


# What the law is made of


def modules() -> list[types.ModuleType]:
    """The law's modules, cellar apart: that one meets a disk."""
    found = [submission.state]
    for info in pkgutil.walk_packages(submission.state.__path__, "submission.state."):
        if ".store" not in info.name:
            found.append(importlib.import_module(info.name))
    return found


def value_types() -> list[type]:
    """Every model, dataclass and NamedTuple that the law defines."""
    kinds = {
        kind
        for module in modules()
        for kind in vars(module).values()
        if inspect.isclass(kind)
        and kind.__module__ == module.__name__
        and (issubclass(kind, BaseModel) or dataclasses.is_dataclass(kind) or hasattr(kind, "_fields"))
    }
    return sorted(kinds, key=lambda kind: (kind.__module__, kind.__name__))


def hints_of(kind: type) -> dict[str, Any]:
    hints = typing.get_type_hints(kind, include_extras=True)
    if issubclass(kind, BaseModel):
        return {name: hints[name] for name in kind.model_fields}
    if dataclasses.is_dataclass(kind):
        return {field.name: hints[field.name] for field in dataclasses.fields(kind)}
    return {name: hints[name] for name in kind._fields}  # type: ignore[attr-defined]


def mutable(hint: Any) -> list[str]:
    """The parts of a type that can be changed in place."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return []
    bare = origin or hint
    bad = (list, dict, set, bytearray, Mapping, Sequence)
    here = [str(hint)] if inspect.isclass(bare) and bare is not FrozenDict and bare in bad else []
    return here + [found for part in parts for found in mutable(part)]


KNOWN = {
    # A view on its way out: made for one answer, and turned into JSON at once.
    ("MemorySnapshot", "counts"),
    ("MemorySnapshot", "memories"),
}


def test_there_are_values_to_look_at():
    names = {kind.__name__ for kind in value_types()}
    assert {"Run", "StageState", "Award", "Score", "Event", "Draft", "Decide", "World", "Finding", "GateView"} <= names
    assert set(PAYLOADS.values()) <= set(value_types())


@pytest.mark.parametrize("kind", value_types(), ids=lambda kind: kind.__name__)
def test_no_value_of_the_law_holds_what_can_be_changed(kind):
    found = {name for name, hint in hints_of(kind).items() if mutable(hint)}
    assert {(kind.__name__, name) for name in found} <= KNOWN


def test_the_exceptions_are_still_there():
    """An exception that is no longer needed goes."""
    held = {(kind.__name__, name) for kind in value_types() for name, hint in hints_of(kind).items() if mutable(hint)}
    assert held == KNOWN


@pytest.mark.parametrize(
    ("hint", "bad"),
    [
        (dict[str, int], True),
        (tuple[list[int], ...], True),
        (typing.Annotated[set[str], "x"] | None, True),
        (Mapping[str, int], True),
        (FrozenDict[str, dict[str, int]], True),
        (FrozenDict[str, tuple[int, ...]], False),
        (tuple[str, ...] | None, False),
        (typing.Literal["dict"], False),
    ],
)
def test_what_can_be_changed_is_seen(hint, bad):
    assert bool(mutable(hint)) == bad


@pytest.mark.parametrize("kind", value_types(), ids=lambda kind: kind.__name__)
def test_every_value_of_the_law_is_frozen_and_knows_its_fields(kind):
    if issubclass(kind, BaseModel):
        assert kind.model_config.get("frozen") is True
        assert kind.model_config.get("extra") == "forbid"
        assert kind.model_config.get("allow_inf_nan") is False
    elif dataclasses.is_dataclass(kind):
        assert vars(kind)["__dataclass_params__"].frozen is True
        assert "__slots__" in vars(kind)
    else:
        assert issubclass(kind, tuple)


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.__setitem__("a", 1),
        lambda d: d.__delitem__("a"),
        lambda d: d.update(b=1),
        lambda d: d.pop("a"),
        lambda d: d.popitem(),
        lambda d: d.clear(),
        lambda d: d.setdefault("b", 1),
        lambda d: d.__ior__({"b": 1}),
    ],
)
def test_a_frozen_mapping_cannot_be_changed(change):
    mapping = FrozenDict({"a": 1})
    with pytest.raises(TypeError, match="frozen"):
        change(mapping)
    assert mapping == {"a": 1}


# What the law touches


IMPURE = {
    "asyncio", "datetime", "io", "logging", "os", "pathlib", "random", "secrets", "socket", "sqlite3", "subprocess",
    "sys", "tempfile", "threading", "time", "uuid",
}  # fmt: skip


def imported(tree: ast.Module) -> set[str]:
    plain = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    from_ = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    return {name.split(".")[0] for name in plain | from_}


@pytest.mark.parametrize("path", LAW)
def test_the_law_knows_no_clock_no_chance_and_no_disk(path):
    assert not imported(LAW[path]) & IMPURE
    asks = {"open", "print", "input", "eval", "exec", "id", "hash", "globals", "__import__", "breakpoint"}
    assert [place for place in places(is_call_of(asks), [path]) if place.function != "__hash__"] == []


def is_call_of(names: set[str]) -> Callable[[ast.AST], bool]:
    return lambda node: isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names


@pytest.mark.parametrize("path", LAW)
def test_the_law_changes_nothing_outside_itself(path):
    """No `global`, and no name of a module that is assigned from inside a function."""
    assert places(lambda node: isinstance(node, (ast.Global, ast.Nonlocal)), [path]) == []


def test_the_law_swallows_no_exception():
    def broad(node: ast.AST) -> bool:
        if not isinstance(node, ast.ExceptHandler):
            return False
        caught = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
        return any(kind is None or name_of(kind) in ("Exception", "BaseException") for kind in caught)

    assert places(broad, LAW) == []


def test_only_the_settings_read_the_environment():
    asks = {"os.environ", "os.getenv", "os.environb", "os.putenv"}
    read = places(lambda node: isinstance(node, ast.Attribute) and name_of(node) in asks)
    taken = places(
        lambda node: (
            isinstance(node, ast.ImportFrom)
            and node.module == "os"
            and any(alias.name in ("environ", "getenv") for alias in node.names)
        )
    )
    launcher = {"manage.py"}  # runs before there is a settings module to import
    assert {place.path for place in read + taken} - launcher == {"submission/tools/settings.py"}


PACKS = sorted(path.parent.name for path in WORLDS.glob("*/world.yaml"))


def test_no_python_outside_a_pack_names_a_pack():
    """As an identifier, or as a whole word of a text that a program reads; prose in docstrings may use the word."""
    assert PACKS, "there is no pack: this test proves nothing"
    named = [
        (path, text)
        for path, tree in ALL.items()
        if not path.startswith("submission/knowledge/worlds/")
        for text in strings_of(tree)
        if text.strip().lower() in PACKS
    ]
    assert named == []
    imports = {path for path, tree in ALL.items() for name in PACKS if any(name in part for part in module_parts(tree))}
    assert imports == set()


def strings_of(tree: ast.Module) -> Iterator[str]:
    constants = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return (value for value in constants if isinstance(value, str))


def module_parts(tree: ast.Module) -> list[list[str]]:
    return [(node.module or "").split(".") for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]


# The tree of refusals


def test_a_code_stands_in_the_tree_once():
    codes = [code for branch in TREE.values() for code in branch]
    assert len(codes) == len(set(codes)) == len(RIGHT)


def test_every_kind_of_refusal_has_its_branch():
    kinds = {kind for kind in vars(refusals).values() if inspect.isclass(kind) and issubclass(kind, Refused)}
    assert kinds - {Refused} == set(TREE)


def test_a_code_is_a_thing_and_what_is_wrong_with_it():
    for code, right in RIGHT.items():
        thing, _, wrong = code.partition(".")
        assert thing.isalpha()
        assert wrong.replace("_", "").isalpha()
        assert right.endswith(".")
        assert right[0].isupper()


def test_every_code_is_used_and_none_is_used_that_is_not_in_the_tree():
    codes = {path: set(strings_of(tree)) for path, tree in ALL.items()}
    used = set().union(*(found for path, found in codes.items() if path != "submission/state/refusals.py"))
    assert set(RIGHT) - used == set()
    refused = {
        node.args[0].value
        for tree in ALL.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and name_of(node.func).rsplit(".", 1)[-1] == "refuse"
        if node.args and isinstance(node.args[0], ast.Constant)
    }
    assert refused - set(RIGHT) == set()
    assert len(refused) > 25


def test_the_drawn_tree_names_every_kind():
    drawn = refusals.__doc__ or ""
    missing = [kind.__name__ for kind in TREE if f"── {kind.__name__} " not in drawn]
    assert missing == []


# The events


def cases(function: str, path: str = "submission/state/evolve.py") -> set[str]:
    return {
        name_of(pattern.cls)
        for node, inside in NODES[path]
        if inside == function and isinstance(node, ast.match_case)
        for pattern in ast.walk(node.pattern)
        if isinstance(pattern, ast.MatchClass)
    }


def test_the_fold_handles_every_payload():
    """RUN_STARTED begins a run and so stands in `_started`."""
    names = {payload.__name__ for payload in PAYLOADS.values()}
    assert cases("_apply") | {"RunStarted"} == names
    assert "RunStarted" not in cases("_apply")


def test_every_payload_is_on_the_list_under_its_own_name():
    kinds = {kind for kind in vars(events).values() if inspect.isclass(kind) and issubclass(kind, Payload)} - {Payload}
    assert set(PAYLOADS.values()) == kinds
    for name, payload in PAYLOADS.items():
        assert name == payload.type == name.upper()
        assert payload.__name__.upper() == name.replace("_", "")


def test_decide_handles_every_command():
    names = {kind.__name__ for kind in typing.get_args(importlib.import_module("submission.state.commands").Command)}
    assert cases("decide", "submission/state/decide.py") == names


def test_the_fold_takes_no_world():
    for name, function in inspect.getmembers(evolve, inspect.isfunction):
        if function.__module__ == evolve.__name__:
            assert "world" not in inspect.signature(function).parameters, name
