"""Logs as files, sound and forged: what a judge is handed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from submission.state.events import Draft, Event
from submission.state.evolve import GENESIS
from submission.state.store.chain import seal
from submission.state.store.export import LogHeader, export_log
from submission.state.store.keys import SigningKey
from submission.state.store.verify import Verification
from tests.given import (
    AT,
    BAD,
    SCRIPT,
    Game,
    approve,
    given,
    go,
    redirect,
    reject,
    rescind,
    small_world,
    start,
    submit,
)

KEY = SigningKey.generate()
FORGER = SigningKey.generate()
HEADER = LogHeader("r-test", small_world().pin)


def two_stages() -> Game:
    """Eleven events of stage a (approved with its fork, 20 XP), then stage b waiting at its gate: seq 14."""
    return given(start(), go(), submit(), approve(), go(), submit())


def everything() -> Game:
    """A rehearsal in which a script rejects, redirects, approves, takes back, approves again, and wins."""
    game = given(
        start(mode="rehearsal"),
        go(),
        submit(BAD),
        reject(),
        go(),
        submit(None),
        go(),
        submit(),
        redirect(option_id="a.breadth"),
        go(),
        submit(),
        approve(),
        rescind(actor=SCRIPT),
        approve(idempotency_key="again"),
    )
    while game.now.outcome is None:
        game.do(go()).do(submit()).do(approve())
    return game


def lines_of(game: Game) -> list[bytes]:
    return [sealed.line for sealed in game.log]


def as_file(lines: Iterable[bytes], key: SigningKey = KEY, header: LogHeader = HEADER) -> bytes:
    """The lines as an exported log, signed as they are."""
    return b"".join(export_log(header, lines, key))


def parts(data: bytes) -> tuple[bytes, list[bytes], bytes]:
    """Header, event lines, signed head."""
    first, *lines, last = data.splitlines()
    return first, lines, last


def joined(first: bytes, lines: Sequence[bytes], last: bytes) -> bytes:
    return b"\n".join([first, *lines, last]) + b"\n"


def resealed(events: Iterable[Event | Draft], run_id: str = "r-test") -> list[bytes]:
    """The lines of these events with every seq and hash computed anew, as a careful forger would."""
    drafts = [event if isinstance(event, Draft) else Draft(event.payload, event.actor, event.cause) for event in events]
    return [sealed.line for sealed in seal(drafts, run_id, 0, GENESIS, AT)]


def changed(event: Event, **fields: Any) -> Event:
    """The event with other fields of its payload; `actor` is the envelope's."""
    actor = fields.pop("actor", event.actor)
    return replace(event, actor=actor, payload=event.payload.model_copy(update=fields))


def verdict(found: Verification, name: str) -> tuple[str, int | None]:
    """(status, first broken seq) of one verdict."""
    return next((v.status, v.seq) for v in found.verdicts if v.name == name)


def statuses(found: Verification) -> dict[str, str]:
    return {v.name: v.status for v in found.verdicts}
