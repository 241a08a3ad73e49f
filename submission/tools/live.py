"""Fan-out of what happens in a run to those who watch it. Loses nothing silently: a gap is seen by its seq."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from submission.state.canonical import canonical
from submission.state.store.chain import Sealed

MAX_BEHIND = 1_000
"""Messages a watcher may lag before it is cut off and told to resync."""


def frame(event: str, data: bytes) -> bytes:
    """One server-sent event; canonical JSON has no line breaks to fold."""
    return b"event: %b\ndata: %b\n\n" % (event.encode(), data)


def event_frame(seq: int, line: bytes) -> bytes:
    """A stored line as a server-sent event, made once for all who watch. A line ends in its type and its hash."""
    start = line.rindex(b'"type":"') + 8
    return b"event: %b\ndata: %b\nid: %d\n\n" % (line[start : line.index(b'"', start)], line, seq)


class Persisted(NamedTuple):
    """An event that is in the log."""

    seq: int
    frame: bytes


class Progressed(NamedTuple):
    """A worker's word while it works; not in the log."""

    frame: bytes


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
                self._send(run_id, Persisted(entry.event.seq, event_frame(entry.event.seq, entry.line)))

    def progress(self, run_id: str, stage_id: str, kind: str, text: str) -> None:
        if run_id in self._watchers:
            said = canonical({"stage_id": stage_id, "kind": kind, "text": text.encode("utf-8", "replace").decode()})
            self._send(run_id, Progressed(frame("progress", said)))

    def _send(self, run_id: str, message: Message) -> None:
        for queue in self._watchers[run_id]:
            if queue.full():
                while not queue.empty():
                    queue.get_nowait()
                queue.put_nowait(Lagged())
            else:
                queue.put_nowait(message)
