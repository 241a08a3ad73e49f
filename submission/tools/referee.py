"""Handles one command: load, fold, decide, append. The only caller of `store.append`."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from weakref import WeakValueDictionary

from submission.state.commands import Command, StartRun, StartStage, SubmitArtifact
from submission.state.decide import decide
from submission.state.events import Event
from submission.state.evolve import GENESIS, fold
from submission.state.ports import Clock, Conflict, EventStore, Job
from submission.state.receipt import MAX_EVENTS, Receipt, receipt
from submission.state.refusals import Refused, refuse
from submission.state.run import Run
from submission.state.store.chain import Sealed, seal, unseal
from submission.state.world import World
from submission.tools.live import Live
from submission.tools.scrub import scrubbed

CACHED_RUNS = 512
MAX_TRIES = 8


class Handled(NamedTuple):
    """The run after a command and the events it caused (none when it had been done before)."""

    run: Run
    sealed: Sequence[Sealed]


class Kept(NamedTuple):
    """A run as folded, and the events of its last command, which are the ones asked for next."""

    run: Run
    tail: tuple[Event, ...]


class Referee:
    """Keeps the newest runs folded. Commands on one run are handled one after another; the store's expected
    seq guards against any other writer."""

    def __init__(self, store: EventStore, worlds: Mapping[str, World], clock: Clock, live: Live) -> None:
        self.store, self.worlds, self.live = store, worlds, live
        self._clock = clock
        self._runs: OrderedDict[str, Kept] = OrderedDict()
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def start(self, run_id: str, world_id: str, command: StartRun) -> Handled:
        """Begin a run. Refuses an unknown world and a run id that is taken."""
        return await self._handle(run_id, command, self.world(world_id))

    async def handle(self, run_id: str, command: Command) -> Handled:
        """One command on a run that exists. A refusal that names a decision carries its receipt."""
        run = await self.load(run_id)
        try:
            return await self._handle(run_id, command, self.world(run.world.id))
        except Refused as refusal:
            seq = refusal.extra.pop("decision_seq", None)
            if seq is not None:
                refusal.extra["receipt"] = await self.receipt(run_id, seq)
            raise

    def world(self, world_id: str) -> World:
        world = self.worlds.get(world_id)
        if world is None:
            refuse("world.unknown", f"no world {world_id[:40]!r}")
        return world

    async def load(self, run_id: str) -> Run:
        """The run as its whole log makes it. Refuses an unknown run."""
        kept = self._runs.get(run_id)
        if kept is not None:
            return kept.run
        run = fold(await self.events(run_id))
        if run is None:
            refuse("run.unknown", f"no run {run_id[:40]!r}")
        self._keep(run, ())
        return run

    async def events(self, run_id: str, after: int = 0, limit: int | None = None) -> list[Event]:
        """Events after a seq, their hashes checked."""
        kept = self._runs.get(run_id)
        if kept and kept.tail and kept.tail[0].seq <= after + 1:
            tail = kept.tail[after + 1 - kept.tail[0].seq :]
            return list(tail if limit is None else tail[:limit])
        lines = await self.store.read(run_id, after, limit)
        return [unseal(line, seq) for seq, line in enumerate(lines, after + 1)]

    async def receipt(self, run_id: str, decision_seq: int) -> Receipt:
        """The receipt of the decision made at this seq."""
        return receipt(await self.events(run_id, decision_seq - 1, MAX_EVENTS))

    async def _handle(self, run_id: str, command: Command, world: World) -> Handled:
        command = scrubbed(command)
        lock = self._locks.setdefault(run_id, asyncio.Lock())
        async with lock:
            for _ in range(MAX_TRIES):
                run = None if isinstance(command, StartRun) else await self.load(run_id)
                drafts = decide(run, command, world)
                if not drafts:
                    assert run is not None, "starting a run always causes events"
                    return Handled(run, ())
                seq, head = (run.seq, run.head) if run else (0, GENESIS)
                sealed = seal(drafts, run_id, seq, head, self._clock())
                events = tuple(entry.event for entry in sealed)
                after = fold(events, run)
                assert after is not None, "events make a run"
                try:
                    await self.store.append(
                        run_id,
                        seq,
                        [entry.line for entry in sealed],
                        _jobs(command, after),
                        _done(command, run_id),
                    )
                except Conflict:
                    self._runs.pop(run_id, None)
                    if run is None:
                        refuse("run.exists")
                    continue
                self._keep(after, events)
                self.live.publish(run_id, sealed)
                return Handled(after, sealed)
        refuse("run.conflict")

    def _keep(self, run: Run, tail: tuple[Event, ...]) -> None:
        self._runs[run.run_id] = Kept(run, tail)
        self._runs.move_to_end(run.run_id)
        if len(self._runs) > CACHED_RUNS:
            self._runs.popitem(last=False)


def _jobs(command: Command, after: Run) -> tuple[Job, ...]:
    if not isinstance(command, StartStage) or after.working is None:
        return ()
    return (Job(after.run_id, after.working.spec.id, after.working.attempt),)


def _done(command: Command, run_id: str) -> tuple[Job, ...]:
    return (Job(run_id, command.stage_id, command.attempt),) if isinstance(command, SubmitArtifact) else ()
