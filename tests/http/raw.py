"""Requests that no polite client sends, byte for byte."""

from __future__ import annotations

import contextlib
import json
import socket
from typing import Any, NamedTuple

from tests.serving import Client


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


def send(client: Client, request: bytes) -> Answer:
    """Send these bytes on a connection of their own, and read the answer to its end. The request must ask for
    `Connection: close`, or the server must close on it."""
    address = client.http.base_url.host, client.http.base_url.port
    with socket.create_connection(address, timeout=10) as connection:
        with contextlib.suppress(ConnectionError):  # the server may answer before it has read all
            connection.sendall(request)
        data = b""
        with contextlib.suppress(ConnectionResetError):
            while chunk := connection.recv(65536):
                data += chunk
    head, _, body = data.partition(b"\r\n\r\n")
    status, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return Answer(int(status.split()[1]), headers, body)


def request(
    method: str, target: str | bytes, headers: dict[str, bytes | str] | None = None, body: bytes | None = None
) -> bytes:
    """A whole request whose target and header values are taken as they are."""
    lines = [b"%s %s HTTP/1.1" % (method.encode(), target if isinstance(target, bytes) else target.encode())]
    fields: dict[str, bytes | str] = {"Host": "127.0.0.1", "Connection": "close", **(headers or {})}
    if body is not None and "Transfer-Encoding" not in fields:
        fields.setdefault("Content-Type", "application/json")
        fields.setdefault("Content-Length", str(len(body)))
    lines += [
        b"%s: %s" % (name.encode(), value if isinstance(value, bytes) else value.encode())
        for name, value in fields.items()
    ]
    return b"\r\n".join(lines) + b"\r\n\r\n" + (body or b"")


def first_line(client: Client, request: bytes, prefix: bytes) -> bytes:
    """The first line of the answer that begins so; the rest is not waited for."""
    address = client.http.base_url.host, client.http.base_url.port
    with socket.create_connection(address, timeout=10) as connection, connection.makefile("rb") as file:
        connection.sendall(request)
        return next((line.strip() for line in file if line.startswith(prefix)), b"")


def hang_up(client: Client, request: bytes) -> None:
    """Send these bytes, send no more, and wait until the server has let go."""
    address = client.http.base_url.host, client.http.base_url.port
    with socket.create_connection(address, timeout=10) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(65536):
            pass
