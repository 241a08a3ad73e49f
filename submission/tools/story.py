"""A log told as a story: each event as one readable line of who did what, and why."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from submission.state.events import (
    CeoDecision,
    ConsequenceApplied,
    DecisionRescinded,
    Event,
    GateOpened,
    LevelUp,
    MemoryRetracted,
    MemoryWritten,
    PricedOption,
    RunCompleted,
    RunStarted,
    StageExecuted,
    StageStarted,
    WorldDesigned,
    XpAwarded,
)
from submission.state.run import Run
from submission.tools.show import artifact_title, line, prices, words

_STYLE = {
    "STAGE_STARTED": "cyan",
    "GATE_OPENED": "yellow",
    "CEO_DECISION": "bold",
    "DECISION_RESCINDED": "bold magenta",
    "XP_AWARDED": "green",
    "LEVEL_UP": "bold green",
    "RUN_COMPLETED": "bold green",
}
_DONE = {"approve": "approves", "reject": "rejects", "redirect": "redirects"}


def event_line(event: Event, run: Run | None = None) -> Table:
    """One event, hanging under its seq and time. `run` is the state it left, which knows the stages' titles."""
    style = "red" if isinstance(event.payload, StageExecuted) and event.payload.error else _STYLE.get(event.type, "")
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(justify="right", style="dim", min_width=4)
    grid.add_column(style="dim", min_width=8, no_wrap=True)
    grid.add_column(overflow="fold")
    said = Text.assemble((f"{line(event.actor.name, 40)} ", "italic"), (told(event, run), style))
    grid.add_row(str(event.seq), clock(event.at), said)
    return grid


def heading(event: Event, run: Run) -> Text | None:
    """The title of the chapter that an event opens, if it opens one."""
    if not isinstance(event.payload, StageStarted):
        return None
    stage = run.stage(event.payload.stage_id)
    assert stage is not None, "a stage that started is there"
    again = f", attempt {event.payload.attempt}" if event.payload.attempt > 1 else ""
    return Text(f"\n{stage.spec.beat} · {line(stage.spec.title, 60)}{again}", "bold")


def clock(at: str) -> str:
    """The time of day in an event's instant."""
    return line(at[11:19] if len(at) == 24 else at, 24)


def told(event: Event, run: Run | None = None) -> str:
    """The event as a sentence whose subject is its actor."""
    match event.payload:
        case RunStarted() as said:
            return (
                f"starts a {'rehearsal' if said.mode == 'rehearsal' else 'run'}: “{line(said.pitch)}”, seed {said.seed}"
            )
        case WorldDesigned() as said:
            quest = ", ".join(f"{stage.beat} {line(stage.title, 50)}" for stage in said.stages)
            return f"lays out the quest: {quest}"
        case StageStarted() as said:
            bound = f", bound by seq {_numbers(said.directions)}" if said.directions else ""
            return f"sends the {words(said.role)} to {_stage(said.stage_id, run)}, attempt {said.attempt}{bound}"
        case StageExecuted() as said:
            return _executed(said, run)
        case GateOpened() as said:
            return _gate(said, run)
        case CeoDecision() as said:
            return _decision(said, run)
        case XpAwarded() as said:
            what = f"{said.amount:+d} XP for {_stage(said.stage_id, run)}"
            return f"earns {what}, score {said.score}" if said.amount > 0 else f"gives back {what}"
        case ConsequenceApplied() as said:
            return f"moves the company: {prices(said.consequence)}"
        case MemoryWritten() as said:
            return f"notes for the workforce ({words(said.kind)}): {line(said.text, 400)}"
        case MemoryRetracted() as said:
            return f"strikes the note of seq {said.memory_seq}"
        case LevelUp() as said:
            return f"announces level {said.level}, {line(said.title, 60)}, at {said.xp} XP"
        case DecisionRescinded() as said:
            return f"takes back the decision at {line(said.gate_id, 20)} ({said.verb}){_because(said.reason)}"
        case RunCompleted() as said:
            return f"closes the run: {said.outcome} with {said.xp} XP at level {said.level}"
    return f"records {words(event.type)}"


def _stage(stage_id: str, run: Run | None) -> str:
    stage = run.stage(stage_id) if run else None
    return f"“{line(stage.spec.title, 60)}”" if stage else line(stage_id, 40)


def _numbers(numbers: tuple[int, ...]) -> str:
    return ", ".join(str(number) for number in numbers)


def _because(text: str | None) -> str:
    return f": “{line(text, 300)}”" if text else ""


def _executed(said: StageExecuted, run: Run | None) -> str:
    tier = f"tier {said.inference_usage.tier}"
    if said.artifact is None or said.score is None:
        return f"fails at {_stage(said.stage_id, run)}: {line(said.error or 'no artifact', 200)} ({tier})"
    score = said.score
    floor = f"floor {score.floor} {'passes' if score.passes else 'fails'}"
    faults = [f.feedback for report in score.reports for f in report.findings if f.feedback]
    wrong = f"; to fix: {line('; '.join(faults), 200)}" if faults else ""
    why = (
        f", fallback: {line(said.inference_usage.fallback_reason, 120)}" if said.inference_usage.fallback_reason else ""
    )
    return (
        f"hands in “{artifact_title(said.artifact)}” for {_stage(said.stage_id, run)}: "
        f"score {score.final}, {floor}{wrong} ({tier}{why})"
    )


def _gate(said: GateOpened, run: Run | None) -> str:
    again = f", posing {line(said.reopens, 20)} again" if said.reopens else ""
    fork = f". {line(said.fork.question)} {' Or '.join(map(_option, said.fork.options))}" if said.fork else ""
    verbs = ", ".join(said.verbs)
    return f"opens {line(said.gate_id, 20)} on {_stage(said.stage_id, run)}{again} ({verbs}){fork}"


def _option(priced: PricedOption) -> str:
    return f"{line(priced.option.title, 40)} ({prices(priced.consequence)})."


def _decision(said: CeoDecision, run: Run | None) -> str:
    chosen = f", choosing {line(said.option_id, 60)}" if said.option_id else ""
    reasons = "".join(_because(text) for text in (said.reason, said.direction_text))
    override = f", below the floor{_because(said.override_reason)}" if said.override_reason else ""
    stage = _stage(said.stage_id, run)
    return f"{_DONE[said.verb]} {stage}, attempt {said.attempt}{chosen}{override}{reasons}"
