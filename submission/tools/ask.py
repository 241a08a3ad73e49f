"""A person at the gate, in a terminal: shows the work, asks for the verb."""

from __future__ import annotations

from rich.console import Console
from rich.prompt import Prompt

from submission.state.views import GateView
from submission.tools.play import Answer
from submission.tools.show import artifact_panel, fork_table, gate_lines, plain, score_table


class Left(Exception):
    """The person closed the terminal's input; the gate stays open."""


def ask(console: Console, gate: GateView) -> Answer:
    """Ask until there is a whole answer. Raises Left at the end of input or on `quit`."""
    console.rule(f"[bold]{plain(gate.stage.beat)}[/] · {plain(gate.stage.title)} · attempt {gate.attempt}")
    if gate.artifact is not None:
        console.print(artifact_panel(gate.stage, gate.artifact))
    if gate.score is not None:
        console.print(score_table(gate.score))
    for line in gate_lines(gate):
        console.print(line)
    if gate.fork is not None:
        console.print(fork_table(gate))
    while True:
        answer = _verb(console, gate)
        if answer is not None:
            return answer


def _verb(console: Console, gate: GateView) -> Answer | None:
    verbs = {verb[0] if verb != "redirect" else "d": verb for verb in gate.verbs}
    shown = "  ".join(f"[bold]{key}[/] {verb}" for key, verb in verbs.items())
    console.print(f"Your decision:  {shown}  [bold]q[/] leave the gate open")
    typed = _line("verb").strip().lower()
    if typed in ("q", "quit"):
        raise Left
    verb = verbs.get(typed) or next((verb for verb in gate.verbs if typed == verb), None)
    match verb:
        case "approve":
            return _approve(console, gate)
        case "reject":
            return Answer("reject", reason=_needed("What must change?"))
        case "redirect":
            return _redirect(console, gate)
        case _:
            console.print("[dim]Say one of the letters above.[/]")
            return None


def _approve(console: Console, gate: GateView) -> Answer:
    option_id = _option(console, gate, own=False)
    override = None
    if gate.score is not None and not gate.score.passes:
        override = _needed(f"The floor fails at {gate.score.floor}. Why approve all the same?")
    return Answer("approve", option_id=option_id, override_reason=override)


def _redirect(console: Console, gate: GateView) -> Answer:
    option_id = _option(console, gate, own=True)
    if option_id is not None:
        return Answer("redirect", option_id=option_id)
    return Answer("redirect", direction=_needed("Your direction:"))


def _option(console: Console, gate: GateView, own: bool) -> str | None:
    """The chosen option's id; None where there is no fork or the player wants their own words."""
    if gate.fork is None:
        return None
    choices = [str(number) for number in range(1, len(gate.fork.options) + 1)]
    while True:
        typed = _line(
            f"{gate.fork.question} ({' or '.join(choices)}{', or w for your own words' if own else ''})"
        ).strip()
        if typed in choices:
            return gate.fork.options[int(typed) - 1].option.id
        if own and typed.lower() == "w":
            return None
        console.print("[dim]Say one of the numbers.[/]")


def _needed(question: str) -> str:
    while True:
        if said := _line(question).strip():
            return said


def _line(question: str) -> str:
    try:
        return Prompt.ask(plain(question))
    except EOFError as end:
        raise Left from end
