"""The floor: the least that any server of these bytes with this durability does, with the same libraries."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

import apsw
from fastapi import FastAPI, Request
from starlette.responses import Response, StreamingResponse

from tests.bench.served import serve

_BATCH = 256


class _Rows(NamedTuple):
    rows: list[tuple[int, int, bytes]]
    kept: asyncio.Future[None]


class BareLog:
    """Bare group commit: rows wait in a queue, one thread inserts what waits and commits it to the disk. It
    checks nothing, knows no jobs and stops for no error."""

    def __init__(self, folder: Path) -> None:
        self._connection = apsw.Connection(str(folder / "floor.db"))
        for pragma in ("page_size=8192", "journal_mode=wal", "synchronous=full", "wal_autocheckpoint=1024"):
            self._connection.execute(f"PRAGMA {pragma}").fetchall()
        self._connection.execute(
            "CREATE TABLE IF NOT EXISTS event (run INTEGER, seq INTEGER, line BLOB NOT NULL, PRIMARY KEY (run, seq))"
        )
        self._queue: SimpleQueue[_Rows | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._write, daemon=True)
        self._thread.start()

    async def append(self, run: int, seq: int, lines: Sequence[bytes]) -> None:
        """Keep these lines behind `seq`."""
        kept = asyncio.get_running_loop().create_future()
        self._queue.put(_Rows([(run, seq + at, line) for at, line in enumerate(lines, 1)], kept))
        await kept

    def close(self) -> None:
        self._queue.put(None)
        self._thread.join()
        self._connection.close()

    def _write(self) -> None:
        while batch := self._take():
            self._connection.execute("BEGIN IMMEDIATE")
            for rows, _ in batch:
                self._connection.executemany("INSERT INTO event VALUES (?, ?, ?)", rows)
            self._connection.execute("COMMIT")
            batch[0].kept.get_loop().call_soon_threadsafe(_tell, batch)

    def _take(self) -> list[_Rows]:
        """What waits, at least one; nothing at the end."""
        batch: list[_Rows] = []
        item = self._queue.get()
        while item is not None:
            batch.append(item)
            if len(batch) == _BATCH or self._queue.empty():
                break
            item = self._queue.get()
        return batch


def _tell(batch: Sequence[_Rows]) -> None:
    for item in batch:
        if not item.kept.done():
            item.kept.set_result(None)


class Step(NamedTuple):
    """One request of a tape: what it sends, what it makes the log keep, and what it gets back."""

    method: str
    body: str
    lines: list[str]
    answer: str


def bare_app(log: BareLog) -> FastAPI:
    """One endpoint that keeps bytes and gives bytes back. `PUT /tapes` tells it which, so that nothing of that
    is done while it is measured."""
    app = FastAPI()
    tapes: list[list[tuple[list[bytes], bytes]]] = []
    listeners: set[asyncio.Queue[bytes]] = set()
    runs: dict[tuple[str, int], int] = {}
    said: list[int] = []

    @app.put("/tapes")
    async def load(request: Request) -> Response:
        tapes[:] = [
            [([line.encode() for line in step[2]], step[3].encode()) for step in tape]
            for tape in json.loads(await request.body())
        ]
        return Response(b"")

    @app.get("/steps/{take}/{tape}/{step}")
    @app.post("/steps/{take}/{tape}/{step}")
    async def step(request: Request, take: str, tape: int, step: int) -> Response:
        if request.method == "POST":
            await request.body()
        lines, answer = tapes[tape][step]
        if lines:
            run = runs.setdefault((take, tape), len(runs))
            await log.append(run, step * 100, lines)
        return Response(answer, media_type="application/json")

    @app.delete("/said")
    async def forget() -> Response:
        said.clear()
        return Response(b"")

    @app.get("/said")
    async def when() -> Response:
        return Response(json.dumps(said))

    @app.post("/said")
    async def say(request: Request) -> Response:
        body = await request.body()
        said.append(time.monotonic_ns())
        for listener in listeners:
            listener.put_nowait(body)
        return Response(b"")

    @app.get("/stream")
    async def stream() -> StreamingResponse:
        return StreamingResponse(_heard(listeners), media_type="text/event-stream")

    return app


async def _heard(listeners: set[asyncio.Queue[bytes]]) -> AsyncIterator[bytes]:
    queue: asyncio.Queue[bytes] = asyncio.Queue()
    listeners.add(queue)
    try:
        while True:
            yield await queue.get()
    finally:
        listeners.discard(queue)


if __name__ == "__main__":
    serve(bare_app(BareLog(Path(sys.argv[1]))), int(sys.argv[2]))
