"""The one place XP comes into being, and the one place it is withdrawn."""

from __future__ import annotations

from submission.state.events import XpAwarded
from submission.state.run import Award


def mint_xp(award: Award) -> XpAwarded:
    """The entry for an approval just decided (amount > 0) or just rescinded (amount < 0).

    The award is made by folding the CEO_DECISION or DECISION_RESCINDED, so without such an event there is
    nothing to mint from.
    """
    return XpAwarded(
        amount=award.amount,
        stage_id=award.stage_id,
        gate_id=award.gate_id,
        artifact_sha256=award.artifact_sha256,
        score=award.score,
        decision_seq=award.decision_seq,
    )
