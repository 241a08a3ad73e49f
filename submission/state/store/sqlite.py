"""The embedded event store: one SQLite file, one process that owns it, one thread that writes.

Appends queue up; the writer takes what waits, writes it in one transaction with `synchronous=FULL` and answers
after COMMIT, so that many runs share the cost of one flush to disk. Reads happen in the caller's thread on a
connection of their own: they see committed lines only and take less time than handing them to a thread would.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
from collections.abc import Sequence
from itertools import count, repeat
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple, cast

import apsw

from submission.state.ports import Conflict, Job, RunHead, StoreFailed
from submission.state.store.memory import CLOSED, stamps

FILE = "countersign.db"
LOCK_FILE = "countersign.lock"
SCHEMA = 1
BATCH = 256
"""Most appends that share one COMMIT."""
PAGE = 256
"""Most lines read in one go; a longer read lets others have the event loop in between."""

_APPLICATION = 0x43534731
_BUSY_MS = 5_000
# A plain rowid table: lines go to the end of the file whichever run they belong to. Clustered by run
# (WITHOUT ROWID) the same lines cost three times the CPU and the space. The third trigger is there because
# INSERT OR REPLACE deletes without asking the second.
_CREATE = f"""
CREATE TABLE run (
    key INTEGER PRIMARY KEY, run_id TEXT NOT NULL UNIQUE, seq INTEGER NOT NULL,
    started_at TEXT NOT NULL, updated_at TEXT NOT NULL
);
CREATE INDEX run_updated ON run (updated_at);
CREATE TABLE event (
    run INTEGER NOT NULL, seq INTEGER NOT NULL, line BLOB NOT NULL, PRIMARY KEY (run, seq)
);
CREATE TABLE job (
    id INTEGER PRIMARY KEY, run_id TEXT NOT NULL, stage_id TEXT NOT NULL, attempt INTEGER NOT NULL,
    UNIQUE (run_id, stage_id, attempt)
);
CREATE TRIGGER event_unchanged BEFORE UPDATE ON event
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
CREATE TRIGGER event_kept BEFORE DELETE ON event
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
CREATE TRIGGER event_not_replaced BEFORE INSERT ON event
WHEN EXISTS (SELECT 1 FROM event WHERE run = NEW.run AND seq = NEW.seq)
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
PRAGMA application_id = {_APPLICATION};
PRAGMA user_version = {SCHEMA};
"""


class StoreLocked(StoreFailed):
    """Another process owns this data folder."""


class SqliteStore:
    """`open` gives the store that a server owns, `read_only` one that looks at what may have an owner."""

    def __init__(self, path: Path, reader: apsw.Connection, writer: _Writer | None) -> None:
        self._path, self._reader, self._writer = path, reader, writer
        self._closed = False

    @classmethod
    def open(cls, folder: Path) -> SqliteStore:
        """Own this folder, making it if need be. Raises StoreLocked when another process does, StoreFailed
        when it cannot be used. Looks at no event, however many there are."""
        path, lock = folder / FILE, _FolderLock(folder)
        try:
            writer = _connect_to_write(path)
            return cls(path, _connect_to_read(path), _Writer(path, writer, lock))
        except BaseException:
            lock.release()
            raise

    @classmethod
    def read_only(cls, folder: Path) -> SqliteStore:
        """Look at a folder without owning it, also while a server does, and where nothing may be written."""
        path = folder / FILE
        if not os.access(path, os.R_OK):
            raise StoreFailed(f"there is no Countersign data in {folder} that this user may read")
        return cls(path, _connect_to_read(path), None)

    async def append(
        self,
        run_id: str,
        expected_seq: int,
        lines: Sequence[bytes],
        jobs: Sequence[Job] = (),
        done: Sequence[Job] = (),
    ) -> int:
        self._require_open()
        if self._writer is None:
            raise StoreFailed(f"{self._path} was opened to be read only")
        started_at, updated_at = stamps(run_id, lines)
        answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._writer.put(_Append(run_id, expected_seq, tuple(lines), started_at, updated_at, jobs, done, answer))
        return await answer

    async def read(self, run_id: str, after: int = 0, limit: int | None = None) -> list[bytes]:
        lines: list[bytes] = []
        first, left = max(after, 0), sys.maxsize if limit is None else limit
        while left > 0:
            page = [line for (line,) in self._rows(_READ, run_id, first + len(lines), min(left, PAGE))]
            lines += page
            left -= len(page)
            if len(page) < PAGE:
                break
            await asyncio.sleep(0)
        return lines

    async def head(self, run_id: str) -> RunHead | None:
        rows = self._rows(_HEAD, run_id)
        return RunHead(*rows[0]) if rows else None

    async def runs(self, limit: int = 100, before: str | None = None) -> list[RunHead]:
        """A page ends on a whole instant, so it may hold more than `limit`: runs that share the last
        `updated_at` would else be lost between two pages."""
        if limit <= 0:
            return []
        end = "~" if before is None else before
        return [RunHead(*row) for row in self._rows(_RUNS, end, end, limit - 1)]

    async def jobs(self) -> list[Job]:
        return [Job(*row) for row in self._rows(_JOBS)]

    async def close(self) -> None:
        """Write what was asked for, move it from the journal into the database, and let the folder go."""
        if self._closed:
            return
        self._closed = True
        self._reader.close()
        if self._writer is not None:
            await self._writer.close()

    def _rows(self, sql: str, *values: str | int) -> list[Any]:
        self._require_open()
        try:
            return self._reader.execute(sql, values).fetchall()
        except UnicodeEncodeError:
            return []  # no run has a lone surrogate in its id
        except apsw.Error as error:
            raise _failed(self._path, error) from error

    def _require_open(self) -> None:
        if self._closed:
            raise StoreFailed(CLOSED)


_READ = """SELECT line FROM event WHERE run = (SELECT key FROM run WHERE run_id = ?) AND seq > ?
ORDER BY seq LIMIT ?"""
_HEAD = "SELECT run_id, seq, started_at, updated_at FROM run WHERE run_id = ?"
_RUNS = """SELECT run_id, seq, started_at, updated_at FROM run WHERE updated_at < ? AND updated_at >= coalesce(
    (SELECT updated_at FROM run WHERE updated_at < ? ORDER BY updated_at DESC LIMIT 1 OFFSET ?), '')
ORDER BY updated_at DESC, key DESC"""
_JOBS = "SELECT run_id, stage_id, attempt FROM job ORDER BY id"


class _Append(NamedTuple):
    run_id: str
    expected_seq: int
    lines: tuple[bytes, ...]
    started_at: str
    updated_at: str
    jobs: Sequence[Job]
    done: Sequence[Job]
    answer: asyncio.Future[int]


_Outcome = int | Conflict | StoreFailed


class _Writer:
    """The one thread that writes. It answers each append once, whatever happens."""

    def __init__(self, path: Path, connection: apsw.Connection, lock: _FolderLock) -> None:
        self._path, self._connection, self._lock = path, connection, lock
        self._queue: SimpleQueue[_Append | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="countersign-writer", daemon=True)
        self._thread.start()

    def put(self, item: _Append) -> None:
        self._queue.put(item)

    async def close(self) -> None:
        self._queue.put(None)
        await asyncio.to_thread(self._thread.join)

    def _work(self) -> None:
        while batch := self._take():
            _answer(batch, self._flush(batch))
        # What cannot be moved out of the journal now is moved by the next start.
        with contextlib.suppress(apsw.Error):
            self._connection.pragma("wal_checkpoint", "truncate")
        self._connection.close()
        self._lock.release()

    def _take(self) -> list[_Append]:
        """What waits, at most a batch; waits for the first. Nothing once the store is closing and all is done."""
        batch: list[_Append] = []
        item = self._queue.get()
        while item is not None:
            batch.append(item)
            if len(batch) == BATCH or self._queue.empty():
                return batch
            item = self._queue.get()
        if batch:
            self._queue.put(None)
        return batch

    def _flush(self, batch: list[_Append]) -> list[_Outcome]:
        """Write a batch in one transaction: each append succeeds or conflicts on its own, or all fail."""
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            outcomes = [self._write(item) for item in batch]
            self._connection.execute("COMMIT")
            return outcomes
        except Exception as error:
            with contextlib.suppress(apsw.Error):
                self._connection.execute("ROLLBACK")
            return [_failed(self._path, error) for _ in batch]

    def _write(self, item: _Append) -> _Outcome:
        execute = self._connection.execute
        seq = item.expected_seq + len(item.lines)
        if item.expected_seq == 0:
            rows = execute(_BEGIN_RUN, (item.run_id, seq, item.started_at, item.updated_at)).fetchall()
        else:
            rows = execute(_MOVE_RUN, (seq, item.updated_at, item.run_id, item.expected_seq)).fetchall()
        if not rows:
            found = execute("SELECT seq FROM run WHERE run_id = ?", (item.run_id,)).fetchall()
            return Conflict(item.run_id, cast(int, found[0][0]) if found else 0)
        events = zip(repeat(rows[0][0]), count(item.expected_seq + 1), item.lines)
        self._connection.executemany("INSERT INTO event VALUES (?, ?, ?)", events)
        for job in item.jobs:
            execute("INSERT OR IGNORE INTO job (run_id, stage_id, attempt) VALUES (?, ?, ?)", job)
        for job in item.done:
            execute("DELETE FROM job WHERE run_id = ? AND stage_id = ? AND attempt = ?", job)
        return seq


_BEGIN_RUN = """INSERT INTO run (run_id, seq, started_at, updated_at) VALUES (?, ?, ?, ?)
ON CONFLICT (run_id) DO NOTHING RETURNING key"""
_MOVE_RUN = "UPDATE run SET seq = ?, updated_at = ? WHERE run_id = ? AND seq = ? RETURNING key"


def _answer(batch: list[_Append], outcomes: list[_Outcome]) -> None:
    """Wake the appends' loop (there is one, but in tests) once for the whole batch."""
    loops: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[int], _Outcome]]] = {}
    for item, outcome in zip(batch, outcomes, strict=True):
        loops.setdefault(item.answer.get_loop(), []).append((item.answer, outcome))
    for loop, answers in loops.items():
        with contextlib.suppress(RuntimeError):  # the loop has closed and nobody waits
            loop.call_soon_threadsafe(_deliver, answers)


def _deliver(answers: list[tuple[asyncio.Future[int], _Outcome]]) -> None:
    for answer, outcome in answers:
        if answer.done():  # whoever asked was cancelled; what was written stays written
            continue
        if isinstance(outcome, Exception):
            answer.set_exception(outcome)
        else:
            answer.set_result(outcome)


def _connect_to_write(path: Path) -> apsw.Connection:
    """The writing connection, to a database that is made if it is not there. Everything that makes it is one
    transaction, so a start that dies leaves nothing half made."""
    try:
        if not path.exists():
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))  # SQLite would let others read it
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        if connection.readonly("main"):
            raise StoreFailed(f"{path} may not be written; give this user the right to")
        connection.set_busy_timeout(_BUSY_MS)
        fresh = _is_fresh(connection, path)
        connection.pragma("page_size", 8192)
        if connection.pragma("journal_mode", "wal") != "wal":
            raise StoreFailed(f"{path} stands on a disk that SQLite's write-ahead log does not work on")
        connection.pragma("synchronous", "full")
        connection.pragma("wal_autocheckpoint", 1024)
        connection.pragma("journal_size_limit", 64 * 2**20)
        if fresh:
            connection.execute(f"BEGIN IMMEDIATE; {_CREATE} COMMIT")
        return connection
    except (apsw.Error, OSError) as error:
        raise _failed(path, error) from error


def _connect_to_read(path: Path) -> apsw.Connection:
    """A reading connection. Where SQLite cannot make its side files, as on a read-only disk, the database is
    read as one that nobody changes, which holds when no journal stands beside it."""
    try:
        return _reader(path, str(path))
    except (apsw.CantOpenError, apsw.ReadOnlyError) as error:
        journal = path.with_name(f"{path.name}-wal")
        if journal.exists() and journal.stat().st_size:
            raise _failed(path, error) from error
    except apsw.Error as error:
        raise _failed(path, error) from error
    try:
        return _reader(path, f"{path.absolute().as_uri()}?immutable=1")
    except apsw.Error as error:
        raise _failed(path, error) from error


def _reader(path: Path, name: str) -> apsw.Connection:
    connection = apsw.Connection(name, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    connection.set_busy_timeout(_BUSY_MS)
    if _is_fresh(connection, path):
        raise StoreFailed(f"there is no Countersign data in {path.parent}")
    return connection


def _is_fresh(connection: apsw.Connection, path: Path) -> bool:
    """Whether nothing was ever kept here. Raises StoreFailed when it is not ours, or newer than we are."""
    application, version = connection.pragma("application_id"), connection.pragma("user_version")
    if application == _APPLICATION:
        if version > SCHEMA:
            raise StoreFailed(
                f"{path} was written by a newer Countersign (schema {version}; this one knows up to {SCHEMA})"
            )
        return False
    if application or version or connection.execute("SELECT 1 FROM sqlite_schema").fetchall():
        raise StoreFailed(f"{path} belongs to another program; it is not a Countersign database")
    return True


_WHAT: tuple[tuple[type[Exception], str], ...] = (
    (apsw.FullError, "the disk is full: {path} cannot grow. Free some space and try again"),
    (apsw.NotADBError, "{path} is not a Countersign database, or it is damaged"),
    (apsw.CorruptError, "{path} is damaged; restore it from a copy"),
    (apsw.ReadOnlyError, "{path} may not be written"),
    (apsw.CantOpenError, "{path} and its side files cannot be opened or made"),
    (apsw.BusyError, "another program holds {path}"),
    (apsw.IOError, "the disk failed under {path}, or is full"),
    (OSError, "{path} cannot be used"),
)


def _failed(path: Path, error: Exception) -> StoreFailed:
    """What happened as a sentence, with SQLite's own words."""
    what = next((what for kind, what in _WHAT if isinstance(error, kind)), "{path} cannot be used")
    return StoreFailed(f"{what.format(path=path)} ({error})")


class _FolderLock:
    """Holds a folder for this process until released, or until the process ends in whatever way."""

    def __init__(self, folder: Path) -> None:
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._handle = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise StoreFailed(f"the data folder {folder} cannot be written ({error.strerror})") from error
        try:
            _lock(self._handle)
            os.ftruncate(self._handle, 0)
            os.write(self._handle, str(os.getpid()).encode())
        except BlockingIOError:
            os.lseek(self._handle, 0, os.SEEK_SET)
            owner = os.read(self._handle, 20).decode("ascii", "replace")
            os.close(self._handle)
            raise StoreLocked(
                f"another Countersign server (process {owner or 'unknown'}) uses the data folder {folder}; "
                "stop it, or choose another folder"
            ) from None
        except OSError as error:
            os.close(self._handle)
            raise StoreFailed(f"the data folder {folder} cannot be locked ({error.strerror})") from error

    def release(self) -> None:
        os.close(self._handle)


if sys.platform == "win32":
    import msvcrt

    def _lock(handle: int) -> None:
        # A byte far behind the process number, which others may then still read.
        os.lseek(handle, 1024, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except PermissionError as error:
            raise BlockingIOError from error
        os.lseek(handle, 0, os.SEEK_SET)

else:
    import fcntl

    def _lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
