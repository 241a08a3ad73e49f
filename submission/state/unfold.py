"""Collects the events a command causes, folding each as it is added, so that the next is decided on what it left."""

from __future__ import annotations

from submission.state.events import SCHEMA_VERSION, SYSTEM, Actor, Draft, Event, Payload
from submission.state.evolve import GENESIS, evolve
from submission.state.run import Run


class Unfolding:
    """`drafts` so far, and the `run` as they leave it."""

    def __init__(self, run: Run | None, run_id: str = "") -> None:
        self._run, self._run_id = run, run.run_id if run else run_id
        self.drafts: list[Draft] = []

    @property
    def run(self) -> Run:
        assert self._run is not None, "nothing has begun"
        return self._run

    @property
    def seq(self) -> int:
        return self._run.seq if self._run else 0

    def add(self, payload: Payload, actor: Actor = SYSTEM, cause: int | str | None = None) -> int:
        """Add one event and return its seq."""
        head = self._run.head if self._run else GENESIS
        event = Event(self.seq + 1, self._run_id, payload.type, "", actor, payload, cause, SCHEMA_VERSION, head, "")
        self._run = evolve(self._run, event)
        self.drafts.append(Draft(payload, actor, cause))
        return event.seq
