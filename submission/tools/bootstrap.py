"""The one place where the parts meet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from submission.agents.worker_factory import SimulatedWorker
from submission.knowledge.load import WORLDS, PackFaults, default_world, load_worlds
from submission.knowledge.recall import Playbooks
from submission.state.events import Actor, Mode
from submission.state.ports import EventStore, StoreFailed, Worker
from submission.state.store.keys import SigningKey
from submission.state.store.memory import MemoryStore
from submission.state.store.sqlite import SqliteStore
from submission.state.world import World
from submission.tools import clock
from submission.tools.live import Live
from submission.tools.referee import Referee
from submission.tools.settings import Settings
from submission.tools.turn import Turns

__all__ = ["House", "PackFaults", "Settings", "StoreFailed", "open_house"]


@dataclass(frozen=True, slots=True)
class House:
    """A running Countersign: the store it owns, the worlds it can play, and those who play."""

    settings: Settings
    store: EventStore
    key: SigningKey
    worlds: Mapping[str, World]
    default_world: str
    referee: Referee
    turns: Turns
    live: Live

    def actor(self, mode: Mode) -> Actor:
        """Who decides in a run of this mode when it is played through this server."""
        if mode == "human":
            return Actor(kind="human", id="player", name=self.settings.player_name)
        return Actor(kind="scripted", id="script:http", name="Scripted approver")

    async def close(self) -> None:
        await self.turns.close()
        await self.store.close()


def open_house(settings: Settings, workers: Mapping[str, Worker] | None = None, in_memory: bool = False) -> House:
    """Open the data folder (or memory, for runs nobody keeps) and put the parts together. Raises StoreFailed when
    the folder cannot be used, StoreLocked when another server owns it, PackFaults when a world is broken.
    `workers` by world id replace the simulated ones."""
    worlds = load_worlds(WORLDS)
    store: EventStore
    if in_memory:
        store, key = MemoryStore(), SigningKey.generate()
    else:
        store = SqliteStore.open(settings.data)
        key = SigningKey.in_folder(settings.data)
    live = Live()
    referee = Referee(store, worlds, clock.now, live)
    everyone = {world_id: SimulatedWorker(world) for world_id, world in worlds.items()} if workers is None else workers
    recalls = {world_id: Playbooks(world.playbooks) for world_id, world in worlds.items()}
    turns = Turns(referee, everyone, recalls)
    return House(settings, store, key, worlds, default_world(WORLDS), referee, turns, live)
