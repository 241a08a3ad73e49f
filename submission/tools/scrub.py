"""Nothing secret enters the log: the text of every command passes here once, before the law sees it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from submission.agents.model_config import may_hold_secrets, scrub_secrets
from submission.state.canonical import freeze
from submission.state.commands import Command, Decide, Rescind, StartRun, StartStage, SubmitArtifact


def scrubbed(command: Command) -> Command:
    """The command with credentials masked in all that people and workers wrote."""
    match command:
        case StartRun():
            stages = tuple(
                stage.model_copy(update={"title": scrub_secrets(stage.title), "goal": scrub_secrets(stage.goal)})
                for stage in command.stages
            )
            return replace(command, pitch=scrub_secrets(command.pitch), stages=stages)
        case Decide():
            return replace(
                command,
                reason=_maybe(command.reason),
                direction=_maybe(command.direction),
                override_reason=_maybe(command.override_reason),
            )
        case Rescind():
            return replace(command, reason=_maybe(command.reason))
        case SubmitArtifact():
            return replace(command, work=_work(command))
        case StartStage():
            return command


def _maybe(text: str | None) -> str | None:
    return scrub_secrets(text) if text is not None else None


def _work(command: SubmitArtifact) -> Any:
    work = command.work
    said = [
        *_texts(work.artifact),
        work.error or "",
        *(t for call in work.tool_trace for t in (call.args, call.result)),
    ]
    if not may_hold_secrets("\n".join(said)):
        return work
    trace = tuple(
        call.model_copy(update={"args": scrub_secrets(call.args), "result": scrub_secrets(call.result)})
        for call in work.tool_trace
    )
    artifact = freeze(_deep(work.artifact))
    return work.model_copy(update={"artifact": artifact, "error": _maybe(work.error), "tool_trace": trace})


def _texts(value: Any) -> Iterator[str]:
    """Every text in a document, however many."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, tuple)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)


def _deep(value: Any) -> Any:
    if isinstance(value, str):
        return scrub_secrets(value)
    if isinstance(value, dict):
        return {key: _deep(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [_deep(item) for item in value]
    return value
