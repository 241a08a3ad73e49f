"""What a judge is shown of a log: its verdicts, its state at a seq, and how it compares with another."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from submission.state.compare import ArtifactPair, Break, Comparison, Difference, Parting, Side, StageOutcome
from submission.state.memory import KINDS
from submission.state.refusals import BrokenLog
from submission.state.run import Run, state_hash
from submission.state.store.verify import Verification
from submission.state.verdicts import Status
from submission.tools.show import (
    clean,
    fork_table,
    line,
    memory_line,
    meters_line,
    run_heading,
    run_line,
    stage_table,
    table,
    words,
)

SHOWN = 6
"""Differences shown of one event or artifact; JSON has them all."""
_RESULT: dict[Status, tuple[str, str]] = {
    "passed": ("passed", "green"),
    "failed": ("FAILED", "bold red"),
    "not_checkable": ("not checkable", "yellow"),
}


def verification_parts(name: str, found: Verification) -> Iterator[RenderableType]:
    """The five verdicts, and the first broken seq over all of them."""
    yield Text.assemble((line(name, 120), "bold"), f"\n{_what(found)}\n")
    verdicts = table("verdict", "result", "what was found")
    for verdict in found.verdicts:
        word, style = _RESULT[verdict.status]
        verdicts.add_row(verdict.name, Text(word, style), line(verdict.says, 320))
    yield verdicts
    yield Text.assemble("\n", _sum(found))


def _what(found: Verification) -> str:
    run = f"run {line(found.run_id, 80)}" if found.run_id else "a run whose start cannot be read"
    world = f", world {line(found.world.id, 40)} {line(found.world.version, 20)}" if found.world else ""
    mode = ", a rehearsal (a script decided; its XP counts for nobody)" if found.mode == "rehearsal" else ""
    return f"{run}{world}{mode}, {found.seq:,} events"


def _sum(found: Verification) -> tuple[str, str]:
    if found.passed:
        return "5 of 5 passed: tamper-evident, and no sign of tampering was found.", "green"
    failed = [verdict for verdict in found.verdicts if verdict.status == "failed"]
    if not failed:
        return "Nothing failed, but not everything could be checked.", "yellow"
    broken = [verdict.seq for verdict in failed if verdict.seq is not None]
    where = f"The first broken event is seq {min(broken)}." if broken else "The fault is not in an event."
    return f"{len(failed)} of 5 failed. {where}", "bold red"


def run_parts(run: Run, broken: BrokenLog | None) -> Iterator[RenderableType]:
    """A run at a seq: stages, meters, team, gate, memories, and the hash that any fold up to there must give."""
    yield Text.assemble(run_heading(run), f"\n\nat seq {run.seq}: ", run_line(run), "\n")
    yield stage_table(run)
    yield Text.assemble("\n", meters_line(run))
    if run.team:
        yield Text(f"Hired: {', '.join(line(worker.title, 60) for worker in run.team)}")
    yield from _gate(run)
    for kind in KINDS:
        yield from (memory_line(memory) for memory in run.memories if memory.kind == kind)
    yield Text(f"\nstate_hash {state_hash(run)}", overflow="fold")
    if broken:
        yield break_line(Break(seq=broken.seq, why=broken.why))


def _gate(run: Run) -> Iterator[RenderableType]:
    gate = run.gate
    if gate is None:
        return
    yield Text(f"\n{gate.gate_id} is open on {line(gate.stage_id, 40)}: {', '.join(gate.verbs)}", "yellow")
    if gate.artifact_sha256:
        yield Text(f"artifact {gate.artifact_sha256}", overflow="fold")
    if gate.fork:
        yield fork_table(gate)
    yield Text()


def break_line(broken: Break) -> Text:
    return Text(
        f"The log breaks at seq {broken.seq}: {line(broken.why, 300)}. What follows was not folded.", "bold red"
    )


def comparison_parts(found: Comparison) -> Iterator[RenderableType]:
    """The two runs, where they part, and every respect in which they ended apart."""
    yield _sides(found.a, found.b)
    for name, side in (("A", found.a), ("B", found.b)):
        if side.broken:
            yield Text.assemble(f"{name}: ", break_line(side.broken))
    if found.parting is None:
        yield Text("\nThey never part: event by event they say the same.", "green")
    else:
        yield from _parting(found.parting)
    if found.same:
        yield Text("\nThey ended in the same state.", "green")
        return
    yield Text("\nMeters", "bold")
    yield _meters(found)
    yield Text("\nStages (tries, score, decision, options)", "bold")
    yield _stages(found)
    yield from _artifacts(found)
    yield from _only("Team", [w.title for w in found.team.only_a], [w.title for w in found.team.only_b])
    for memory in found.memories:
        yield from _only(f"Memory, {words(memory.kind)}", memory.only_a, memory.only_b)


def _sides(a: Side, b: Side) -> RenderableType:
    rows = table("", "A", "B")
    for name in ("run_id", "pitch", "seed", "mode", "outcome", "xp", "level", "seq", "state_hash"):
        texts = [line(getattr(side, name), 120)[: 16 if name == "state_hash" else None] for side in (a, b)]
        rows.add_row(words(name), *(Text(text, "" if texts[0] == texts[1] else "yellow") for text in texts))
    return rows


def _parting(parting: Parting) -> Iterator[RenderableType]:
    a, b = (words(side).upper() if side else "the end of the log" for side in (parting.a_type, parting.b_type))
    yield Text(f"\nThey part at seq {parting.seq}: {a if a == b else f'A has {a}, B has {b}'}", "bold yellow")
    yield from _differences(parting.differences, parting.left_out)


def _differences(differences: tuple[Difference, ...], left_out: int) -> Iterator[RenderableType]:
    rows = table("field", "A", "B")
    for entry in differences[:SHOWN]:
        rows.add_row(line(entry.path, 60), _value(entry.a), _value(entry.b))
    yield rows
    if more := len(differences) - SHOWN + left_out if len(differences) > SHOWN else left_out:
        yield Text(f"and {more} more", "dim")


def _value(text: str | None) -> Text:
    return Text("(absent)", "dim") if text is None else Text(clean(text))


def _meters(found: Comparison) -> RenderableType:
    rows = table("meter", "A", "B", "B - A", right=("A", "B", "B - A"))
    for meter in found.meters:
        a, b = (f"{value:,}" if value is not None else "" for value in (meter.a, meter.b))
        delta = meter.b - meter.a if meter.a is not None and meter.b is not None else 0
        rows.add_row(line(f"{meter.title} {meter.unit}", 50), a, b, f"{delta:+,}" if delta else "")
    return rows


def _stages(found: Comparison) -> RenderableType:
    rows = table("stage", "A", "B")
    for stage in found.stages:
        a, b = _outcome(stage.a), _outcome(stage.b)
        style = "" if a == b else "yellow"
        rows.add_row(line(stage.id, 40), Text(a, style), Text(b, style))
    return rows


def _outcome(stage: StageOutcome | None) -> str:
    if stage is None:
        return "(absent)"
    score = "no score" if stage.score is None else f"score {stage.score}"
    parts = (f"{stage.attempts}x", score, stage.decision or stage.status, *(line(name, 40) for name in stage.options))
    return ", ".join(parts)


def _artifacts(found: Comparison) -> Iterator[RenderableType]:
    same = [pair.stage_id for pair in found.artifacts if pair.same]
    if same:
        yield Text(f"\nSame artifact at {', '.join(line(name, 40) for name in same)}")
    for pair in found.artifacts:
        if not pair.same:
            yield from _artifact(pair)


def _artifact(pair: ArtifactPair) -> Iterator[RenderableType]:
    yield Text.assemble("\n", (f"Artifact of {line(pair.stage_id, 40)}", "bold"))
    if pair.a_sha256 is None or pair.b_sha256 is None:
        yield Text(f"only {'B' if pair.a_sha256 is None else 'A'} has one")
    else:
        yield from _differences(pair.differences, pair.left_out)


def _only(what: str, a: tuple[str, ...] | list[str], b: tuple[str, ...] | list[str]) -> Iterator[RenderableType]:
    if a or b:
        rows = table("", line(what, 40))
        for side, texts in (("only A", a), ("only B", b)):
            for text in texts:
                rows.add_row(side, clean(text))
        yield Text()
        yield rows
