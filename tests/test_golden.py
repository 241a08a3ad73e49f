"""Logs that were written once and must be read for ever, and one that must not pass."""

from __future__ import annotations

from pathlib import Path

import pytest

from submission.state.events import Event
from submission.state.evolve import evolve
from submission.state.replay import replay
from submission.state.run import Run, state_hash
from submission.state.store.chain import unseal
from submission.state.store.export import split_log
from submission.state.store.verify import verify_log

GOLDEN = Path(__file__).parent / "golden"
RUNS = ["rehearsal", "human"]


def events(name: str) -> list[Event]:
    log = split_log((GOLDEN / f"{name}.jsonl").read_bytes())
    return [unseal(line, seq) for seq, line in enumerate(log.lines, 1)]


@pytest.mark.parametrize("name", RUNS)
def test_the_state_at_every_seq_is_what_it_was(name: str):
    run: Run | None = None
    hashes = []
    for event in events(name):
        run = evolve(run, event)
        hashes.append(state_hash(run))
    assert hashes == (GOLDEN / f"{name}.hashes").read_text().split()


@pytest.mark.parametrize("name", RUNS)
def test_a_golden_log_passes_all_five_without_its_pack(name: str):
    found = verify_log((GOLDEN / f"{name}.jsonl").read_bytes())
    assert {verdict.name: verdict.status for verdict in found.verdicts} == dict.fromkeys(
        ("integrity", "completeness", "schema", "xp", "rescoring"), "passed"
    )


def test_the_forged_log_fails_where_its_xp_was_raised_and_nowhere_else():
    found = verify_log((GOLDEN / "forged.jsonl").read_bytes())
    assert [(v.name, v.seq) for v in found.verdicts if v.status != "passed"] == [("xp", 8)]


def test_the_forged_log_replays_up_to_its_break():
    replayed = replay(events("forged"))
    assert replayed.broken is not None
    assert (replayed.broken.seq, replayed.broken.verdict) == (8, "xp")
    assert replayed.run is not None
    assert (replayed.run.seq, replayed.run.xp) == (7, 0)
