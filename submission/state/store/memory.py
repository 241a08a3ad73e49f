"""The event store in process memory: for tests and the bulk simulator. What it keeps dies with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from submission.state.ports import Conflict, Job, RunHead, StoreFailed

_AT = b',"at":"'
CLOSED = "the store is closed"


def stamps(run_id: str, lines: Sequence[bytes]) -> tuple[str, str]:
    """When the first and the last of these lines were stamped. Raises ValueError on what no referee appends:
    no line at all, a line of another shape than `chain.seal` gives, a run id that is not text in UTF-8."""
    run_id.encode()
    if not lines:
        raise ValueError("an append carries at least one line")
    if any(b"\n" in line for line in lines):
        raise ValueError("a line holds a newline")
    return _at(lines[0]), _at(lines[-1])


def _at(line: bytes) -> str:
    # In canonical JSON "at" follows "actor", which has no such member, and text in it has its quotes escaped.
    start = line.find(_AT) + len(_AT)
    end = line.find(b'"', start)
    if start < len(_AT) or end < 0:
        raise ValueError("a line has no `at`")
    return line[start:end].decode()


@dataclass(slots=True)
class _Log:
    key: int
    started_at: str
    updated_at: str
    lines: list[bytes] = field(default_factory=list)


class MemoryStore:
    """Belongs to one event loop; an append is atomic because it never awaits."""

    def __init__(self) -> None:
        self._logs: dict[str, _Log] = {}
        self._jobs: dict[Job, None] = {}
        self._closed = False

    async def append(
        self,
        run_id: str,
        expected_seq: int,
        lines: Sequence[bytes],
        jobs: Sequence[Job] = (),
        done: Sequence[Job] = (),
    ) -> int:
        self._require_open()
        started_at, updated_at = stamps(run_id, lines)
        log = self._logs.get(run_id)
        seq = len(log.lines) if log else 0
        if seq != expected_seq:
            raise Conflict(run_id, seq)
        if log is None:
            log = self._logs[run_id] = _Log(len(self._logs), started_at, updated_at)
        log.lines.extend(lines)
        log.updated_at = updated_at
        self._jobs.update(dict.fromkeys(jobs))
        for job in done:
            self._jobs.pop(job, None)
        return len(log.lines)

    async def read(self, run_id: str, after: int = 0, limit: int | None = None) -> list[bytes]:
        self._require_open()
        log, first = self._logs.get(run_id), max(after, 0)
        return log.lines[first : None if limit is None else first + max(limit, 0)] if log else []

    async def head(self, run_id: str) -> RunHead | None:
        self._require_open()
        log = self._logs.get(run_id)
        return _head(run_id, log) if log else None

    async def runs(self, limit: int = 100, before: str | None = None) -> list[RunHead]:
        """A page ends on a whole instant, so it may hold more than `limit`: runs that share the last
        `updated_at` would else be lost between two pages."""
        self._require_open()
        logs = [item for item in self._logs.items() if before is None or item[1].updated_at < before]
        logs.sort(key=lambda item: (item[1].updated_at, item[1].key), reverse=True)
        if 0 < limit < len(logs):
            last = logs[limit - 1][1].updated_at
            logs = [item for item in logs if item[1].updated_at >= last]
        return [_head(run_id, log) for run_id, log in logs] if limit > 0 else []

    async def jobs(self) -> list[Job]:
        self._require_open()
        return list(self._jobs)

    async def close(self) -> None:
        self._closed = True

    def _require_open(self) -> None:
        if self._closed:
            raise StoreFailed(CLOSED)


def _head(run_id: str, log: _Log) -> RunHead:
    return RunHead(run_id, len(log.lines), log.started_at, log.updated_at)
