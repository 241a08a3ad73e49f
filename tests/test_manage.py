"""The launcher's promises, without a network and without an installation."""

import ast
import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

MANAGE = Path(__file__).parent.parent / "manage.py"


def load(path: Path) -> Any:
    """A launcher of its own for each test, living where the file lies."""
    spec = spec_from_file_location("manage_under_test", path)
    assert spec is not None
    assert spec.loader is not None
    module: ModuleType = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def manage(tmp_path: Path) -> Any:
    """A launcher in a folder of its own, with pins, and not yet an environment."""
    shutil.copy(MANAGE, tmp_path)
    (tmp_path / "requirements.txt").write_text("-e .\n")
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    return load(tmp_path / "manage.py")


class Tools:
    """Stands in for venv, pip and uv: does what they do to the folder, and fails where it is told to."""

    def __init__(self, manage: Any) -> None:
        self.manage = manage
        self.ran: list[str] = []
        self.failing: set[str] = set()
        self.interrupted_at: str | None = None

    def __call__(self, advice: str, *command: str) -> None:
        name = "venv" if "venv" in command else "uv" if command[0] == self.manage.UV_PROGRAM else "pip"
        name += " again" if {"--reinstall", "--force-reinstall"} & set(command) else ""
        self.ran.append(name)
        if name == self.interrupted_at:
            raise KeyboardInterrupt
        if name in self.failing:
            raise self.manage.SetupError(f"{name} said no\n{advice}")
        if name == "venv":
            shutil.rmtree(self.manage.VENV, ignore_errors=True)
            python = Path(self.manage.PYTHON)
            python.parent.mkdir(parents=True)
            python.touch()


@pytest.fixture
def tools(manage: Any, monkeypatch: pytest.MonkeyPatch) -> Tools:
    standing_in = Tools(manage)
    monkeypatch.setattr(manage, "quietly", standing_in)
    return standing_in


# --- the environment and its stamp


def test_first_start_installs_and_the_second_does_nothing(manage: Any, tools: Tools) -> None:
    manage.ensure_environment()
    assert tools.ran == ["venv", "pip", "uv"]
    manage.ensure_environment()
    assert tools.ran == ["venv", "pip", "uv"]


@pytest.mark.parametrize("name", ["requirements.txt", "pyproject.toml"])
def test_changed_pins_are_installed_over_the_old_environment(manage: Any, tools: Tools, name: str) -> None:
    manage.ensure_environment()
    tools.ran.clear()
    Path(manage.ROOT, name).write_text("changed\n")
    manage.ensure_environment()
    assert tools.ran == ["pip", "uv"]


def test_another_python_or_another_folder_makes_the_environment_anew(
    manage: Any, tools: Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    manage.ensure_environment()
    for elsewhere in ("cpython-399 " + manage.ROOT, manage.place() + "/moved"):
        tools.ran.clear()
        monkeypatch.setattr(manage, "place", lambda elsewhere=elsewhere: elsewhere)
        manage.ensure_environment()
        assert tools.ran == ["venv", "pip", "uv"]


def test_an_environment_whose_python_is_gone_is_made_anew(manage: Any, tools: Tools) -> None:
    manage.ensure_environment()
    tools.ran.clear()
    Path(manage.PYTHON).unlink()
    manage.ensure_environment()
    assert tools.ran == ["venv", "pip", "uv"]


@pytest.mark.parametrize("step", ["venv", "pip", "uv"])
def test_a_first_installation_cut_short_is_made_anew(manage: Any, tools: Tools, step: str) -> None:
    tools.interrupted_at = step
    with pytest.raises(KeyboardInterrupt):
        manage.ensure_environment()
    tools.interrupted_at = None
    tools.ran.clear()
    manage.ensure_environment()
    assert tools.ran == ["venv", "pip", "uv"]


def test_an_update_cut_short_installs_every_package_again(manage: Any, tools: Tools) -> None:
    manage.ensure_environment()
    Path(manage.ROOT, "requirements.txt").write_text("changed\n")
    tools.interrupted_at = "uv"
    with pytest.raises(KeyboardInterrupt):
        manage.ensure_environment()
    tools.interrupted_at = None
    tools.ran.clear()
    manage.ensure_environment()
    assert tools.ran == ["pip", "uv again"]
    assert manage.read_stamp() == manage.stamp()


def test_pip_installs_what_uv_cannot(manage: Any, tools: Tools) -> None:
    tools.failing = {"uv"}
    manage.ensure_environment()
    assert tools.ran == ["venv", "pip", "uv", "pip"]
    assert manage.read_stamp() == manage.stamp()


def test_a_failed_installation_says_what_to_do_and_leaves_no_stamp(
    manage: Any, tools: Tools, capsys: pytest.CaptureFixture[str]
) -> None:
    tools.failing = {"uv", "pip"}
    assert manage.main(["simulate"]) == manage.SETUP_FAILED
    told = capsys.readouterr()
    assert "pip said no" in told.err
    assert told.err.strip().endswith("then start again.")
    assert told.out == ""
    assert manage.read_stamp() == ""


def test_a_tool_that_fails_shows_its_last_lines_and_the_advice(manage: Any) -> None:
    program = "import sys; [print('line', n) for n in range(50)]; sys.exit(1)"
    with pytest.raises(manage.SetupError) as failure:
        manage.quietly("Do this.", sys.executable, "-c", program)
    lines = str(failure.value).splitlines()
    assert lines[-2:] == ["line 49", "Do this."]
    assert len(lines) < 20


def test_a_folder_that_cannot_be_written_is_a_sentence(
    manage: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(manage, "VENV", os.path.join(manage.ROOT, "absent", ".venv"))
    assert manage.main(["serve"]) == manage.SETUP_FAILED
    assert manage.DISK_ADVICE in capsys.readouterr().err


def test_only_one_start_installs_at_a_time(manage: Any) -> None:
    held, other = manage.take_lock(), os.open(manage.VENV + ".lock", os.O_RDWR)
    assert not manage.try_lock(other)
    os.close(held)
    assert manage.try_lock(other)
    os.close(other)


def test_a_start_that_waited_for_another_installs_nothing(
    manage: Any, tools: Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    take_lock = manage.take_lock

    def wait_while_another_installs() -> int:
        manage.install()
        return int(take_lock())

    monkeypatch.setattr(manage, "take_lock", wait_while_another_installs)
    manage.ensure_environment()
    assert tools.ran == ["venv", "pip", "uv"]


# --- the verbs


@pytest.fixture
def ready(manage: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A launcher whose environment needs nothing and whose verb `echo` prints what it was given."""
    program = "import json, os, sys; print(json.dumps([os.getcwd(), *sys.argv[1:]]))"
    monkeypatch.setattr(manage, "ensure_environment", lambda: None)
    monkeypatch.setitem(manage.VERBS, "echo", "say it again")
    monkeypatch.setitem(manage.ONE_STEP, "echo", ("echo", [sys.executable, "-c", program]))
    return manage


AWKWARD = ["--pitch", "Solar microgrids; $HOME `x`", "", "--", "-h", "ünï\n", "*"]


def test_a_verb_gets_its_arguments_untouched(ready: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    became: list[str] = []
    monkeypatch.setattr(ready, "replace_process", became.extend)
    ready.main(["echo", *AWKWARD])
    assert became[3:] == AWKWARD


def test_a_verb_takes_the_process_over_where_the_person_stands(ready: Any, tmp_path: Path) -> None:
    """In a process of its own, because exec would take this one."""
    (tmp_path / "elsewhere").mkdir()
    starter = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import manage\n"
        "manage.ensure_environment = lambda: None\n"
        f"manage.ONE_STEP['serve'] = {ready.ONE_STEP['echo']!r}\n"
        f"sys.exit(manage.main(['serve', *{AWKWARD!r}]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", starter],
        cwd=tmp_path / "elsewhere",
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == [os.path.realpath(tmp_path / "elsewhere"), *AWKWARD]
    assert done.stderr == ""


def test_an_unknown_verb_lists_the_verbs_and_installs_nothing(
    manage: Any, tools: Tools, capsys: pytest.CaptureFixture[str]
) -> None:
    assert manage.main(["dance"]) == 2
    told = capsys.readouterr()
    assert "'dance'" in told.err
    assert told.out == ""
    assert all(f"\n  {verb}" in told.err for verb in manage.VERBS)
    assert tools.ran == []


@pytest.mark.parametrize("arguments", [[], ["help"], ["-h"], ["--help"]])
def test_help_lists_the_verbs_and_installs_nothing(
    manage: Any, tools: Tools, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert manage.main(arguments) == 0
    told = capsys.readouterr()
    assert all(f"\n  {verb}" in told.out for verb in manage.VERBS)
    assert tools.ran == []


def test_every_listed_verb_runs_something(manage: Any) -> None:
    for verb in manage.VERBS.keys() - {"help", "lock"}:
        assert manage.steps_of(verb, [])


def test_test_alone_adds_the_smoke_test_and_with_arguments_does_not(manage: Any) -> None:
    assert [name for name, _ in manage.steps_of("test", [])] == ["pytest", "demo_smoke_test.py"]
    [(name, command)] = manage.steps_of("test", ["tests/law", "-k", "gate"])
    assert (name, command[-3:]) == ("pytest", ["tests/law", "-k", "gate"])


def test_lock_needs_no_environment_that_the_old_pins_could_not_make(
    manage: Any, tools: Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a uv that keeps one pin, drops the other, and adds a third."""
    Path(manage.BIN).mkdir(parents=True)
    Path(manage.UV_PROGRAM).touch()
    Path(manage.ROOT, "requirements.txt").write_text("# old\nkept==1\ndropped==1\n-e .\n")
    given: list[str] = []

    def compile_pins(command: list[str]) -> int:
        draft = Path(command[command.index("--output-file") + 1])
        given.extend([draft.read_text(), command[-1]])
        draft.write_text("kept==1\nnew==1\n")
        return 0

    monkeypatch.chdir(manage.ROOT)
    monkeypatch.setattr(manage, "wait_for", compile_pins)
    assert manage.main(["lock", "--upgrade"]) == 0
    assert tools.ran == []
    assert given == ["kept==1\ndropped==1\n", "--upgrade"]
    pins = Path(manage.ROOT, "requirements.txt").read_text()
    assert pins == manage.PINS_HEADER + "kept==1\nnew==1\n-e .\n"


def test_check_runs_everything_in_order(manage: Any) -> None:
    names = [name for name, _ in manage.steps_of("check", [])]
    assert names == ["ruff check", "ruff format", "mypy", "lint-imports", "pytest", "demo_smoke_test.py"]


def exits(code: int) -> list[str]:
    return [sys.executable, "-c", f"raise SystemExit({code})"]


def test_the_first_failing_step_stops_the_rest_and_is_named(
    manage: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    never = [sys.executable, "-c", f"open({str(tmp_path / 'ran')!r}, 'w')"]
    assert manage.run([("lint", exits(0)), ("types", exits(5)), ("never", never)]) == 5
    assert "types (exit 5)" in capsys.readouterr().err
    assert not (tmp_path / "ran").exists()


def test_steps_that_all_pass_pass(manage: Any) -> None:
    assert manage.run([("lint", exits(0)), ("types", exits(0))]) == 0


@pytest.mark.skipif(os.name == "nt", reason="signals are POSIX")
def test_a_killed_step_has_the_exit_code_a_shell_would_give(manage: Any) -> None:
    assert manage.wait_for([sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"]) == 137


# --- old interpreters


@pytest.mark.parametrize("version", [(3, 6, 15), (3, 8, 18), (3, 10, 13)])
def test_an_old_python_is_told_in_one_sentence(
    manage: Any, capsys: pytest.CaptureFixture[str], version: tuple[int, ...]
) -> None:
    with pytest.raises(SystemExit) as left:
        manage.require_python(version)
    assert left.value.code == manage.SETUP_FAILED
    assert f"needs Python 3.11 or newer, and this is Python {version[0]}.{version[1]}." in capsys.readouterr().err


@pytest.mark.parametrize("version", [(3, 11, 0), (3, 14, 1), (4, 0, 0)])
def test_a_new_enough_python_goes_on(manage: Any, version: tuple[int, ...]) -> None:
    manage.require_python(version)


def test_an_old_python_can_read_the_file_far_enough_to_be_told() -> None:
    ast.parse(MANAGE.read_text(encoding="utf-8"), feature_version=(3, 7))


# --- the guard over every test


def test_no_test_reaches_a_network() -> None:
    refused = pytest.fail.Exception
    with socket.socket() as plain:
        with pytest.raises(refused):
            plain.connect(("192.0.2.1", 80))
        with pytest.raises(refused):
            plain.connect_ex(("192.0.2.1", 80))
    with pytest.raises(refused):
        socket.getaddrinfo("example.invalid", 80)
    with pytest.raises(refused):
        socket.create_connection(("example.invalid", 80))


async def test_no_asynchronous_test_reaches_a_network() -> None:
    with pytest.raises(pytest.fail.Exception):
        await asyncio.open_connection("192.0.2.1", 80)


def test_the_loopback_is_open() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(("localhost", server.getsockname()[1])).close()
