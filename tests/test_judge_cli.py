"""The judge's tools as a judge uses them: a file, a pipe, a run id; no server, no network, no pack."""

import asyncio
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from submission.state.canonical import freeze
from submission.state.receipt import receipt
from submission.state.run import state_hash
from submission.state.store.sqlite import SqliteStore
from submission.state.views import gate_view
from submission.tools.judge import main
from submission.tools.show import (
    artifact_panel,
    clean,
    decision_line,
    fork_table,
    gate_lines,
    line,
    plain,
    run_summary_panel,
    score_table,
    stage_table,
)
from tests.given import BAD, Game, approve, given, go, reject, start, submit, whole
from tests.logs import KEY, as_file, changed, everything, joined, lines_of, parts, resealed, two_stages

NASTY = "Lanterns [bold red]free[/] \x1b]0;owned\x07\x1b[2J\u202e for clinics"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "run.jsonl"
    path.write_bytes(as_file(lines_of(everything())))
    return path


@pytest.fixture(autouse=True)
def eighty_columns(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("FORCE_COLOR", raising=False)


def out_of(capsys) -> str:
    text: str = capsys.readouterr().out
    return text


def shows_only_text(text: str) -> bool:
    return all(character.isprintable() or character == "\n" for character in text)


def broken_at_8(path: Path) -> None:
    first, lines, last = parts(as_file(lines_of(two_stages())))
    lines[7] = lines[7].replace(b'"amount":20', b'"amount":99')
    path.write_bytes(joined(first, lines, last))


def test_verify_says_five_times_passed(log, capsys):
    assert main(["verify", str(log), "--key", KEY.key_id]) == 0
    text = out_of(capsys)
    assert text.count(" passed ") == 5
    assert "the one you trust" in " ".join(text.split())
    assert "rehearsal" in text
    assert shows_only_text(text)
    assert max(map(len, text.splitlines())) <= 80


def test_verify_names_the_first_broken_seq(log, capsys):
    broken_at_8(log)
    assert main(["verify", str(log)]) == 1
    text = " ".join(out_of(capsys).split())
    assert "integrity FAILED seq 8" in text
    assert "schema passed" in text
    assert "The first broken event is seq 8." in text


def test_verify_as_json(log, capsys):
    broken_at_8(log)
    assert main(["verify", "--json", str(log)]) == 1
    found = json.loads(out_of(capsys))
    assert {v["name"]: (v["status"], v["seq"]) for v in found["verdicts"]}["integrity"] == ("failed", 8)
    assert found["log"] == str(log)


def test_a_foreign_key_fails(log, capsys):
    assert main(["verify", str(log), "--key", "0123456789abcdef"]) == 1
    assert "not the key you trust" in " ".join(out_of(capsys).split())


@pytest.mark.parametrize("verb", [["verify"], ["replay"], ["replay", "--follow"], ["compare", "-"]])
@pytest.mark.parametrize("data", [b"", b"hello\n", b"\x89PNG\r\n\x1a\n\x00\x00", b"[" * 100_000, b"\xff\xfe" * 999])
def test_what_is_no_log_gets_one_sentence(tmp_path, capsys, monkeypatch, verb, data):
    path = tmp_path / "thing"
    path.write_bytes(data)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert main([*verb, str(path)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("countersign: ")
    assert said.err.count("\n") == 1


def test_what_cannot_be_read_gets_one_sentence(tmp_path, capsys):
    for name in (str(tmp_path), "no-such-run", "x" * 5_000, "nul\x00byte", "\udcff"):
        assert main(["verify", name, "--data", str(tmp_path)]) == 2
        said = capsys.readouterr()
        assert said.err.startswith("countersign: ")
        assert said.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_log_from_standard_input(log, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(log.read_bytes())))
    assert main(["verify", "-"]) == 0
    assert "standard input" in out_of(capsys)


def store_run(folder: Path, game: Game) -> None:
    async def write() -> None:
        store = SqliteStore.open(folder)
        try:
            await store.append(game.run_id, 0, lines_of(game))
        finally:
            await store.close()

    asyncio.run(write())


def test_a_run_in_the_data_folder(tmp_path, capsys):
    store_run(tmp_path, everything())
    assert main(["verify", "r-test", "--data", str(tmp_path)]) == 0
    assert "not checkable" in out_of(capsys)
    assert main(["replay", "r-test", "--data", str(tmp_path), "--json"]) == 0
    assert json.loads(out_of(capsys))["state_hash"] == state_hash(everything().now)
    assert main(["verify", "r-none", "--data", str(tmp_path)]) == 2


def test_replay_shows_the_state_at_a_seq(tmp_path, capsys):
    game = given(start(), go(), submit())
    path = tmp_path / "log"
    path.write_bytes(as_file(lines_of(whole())))
    assert main(["replay", str(path), "--at", "6"]) == 0
    text = " ".join(out_of(capsys).split())
    assert state_hash(game.now) in text
    assert "gate-6 is open on a" in text
    assert "proof 30 → 39" in text


def test_replay_as_json_is_the_state(log, capsys):
    for seq in (1, 7, 20):
        assert main(["replay", str(log), "--at", str(seq), "--json"]) == 0
        found = json.loads(out_of(capsys))
        assert (found["seq"], found["broken"]) == (seq, None)


def test_replay_past_the_end_or_before_the_start(log, capsys):
    assert main(["replay", str(log), "--at", "9999"]) == 2
    assert "ends at seq" in capsys.readouterr().err
    for odd in ("0", "-1", "x", "1.5"):
        with pytest.raises(SystemExit) as stop:
            main(["replay", str(log), "--at", odd])
        assert stop.value.code == 2


def test_a_broken_log_replays_up_to_its_break(log, capsys):
    broken_at_8(log)
    assert main(["replay", str(log)]) == 1
    text = " ".join(out_of(capsys).split())
    assert "at seq 7:" in text
    assert "The log breaks at seq 8" in text
    assert main(["replay", str(log), "--at", "7"]) == 0
    assert main(["replay", str(log), "--json"]) == 1


def test_follow_tells_the_story(log, capsys):
    assert main(["replay", str(log), "--follow", "--speed", "1000"]) == 0
    text = " ".join(out_of(capsys).split())
    for told in (
        "starts a rehearsal",
        "hands in “Lanterns for night clinics”",
        "rejects “Stage a”, attempt 1: “The title must mention lanterns”",
        "fails at “Stage a”: boom",
        "proof 30 → 0",
        "earns +20 XP",
        "gives back -20 XP",
        "takes back the decision",
        "victory with 160 XP",
    ):
        assert told in text, told
    assert main(["replay", str(log), "--follow", "--at", "3"]) == 0
    assert len(out_of(capsys).splitlines()) <= 8


def test_follow_as_json_gives_every_state_hash(log, capsys):
    game = everything()
    assert main(["replay", str(log), "--follow", "--json"]) == 0
    told = [json.loads(row) for row in out_of(capsys).splitlines()]
    assert [entry["seq"] for entry in told] == list(range(1, game.now.seq + 1))
    assert told[-1]["state_hash"] == state_hash(game.now)


def test_follow_says_where_a_log_breaks(log, capsys):
    broken_at_8(log)
    assert main(["replay", str(log), "--follow"]) == 1
    text = " ".join(out_of(capsys).split())
    assert "approves “Stage a”" in text
    assert "The log breaks at seq 8" in text


def test_compare_shows_where_two_runs_part(tmp_path, capsys):
    names = []
    for option in ("a.depth", "a.breadth"):
        path = tmp_path / option
        path.write_bytes(as_file(lines_of(given(start(), go(), submit(), approve(option_id=option)))))
        names.append(str(path))
    assert main(["compare", *names]) == 0
    text = " ".join(out_of(capsys).split())
    assert "They part at seq 7" in text
    assert "Proof 39 0 -39" in text
    assert main(["compare", names[0], names[0]]) == 0
    assert "never part" in out_of(capsys)
    assert main(["compare", "--json", *names]) == 0
    assert json.loads(out_of(capsys))["parting"]["seq"] == 7


def test_compare_with_a_broken_log(tmp_path, log, capsys):
    other = tmp_path / "other"
    broken_at_8(other)
    assert main(["compare", str(log), str(other)]) == 1
    assert "The log breaks at seq 8" in " ".join(out_of(capsys).split())


def test_text_from_a_log_is_data(tmp_path, capsys):
    """Markup and terminal escapes in a pitch are shown as what they are, or not at all."""
    path = tmp_path / "nasty"
    events = two_stages().events
    path.write_bytes(as_file(resealed([changed(events[0], pitch=NASTY), *events[1:]])))
    for verb in (["verify"], ["replay"], ["replay", "--follow"], ["compare", str(path)]):
        assert main([*verb, str(path)]) == 0
        text = out_of(capsys)
        assert shows_only_text(text)
        assert verb == ["verify"] or "[bold red]free[/]" in text


def test_a_file_name_is_data_too(tmp_path, capsys):
    path = tmp_path / "a\x1b[31mb[bold]"
    path.write_bytes(as_file(lines_of(two_stages())))
    assert main(["verify", str(path)]) == 0
    assert shows_only_text(out_of(capsys))


def test_cleaning_keeps_every_script():
    assert clean("مرحبا 👩\u200d🔬 日本 é\nx") == "مرحبا 👩\u200d🔬 日本 é\nx"
    assert clean("a\x00\x1b[31m\u202e\ud800\tb") == "a\ufffd\ufffd[31m\ufffd\ufffd b"
    assert line("a\n  b" + "c" * 50, 10) == "a bcccccc…"
    assert plain("[red]x[/red]") == r"\[red]x\[/red]"


# What the simulator shows to a person at a gate


def shown(*parts) -> str:
    page = io.StringIO()
    console = Console(file=page, width=80, highlight=False)
    for part in parts:
        console.print(part)
    text = page.getvalue()
    assert shows_only_text(text)
    assert max(map(len, text.splitlines())) <= 80
    return " ".join(text.split())


def at_gate(game: Game):
    assert game.now.gate is not None
    return gate_view(game.now, game.events[game.now.gate.executed_seq - 1].payload)


def test_a_gate_is_shown_whole():
    nested = freeze({"title": NASTY, "notes": [{"who": "a", "when": [1, 2]}, "b", {}], "n": 1, "yes": True, "no": None})
    gate = at_gate(given(start(), go(), submit(nested), reject(), go(), submit()))
    first = at_gate(given(start(), go(), submit(nested)))
    assert first.artifact is not None
    panel = shown(artifact_panel(first.stage, first.artifact))
    for part in ("Stage a · note", "[bold red]free[/]", "who: a", "- 2", "- (empty)", "n: 1", "yes: yes", "no: (none)"):
        assert part in panel, part
    assert gate.score is not None
    assert "has title 60 of 60 passed" in shown(score_table(gate.score))
    assert "floor 100 by note, passes" in shown(score_table(gate.score))
    fork = shown(fork_table(gate))
    assert "Depth or breadth?" in fork
    assert "30 → 39" in fork
    lines = shown(*gate_lines(gate))
    assert "changed title" in lines
    assert "tier simulation" in lines


def test_a_failed_gate_and_a_settled_fork_are_shown():
    failed = at_gate(given(start(), go(), submit(None)))
    assert "the worker failed: boom" in shown(*gate_lines(failed))
    assert "poses no fork" in shown(fork_table(failed))
    bad = at_gate(given(start(), go(), submit(BAD)))
    assert bad.score is not None
    assert "title: too short" in shown(score_table(bad.score))


def test_a_decision_and_a_summary_are_shown():
    game = given(start(), go(), submit())
    gate = at_gate(game)
    game.do(approve())
    said = shown(decision_line(gate, receipt(game.events[6:])))
    assert "approve · Depth · +20 XP · proof 30 → 39" in said
    summary = shown(run_summary_panel(game.now, "logs/r.jsonl", state_hash(game.now)))
    assert "unfinished · 20 XP" in summary
    assert "logs/r.jsonl" in summary
    rehearsal = everything().now
    assert "counts for nobody" in shown(run_summary_panel(rehearsal, "x", ""), stage_table(rehearsal))
    assert "rejected" in shown(stage_table(given(start(), go(), submit(), reject()).now))


# In a process of its own


def run(*arguments: str, **options) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "submission.tools.judge", *arguments]
    return subprocess.run(command, capture_output=True, timeout=60, check=False, **options)


def test_a_pipe_that_closes_and_a_poor_locale(log):
    poor = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"}
    done = run("replay", str(log), "--follow", env=poor)
    assert (done.returncode, done.stderr) == (0, b"")
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "submission.tools.judge", "replay", str(log), "--follow"],
        stdout=writer,
        stderr=subprocess.PIPE,
        timeout=60,
        check=False,
    )
    os.close(writer)
    assert b"Traceback" not in done.stderr
    assert b"Exception" not in done.stderr


def test_a_file_needs_no_pack_no_server_no_database(log):
    """What could ask a network, a pack or a database is not even loaded."""
    others = {"fastapi", "apsw", "jinja2", "yaml", "httpx", "openai", "submission.tools.bootstrap"}
    code = (
        "import sys; from submission.tools.judge import main\n"
        f"assert main(['replay', {str(log)!r}]) == 0\n"
        f"assert not set(sys.modules) & {others!r}, sorted(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr.decode()
