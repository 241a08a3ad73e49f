"""The law in one function: what a command causes, or why it is refused. Pure."""

from __future__ import annotations

from typing import assert_never

from pydantic import ValidationError

from submission.state.commands import Command, Decide, Rescind, StartRun, StartStage, SubmitArtifact
from submission.state.events import Actor, Draft, MemoryWritten, RunStarted, WorldDesigned
from submission.state.gate import decide_gate, rescind
from submission.state.memory import clamp
from submission.state.refusals import refuse
from submission.state.run import Run
from submission.state.text import legible
from submission.state.turns import start_stage, submit_artifact
from submission.state.unfold import Unfolding
from submission.state.world import Stage, World

MAX_PITCH = 10_000
NARRATOR = Actor(kind="agent", id="narrator", name="Narrator")


def decide(run: Run | None, command: Command, world: World) -> list[Draft]:
    """The events a command causes on a run (None: not begun); an empty list when it was already done.
    Raises Refused when the law says no; then nothing happened."""
    if run is None and not isinstance(command, StartRun):
        refuse("run.unknown")
    log = Unfolding(run)
    match command:
        case StartRun():
            _start_run(log, command, world)
        case StartStage():
            start_stage(log, command)
        case SubmitArtifact():
            submit_artifact(log, command, world)
        case Decide():
            decide_gate(log, command)
        case Rescind():
            rescind(log, command, world)
        case _:
            assert_never(command)
    return log.drafts


def _start_run(log: Unfolding, command: StartRun, world: World) -> None:
    if log.seq:
        refuse("run.exists")
    pitch = readable(command.pitch)
    if command.player.kind != ("human" if command.mode == "human" else "scripted"):
        refuse("request.malformed", f"a {command.mode} run is not begun for a {command.player.kind} actor")
    try:
        started = RunStarted(
            pitch=pitch,
            seed=command.seed,
            mode=command.mode,
            world=world.pin,
            meters=world.meters,
            levels=world.levels,
            validators=world.validators,
        )
        stages = _in_words_of(command.stages, world.stages)
        designed = WorldDesigned(
            stages=stages, client=_short(command.client, 200), reasoning=_short(command.reasoning, 2_000)
        )
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        refuse("request.malformed", f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}")
    log.add(started, command.player)
    log.add(designed, NARRATOR, 1)
    log.add(MemoryWritten(kind="user_profile", text=clamp(f"The founder's pitch: {pitch}")), cause=1)


def readable(pitch: str) -> str:
    """The pitch as it is stored: control characters gone, spaces trimmed. Refuses blank, unreadable and overlong."""
    if len(pitch) > MAX_PITCH:
        refuse("pitch.too_long", f"{len(pitch):,} characters")
    if not pitch.strip():
        refuse("pitch.blank")
    text = legible(pitch)
    if not text:
        refuse("pitch.unprintable")
    return text


def _short(text: str, limit: int) -> str:
    return clamp(legible(text), limit)


def _in_words_of(told: tuple[Stage, ...], pack: tuple[Stage, ...]) -> tuple[Stage, ...]:
    """The pack's quest with the narrator's titles and goals; the narrator changes no other part of it."""
    words = {stage.id: stage for stage in told}
    return tuple(
        stage.model_copy(
            update={"title": _short(words[stage.id].title, 120), "goal": _short(words[stage.id].goal, 600)}
        )
        if stage.id in words and legible(words[stage.id].title) and legible(words[stage.id].goal)
        else stage
        for stage in pack
    )
