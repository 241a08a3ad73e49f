"""What is wrong with a pack, said so that its author can go there and mend it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Fault(NamedTuple):
    """`file` is the path inside the worlds folder, such as `venture/stages.yaml`; lines count from 1."""

    file: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}"


class PackFaults(Exception):
    """Every fault that was found, in the order of files and lines, each once."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(sorted(set(faults)))
        super().__init__("\n".join(str(fault) for fault in self.faults))
