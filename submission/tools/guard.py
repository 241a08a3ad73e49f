"""Stands before the app: bodies have a limit, and only the player's own pages reach a local server."""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from submission.state.refusals import RIGHT
from submission.tools.problems import problem

MAX_BODY = 128 * 1024
MAX_LOG = 64 * 1024 * 1024
LOCAL_HOSTS = frozenset({"127.0.0.1", "localhost", "::1"})


class Guard:
    """`hosts` are the names the server answers to, None any. A web page of another site cannot decide a gate: its
    Origin is refused, and a name that was rebound to this machine is no name of ours."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str] | None = LOCAL_HOSTS) -> None:
        self._app, self._hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        code = self._fault(headers, scope["method"])
        if code is not None:
            await problem(403, code, RIGHT[code])(scope, receive, send)
            return
        if scope["method"] in ("GET", "HEAD", "OPTIONS"):
            await self._app(scope, receive, send)
            return
        limit = MAX_LOG if scope["path"] == "/api/replays" else MAX_BODY
        try:
            body = await _read(headers, receive, limit)
        except ClientDisconnect:
            return
        if body is None:
            response = problem(413, "request.too_large", RIGHT["request.too_large"], f"at most {limit:,} bytes")
            await response(scope, receive, send)
            return
        await self._app(scope, _replayed(body, receive), send)

    def _fault(self, headers: Headers, method: str) -> str | None:
        if self._hosts is None:
            return None
        if _hostname(f"//{headers.get('host', '')}") not in self._hosts:
            return "host.not_allowed"
        origin = headers.get("origin")
        if method not in ("GET", "HEAD") and origin is not None and _hostname(origin) not in self._hosts:
            return "origin.not_allowed"
        return None


def _hostname(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None


async def _read(headers: Headers, receive: Receive, limit: int) -> bytes | None:
    """The whole body, or None when it is over the limit. A client that leaves half way has asked for nothing."""
    length = headers.get("content-length", "0")
    if length.isdigit() and int(length) > limit:
        return None
    chunks, size, more = [], 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        chunks.append(message.get("body", b""))
        size += len(chunks[-1])
        if size > limit:
            return None
        more = message.get("more_body", False)
    return b"".join(chunks)


def _replayed(body: bytes, receive: Receive) -> Receive:
    sent = False

    async def replay() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
