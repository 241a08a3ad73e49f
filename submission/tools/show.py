"""A run in a terminal, part by part. Whatever comes out of a log or a person is data: it is cleaned of control
characters and never read as markup."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from rich import box
from rich.console import Group, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from submission.state.consequences import Consequence
from submission.state.events import Compliance, GateOpened, PricedOption
from submission.state.receipt import Receipt
from submission.state.run import Run
from submission.state.scoring import Score
from submission.state.views import GateView, StageView
from submission.state.work import Hit, InferenceUsage, Memory
from submission.state.world import Stage

_JOINERS = "\u200c\u200d"
_STYLE = {
    "passed": "green",
    "failed": "red",
    "not_run": "yellow",
    "followed": "green",
    "not_followed": "red",
    "done": "green",
    "gate": "yellow",
    "working": "cyan",
    "rework": "magenta",
}


def clean(text: object) -> str:
    """The text without what a terminal would act on: escapes, other control characters, bidirectional overrides,
    lone surrogates. Line ends stay; tabs and odd spaces become spaces."""
    text = str(text)
    if text.isprintable():
        return text
    return "".join(_shown(character) for character in text.replace("\r\n", "\n"))


def _shown(character: str) -> str:
    if character.isprintable() or character == "\n" or character in _JOINERS:
        return character
    return " " if character.isspace() else "\N{REPLACEMENT CHARACTER}"


def line(text: object, limit: int = 200) -> str:
    """Cleaned, on one line, at most `limit` characters."""
    whole = " ".join(clean(text).split())
    return whole if len(whole) <= limit else whole[: limit - 1].rstrip() + "…"


def plain(text: object) -> str:
    """Cleaned, and safe to set inside rich markup."""
    return escape(clean(text))


def words(name: object) -> str:
    """An identifier as words."""
    return line(str(name).replace("_", " "), 40)


def artifact_title(artifact: Mapping[str, Any] | None) -> str:
    """What an artifact calls itself: its headline, title, subject or name, else its first text."""
    texts = [(key, value) for key, value in (artifact or {}).items() if isinstance(value, str) and value.strip()]
    named = [value for key, value in texts if key.lower().endswith(("headline", "title", "subject", "name"))]
    return line((named or [value for _, value in texts] or ["untitled"])[0], 90)


def artifact_panel(stage: Stage | StageView, artifact: Mapping[str, Any]) -> Panel:
    """All of it, nothing left out: this is what a human signs."""
    title = Text.assemble(line(stage.title, 60), (f" · {words(stage.artifact)}", "dim"))
    return Panel(Group(*_fields(artifact)), title=title, title_align="left", border_style="cyan")


def _fields(value: Mapping[str, Any] | Iterable[Any]) -> Iterator[RenderableType]:
    """Each field or item of a JSON value, what is nested two columns further in."""
    items: Iterable[tuple[Any, Any]]
    items = value.items() if isinstance(value, Mapping) else ((None, item) for item in value)
    for key, item in items:
        name = Text() if key is None else Text(f"{line(key, 60)}: ", "bold")
        if not isinstance(item, (Mapping, list, tuple)) or not item:
            yield _bullet(name + Text(_scalar(item))) if key is None else name + Text(_scalar(item))
        elif key is None:
            yield _bullet(Group(*_fields(item)))
        else:
            yield name
            yield Padding(Group(*_fields(item)), (0, 0, 0, 2))


def _bullet(content: RenderableType) -> Table:
    grid = Table.grid()
    grid.add_row("- ", content)
    return grid


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (Mapping, list, tuple)):
        return "(empty)"
    return "(none)" if value is None else f"{value:,}"


def table(*columns: str, right: Iterable[str] = (), whole: Iterable[str] = ()) -> Table:
    """The one style of table: a head with a line under it, no borders. `right` columns hold numbers; these and
    the `whole` ones are never broken over two lines."""
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for column in columns:
        number = column in right
        justify: Literal["left", "right"] = "right" if number else "left"
        made.add_column(column, justify=justify, overflow="fold", no_wrap=number or column in whole)
    return made


def score_table(score: Score) -> Group:
    """Every check with its points, then the floor, the rubric and what counts."""
    checks = table("check", "points", "result", "what to change", right=("points",))
    for report in score.reports:
        for finding in report.findings:
            points = f"{finding.points} of {finding.of}"
            result = Text(words(finding.verdict), _STYLE[finding.verdict])
            checks.add_row(words(finding.check), points, result, clean(finding.feedback))
    source = f"by {words(score.floor_from)}" if score.floor_from else "by richness alone"
    passes = ("passes", "green") if score.passes else ("fails", "red")
    floor = Text.assemble("floor ", (f"{score.floor}", "bold"), f" {source}, ", passes)
    final = Text.assemble("score ", (f"{score.final}", "bold"), " = the higher of floor and rubric")
    return Group(checks, floor, _rubric(score), final)


def _rubric(score: Score) -> Text:
    rubric = score.rubric
    if rubric.status == "unscored":
        return Text(f"rubric unscored: {line(rubric.reason, 120)}; the floor stands", "yellow")
    dimensions = ", ".join(f"{line(d.name, 40)} {d.score}" for d in rubric.dimensions)
    spread = f", spread {rubric.spread}" if rubric.spread else ""
    return Text(f"rubric {rubric.weighted_total}, {rubric.status} by {line(rubric.source, 40)}{spread} ({dimensions})")


def prices(consequence: Consequence | None) -> str:
    """Every meter that moves, before → after, and who joins or leaves."""
    if consequence is None:
        return "costs nothing"
    moved = [f"{words(c.meter)} {c.before:,} → {c.after:,}" for c in consequence.meters if c.delta]
    moved += [f"{line(worker.title, 60)} joins" for worker in consequence.workers_added]
    moved += [f"{line(worker.title, 60)} leaves" for worker in consequence.workers_retired]
    return ", ".join(moved) or "no meter moves"


def fork_table(gate: GateView | GateOpened) -> RenderableType:
    """The question of a gate and its options with what each costs; says so where none is posed."""
    if gate.fork is None:
        return Text("This gate poses no fork.", "dim")
    options = table("", "option", "binds the next work to", "price")
    for number, priced in enumerate(gate.fork.options, 1):
        options.add_row(str(number), _option(priced), clean(priced.option.direction), prices(priced.consequence))
    return Group(Text(clean(gate.fork.question), "bold"), options)


def _option(priced: PricedOption) -> Text:
    option = priced.option
    title = (line(option.title, 60), "bold")
    return Text.assemble(title, f"\n{clean(option.summary)}\n", (clean(option.tradeoff), "dim"))


def gate_lines(gate: GateView) -> Iterator[RenderableType]:
    """What else a human is shown at a gate: what changed, what was followed, and where the work came from."""
    if gate.reopens:
        yield Text(f"poses {line(gate.reopens, 20)} again, whose decision was taken back", "magenta")
    if gate.error:
        yield Text(f"the worker failed: {line(gate.error, 300)}", "red")
    for change in gate.changes:
        step = f": {_was(change.before)} → {_was(change.after)}"
        yield Text.assemble("changed ", (words(change.path), "bold"), step)
    yield from (_compliance(entry) for entry in gate.compliance)
    yield usage_line(gate.inference_usage, gate.tools_called)
    yield from (_source(hit) for hit in gate.iq_hits)
    yield from (memory_line(memory) for memory in gate.memory_injected)
    if gate.own_direction is not None:
        yield Text(f"a redirect in your own words: {prices(gate.own_direction)}")


def _was(text: str | None) -> str:
    return "(absent)" if text is None else line(text, 60)


def _compliance(entry: Compliance) -> Text:
    evidence = f" ({line('; '.join(entry.evidence), 160)})" if entry.evidence else ""
    verdict = (words(entry.verdict), _STYLE.get(entry.verdict, "dim"))
    return Text.assemble(verdict, f": {line(entry.text, 160)}{evidence}")


def usage_line(usage: InferenceUsage, tools: Iterable[str] = ()) -> Text:
    """Who did the work, on which tier, at what cost, and why no better."""
    cost = "" if usage.cost_usd is None else f", {usage.cost_usd:.4f} USD"
    called = ", ".join(words(tool) for tool in tools) or "no tool"
    fallback = (f" (fallback: {line(usage.fallback_reason, 120)})", "yellow") if usage.fallback_reason else ""
    return Text.assemble(
        f"by {line(usage.client, 40)} / {line(usage.model, 60)}, tier {usage.tier}",
        fallback,
        f", {usage.tokens_in:,} + {usage.tokens_out:,} tokens, {usage.latency_ms:,} ms{cost}; called {called}",
    )


def _source(hit: Hit) -> Text:
    where = f"{line(hit.source, 60)}:{hit.start_line}-{hit.end_line}"
    return Text(f"read {where}: {line(hit.text, 120)}", "dim")


def memory_line(memory: Memory) -> Text:
    return Text.assemble("remembers ", (f"[{words(memory.kind)}, seq {memory.seq}] ", "dim"), line(memory.text, 400))


def meters_line(run: Run) -> Text:
    """Every meter with its value and unit."""
    parts = (f"{line(m.title, 40)} {run.meters[m.id]:,} {words(m.unit)}".rstrip() for m in run.meter_specs)
    return Text(" · ".join(parts))


def stage_table(run: Run) -> Table:
    """The eight stages, how far each is and what it earned; a stage sent back says how."""
    decided = {entry.stage_id: entry.verb for entry in run.decided if entry.rescinded_key is None}
    right = ("tries", "floor", "score", "XP")
    stages = table("beat", "stage", "by", "state", *right, right=right, whole=("beat", "by", "state"))
    for stage in run.stages:
        score = (str(stage.score.floor), str(stage.score.final)) if stage.score else ("", "")
        sent_back = "redirected" if decided.get(stage.spec.id) == "redirect" else "rejected"
        state = {"done": "approved", "rework": sent_back}.get(stage.status, stage.status)
        status = Text(state, _STYLE.get(stage.status, "dim"))
        title, role = line(stage.spec.title, 60), words(stage.spec.role)
        stages.add_row(stage.spec.beat, title, role, status, str(stage.attempt or ""), *score, str(stage.xp or ""))
    return stages


def decision_line(gate: GateView, receipt: Receipt) -> Text:
    """What a decision did, in one line."""
    options = gate.fork.options if gate.fork else ()
    said = receipt.reason if receipt.verb == "reject" else receipt.direction
    parts = (
        receipt.verb,
        *(line(priced.option.title, 40) for priced in options if priced.option.id == receipt.option_id),
        f"“{line(said, 100)}”" if said else "",
        f"{receipt.xp:+d} XP" if receipt.xp else "",
        prices(receipt.consequence) if receipt.consequence else "",
        f"level {receipt.level_up}" if receipt.level_up else "",
    )
    score = f" {gate.score.final}/100" if gate.score else ""
    return Text.assemble(
        (f"{gate.stage.beat:<7}", "bold"),
        f" {line(gate.stage.title, 50)}{score}: ",
        (" · ".join(part for part in parts if part), "green" if receipt.verb == "approve" else "yellow"),
    )


def run_heading(run: Run) -> Text:
    """Which run this is; a rehearsal is always named one."""
    world = f"{line(run.world.id, 40)} {line(run.world.version, 20)}"
    return Text.assemble(
        (line(run.pitch, 300), "bold"),
        f"\nrun {line(run.run_id, 80)} · world {world} · seed {run.seed} · ",
        _mode(run),
    )


def _mode(run: Run) -> tuple[str, str]:
    if run.mode == "rehearsal":
        return "rehearsal: a script decides, and its XP counts for nobody", "yellow"
    return "a human decides", ""


def run_line(run: Run) -> Text:
    """Outcome, XP and level."""
    outcome = (run.outcome or "unfinished", "bold green" if run.outcome else "bold yellow")
    level = f"level {run.level.level}, {line(run.level.title, 40)}"
    return Text.assemble(outcome, f" · {run.xp:,} XP · {level} · {run.seq:,} events")


def run_summary_panel(run: Run, log: str, state_hash: str) -> Panel:
    """How a campaign stands, and where its proof lies."""
    proof = f"log    {clean(log)}\nstate  {state_hash}"
    body = Group(run_line(run), Text.assemble(_mode(run)), meters_line(run), Text(proof, overflow="fold"))
    return Panel(body, border_style="green" if run.outcome else "yellow")
