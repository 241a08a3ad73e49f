"""The narrator, simulated: the pack's stages, told in this venture's words."""

from __future__ import annotations

from collections import OrderedDict

from submission.agents.simulation import Simulation
from submission.state.world import Stage, World

MOST_WORLDS = 4

_simulations: OrderedDict[str, tuple[World, Simulation]] = OrderedDict()


def design_quest(world: World, pitch: str, seed: int) -> tuple[Stage, ...]:
    """The stages with title and goal rewritten. Ids, beats, needs, roles and validators stay as the pack has them."""
    simulation = simulation_of(world)
    return tuple(_told(stage, simulation.quest_words(pitch, seed, stage.id)) for stage in world.stages)


def simulation_of(world: World) -> Simulation:
    """The world's simulation, compiled once for as long as the world is in use."""
    known = _simulations.get(world.sha256)
    if known is None or known[0].files is not world.files:
        known = (world, Simulation(world))
    _simulations[world.sha256] = known
    _simulations.move_to_end(world.sha256)
    while len(_simulations) > MOST_WORLDS:
        _simulations.popitem(last=False)
    return known[1]


def _told(stage: Stage, words: dict[str, str] | None) -> Stage:
    return stage.model_copy(update=words) if words else stage
