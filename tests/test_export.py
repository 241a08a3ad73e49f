"""`log.jsonl`: written, taken apart again, and caught in every way in which it can be broken."""

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest

from submission.state.canonical import canonical, freeze
from submission.state.events import Actor, Draft, MemoryWritten, RunStarted
from submission.state.evolve import GENESIS
from submission.state.refusals import BrokenLog
from submission.state.store import export
from submission.state.store.chain import seal, unseal
from submission.state.store.export import (
    LogHeader,
    ParsedLog,
    check_signed_head,
    export_log,
    header_of,
    line_hash,
    public_key_id,
    split_log,
)
from submission.state.store.keys import SigningKey
from submission.state.world import WorldPin

KEY = SigningKey.generate()
PIN = WorldPin(id="venture", version="1.0.0", sha256="ab" * 32)
HEADER = LogHeader("r-export", PIN)
AT = "2026-12-01T09:00:00.000Z"


def events(run_id: str = "r-export", number: int = 4) -> list[bytes]:
    started = RunStarted(
        pitch="Lanterns – für Nachtkliniken", seed=1, mode="human", world=PIN, meters=(), levels=(), validators=()
    )
    memories = [MemoryWritten(kind="procedural", text=f"Note {n}") for n in range(number - 1)]
    human = Actor(kind="human", id="player", name="Ann")
    drafts = [Draft(payload, human) for payload in (started, *memories)]
    return [entry.line for entry in seal(drafts, run_id, 0, GENESIS, AT)]


EVENTS = events()
LOG = b"".join(export_log(HEADER, EVENTS, KEY))
ROWS = LOG.splitlines()
"""A header, four events and a signed head."""


def joined(rows: list[bytes]) -> bytes:
    return b"".join(row + b"\n" for row in rows)


def found(log: ParsedLog) -> set[str]:
    """Every fault's code, those of the head's check among them."""
    return {fault.code for fault in (*log.faults, *check_signed_head(log).faults)}


def chain_holds(log: ParsedLog) -> bool:
    head = GENESIS
    try:
        for seq, line in enumerate(log.lines, 1):
            event = unseal(line, seq)
            if event.prev_hash != head:
                return False
            head = event.hash
    except BrokenLog:
        return False
    return True


def test_a_log_comes_back_as_it_was_written() -> None:
    log = split_log(LOG)
    assert log.header == HEADER == header_of(EVENTS[0])
    assert log.lines == tuple(EVENTS)
    assert log.faults == ()
    assert [log.place(seq) for seq in (1, 4)] == [2, 5]
    head = log.signed_head
    assert head is not None
    assert (head.count, head.head, head.key_id) == (4, line_hash(EVENTS[-1]), KEY.key_id)
    check = check_signed_head(log)
    assert (check.state, check.signed, check.key_id, check.faults) == ("ok", True, KEY.key_id, ())


def test_the_written_shape_is_the_documented_one() -> None:
    pieces = list(export_log(HEADER, EVENTS, KEY))
    assert [piece.count(b"\n") for piece in pieces] == [1] * 6
    assert pieces[1:-1] == [line + b"\n" for line in EVENTS]
    assert json.loads(pieces[0]) == {
        "format": "countersign-log",
        "version": 1,
        "run_id": "r-export",
        "world": {"id": "venture", "version": "1.0.0", "sha256": "ab" * 32},
    }
    head = json.loads(pieces[-1])
    assert head.keys() == {"count", "head", "key_id", "public_key", "signature"}
    assert base64.b64decode(head["public_key"]) == KEY.public_key
    assert public_key_id(KEY.public_key) == KEY.key_id
    for piece in (pieces[0], pieces[-1]):
        assert canonical(json.loads(piece)) + b"\n" == piece


def test_a_log_is_written_as_it_is_asked_for() -> None:
    def forever() -> Any:
        while True:
            yield EVENTS[0]

    pieces = export_log(HEADER, forever(), KEY)
    assert next(pieces) == ROWS[0] + b"\n"
    assert next(pieces) == next(pieces) == ROWS[1] + b"\n"


def test_a_run_without_events_can_be_written_and_read() -> None:
    log = split_log(b"".join(export_log(HEADER, [], KEY)))
    assert (log.lines, log.faults) == ((), ())
    assert check_signed_head(log).state == "ok"


def test_a_missing_last_newline_is_no_fault() -> None:
    log = split_log(LOG[:-1])
    assert log.faults == ()
    assert check_signed_head(log).state == "ok"


def other_key(rows: list[bytes]) -> list[bytes]:
    """The head's public half is another's, with its right id; the signature stays."""
    head = json.loads(rows[-1])
    public_key = SigningKey.generate().public_key
    head["public_key"] = base64.b64encode(public_key).decode()
    head["key_id"] = public_key_id(public_key)
    return [*rows[:-1], canonical(head)]


def changed(row: bytes, **fields: Any) -> bytes:
    return canonical({**json.loads(row), **fields})


def swapped(rows: list[bytes]) -> list[bytes]:
    return [rows[0], rows[1], rows[3], rows[2], *rows[4:]]


def foreign_world(rows: list[bytes]) -> list[bytes]:
    """Signed by the key all the same: a log exported under a false header."""
    header = LogHeader("r-export", WorldPin(id="venture", version="2.0.0", sha256="ab" * 32))
    return b"".join(export_log(header, EVENTS, KEY)).splitlines()


BROKEN: list[tuple[str, Callable[[list[bytes]], list[bytes]], str, set[str]]] = [
    ("no head", lambda rows: rows[:-1], "absent", {"head.absent"}),
    ("no header", lambda rows: rows[1:], "bad_signature", {"header.absent", "head.signature"}),
    ("events alone", lambda rows: rows[1:-1], "absent", {"header.absent", "head.absent"}),
    ("header alone", lambda rows: rows[:1], "absent", {"head.absent"}),
    ("head alone", lambda rows: rows[-1:], "bad_signature", {"header.absent", "head.signature", "head.count"}),
    ("last event dropped", lambda rows: [*rows[:-2], rows[-1]], "count_mismatch", {"head.count", "head.mismatch"}),
    ("middle event dropped", lambda rows: [*rows[:2], *rows[3:]], "count_mismatch", {"head.count"}),
    ("event doubled", lambda rows: [*rows[:3], *rows[2:]], "count_mismatch", {"head.count"}),
    ("last two swapped", lambda rows: [*rows[:3], rows[4], rows[3], rows[5]], "head_mismatch", {"head.mismatch"}),
    ("middle two swapped", swapped, "ok", set()),
    ("cut in an event", lambda rows: [*rows[:3], rows[3][:50]], "absent", {"head.absent"}),
    ("cut in the head", lambda rows: [*rows[:-1], rows[-1][:99]], "malformed", {"head.malformed"}),
    ("count edited", lambda rows: [*rows[:-1], changed(rows[-1], count=5)], "bad_signature", {"head.count"}),
    ("hash edited", lambda rows: [*rows[:-1], changed(rows[-1], head="0" * 64)], "bad_signature", {"head.mismatch"}),
    ("key id edited", lambda rows: [*rows[:-1], changed(rows[-1], key_id="0" * 16)], "malformed", set()),
    ("count a bool", lambda rows: [*rows[:-1], changed(rows[-1], count=True)], "malformed", set()),
    ("count huge", lambda rows: [*rows[:-1], b'{"count":1' + b"0" * 9000 + b"}"], "malformed", set()),
    ("key too short", lambda rows: [*rows[:-1], changed(rows[-1], public_key="AAAA")], "malformed", set()),
    ("head with more", lambda rows: [*rows[:-1], changed(rows[-1], more=1)], "malformed", set()),
    ("head spaced", lambda rows: [*rows[:-1], rows[-1] + b" "], "malformed", {"head.malformed"}),
    ("head a list", lambda rows: [*rows[:-1], b"[]"], "malformed", {"head.malformed"}),
    ("head deep", lambda rows: [*rows[:-1], b"[" * 100_000], "malformed", {"head.malformed"}),
    ("head of surrogates", lambda rows: [*rows[:-1], changed(rows[-1], head="x").replace(b'"x"', b'"\\ud800"')],
     "malformed", {"head.malformed"}),
    ("another's key", other_key, "bad_signature", {"head.signature"}),
    ("head of another run", lambda rows: [*rows[:-1], list(export_log(LogHeader("r-2", PIN), EVENTS, KEY))[-1][:-1]],
     "bad_signature", {"head.signature"}),
    ("header's run edited", lambda rows: [changed(rows[0], run_id="r-2"), *rows[1:]], "bad_signature",
     {"head.signature", "header.foreign"}),
    ("events of another run", lambda rows: [rows[0], *events("r-2"), rows[-1]], "foreign",
     {"header.foreign", "head.mismatch"}),
    ("another world signed", foreign_world, "foreign", {"header.foreign"}),
    ("header newer", lambda rows: [changed(rows[0], version=2), *rows[1:]], "bad_signature", {"header.malformed"}),
    ("header of another format", lambda rows: [changed(rows[0], format="x"), *rows[1:]], "bad_signature",
     {"header.malformed"}),
    ("header no text", lambda rows: [changed(rows[0], run_id=7), *rows[1:]], "bad_signature", {"header.malformed"}),
    ("header no JSON", lambda rows: [b"\xef\xbb\xbf" + rows[0], *rows[1:]], "bad_signature", {"header.malformed"}),
    ("header pin odd", lambda rows: [changed(rows[0], world=[1]), *rows[1:]], "bad_signature", {"header.malformed"}),
    ("blank line", lambda rows: [*rows[:3], b"", *rows[3:]], "count_mismatch", {"file.blank_line", "head.count"}),
    ("blank lines behind", lambda rows: [*rows, b"", b" "], "ok", {"file.blank_line"}),
    ("one line ended CRLF", lambda rows: [*rows[:2], rows[2] + b"\r", *rows[3:]], "ok", {"file.crlf"}),
    ("every line ended CRLF", lambda rows: [row + b"\r" for row in rows], "ok", {"file.crlf"}),
    ("two logs in one", lambda rows: [*rows, *rows], "count_mismatch", {"head.count"}),
]  # fmt: skip


@pytest.mark.parametrize(("change", "state", "codes"), [case[1:] for case in BROKEN], ids=[c[0] for c in BROKEN])
def test_a_broken_log_is_told_apart(change: Callable[[list[bytes]], list[bytes]], state: str, codes: set[str]) -> None:
    log = split_log(joined(change(ROWS)))
    assert check_signed_head(log).state == state
    assert codes <= found(log)
    assert found(log) or not chain_holds(log)


def test_faults_name_the_place() -> None:
    dropped = check_signed_head(split_log(joined([*ROWS[:-2], ROWS[-1]])))
    assert dropped.faults[0].seq == 4
    assert (dropped.signed, dropped.key_id) == (True, KEY.key_id)
    more = check_signed_head(split_log(joined([*ROWS[:-1], ROWS[-2], ROWS[-1]])))
    assert more.faults[0].seq == 5
    ended = split_log(joined([*ROWS[:2], ROWS[2] + b"\r", *ROWS[3:]])).fault("file.")
    assert ended is not None
    assert (ended.verdict, ended.place, ended.seq) == ("integrity", 3, 2)
    assert split_log(joined(ROWS[1:])).place(1) == 1


def test_every_byte_that_changes_is_seen() -> None:
    for place, byte in enumerate(LOG):
        for other in {byte ^ 1, byte ^ 32, 0, ord("\n"), ord(" ")} - {byte}:
            log = split_log(LOG[:place] + bytes([other]) + LOG[place + 1 :])
            if place == len(LOG) - 1 and other == ord("\n"):
                continue
            assert not chain_holds(log) or found(log), (place, other)


@pytest.mark.parametrize(
    "data",
    [b"", b"\n", b" \r\n\t", b"\x00", b"{}", b"[]\n[]", b"null\nnull\nnull", b"\xff" * 1000, b"[" * 200_000, b'"\n"\n'],
)
def test_what_is_no_log_is_said_to_be_none(data: bytes) -> None:
    log = split_log(data)
    assert log.faults
    assert check_signed_head(log).state in ("absent", "malformed")


def test_a_log_over_a_limit_is_read_up_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    long_line = joined([*ROWS[:3], EVENTS[2] + b" " * export.MAX_LINE, *ROWS[3:]])
    log = split_log(long_line)
    assert log.lines == tuple(EVENTS[:2])
    assert found(log) == {"file.limit", "head.absent"}
    monkeypatch.setattr(export, "MAX_LINES", 4)
    fault = split_log(LOG).fault("file.")
    assert fault is not None
    assert (fault.code, fault.place) == ("file.limit", 5)
    monkeypatch.setattr(export, "MAX_BYTES", 100)
    log = split_log(LOG)
    assert (log.lines, found(log)) == ((), {"file.too_large", "head.absent"})


def test_a_largest_file_of_nothing_costs_little() -> None:
    log = split_log(b"x\n" * (export.MAX_BYTES // 2))
    assert log.fault("file.limit") is not None


def test_only_a_first_event_makes_a_header() -> None:
    for line in (b"", b"[]", b"{}", b'{"payload":{"world":{}}}', b'{"payload":[]}', EVENTS[1], b"[" * 200_000):
        assert header_of(line) is None
    assert header_of(canonical(freeze({"run_id": 1, "payload": {"world": PIN.model_dump()}}))) is None
