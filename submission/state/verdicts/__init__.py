"""Five separate verdicts on a log. A failure in one never hides another, and none claims more than was checked.

integrity      every line hashes to what it says, and names the hash before it
completeness   a signed head counts these events and ends where they end (see `store.verify`)
schema         every event is of a known shape and can follow those before it
xp             every award follows its approval by the right actor; the sum is the state's XP at every seq
rescoring      every artifact hashes and scores again as recorded, by the rules that the run pinned

Each is reached as far as the log can be read: a line whose hash is wrong is still read for what it says. All
this makes changes evident and prevents none; whoever holds the signing key can write another log and sign it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from submission.state.canonical import Frozen
from submission.state.events import Event, Mode, RunStarted
from submission.state.run import state_hash
from submission.state.verdicts.integrity import Integrity
from submission.state.verdicts.lines import (
    Fault,
    Line,
    Link,
    Name,
    Status,
    Verdict,
    failed,
    not_checkable,
    passed,
    worse,
)
from submission.state.verdicts.rescoring import Rescoring
from submission.state.verdicts.schema import Schema
from submission.state.verdicts.xp import Ledger
from submission.state.world import World, WorldPin

__all__ = [
    "Fault",
    "Judged",
    "Line",
    "Link",
    "Name",
    "Status",
    "Verdict",
    "Verification",
    "failed",
    "judge",
    "not_checkable",
    "passed",
    "worse",
]


class Verification(Frozen):
    """What was found out about a log. `is_log` is false where nothing in it could be read as a part of one; `seq`
    and `head` are of the last event line; `state_hash` is None where the events do not fold to the end. `passed`
    is true only when all five verdicts are."""

    is_log: bool
    passed: bool
    run_id: str | None
    world: WorldPin | None
    mode: Mode | None
    seq: int
    head: str | None
    key_id: str | None
    state_hash: str | None
    verdicts: tuple[Verdict, ...]


class Judged(NamedTuple):
    """The four verdicts that the events alone give, and what they say of themselves."""

    verdicts: tuple[Verdict, ...]
    started: Event | None
    readable: bool
    seq: int
    head: str | None
    state_hash: str | None


def judge(lines: Iterable[Line], worlds: Iterable[World] = ()) -> Judged:
    """Read the lines once, in order. `worlds` are the packs at hand; the run's own is found by its hash."""
    integrity, schema, ledger, rescoring = Integrity(), Schema(), Ledger(), Rescoring(tuple(worlds))
    started, readable, line = None, False, None
    for line in lines:
        readable = readable or line.event is not None or line.link is not None
        if started is None and line.event is not None and isinstance(line.event.payload, RunStarted):
            started = line.event
        integrity.see(line)
        run = schema.see(line)
        ledger.see(line, run)
        rescoring.see(line, run)
    verdicts = (
        worse(integrity.verdict(), schema.content_fault),
        schema.verdict(),
        worse(ledger.verdict(), schema.xp_fault),
        rescoring.verdict(),
    )
    whole = schema.run is not None and all(verdict.status == "passed" for verdict in verdicts[:3])
    return Judged(
        verdicts,
        started,
        readable,
        line.seq if line else 0,
        (line.digest or None) if line else None,
        state_hash(schema.run) if whole and schema.run else None,
    )
