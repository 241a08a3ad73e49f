"""No test reaches a network other than this machine's loopback."""

import ipaddress
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest


def is_local(host: object) -> bool:
    """Whether a host is this machine's loopback; a name other than localhost is not looked up to find out."""
    if isinstance(host, bytes | bytearray):
        host = host.decode("ascii", "replace")
    if host in (None, "", "localhost"):
        return True
    try:
        return ipaddress.ip_address(str(host)).is_loopback
    except ValueError:
        return False


def refuse_network(host: object) -> None:
    """Fail the test; pytest's failure is no `Exception`, so an `except OSError` cannot swallow it."""
    if not is_local(host):
        pytest.fail(f"a test tried to reach {host!r}: tests stay on this machine's loopback")


def guarded_connect(connect: Callable[..., Any]) -> Callable[..., Any]:
    """The same connect, for local addresses only; a socket of a file (AF_UNIX) has no host."""

    def guarded(self: socket.socket, address: Any) -> Any:
        if isinstance(address, tuple):
            refuse_network(address[0])
        return connect(self, address)

    return guarded


@pytest.fixture(scope="session", autouse=True)
def loopback_only() -> Iterator[None]:
    """Hold for the whole session, so that no fixture of a wider scope comes before it."""
    look_up = socket.getaddrinfo

    def guarded_look_up(host: Any, *arguments: Any, **options: Any) -> Any:
        refuse_network(host)
        return look_up(host, *arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded_connect(socket.socket.connect))
        patch.setattr(socket.socket, "connect_ex", guarded_connect(socket.socket.connect_ex))
        patch.setattr(socket, "getaddrinfo", guarded_look_up)
        yield
