"""Seals events into the exact bytes that are stored and exported, and opens them again.

A line is the canonical JSON (RFC 8785) of the envelope without its hash, with `,"hash":"<sha256>"` set in
before the closing brace. The hash covers the bytes of the line without that member, so a reader checks it by
cutting the line, never by writing JSON again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from pydantic import ValidationError

from submission.state.canonical import canonical_frozen, sha256
from submission.state.events import PAYLOADS, SCHEMA_VERSION, Actor, Draft, Event
from submission.state.refusals import BrokenLog
from submission.state.store.upcast import upcast

_TAIL = len(',"hash":""}') + 64


class Sealed(NamedTuple):
    """An event and its line, without a newline."""

    event: Event
    line: bytes


def seal(drafts: Iterable[Draft], run_id: str, seq: int, head: str, at: str) -> list[Sealed]:
    """Stamp drafts as the events that follow `seq` and `head` in a run, all at one instant."""
    sealed = []
    for draft in drafts:
        seq += 1
        body = canonical_frozen(
            {
                "seq": seq,
                "run_id": run_id,
                "type": draft.payload.type,
                "at": at,
                "actor": draft.actor.model_dump(),
                "payload": draft.payload.model_dump(),
                "cause": draft.cause,
                "schema_version": SCHEMA_VERSION,
                "prev_hash": head,
            }
        )
        digest = sha256(body)
        event = Event(
            seq,
            run_id,
            draft.payload.type,
            at,
            draft.actor,
            draft.payload,
            draft.cause,
            SCHEMA_VERSION,
            head,
            digest,
        )
        sealed.append(Sealed(event, body[:-1] + b',"hash":"' + digest.encode() + b'"}'))
        head = digest
    return sealed


def unseal(line: bytes, seq: int) -> Event:
    """The event of one stored line, its hash checked. Raises BrokenLog naming `seq`, the place it stands at."""
    body, digest = line[:-_TAIL] + b"}", line[-66:-2]
    if line[-_TAIL:] != b',"hash":"' + digest + b'"}':
        raise BrokenLog(seq, "the line does not end in its hash", "integrity")
    if sha256(body).encode() != digest:
        raise BrokenLog(seq, "the line is not what its hash was made of", "integrity")
    return read_line(body, digest.decode(), seq)


def read_line(body: bytes, digest: str, seq: int) -> Event:
    """The event of a line's body, brought up to the current schema; its hash is taken as given."""
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise BrokenLog(seq, "the line is not JSON") from error
    return to_event(fields, digest, seq)


def to_event(fields: Any, digest: str, seq: int) -> Event:
    if not isinstance(fields, dict) or fields.keys() != _FIELDS:
        raise BrokenLog(seq, f"an event has the fields {', '.join(sorted(_FIELDS))}")
    if type(fields["schema_version"]) is not int or not 1 <= fields["schema_version"] <= SCHEMA_VERSION:
        raise BrokenLog(seq, f"schema_version is not in 1..{SCHEMA_VERSION}")
    fields = upcast(fields)
    kind = PAYLOADS.get(fields["type"]) if isinstance(fields["type"], str) else None
    if kind is None:
        raise BrokenLog(seq, f"unknown event type {fields['type']!r}")
    if fields["seq"] != seq or isinstance(fields["seq"], bool):
        raise BrokenLog(seq, f"seq {fields['seq']!r} stands at place {seq}", "integrity")
    try:
        actor, payload = Actor.model_validate(fields["actor"]), kind.model_validate(fields["payload"])
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise BrokenLog(seq, f"{fields['type']}: {where}: {first['msg']}") from error
    for name in ("run_id", "at", "prev_hash"):
        if not isinstance(fields[name], str):
            raise BrokenLog(seq, f"{name} is not text")
    if type(fields["cause"]) not in (int, str, type(None)):
        raise BrokenLog(seq, "a cause is a seq or the id of a command")
    return Event(
        fields["seq"],
        fields["run_id"],
        fields["type"],
        fields["at"],
        actor,
        payload,
        fields["cause"],
        fields["schema_version"],
        fields["prev_hash"],
        digest,
    )


_FIELDS = {"seq", "run_id", "type", "at", "actor", "payload", "cause", "schema_version", "prev_hash"}
