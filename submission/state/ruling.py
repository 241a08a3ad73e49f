"""What a decision must have, what it binds and what it costs: asked by the gate that writes one and by the fold."""

from __future__ import annotations

from submission.state.consequences import Consequence
from submission.state.events import CeoDecision, GateOpened, PricedOption, Verb
from submission.state.run import StageState
from submission.state.text import said
from submission.state.work import Direction


def option_of(gate: GateOpened, option_id: str | None) -> PricedOption | None:
    options = gate.fork.options if gate.fork and option_id is not None else ()
    return next((priced for priced in options if priced.option.id == option_id), None)


def price_of(gate: GateOpened, verb: Verb, option_id: str | None) -> Consequence | None:
    """The price the gate showed, to the unit. A rejection costs nothing."""
    if verb == "reject":
        return None
    chosen = option_of(gate, option_id)
    if chosen is not None:
        return chosen.consequence
    return gate.own_direction if verb == "redirect" else None


def binding(gate: GateOpened, seq: int, said_at: CeoDecision) -> Direction | None:
    """What later work is bound to: the chosen option, the rejection's reason, or the player's own words."""
    chosen = option_of(gate, said_at.option_id)
    if said_at.verb != "reject" and chosen is not None:
        option = chosen.option
        return Direction(
            seq=seq,
            verb=said_at.verb,
            stage_id=gate.stage_id,
            text=option.direction,
            option_id=option.id,
            lean=option.lean,
            checks=option.checks,
        )
    text = said(said_at.reason if said_at.verb == "reject" else said_at.direction_text)
    if said_at.verb == "approve" or text is None:
        return None
    return Direction(seq=seq, verb=said_at.verb, stage_id=gate.stage_id, text=text)


def lack(gate: GateOpened, stage: StageState, decision: CeoDecision) -> str:
    """What the decision lacks that its verb needs; empty when it is whole."""
    chosen = option_of(gate, decision.option_id)
    if chosen is None and decision.option_id is not None:
        return "an option that the gate does not pose"
    if decision.verb == "reject" and said(decision.reason) is None:
        return "a rejection without a reason"
    if decision.verb == "redirect" and (chosen is None) == (said(decision.direction_text) is None):
        return "a redirect that names not exactly one direction"
    if decision.verb != "approve":
        return ""
    if stage.score is None or stage.artifact is None:
        return "an approval of work that is not there"
    if gate.fork is not None and chosen is None:
        return "an approval without a choice at the fork"
    if not stage.score.passes and said(decision.override_reason) is None:
        return "an approval below the floor without a reason"
    return ""
