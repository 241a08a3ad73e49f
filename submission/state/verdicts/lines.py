"""What the verdicts are given, and what they give."""

from __future__ import annotations

from typing import Literal, NamedTuple

from submission.state.canonical import Frozen
from submission.state.events import Event

Name = Literal["integrity", "completeness", "schema", "xp", "rescoring"]
Status = Literal["passed", "failed", "not_checkable"]


class Verdict(Frozen):
    """`seq` is the first event that failed, or from which on nothing could be checked; `says` is one sentence."""

    name: Name
    status: Status
    seq: int | None
    says: str


class Fault(NamedTuple):
    """Something wrong; seq 0 is the file itself and not an event."""

    seq: int
    why: str


class Link(NamedTuple):
    """What a line says of its place in the chain."""

    seq: int
    run_id: str
    prev_hash: str


class Line(NamedTuple):
    """One event line as far as it could be read. `seq` is its place: 1, 2, 3…; `digest` the hash it ends in, and
    `unsealed` why that is not its hash. `event` is None where it is not one of the law's, and `unreadable` says why."""

    seq: int
    digest: str
    link: Link | None
    event: Event | None
    unsealed: str = ""
    unreadable: str = ""


def passed(name: Name, says: str) -> Verdict:
    return Verdict(name=name, status="passed", seq=None, says=says)


def failed(name: Name, fault: Fault) -> Verdict:
    where = f"seq {fault.seq}: " if fault.seq else ""
    return Verdict(name=name, status="failed", seq=fault.seq or None, says=_sentence(where + fault.why))


def not_checkable(name: Name, fault: Fault) -> Verdict:
    return Verdict(name=name, status="not_checkable", seq=fault.seq or None, says=_sentence(fault.why))


def worse(verdict: Verdict, fault: Fault | None) -> Verdict:
    """The verdict once this fault is known too; of two failures the earlier stands."""
    if fault is None or (verdict.status == "failed" and (verdict.seq or 0) <= fault.seq):
        return verdict
    return failed(verdict.name, fault)


def earlier(one: Fault | None, other: Fault) -> Fault:
    return other if one is None or other.seq < one.seq else one


def count(number: int, thing: str) -> str:
    """`1 event`, `2,000 events`."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def _sentence(text: str, limit: int = 300) -> str:
    text = text if len(text) <= limit else text[: limit - 1] + "…"
    return text if text.endswith((".", "…")) else text + "."
