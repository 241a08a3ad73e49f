"""Scripted approvers for rehearsals: each looks at a gate and answers it. Deterministic; never for a person's run."""

from __future__ import annotations

from collections.abc import Callable

from submission.state.canonical import sha256
from submission.state.views import GateView
from submission.tools.play import Answer

Policy = Callable[[GateView, int], Answer]
"""(gate, seed) -> answer"""

PATIENCE = 4
"""Attempts after which a strict approver stops sending work back and overrides the floor."""


def strict(gate: GateView, seed: int) -> Answer:
    """Rejects what fails its checks and names each fault; approves the rest."""
    return _careful(gate, _either(gate, seed))


def depth(gate: GateView, seed: int) -> Answer:
    """Strict, and at each fork the option that leans deep."""
    return _careful(gate, _leaning(gate, "depth"))


def breadth(gate: GateView, seed: int) -> Answer:
    """Strict, and at each fork the option that leans wide."""
    return _careful(gate, _leaning(gate, "breadth"))


def approve(gate: GateView, seed: int) -> Answer:
    """Approves whatever comes; where the floor fails it says so."""
    if gate.artifact is None:
        return Answer("reject", reason="The worker failed; run the stage again.")
    return _approval(gate, _either(gate, seed), "the script approves everything")


def reject_first(gate: GateView, seed: int) -> Answer:
    """Sends every first attempt back, then is strict."""
    if gate.attempt == 1 and not _faults(gate) and gate.artifact:
        field = next(name for name, value in gate.artifact.items() if isinstance(value, str))
        return Answer("reject", reason=f"Say it more plainly: rewrite {field} with one concrete example.")
    return strict(gate, seed)


POLICIES: dict[str, Policy] = {
    "strict": strict,
    "approve": approve,
    "depth": depth,
    "breadth": breadth,
    "reject-first": reject_first,
}


def _careful(gate: GateView, option_id: str | None) -> Answer:
    if gate.artifact is None:
        return Answer("reject", reason="The worker failed; run the stage again.")
    faults = _faults(gate)
    if faults and gate.attempt < PATIENCE:
        return Answer("reject", reason=" ".join(faults)[:1_500])
    return _approval(gate, option_id, f"{gate.attempt} attempts did not cure it")


def _faults(gate: GateView) -> list[str]:
    """Feedback of every failed check that counts towards the floor's validator, in order."""
    reports = gate.score.reports if gate.score else ()
    return [finding.feedback or finding.check for r in reports for finding in r.findings if finding.verdict == "failed"]


def _approval(gate: GateView, option_id: str | None, why: str) -> Answer:
    failing = gate.score is not None and not gate.score.passes
    return Answer("approve", option_id=option_id, override_reason=why if failing else None)


def _either(gate: GateView, seed: int) -> str | None:
    """One of the two options, by the seed."""
    if gate.fork is None:
        return None
    pick = int(sha256(f"{seed}:{gate.stage.id}".encode())[:8], 16) % len(gate.fork.options)
    return gate.fork.options[pick].option.id


def _leaning(gate: GateView, lean: str) -> str | None:
    if gate.fork is None:
        return None
    options = [priced.option for priced in gate.fork.options]
    return next((option.id for option in options if option.lean == lean), options[0].id)
