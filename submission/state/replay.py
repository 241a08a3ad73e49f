"""A log folded into frames. Asks nobody and needs no world pack; a broken log replays up to its break and names it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from submission.state.events import Event
from submission.state.evolve import evolve
from submission.state.refusals import BrokenLog
from submission.state.run import Run


class Frame(NamedTuple):
    """An event, and the run as it left it."""

    event: Event
    run: Run


class Replayed(NamedTuple):
    """`run` is what could be folded: up to the seq that was asked for, or up to the break. None: not one event."""

    run: Run | None
    broken: BrokenLog | None


def frames(events: Iterable[Event]) -> Iterator[Frame]:
    """One frame an event. Raises BrokenLog at the first event that cannot follow, after the frames before it."""
    run: Run | None = None
    for event in events:
        run = evolve(run, event)
        yield Frame(event, run)


def replay(events: Iterable[Event], until: int | None = None) -> Replayed:
    """The run at seq `until` (None: the last). `events` may themselves raise BrokenLog as they are read; what
    stands after `until` is not looked at."""
    run: Run | None = None
    if until is not None and until < 1:
        return Replayed(None, None)
    try:
        for _, run in frames(events):
            if run.seq == until:
                break
    except BrokenLog as broken:
        return Replayed(run, broken)
    return Replayed(run, None)
