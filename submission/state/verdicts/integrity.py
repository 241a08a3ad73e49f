"""Integrity: whether each line is what its hash was made of, and whether the lines link."""

from __future__ import annotations

from submission.state.evolve import GENESIS
from submission.state.verdicts.lines import Fault, Line, Verdict, count, failed, not_checkable, passed


class Integrity:
    """Follows the chain. The hash a line ends in stands for it, so one edited line is one fault and not two."""

    def __init__(self) -> None:
        self._fault: Fault | None = None
        self._seen, self._head, self._run_id = 0, GENESIS, ""

    def see(self, line: Line) -> None:
        self._seen += 1
        if line.link is not None:
            self._run_id = self._run_id or line.link.run_id
        why = line.unsealed or self._unlinked(line)
        if why and self._fault is None:
            self._fault = Fault(line.seq, why)
        self._head = line.digest

    def _unlinked(self, line: Line) -> str:
        link = line.link
        if link is None:
            return "what the line links to cannot be read"
        if link.seq != line.seq:
            return f"an event that says it is seq {link.seq} stands in its place"
        if link.run_id != self._run_id:
            return "the event belongs to another run"
        if link.prev_hash != self._head:
            return "prev_hash is not the hash of the event before"
        return ""

    def verdict(self) -> Verdict:
        if self._fault is not None:
            return failed("integrity", self._fault)
        if not self._seen:
            return not_checkable("integrity", Fault(0, "There is no event to check"))
        says = f"{count(self._seen, 'event')}: each line hashes to what it says and names the hash before it."
        return passed("integrity", says)
