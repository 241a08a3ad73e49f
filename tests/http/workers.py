"""Workers with a will of their own, to stand in for the simulated ones."""

from __future__ import annotations

import asyncio
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

from submission.state.canonical import freeze
from submission.state.ports import Progress, Worker
from submission.state.work import Brief, InferenceUsage, Work

USAGE = InferenceUsage(client="test", tier="simulation", model="none")
OFF_SCHEMA = {"remark": "nothing that any check asks for"}


def everywhere(worker: Worker) -> Mapping[str, Worker]:
    """The same worker in whatever world."""
    return defaultdict(lambda: worker)


def handed_in(artifact: Any) -> Work:
    return Work(artifact=freeze(artifact), inference_usage=USAGE)


class Does:
    """Answers each brief with what `answer` makes of it, however wrong; an exception it raises is the worker's."""

    def __init__(self, answer: Callable[[Brief], Any]) -> None:
        self._answer = answer

    async def work(self, brief: Brief, progress: Progress) -> Any:
        return self._answer(brief)


class Waits:
    """Works until it is released from another thread, or cancelled."""

    def __init__(self, artifact: Any = OFF_SCHEMA) -> None:
        self._artifact = artifact
        self._free = threading.Event()
        self.at_work, self.cancelled = threading.Event(), threading.Event()

    def release(self) -> None:
        self._free.set()

    async def work(self, brief: Brief, progress: Progress) -> Work:
        self.at_work.set()
        try:
            while not self._free.is_set():
                await asyncio.sleep(0.005)
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return handed_in(self._artifact)


class Talks:
    """Says these words while it works, then hands in."""

    def __init__(self, *words: str, artifact: Any = OFF_SCHEMA) -> None:
        self._words, self._artifact = words, artifact

    async def work(self, brief: Brief, progress: Progress) -> Work:
        for word in self._words:
            progress("says", word)
        return handed_in(self._artifact)
