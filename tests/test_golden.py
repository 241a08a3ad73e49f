"""Logs that were written once and must be read for ever, and one that must not pass."""

from __future__ import annotations

from pathlib import Path

import pytest

from submission.state.evolve import evolve
from submission.state.refusals import BrokenLog
from submission.state.run import Run, state_hash
from submission.state.store.chain import unseal
from submission.state.store.export import split_log
from submission.state.store.verify import verify_log

GOLDEN = Path(__file__).parent / "golden"
RUNS = ["rehearsal", "human"]


def lines(name: str) -> list[bytes]:
    return [line.line for line in split_log((GOLDEN / f"{name}.jsonl").read_bytes()).lines]


@pytest.mark.parametrize("name", RUNS)
def test_the_state_at_every_seq_is_what_it_was(name: str):
    run: Run | None = None
    hashes = []
    for seq, line in enumerate(lines(name), 1):
        run = evolve(run, unseal(line, seq))
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


def test_the_forged_log_does_not_fold():
    run: Run | None = None
    with pytest.raises(BrokenLog) as broken:
        for seq, line in enumerate(lines("forged"), 1):
            run = evolve(run, unseal(line, seq))
    assert (broken.value.seq, broken.value.verdict) == (8, "xp")
    assert run is not None
    assert (run.seq, run.xp) == (7, 0)
