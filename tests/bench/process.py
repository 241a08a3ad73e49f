"""Servers in processes of their own, and what the system says they use."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
TICK = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
CAN_MEASURE = Path("/proc/self/stat").exists()
"""Whether this system tells one process what another uses; macOS and Windows do not tell it here."""


class Served(NamedTuple):
    """A server that listens on a loopback port."""

    pid: int
    port: int

    def cpu(self) -> float:
        """Seconds of CPU of all its threads so far, to 10 ms."""
        after_name = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(after_name[11]) + int(after_name[12])) / TICK

    def resident_mb(self) -> float:
        """Resident memory in MB of 10**6 bytes."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        kib = next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS"))
        return int(kib) * 1024 / 1e6


@contextmanager
def side_by_side() -> Iterator[tuple[Served, Served]]:
    """Our server and the floor's, each over a data folder of its own."""
    with ExitStack() as stack:
        ours, floor = (Path(stack.enter_context(TemporaryDirectory())) for _ in range(2))
        yield (
            stack.enter_context(serving("tests.bench.served", ours)),
            stack.enter_context(serving("tests.bench.floor", floor)),
        )


@contextmanager
def serving(module: str, data: Path) -> Iterator[Served]:
    """Run `python -m module DATA FD` until the block ends; it serves the listener it inherits as FD and says
    so with one line on stdout."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(1024)
        listener.set_inheritable(True)
        command = [sys.executable, "-m", module, str(data), str(listener.fileno())]
        server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, pass_fds=[listener.fileno()])
        try:
            assert server.stdout is not None
            assert server.stdout.readline(), f"{module} did not start"
            yield Served(server.pid, listener.getsockname()[1])
        finally:
            server.terminate()
            server.wait(20)
