"""A client that costs little beside the server it measures: HTTP/1.1 over one kept connection, nothing more."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from typing import NamedTuple

from tests.bench.process import Served

_LENGTH = re.compile(rb"\r\ncontent-length: (\d+)\r\n", re.IGNORECASE)
_MOST_LINE = 2**20


class Answer(NamedTuple):
    status: int
    body: bytes


class Wire:
    """One connection; its requests go one after another."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def to(cls, server: Served) -> Wire:
        return cls(*await asyncio.open_connection("127.0.0.1", server.port, limit=_MOST_LINE))

    async def request(
        self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> Answer:
        """Send a request and read its whole answer, which must say how long it is."""
        self._send(method, path, body, headers or {})
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = _LENGTH.search(head)
        assert length, head
        return Answer(int(head[9:12]), await self._reader.readexactly(int(length[1])))

    async def subscribe(self, path: str) -> None:
        """Begin a stream of server-sent events, and see that it began."""
        self._send("GET", path, b"", {"Accept": "text/event-stream"})
        head = await self._reader.readuntil(b"\r\n\r\n")
        assert head[9:12] == b"200", head

    async def event_ids(self) -> AsyncIterator[int]:
        """The ids of the stream's events, as each arrives."""
        while line := await self._reader.readline():
            if line.startswith(b"id: "):
                yield int(line[4:])

    def close(self) -> None:
        self._writer.close()

    def _send(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> None:
        lines = [f"{method} {path} HTTP/1.1", "Host: localhost", *(f"{name}: {text}" for name, text in headers.items())]
        if body:
            lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
        self._writer.write("\r\n".join([*lines, "", ""]).encode() + body)
