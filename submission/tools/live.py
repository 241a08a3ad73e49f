"""Fan-out of what happens in a run to those who watch it. Loses nothing silently: a gap is seen by its seq."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from submission.state.store.chain import Sealed

MAX_BEHIND = 1_000
"""Messages a watcher may lag before it is cut off and told to resync."""


class Persisted(NamedTuple):
    """An event that is in the log."""

    seq: int
    type: str
    line: bytes


class Progressed(NamedTuple):
    """A worker's word while it works; not in the log."""

    stage_id: str
    kind: str
    text: str


class Lagged(NamedTuple):
    """The watcher fell too far behind and missed messages."""


Message = Persisted | Progressed | Lagged


class Live:
    def __init__(self) -> None:
        self._watchers: dict[str, set[asyncio.Queue[Message]]] = {}

    @contextmanager
    def watch(self, run_id: str) -> Iterator[asyncio.Queue[Message]]:
        """Messages of a run from now on."""
        queue: asyncio.Queue[Message] = asyncio.Queue(MAX_BEHIND)
        self._watchers.setdefault(run_id, set()).add(queue)
        try:
            yield queue
        finally:
            watchers = self._watchers[run_id]
            watchers.discard(queue)
            if not watchers:
                del self._watchers[run_id]

    def publish(self, run_id: str, sealed: Sequence[Sealed]) -> None:
        if run_id in self._watchers:
            for entry in sealed:
                self._send(run_id, Persisted(entry.event.seq, entry.event.type, entry.line))

    def progress(self, run_id: str, stage_id: str, kind: str, text: str) -> None:
        if run_id in self._watchers:
            self._send(run_id, Progressed(stage_id, kind, text))

    def _send(self, run_id: str, message: Message) -> None:
        for queue in self._watchers[run_id]:
            if queue.full():
                while not queue.empty():
                    queue.get_nowait()
                queue.put_nowait(Lagged())
            else:
                queue.put_nowait(message)
