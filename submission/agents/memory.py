"""Agent memory over the log: the four functions of the memory loop as projections, with nothing of its own to lose.

A memory is written by an event and forgotten by an event; these functions only shape what such an event says and
read what a run remembers. They keep no state, so two runs can never meet.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from submission.agents.model_config import scrub_secrets
from submission.state.compliance import content_words
from submission.state.events import MemoryWritten
from submission.state.memory import KINDS, clamp, newest
from submission.state.run import Run
from submission.state.views import MemorySnapshot
from submission.state.views import memory_snapshot as snapshot
from submission.state.work import Memory


def remember(kind: str, text: str, payload: Mapping[str, Any] | None = None) -> MemoryWritten | None:
    """What a MEMORY_WRITTEN of this text would say: scrubbed, one line, 400 characters; an unknown kind counts
    as procedural; None when nothing is left. Writing it is the law's, at a decision."""
    line = clamp(scrub_secrets(text))
    if not line:
        return None
    known = next((name for name in KINDS if name == kind), "procedural")
    return MemoryWritten.model_validate({"kind": known, "text": line, **(payload or {})})


def recall_memories(run: Run, query: str, limit: int = 5) -> tuple[Memory, ...]:
    """The memories that share most words with the query, newer ones first among equals, best first. The newest
    procedural memory is always among them."""
    words = content_words(query)
    ranked = sorted(run.memories, key=lambda m: (len(words & content_words(m.text)), m.seq), reverse=True)[:limit]
    binding = newest(run.memories, "procedural", 1)
    if binding and binding[0] not in ranked:
        ranked = [binding[0], *ranked[: max(limit - 1, 0)]]
    return tuple(ranked)


def memory_snapshot(run: Run) -> MemorySnapshot:
    """Every live memory of a run by kind, and which store holds them."""
    return snapshot(run)


def forget_all() -> tuple[Memory, ...]:
    """What a new venture remembers of others: nothing."""
    return ()
