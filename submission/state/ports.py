"""The doors of the law: what it needs from the world outside, as protocols."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from submission.state.work import Brief, Hit, Judgement, Work


class Conflict(Exception):
    """An append that expected another seq; nothing was written. `seq` is the run's real last seq."""

    def __init__(self, run_id: str, seq: int) -> None:
        super().__init__(f"run {run_id} is at seq {seq}")
        self.run_id, self.seq = run_id, seq


class StoreFailed(Exception):
    """The store could not write or read (disk full, read-only, closed). Nothing of this append was kept."""


class Job(NamedTuple):
    """A worker turn to be run, kept in the same transaction as the STAGE_STARTED that asks for it."""

    run_id: str
    stage_id: str
    attempt: int


class RunHead(NamedTuple):
    """One run in the store: its last seq, and when its first and last event were stamped."""

    run_id: str
    seq: int
    started_at: str
    updated_at: str


class EventStore(Protocol):
    """Append-only lines by run. A line returned by `append` has survived power loss; `events` are
    sealed lines in seq order, the first at expected_seq + 1."""

    async def append(
        self,
        run_id: str,
        expected_seq: int,
        lines: Sequence[bytes],
        jobs: Sequence[Job] = (),
        done: Sequence[Job] = (),
    ) -> int:
        """Write all lines or none and return the new last seq. Raises Conflict when the run's last seq is not
        expected_seq (0: the run must not exist), StoreFailed when it cannot write. `jobs` are added and
        `done` removed in the same transaction."""
        ...

    async def read(self, run_id: str, after: int = 0, limit: int | None = None) -> list[bytes]:
        """The lines after a seq, in order; empty for a run that does not exist."""
        ...

    async def head(self, run_id: str) -> RunHead | None: ...

    async def runs(self, limit: int = 100, before: str | None = None) -> list[RunHead]:
        """Runs by last change, newest first; `before` is the updated_at of the last one already seen. A page ends on
        a whole instant, so it may hold more than `limit` where runs changed in the same millisecond."""
        ...

    async def jobs(self) -> list[Job]:
        """Turns that were asked for and not committed, oldest first."""
        ...

    async def close(self) -> None: ...


Progress = Callable[[str, str], None]
"""(kind, text): what a worker tells the player while it works; never stored."""


class Worker(Protocol):
    async def work(self, brief: Brief, progress: Progress) -> Work:
        """One attempt at a stage. Never raises for a failure of its own: that is `Work.error`."""
        ...


class Judge(Protocol):
    async def judge(self, brief: Brief, work: Work) -> Judgement | None:
        """Scores for the rubric, or None where no model judges and the rubric derives from the floor."""
        ...


class Recall(Protocol):
    def search(self, query: str, limit: int = 2) -> tuple[Hit, ...]: ...


class Clock(Protocol):
    def __call__(self) -> str:
        """Now, UTC, as 2026-12-01T09:30:00.000Z."""
        ...
