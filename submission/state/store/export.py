"""`log.jsonl`: a run as one file that proves itself, written and read.

    {"format":"countersign-log","run_id":…,"version":1,"world":{"id":…,"sha256":…,"version":…}}
    one stored line an event, byte for byte
    {"count":N,"head":<hash of the last event>,"key_id":…,"public_key":…,"signature":…}

The Ed25519 signature covers the canonical bytes of
{"count","format","head","header_sha256","run_id","version"}, `header_sha256` being that of the first line's
bytes. The reader here raises for nothing: what it finds wrong are faults beside what could still be read.
Whether the chain holds is not its question; see `chain.unseal`.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from submission.state.canonical import canonical, sha256
from submission.state.evolve import GENESIS
from submission.state.world import WorldPin

FORMAT = "countersign-log"
VERSION = 1

MAX_BYTES = 64 * 2**20
MAX_LINES = 2_000_000
MAX_LINE = 256 * 2**10


class Signer(Protocol):
    """A signing key, as `keys.SigningKey` is one. `public_key` is the 32 raw bytes."""

    @property
    def key_id(self) -> str: ...

    @property
    def public_key(self) -> bytes: ...

    def sign(self, data: bytes) -> bytes: ...


@dataclass(frozen=True, slots=True)
class LogHeader:
    """Which run a log holds and the world it was started with."""

    run_id: str
    world: WorldPin

    def line(self) -> bytes:
        return canonical(
            {
                "format": FORMAT,
                "version": VERSION,
                "run_id": self.run_id,
                "world": {"id": self.world.id, "version": self.world.version, "sha256": self.world.sha256},
            }
        )


@dataclass(frozen=True, slots=True)
class SignedHead:
    """The last line: how many events the log has, the hash of the last one, and who vouches for both."""

    count: int
    head: str
    key_id: str
    public_key: bytes
    signature: bytes

    def line(self) -> bytes:
        return canonical(
            {
                "count": self.count,
                "head": self.head,
                "key_id": self.key_id,
                "public_key": base64.b64encode(self.public_key).decode(),
                "signature": base64.b64encode(self.signature).decode(),
            }
        )


Verdict = Literal["integrity", "completeness", "schema"]


class LogFault(NamedTuple):
    """What is wrong with the file. `code` is stable, `place` the line from 1 (0: the file as a whole),
    `seq` the event it concerns or the first one that is missing, None where it concerns none."""

    code: str
    why: str
    verdict: Verdict
    place: int = 0
    seq: int | None = None


@dataclass(frozen=True, slots=True)
class ParsedLog:
    """A log file taken apart. Either `header` or one fault `header.…` stands, and either `signed_head` or one
    fault `head.…`. `lines` are the events as they stand, without line ends, up to the first line that is over
    a limit: the event at seq n is `lines[n - 1]` and stands in the file at line `place(n)`."""

    header: LogHeader | None
    header_sha256: str | None
    """Of the first line's bytes, also where they could not be read as a header; None when it is an event."""
    lines: tuple[bytes, ...]
    signed_head: SignedHead | None
    faults: tuple[LogFault, ...]

    def place(self, seq: int) -> int:
        return seq if self.header_sha256 is None else seq + 1

    def fault(self, prefix: str) -> LogFault | None:
        """The first fault whose code begins so: "header.", "head.", "file."."""
        return next((fault for fault in self.faults if fault.code.startswith(prefix)), None)


HeadState = Literal["ok", "absent", "malformed", "bad_signature", "foreign", "count_mismatch", "head_mismatch"]


@dataclass(frozen=True, slots=True)
class HeadCheck:
    """What the signed head is worth: `state` is the gravest finding, `faults` are all of them. `key_id` names
    the signer where the signature holds (`signed`), even if the events are no longer those it covers."""

    state: HeadState
    signed: bool
    key_id: str | None
    faults: tuple[LogFault, ...] = ()


def export_log(header: LogHeader, lines: Iterable[bytes], key: Signer) -> Iterator[bytes]:
    """The file in pieces, each one line with its newline; holds one event at a time."""
    first, count, head = header.line(), 0, GENESIS
    yield first + b"\n"
    for line in lines:
        count, head = count + 1, line_hash(line)
        yield line + b"\n"
    signature = key.sign(_signed_bytes(header.run_id, sha256(first), count, head))
    yield SignedHead(count, head, key.key_id, key.public_key, signature).line() + b"\n"


def line_hash(line: bytes) -> str:
    """The hash a stored line says it has."""
    return line[-66:-2].decode("ascii", "replace")


def header_of(line: bytes) -> LogHeader | None:
    """The header that a run's first event asks for; None when the line is no RUN_STARTED."""
    try:
        fields = json.loads(line)
        world = fields["payload"]["world"]
        pin = WorldPin(id=world["id"], version=world["version"], sha256=world["sha256"])
        return LogHeader(fields["run_id"], pin) if isinstance(fields["run_id"], str) else None
    except (ValueError, RecursionError, KeyError, TypeError):
        return None


def public_key_id(public_key: bytes) -> str:
    """The short name of a key: the first 16 hex digits of the SHA-256 of its raw public half."""
    return sha256(public_key)[:16]


def split_log(data: bytes) -> ParsedLog:
    """Take a file apart without judging its chain. A last newline may be missing. Line ends written as CRLF
    are a fault of integrity, for hashes cover bytes; the lines are read all the same, without it."""
    if len(data) > MAX_BYTES:
        return _nothing(LogFault("file.too_large", f"the file is over {MAX_BYTES >> 20} MiB", "schema"))
    if not data or data.isspace():
        return _nothing(LogFault("file.empty", "the file is empty", "completeness", seq=1))
    rows, faults = _rows(data)
    last = rows.pop() if rows and not _is_event(rows[-1]) and _is_head(rows[-1], len(rows)) else None
    first = rows.pop(0) if rows and not _is_event(rows[0]) else None
    header = head = header_sha256 = None
    if first is None:
        faults.append(LogFault("header.absent", "the first line is no header", "completeness", 1))
    else:
        header, header_sha256 = _take(_read_header, first, "header", 1, faults), sha256(first)
    if last is None:
        faults.append(_absent(len(rows)))
    else:
        head = _take(_read_head, last, "head", len(rows) + (2 if first else 1), faults)
    return ParsedLog(header, header_sha256, tuple(rows), head, tuple(faults))


def check_signed_head(log: ParsedLog) -> HeadCheck:
    """Whether the signature holds, and whether the header and the events are those it was made for."""
    head, faults = log.signed_head, _foreign(log)
    if head is None:
        fault = log.fault("head.") or _absent(len(log.lines))
        state: HeadState = "absent" if fault.code == "head.absent" else "malformed"
        return HeadCheck(state, False, None, (fault, *faults))
    signed = log.header is not None and _signature_holds(head, log.header, log.header_sha256 or "")
    if not signed:
        why = "the signature does not cover this header and this head"
        faults.insert(0, LogFault("head.signature", why, "integrity"))
    faults += _mismatches(log, head)
    state = _STATES[faults[0].code] if faults else "ok"
    return HeadCheck(state, signed, head.key_id if signed else None, tuple(faults))


_STATES: dict[str, HeadState] = {
    "head.signature": "bad_signature",
    "header.foreign": "foreign",
    "head.count": "count_mismatch",
    "head.mismatch": "head_mismatch",
}


def _rows(data: bytes) -> tuple[list[bytes], list[LogFault]]:
    """The file's lines within the limits, and a fault for each kind of thing that is wrong with them."""
    rows: list[bytes] = []
    faults: dict[str, LogFault] = {}
    for place, row in enumerate(data.removesuffix(b"\n").split(b"\n", MAX_LINES), 1):
        if place > MAX_LINES or len(row) > MAX_LINE:
            why = f"the log has over {MAX_LINES:,} lines" if place > MAX_LINES else _TOO_LONG
            _note(faults, "file.limit", why, place)
            break
        if row.endswith(b"\r"):
            row = row[:-1]
            _note(faults, "file.crlf", "the line ends were changed to CRLF", place)
        if not row.strip():
            _note(faults, "file.blank_line", "a blank line stands in the log", place)
        rows.append(row)
    while rows and not rows[-1].strip():  # an editor's, behind the head
        rows.pop()
    return rows, list(faults.values())


_TOO_LONG = f"the line is over {MAX_LINE >> 10} KiB; it and what follows are not read"


def _note(faults: dict[str, LogFault], code: str, why: str, place: int) -> None:
    """Keep the first fault of its code; in the file an event stands one line below its seq."""
    verdict: Verdict = "schema" if code == "file.limit" else "integrity"
    faults.setdefault(code, LogFault(code, why, verdict, place, place - 1 or None))


def _is_event(row: bytes) -> bool:
    return row.startswith(b'{"actor":') or b'"prev_hash":' in row


def _is_head(row: bytes, rows: int) -> bool:
    """A lone line is taken for a header unless it can only be a head."""
    return rows > 1 or row.startswith(b'{"count":')


_Part = TypeVar("_Part", LogHeader, SignedHead)


def _take(
    read: Callable[[dict[str, Any]], _Part], row: bytes, part: str, place: int, faults: list[LogFault]
) -> _Part | None:
    """What `read` makes of the line, or None and a fault."""
    try:
        value = read(json.loads(row))
        if value.line() != row:
            raise ValueError("it is not written in canonical JSON")
        return value
    except (ValueError, RecursionError, KeyError, TypeError) as error:
        # Only the ValueErrors raised here are sentences; those of json, base64 and pydantic are subclasses.
        why = str(error) if type(error) is ValueError else "it is not of the documented shape"
        faults.append(LogFault(f"{part}.malformed", f"the {part} cannot be read: {why}", "schema", place))
        return None


def _read_header(fields: dict[str, Any]) -> LogHeader:
    if fields["format"] != FORMAT:
        raise ValueError(f"its format is not {FORMAT}")
    if fields["version"] != VERSION:
        raise ValueError(f"it is of version {fields['version']!r:.40}; this program reads version {VERSION}")
    if type(fields["run_id"]) is not str:
        raise ValueError("run_id is not text")
    return LogHeader(fields["run_id"], WorldPin(**fields["world"]))


def _read_head(fields: dict[str, Any]) -> SignedHead:
    public_key = base64.b64decode(fields["public_key"], validate=True)
    signature = base64.b64decode(fields["signature"], validate=True)
    if fields["key_id"] != public_key_id(public_key):
        raise ValueError("key_id is not that of public_key")
    if type(fields["count"]) is not int or type(fields["head"]) is not str:
        raise ValueError("count is a whole number and head is a hash")
    return SignedHead(fields["count"], fields["head"], fields["key_id"], public_key, signature)


def _signed_bytes(run_id: str, header_sha256: str, count: int, head: str) -> bytes:
    return canonical(
        {
            "format": FORMAT,
            "version": VERSION,
            "run_id": run_id,
            "header_sha256": header_sha256,
            "count": count,
            "head": head,
        }
    )


def _signature_holds(head: SignedHead, header: LogHeader, header_sha256: str) -> bool:
    try:
        key = Ed25519PublicKey.from_public_bytes(head.public_key)
        key.verify(head.signature, _signed_bytes(header.run_id, header_sha256, head.count, head.head))
    except (InvalidSignature, ValueError):
        return False
    return True


def _foreign(log: ParsedLog) -> list[LogFault]:
    """Faults where the header names another run or world than the first event does."""
    first = header_of(log.lines[0]) if log.lines else None
    if first is None or log.header is None or first == log.header:
        return []
    what = "run" if first.run_id != log.header.run_id else "world"
    return [LogFault("header.foreign", f"the header names another {what} than event 1", "integrity", 1, 1)]


def _mismatches(log: ParsedLog, head: SignedHead) -> list[LogFault]:
    """Faults where the events are not as many, or do not end, as the head says."""
    count, faults = len(log.lines), []
    if head.count != count:
        why = f"the head counts {head.count} events and {count} stand here"
        faults.append(LogFault("head.count", why, "completeness", seq=min(count, max(head.count, 0)) + 1))
    last = line_hash(log.lines[-1]) if log.lines else GENESIS
    if head.head != last:
        why = "the head is not the hash of the last event here"
        faults.append(LogFault("head.mismatch", why, "completeness", seq=count or None))
    return faults


def _absent(events: int) -> LogFault:
    return LogFault("head.absent", "the last line is no signed head", "completeness", seq=events + 1)


def _nothing(fault: LogFault) -> ParsedLog:
    return ParsedLog(None, None, (), None, (fault,))
