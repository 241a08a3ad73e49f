"""What a run remembers: short, deduplicated, bounded, and written only by decisions and finished chapters."""

from __future__ import annotations

from submission.state.work import Memory, MemoryKind

MAX_CHARS = 400
MAX_LIVE = 200
PER_KIND = 3
INJECTED_CHARS = 300
KINDS: tuple[MemoryKind, ...] = ("user_profile", "procedural", "chat_summary")


def clamp(text: str, limit: int = MAX_CHARS) -> str:
    """One line of at most `limit` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def written(memories: tuple[Memory, ...], memory: Memory) -> tuple[Memory, ...]:
    """The live memories after one more: an equal (kind, text) gives way to it, the oldest beyond 200 drops out."""
    if memory.text in [known.text for known in memories]:
        memories = tuple(m for m in memories if m.kind != memory.kind or m.text != memory.text)
    return (*memories, memory)[-MAX_LIVE:]


def injected(memories: tuple[Memory, ...]) -> tuple[Memory, ...]:
    """What every brief carries: the three newest of each kind, 300 characters each, so always the newest
    procedural, which binds. Oldest first within a kind."""
    return tuple(_shortened(memory) for kind in KINDS for memory in newest(memories, kind))


def _shortened(memory: Memory) -> Memory:
    if len(memory.text) <= INJECTED_CHARS:
        return memory
    return memory.model_copy(update={"text": clamp(memory.text, INJECTED_CHARS)})


def newest(memories: tuple[Memory, ...], kind: MemoryKind, limit: int = PER_KIND) -> tuple[Memory, ...]:
    """The newest `limit` of a kind, oldest first."""
    found: list[Memory] = []
    for memory in reversed(memories):
        if memory.kind == kind:
            found.append(memory)
            if len(found) == limit:
                break
    return tuple(reversed(found))
