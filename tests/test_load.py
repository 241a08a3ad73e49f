"""A pack is a typed world, or every one of its faults with file and line."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from submission.knowledge.load import WORLDS, PackFaults, default_world, list_worlds, load_world, load_worlds
from submission.knowledge.pack.files import MAX_FILE_BYTES
from submission.state.quest import graph_faults
from submission.state.world import BEATS, Option, World

VENTURE = WORLDS / "venture"


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    """A copy of the pack to break."""
    return copy_of_venture(tmp_path)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy for those who put back what they broke."""
    return copy_of_venture(tmp_path_factory.mktemp("worlds"))


def copy_of_venture(folder: Path) -> Path:
    """With one playbook, and one small file for its simulation."""
    copy = folder / "venture"
    shutil.copytree(VENTURE, copy, ignore=shutil.ignore_patterns("playbooks", "simulation"))
    for path, text in (("playbooks/pricing.md", "# Pricing\n\nAsk.\n"), ("simulation/any.thing", "{{ not: parsed")):
        (copy / path).parent.mkdir()
        (copy / path).write_text(text, encoding="utf-8")
    return copy


@pytest.fixture(scope="module")
def venture() -> World:
    return load_world(VENTURE)


def faults_of(folder: Path) -> tuple[str, ...]:
    with pytest.raises(PackFaults) as caught:
        load_world(folder)
    assert str(caught.value) == "\n".join(str(fault) for fault in caught.value.faults)
    return tuple(str(fault) for fault in caught.value.faults)


# --- the pack itself --------------------------------------------------------------------------------------


def test_the_world_has_eight_stages_that_form_a_graph(venture: World):
    assert tuple(stage.beat for stage in venture.stages) == BEATS
    assert graph_faults(venture.stages) == ()
    assert {stage.id: stage.needs for stage in venture.stages if len(stage.needs) != 1} == {
        "positioning": (),
        "financial_plan": ("org_chart", "launch_email"),
        "operating_plan": ("offer_page", "retention_plan"),
    }


def test_depth_moves_what_the_article_says(venture: World):
    depth, breadth = fork_of(venture, "positioning")
    assert (depth.id, breadth.id) == ("strategist.depth", "strategist.breadth")
    assert dict(depth.rule.deltas) == {
        "proof": 9,
        "trust": 7,
        "velocity": -4,
        "burn_pressure": 3,
        "autonomy": 1,
        "runway_months": -1,
        "revenue": 400,
    }
    assert depth.rule.consolidates
    assert not breadth.rule.consolidates
    assert depth.rule.adds_worker is not None
    assert breadth.rule.adds_worker is not None


def fork_of(world: World, stage_id: str) -> tuple[Option, Option]:
    fork = world.fork(stage_id)
    assert fork is not None
    return fork.options


def test_every_stage_poses_a_fork_between_depth_and_breadth(venture: World):
    for stage in venture.stages:
        assert tuple(option.lean for option in fork_of(venture, stage.id)) == ("depth", "breadth")
        assert all(1 <= len(option.checks) <= 3 for option in fork_of(venture, stage.id))


def test_no_option_is_better_throughout(venture: World):
    for fork in venture.forks:
        first, second = (
            [option.rule.deltas.get(m.id, 0) * (-1 if m.id == "burn_pressure" else 1) for m in venture.meters]
            for option in fork.options
        )
        assert any(a > b for a, b in zip(first, second, strict=True)), fork.stage
        assert any(a < b for a, b in zip(first, second, strict=True)), fork.stage


def test_a_choice_fits_into_an_injected_memory(venture: World):
    for stage in venture.stages:
        for option in fork_of(venture, stage.id):
            said = f"CEO chose '{option.title}' at the '{stage.title}' gate accepting: {option.tradeoff}"
            assert len(f"{said} Binding: {option.direction}") <= 300, option.id


def test_loading_is_quick():
    best = min(timed_load() for _ in range(3))
    assert best < 0.15


def timed_load() -> float:
    start = time.process_time()
    load_world(VENTURE)
    return time.process_time() - start


# --- where worlds are -------------------------------------------------------------------------------------


def test_worlds_are_folders_by_id():
    assert VENTURE in list_worlds()
    assert load_worlds()[default_world()].pin == load_world(WORLDS / default_world()).pin


def test_faults_of_all_packs_are_told_at_once(pack: Path):
    shutil.copytree(pack, pack.parent / "second")
    (pack / "world.yaml").unlink()
    with pytest.raises(PackFaults) as caught:
        load_worlds(pack.parent)
    assert [str(fault) for fault in caught.value.faults] == [
        "second/world.yaml:1: the id 'venture' is not the folder's name",
        "venture/world.yaml:1: the file is missing",
    ]


def test_a_root_without_packs_and_a_default_without_a_pack_are_faults(tmp_path: Path):
    with pytest.raises(PackFaults, match="no pack in this folder"):
        load_worlds(tmp_path)
    (tmp_path / "default.txt").write_text("atlantis\n", encoding="utf-8")
    with pytest.raises(PackFaults, match=r"default\.txt:1: there is no world 'atlantis'"):
        default_world(tmp_path)


def test_a_folder_that_is_not_there_is_one_fault(tmp_path: Path):
    assert faults_of(tmp_path / "nowhere") == ("nowhere:1: there is no such folder",)


# --- the content hash -------------------------------------------------------------------------------------


def test_the_hash_does_not_depend_on_the_place_or_the_checkout(pack: Path):
    before = load_world(pack).sha256
    for path in pack.rglob("*.md"):
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    for ignored in ("golden/run.jsonl", "__pycache__/x.pyc", ".DS_Store", "simulation/.hidden"):
        (pack / ignored).parent.mkdir(exist_ok=True)
        (pack / ignored).write_bytes(b"\xff")
    moved = pack.rename(pack.parent / "elsewhere")
    assert load_world(moved).sha256 == before


def test_the_hash_changes_with_any_content_and_any_name(pack: Path):
    seen = {load_world(pack).sha256}
    (pack / "simulation" / "any.thing").write_text("{{ not: parsed ", encoding="utf-8")
    seen.add(load_world(pack).sha256)
    (pack / "simulation" / "any.thing").rename(pack / "simulation" / "some.thing")
    seen.add(load_world(pack).sha256)
    assert len(seen) == 3


def test_simulation_and_prompts_come_as_text(pack: Path):
    world = load_world(pack)
    assert world.files["simulation/any.thing"] == "{{ not: parsed"
    assert {path for path in world.files if path.startswith("prompts/")} == {
        f"prompts/{role.id}.md" for role in world.roles
    }


# --- one edit, its faults ---------------------------------------------------------------------------------


class Broken(NamedTuple):
    """Replace `old` in a file; expect exactly these faults: the line that holds a text, and a part of the message."""

    file: str
    old: str
    new: str
    expected: tuple[tuple[str, str], ...]


def one(file: str, old: str, new: str, line: str, message: str) -> Broken:
    return Broken(file, old, new, ((line, message),))


BROKEN = {
    "yaml syntax": one("roles.yaml", "  - id: designer", "  - id: [designer", "title: Designer", "not YAML"),
    "control character": one("roles.yaml", "Designer", "Desi\x07gner", "Desi", "not YAML"),
    "empty file": one("forks.yaml", "*", "# nothing\n", "# nothing", "the file is empty"),
    "not a mapping": one("forks.yaml", "*", "- a\n", "- a", "the file: it should be a mapping"),
    "not a list": one("forks.yaml", "*", "forks: 3\nchecks: []\n", "forks: 3", "forks: it should be a list"),
    "alias": one("roles.yaml", "workers:\n", "workers:\n  - &x {id: x, title: x}\n  - *x\n", "&x", "an alias"),
    "tag": one("world.yaml", "title: Venture", "title: !!binary aGk=", "title: !!binary", "put it in quotes"),
    "yes is no boolean": one("forks.yaml", "consolidates: true", "consolidates: yes", "consolidates: yes", "in quotes"),
    "date": one("world.yaml", "title: Venture", "title: 2026-12-01", "title: 2026", "put it in quotes"),
    "duplicate key": one("roles.yaml", "title: Designer", "title: D\n    id: painter", "painter", "duplicate key 'id'"),
    "unknown key": Broken(
        "stages.yaml",
        "title: Say who it is for",
        "titel: Say who it is for",
        (("id: positioning", "stages[0] misses 'title'"), ("titel:", "stages[0] has an unknown key 'titel'")),
    ),
    "unknown key at the top": one(
        "world.yaml", "title: Venture", "title: V\nmood: good", "mood:", "unknown key 'mood'"
    ),
    "missing key at the top": one("world.yaml", "version: 1.0.0\n", "", "id: venture", "the file misses 'version'"),
    "wrong type": one("world.yaml", "xp: 20}", 'xp: "20"}', 'xp: "20"', "levels[1].xp: it should be a valid integer"),
    "boolean as number": one("world.yaml", "xp: 20}", "xp: true}", "xp: true", "levels[1].xp"),
    "wrong type of many": one("validators.yaml", "at_least: 15\n", "at_least: many\n", "at_least: many", "number"),
    "blank text": one("roles.yaml", "title: Designer", 'title: " "', 'title: " "', "roles[1].title is blank"),
    "version": one("world.yaml", "version: 1.0.0", 'version: "1.0"', "version:", "must be three numbers"),
    "odd id": one("forks.yaml", "id: designer.reach", "id: Designer-Reach", "Designer-Reach", "may hold only"),
    "duplicate meter": one(
        "world.yaml",
        "meters:\n",
        "meters:\n  - {id: trust, title: T, start: 1}\n",
        "title: Trust",
        "duplicate id 'trust'",
    ),
    "duplicate option": one(
        "forks.yaml", "id: designer.reach", "id: designer.proof # 2", "# 2", "duplicate id 'designer.proof'"
    ),
    "duplicate check": one(
        "validators.yaml", "id: url_format_valid", "id: cta_valid # 2", "# 2", "duplicate id 'cta_valid'"
    ),
    "worker called as a role": one(
        "roles.yaml", "workers:\n", "workers:\n  - {id: ops, title: x}\n", "{id: ops", "duplicate id 'ops'"
    ),
    "meter out of range": one("world.yaml", "start: 12", "start: 61", "start: 61", "outside its range"),
    "levels not ascending": one("world.yaml", "xp: 85}", "xp: 49}", "xp: 49}", "level 4 takes 49 XP, no more"),
    "levels not in a row": one("world.yaml", "level: 4,", "level: 5,", "level: 5, title: A going", "where level 4"),
    "first level not at 0": one("world.yaml", "xp: 0}", "xp: 5}", "xp: 5}", "starts at 0 XP"),
    "unknown role": one("stages.yaml", "role: ops", "role: opps", "role: opps", "unknown role 'opps'"),
    "unknown schema": one(
        "stages.yaml", "artifact: retention_plan", "artifact: plan", "artifact: plan", "unknown schema 'plan'"
    ),
    "unknown need": one(
        "stages.yaml", "needs: [landing_page]", "needs: [page]", "needs: [page]", "unknown stage 'page'"
    ),
    "unknown validator of a role": one(
        "roles.yaml", "[retention_plan]", "[retention_plan, mood]", "mood", "unknown validator 'mood'"
    ),
    "unknown validator of a stage": one(
        "stages.yaml", "validators: [retention_plan]", "validators: [mood]", "[mood]", "unknown validator 'mood'"
    ),
    "a validator that is not the role's": one(
        "stages.yaml",
        "validators: [retention_plan]",
        "validators: [org_chart]",
        "validators: [org_chart]",
        "not one of",
    ),
    "a stage without a validator": one(
        "stages.yaml", "validators: [retention_plan]", "validators: []", "validators: []", "has no validator"
    ),
    "unknown beat": one("stages.yaml", "beat: TAKE", "beat: TOOK", "beat: TOOK", "unknown beat 'TOOK'"),
    "beats out of order": Broken(
        "stages.yaml",
        "beat: NEED",
        "beat: GO # too early",
        (("too early", "the beat GO stands where NEED belongs"),),
    ),
    "not eight": Broken(
        "stages.yaml",
        "stages:\n",
        "stages:\n  - seven\n",
        (("stages:", "there are 9 stages"), ("seven", "stages[0]: it should be a mapping")),
    ),
    "a cycle": one(
        "stages.yaml",
        "needs: []",
        "needs: [offer_page]",
        "needs: [offer_page]",
        "a cycle: positioning needs offer_page needs financial_plan needs",
    ),
    "a stage that needs itself": one(
        "stages.yaml", "needs: []", "needs: [positioning] # 0", "# 0", "a cycle: positioning needs positioning"
    ),
    "points": one("validators.yaml", "points: 40", "points: 41", "checks:", "marketing_email sum to 101"),
    "points below one": Broken(
        "validators.yaml",
        "points: 40",
        "points: 0",
        (("checks:", "sum to 60"), ("points: 0", "body_length_valid is worth 0")),
    ),
    "pass mark": one("validators.yaml", "passes_at: 75", "passes_at: 101", "passes_at: 101", "it must be 1 to 100"),
    "unknown rule": one(
        "validators.yaml", "rule: is_object", "rule: is_nice", "rule: is_nice", "unknown rule 'is_nice'"
    ),
    "rule without its parameter": one(
        "validators.yaml",
        "        keys: [key_results]\n",
        "",
        "rule: items_have_list",
        "the rule items_have_list needs keys",
    ),
    "rule without either parameter": one(
        "forks.yaml",
        "max_items, path: org_chart, at_most: 4",
        "number_between, path: org_chart",
        "few_seats",
        "at_least or",
    ),
    "parameter that is ignored": one(
        "forks.yaml", "at_most: 4", "at_most: 4, any_of: [x]", "any_of: [x]", "the rule max_items does not read any_of"
    ),
    "range upside down": one("validators.yaml", "at_most: 24", "at_most: 0.5", "at_least: 1\n", "is above at_most 0.5"),
    "path with a hole": one(
        "validators.yaml", "path: financial_plan.b", "path: financial_plan..b", "plan..b", "needs the path of a field"
    ),
    "check without feedback": one(
        "validators.yaml",
        '        feedback: "subject: the subject line needs at least 10 characters and a reason to open it."\n',
        "",
        "id: subject_length_valid",
        "has no feedback",
    ),
    "points of a direction": one("forks.yaml", "at_most: 4", "at_most: 4, points: 5", "points: 5", "gives no points"),
    "unknown stage of a fork": one(
        "forks.yaml", "stage: offer_page", "stage: shop", "stage: shop", "unknown stage 'shop'"
    ),
    "two forks for a stage": one(
        "forks.yaml",
        "stage: offer_page",
        "stage: landing_page # 2",
        "# 2",
        "a second fork for the stage 'landing_page'",
    ),
    "unknown meter": one("forks.yaml", "{proof: 9,", "{poof: 9,", "{poof: 9,", "unknown meter 'poof'"),
    "unknown meter of an own direction": one("world.yaml", "deltas: {velocity", "deltas: {speed", "speed", "'speed'"),
    "unknown worker": one("forks.yaml", "adds_worker: list_steward", "adds_worker: bob", "bob", "unknown worker 'bob'"),
    "unknown check": one(
        "forks.yaml", "checks: [one_audience, few_seats]\n", "checks: [x]\n", "[x]", "unknown check 'x'"
    ),
    "leans alike": one("forks.yaml", "lean: breadth", "lean: depth", "options:", "both options lean to 'depth'"),
    "fraction of a meter": one("forks.yaml", "{proof: 9,", "{proof: 9.5,", "{proof: 9.5", "deltas.proof"),
    "json syntax": one(
        "schemas/org_chart.json", '"type": "object",', '"type": "object"', '"required": ["org', "not JSON"
    ),
    "json duplicate": one(
        "schemas/org_chart.json",
        '"type": "object"',
        '"type":\n"object", "type": 1',
        '"type": 1',
        "duplicate key 'type'",
    ),
    "json not a number": one("schemas/org_chart.json", '"minItems": 2', '"minItems": NaN', '{\n  "$sch', "not JSON"),
    "schema of a list": one("schemas/org_chart.json", "*", "[]", "[]", "a schema is an object"),
    "schema dialect": one("schemas/org_chart.json", "2020-12", "2019-09", "$schema", "$schema must be"),
    "schema keyword": one(
        "schemas/org_chart.json", '"minLength": 10', '"minlength": 10', "minlength", "unknown keyword"
    ),
    "schema type": one(
        "schemas/org_chart.json", '{"type": "string", "minLength": 2}', '{"type": "text"}', "text", "one or"
    ),
    "schema bound": one(
        "schemas/org_chart.json", '"minItems": 2', '"minItems": "2"', '"minItems": "2"', "whole number"
    ),
    "schema requires the unknown": one(
        "schemas/org_chart.json",
        '["org_chart", "okrs_q1"]',
        '["org_chart", "okrs"]',
        '"okrs"]',
        "required names 'okrs'",
    ),
    "schema ref abroad": one(
        "schemas/org_chart.json", '"minLength": 10', '"$ref": "http://x.test/y"', "x.test", "a place in this file"
    ),
    "empty playbook": one("playbooks/pricing.md", "*", " ", "", "the file is empty"),
    "empty prompt": one("prompts/ops.md", "*", " ", "", "the file is empty"),
}


@pytest.mark.parametrize("case", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_pack_is_told_by_file_and_line(whole: Path, case: Broken):
    path = whole / case.file
    text = path.read_text(encoding="utf-8")
    at, old = (0, text) if case.old == "*" else (text.index(case.old), case.old)
    broken = text[:at] + case.new + text[at + len(old) :]
    path.write_text(broken, encoding="utf-8")
    try:
        found = faults_of(whole)
    finally:
        path.write_text(text, encoding="utf-8")
    assert len(found) == len(case.expected), found
    for fault, (part, message) in zip(found, case.expected, strict=True):
        assert fault.startswith(f"venture/{case.file}:{line_of(broken, part, at + len(case.new))}: "), (fault, part)
        assert message in fault


def line_of(text: str, part: str, end: int = 0) -> int:
    """The line of the last occurrence before an end, else of the first after it."""
    at = text.rfind(part, 0, end)
    return text.count("\n", 0, at if at >= 0 else text.index(part)) + 1


# --- files and folders ------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", ["world", "roles", "stages", "validators", "forks"])
def test_a_missing_table_is_one_fault_and_nothing_seems_to_dangle(pack: Path, table: str):
    (pack / f"{table}.yaml").unlink()
    assert faults_of(pack) == (f"venture/{table}.yaml:1: the file is missing",)


def test_a_missing_prompt_schema_and_playbook_are_named(pack: Path):
    (pack / "prompts" / "ops.md").unlink()
    (pack / "schemas" / "positioning.json").unlink()
    shutil.rmtree(pack / "playbooks")
    line = line_of((pack / "stages.yaml").read_text(encoding="utf-8"), "artifact: positioning")
    assert faults_of(pack) == (
        "venture/playbooks:1: a pack needs at least one playbook for its workers to look things up in",
        "venture/prompts/ops.md:1: the file is missing: the role 'ops' has no prompt",
        f"venture/stages.yaml:{line}: unknown schema 'positioning'",
    )


@pytest.mark.parametrize("file", ["roles.yaml", "schemas/org_chart.json", "prompts/ops.md", "simulation/any.thing"])
def test_a_file_that_is_not_utf8_is_named_once_with_its_line(pack: Path, file: str):
    (pack / file).write_bytes(b"one: 1\ntwo: \xff\n")
    assert faults_of(pack) == (f"venture/{file}:2: not UTF-8: byte 0xff",)


def test_an_oversized_file_is_refused(pack: Path):
    (pack / "simulation" / "huge").write_bytes(b"x" * (MAX_FILE_BYTES + 1))
    assert faults_of(pack) == ("venture/simulation/huge:1: larger than 512 KiB",)


@pytest.mark.parametrize("file", ["fork.yaml", "schemas/readme.md", "playbooks/a.txt", "scripts/run.py"])
def test_a_file_no_pack_has_is_a_fault(pack: Path, file: str):
    (pack / file).parent.mkdir(exist_ok=True)
    (pack / file).write_text("x", encoding="utf-8")
    assert faults_of(pack) == (f"venture/{file}:1: a pack has no such file",)


def test_links_that_leave_the_pack_are_refused(pack: Path):
    outside = pack.parent / "outside.txt"
    outside.write_text("secret", encoding="utf-8")
    (pack / "simulation" / "out").symlink_to(outside)
    (pack / "simulation" / "up").symlink_to(pack.parent)
    (pack / "simulation" / "loop").symlink_to(pack)
    (pack / "simulation" / "gone").symlink_to(pack / "nothing")
    (pack / "simulation" / "inside").symlink_to(pack / "simulation" / "any.thing")
    assert faults_of(pack) == (
        "venture/simulation/gone:1: neither a file nor a folder",
        "venture/simulation/loop:1: a link to a folder; a pack holds each file once",
        "venture/simulation/out:1: a link that leaves the pack",
        "venture/simulation/up:1: a link that leaves the pack",
    )


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_does_not_hang_the_loader(pack: Path):
    os.mkfifo(pack / "simulation" / "pipe")
    assert faults_of(pack) == ("venture/simulation/pipe:1: neither a file nor a folder",)


def test_a_name_that_not_every_system_can_hold_is_refused(pack: Path):
    (pack / "simulation" / "naïve\nname").write_text("x", encoding="utf-8")
    (fault,) = faults_of(pack)
    assert fault.startswith(r"venture/simulation/na\xefve\nname:1: a name may hold only")


@pytest.mark.parametrize("text", ["[" * 5_000, "- " * 40 + "x", "{a: " * 200 + "1" + "}" * 200])
def test_deep_nesting_is_a_fault(pack: Path, text: str):
    (pack / "forks.yaml").write_text(text, encoding="utf-8")
    assert faults_of(pack)[0].startswith("venture/forks.yaml:1: ")


def test_all_faults_are_told_at_once_in_order(pack: Path):
    for file, old, new in (
        ("forks.yaml", "adds_worker: list_steward", "adds_worker: bob"),
        ("forks.yaml", "{proof: 9,", "{poof: 9,"),
        ("roles.yaml", "title: Designer", "titel: Designer"),
        ("stages.yaml", "role: ops", "role: opps"),
        ("stages.yaml", "beat: TAKE", "beat: TOOK"),
        ("validators.yaml", "points: 40", "points: 41"),
    ):
        text = (pack / file).read_text(encoding="utf-8")
        (pack / file).write_text(text.replace(old, new, 1), encoding="utf-8")
    found = faults_of(pack)
    assert [fault.split(": ", 1)[1].split(";")[0][:40] for fault in found] == [
        "unknown meter 'poof'",
        "unknown worker 'bob'",
        "roles[1] misses 'title'",
        "roles[1] has an unknown key 'titel'",
        "unknown beat 'TOOK': it must be 'YOU', '",
        "unknown role 'opps'",
        "the points of marketing_email sum to 101",
    ]


def test_one_option_is_no_fork(pack: Path):
    path = pack / "forks.yaml"
    text = path.read_text(encoding="utf-8")
    start, end = text.index("      - id: strategist.expand"), len(text)
    path.write_text(text[:start] + text[end:], encoding="utf-8")
    (fault,) = faults_of(pack)
    assert fault.endswith(": a fork has two options, not 1")
