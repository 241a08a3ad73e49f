"""From the bytes of a log to its verdicts. Any bytes give an answer, none an exception."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from pydantic import ValidationError, create_model

from submission.state.canonical import Frozen, canonical, sha256
from submission.state.events import PAYLOADS, SCHEMA_VERSION, Actor, Event, Payload, RunStarted
from submission.state.refusals import BrokenLog
from submission.state.store.chain import read_line
from submission.state.store.export import HeadCheck, LogFault, ParsedLog, check_signed_head, split_log
from submission.state.verdicts import (
    Fault,
    Judged,
    Line,
    Link,
    Verdict,
    Verification,
    failed,
    judge,
    not_checkable,
    passed,
    worse,
)
from submission.state.world import World

__all__ = ["Verification", "Worlds", "read_lines", "sound_events", "verify_lines", "verify_log"]


Worlds = Mapping[str, World]
"""The packs at hand by id; a run's own is found by its hash."""


def verify_log(data: bytes, worlds: Worlds | None = None, trusted_key: str | None = None) -> Verification:
    """The five verdicts on a log file. What the run pinned is held against its pack, where that is among `worlds`;
    `trusted_key` is the key id that the reader knows from elsewhere."""
    log = split_log(data)
    head = check_signed_head(log)
    judged = judge(read_lines(log.lines), (worlds or {}).values())
    verdicts = {verdict.name: verdict for verdict in judged.verdicts}
    for fault in (*log.faults, *head.faults):
        if fault.verdict != "completeness" and not fault.code.startswith("head."):
            verdicts[fault.verdict] = worse(verdicts[fault.verdict], _fault(fault))
    return _verification(
        judged,
        (verdicts["integrity"], _completeness(log, head, trusted_key), *list(verdicts.values())[1:]),
        is_log=log.header is not None or judged.readable,
        key_id=head.key_id,
    )


def verify_lines(lines: Iterable[bytes], worlds: Worlds | None = None) -> Verification:
    """The verdicts on a run's stored lines, for which nobody has signed a head yet."""
    judged = judge(read_lines(lines), (worlds or {}).values())
    why = "These are stored lines without a signed head; export the log to have one"
    integrity, *others = judged.verdicts
    verdicts = (integrity, not_checkable("completeness", Fault(0, why)), *others)
    return _verification(judged, verdicts, is_log=judged.readable, key_id=None)


def _verification(judged: Judged, verdicts: tuple[Verdict, ...], is_log: bool, key_id: str | None) -> Verification:
    start = judged.started
    payload = start.payload if start and isinstance(start.payload, RunStarted) else None
    return Verification(
        is_log=is_log,
        passed=all(verdict.status == "passed" for verdict in verdicts),
        run_id=start.run_id if start else None,
        world=payload.world if payload else None,
        mode=payload.mode if payload else None,
        seq=judged.seq,
        head=judged.head,
        key_id=key_id,
        state_hash=judged.state_hash,
        verdicts=verdicts,
    )


def _fault(fault: LogFault) -> Fault:
    return Fault(fault.seq or 0, fault.why)


def _completeness(log: ParsedLog, head: HeadCheck, trusted_key: str | None) -> Verdict:
    """Whether a signed head covers exactly these events, and whose signature it is."""
    against = [fault for fault in head.faults if fault.verdict != "integrity" or fault.code == "head.signature"]
    against += [fault for fault in log.faults if fault.verdict == "completeness"]
    if against:
        return failed("completeness", _fault(against[0]))
    signed = f"The signed head counts {len(log.lines):,} events and ends where they end. The key is {head.key_id}"
    if trusted_key is None:
        return passed("completeness", f"{signed}; no key to trust was named, so whose it is was not checked.")
    if trusted_key.strip().lower() != head.key_id:
        return failed("completeness", Fault(0, f"{signed}, which is not the key you trust"))
    return passed("completeness", f"{signed}, the one you trust.")


class _Envelope(Frozen):
    """The fields of a line, its hash apart."""

    seq: int
    run_id: str
    type: str
    at: str
    actor: Actor
    payload: Payload
    cause: int | str | None
    schema_version: int
    prev_hash: str


_ENVELOPES: dict[str, type[_Envelope]] = {
    name: create_model(f"{payload.__name__}Line", __base__=_Envelope, payload=(payload, ...))
    for name, payload in PAYLOADS.items()
}

_SEAL = re.compile(rb',"hash":"([0-9a-f]{64})"\}\Z')
_PLACE = re.compile(
    rb',"prev_hash":"([^"\\]{0,200})","run_id":"((?:[^"\\]|\\.){0,200})","schema_version":([0-9]{1,9}),'
    rb'"seq":([0-9]{1,16}),"type":"([A-Z_]{1,40})"\}\Z',
    re.DOTALL,
)
_ZEROS = bytes(48 if 48 <= byte <= 57 else byte for byte in range(256))
_SIXTEEN = b"0" * 16


class _Place(NamedTuple):
    """How a canonical line ends: its link, and what its payload must be."""

    link: Link
    schema_version: int
    type: str


def read_lines(lines: Iterable[bytes]) -> Iterator[Line]:
    """Each line as far as it can be read, whatever the one before was."""
    for seq, line in enumerate(lines, 1):
        yield _read(line, seq)


def sound_events(lines: Iterable[bytes]) -> Iterator[Event]:
    """The events of stored lines, for a fold. Raises BrokenLog at the first line that is not what it says it is."""
    for line in read_lines(lines):
        if line.unsealed:
            raise BrokenLog(line.seq, line.unsealed, "integrity")
        if line.event is None:
            raise BrokenLog(line.seq, line.unreadable)
        yield line.event


def _read(line: bytes, seq: int) -> Line:
    seal = _SEAL.search(line[-80:])
    if seal is None:
        return Line(seq, "", None, None, "the line does not end in its hash", "the line does not end in its hash")
    body, digest = line[:-75] + b"}", seal[1].decode()
    unsealed = "" if sha256(body) == digest else "the line is not what its hash was made of"
    place = _place(body)
    if place is None:
        return Line(seq, digest, None, None, unsealed, "the line is not an event in canonical JSON")
    try:
        return Line(seq, digest, place.link, _event(body, digest, place), unsealed)
    except BrokenLog as broken:
        return Line(seq, digest, place.link, None, unsealed, broken.why)


def _place(body: bytes) -> _Place | None:
    """Read off the end of the line, where canonical JSON has it, so that it is known even of a damaged payload."""
    start = body.rfind(b',"prev_hash":"')
    found = _PLACE.match(body, start) if start > 0 else None
    if found is None:
        return None
    run_id = found[2].decode("utf-8", "replace")
    link = Link(int(found[4]), run_id, found[1].decode("utf-8", "replace"))
    return _Place(link, int(found[3]), found[5].decode())


def _event(body: bytes, digest: str, place: _Place) -> Event:
    """The event of a line's body, read strictly: what the law would have written in other bytes is refused."""
    seq = place.link.seq
    envelope = _ENVELOPES.get(place.type)
    if envelope is None:
        raise BrokenLog(seq, f"unknown event type {place.type}")
    _check_numbers(body, seq)
    if 1 <= place.schema_version < SCHEMA_VERSION:
        return read_line(body, digest, seq)
    if place.schema_version != SCHEMA_VERSION:
        raise BrokenLog(seq, f"schema_version {place.schema_version}; this program reads up to {SCHEMA_VERSION}")
    try:
        read = envelope.model_validate_json(body, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(str(part)[:60] for part in first["loc"][:8]) or "the line"
        raise BrokenLog(seq, f"{place.type}: {where}: {first['msg'][:160]}") from error
    return Event(
        read.seq,
        read.run_id,
        read.type,
        read.at,
        read.actor,
        read.payload,
        read.cause,
        read.schema_version,
        read.prev_hash,
        digest,
    )


def _check_numbers(body: bytes, seq: int) -> None:
    """Refuse integers beyond 2**53, which other readers of JSON would round. Most lines have no 16 digits in a row,
    and most that do have them inside a hash."""
    digits = body.translate(_ZEROS)
    at = digits.find(_SIXTEEN)
    while at > 0:
        if body[at - 1] in b":,[-":
            return _check_canonical(body, seq)
        at = digits.find(_SIXTEEN, at + 16)


def _check_canonical(body: bytes, seq: int) -> None:
    try:
        canonical(json.loads(body))
    except (ValueError, RecursionError) as error:
        raise BrokenLog(seq, "the line has no canonical form") from error
