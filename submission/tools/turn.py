"""One worker turn: brief, work, judgement, and one command that lays the result before the law."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Mapping

from submission.state.brief import brief_for, recall_query
from submission.state.commands import SubmitArtifact
from submission.state.events import Actor
from submission.state.ports import Job, Judge, Recall, StoreFailed, Worker
from submission.state.refusals import Refused
from submission.state.work import Brief, InferenceUsage, Judgement, Work
from submission.tools.referee import Referee

logger = logging.getLogger(__name__)

TURN_SECONDS = 300
STORE_RETRIES = (0.5, 2.0, 8.0)
"""Waits before a finished turn is offered again to a store that failed, in seconds."""


def _traceback(error: BaseException) -> str:
    """The traceback as text that any log can hold, whatever the error says."""
    return "".join(traceback.format_exception(error)).encode("utf-8", "backslashreplace").decode()


BROKEN = InferenceUsage(client="none", tier="simulation", model="none", fallback_reason="the worker failed")


class Turns:
    """Runs worker turns in the background. A turn that cannot be committed keeps its job and is redone at the
    next start."""

    def __init__(
        self,
        referee: Referee,
        workers: Mapping[str, Worker],
        recalls: Mapping[str, Recall],
        judge: Judge | None = None,
    ) -> None:
        """`workers` and `recalls` by world id."""
        self._referee, self._workers, self._recalls, self._judge = referee, workers, recalls, judge
        self._tasks: set[asyncio.Task[None]] = set()

    def dispatch(self, job: Job) -> None:
        task = asyncio.create_task(self.run(job), name=f"turn {job.run_id} {job.stage_id} {job.attempt}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def recover(self) -> int:
        """Redo every turn that was asked for and never committed; returns how many."""
        jobs = await self._referee.store.jobs()
        for job in jobs:
            self.dispatch(job)
        return len(jobs)

    async def close(self) -> None:
        """Cancel what is running; it is redone at the next start."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def run(self, job: Job) -> None:
        """One turn to its end. A result that comes too late for its attempt is dropped."""
        try:
            command = await self._work(job)
            for wait in STORE_RETRIES:
                try:
                    return await self._submit(job, command)
                except StoreFailed as failure:
                    logger.warning("turn %s could not be stored yet: %s", job, failure)
                    await asyncio.sleep(wait)
            await self._submit(job, command)
        except Refused as refusal:
            logger.warning("turn %s is not wanted: %s", job, refusal)
        except StoreFailed as failure:
            logger.error("turn %s is kept for the next start: %s", job, failure)

    async def _submit(self, job: Job, command: SubmitArtifact) -> None:
        try:
            await self._referee.handle(job.run_id, command)
        except StoreFailed:
            raise
        except Exception as error:  # a result that the law cannot hold is a failed attempt, shown at the gate
            if isinstance(error, Refused) and error.code != "artifact.too_large":
                raise
            logger.warning("result of turn %s cannot be kept\n%s", job, _traceback(error))
            work = failed_work(error, command.work.inference_usage)
            await self._referee.handle(
                job.run_id,
                SubmitArtifact(
                    command.actor, job.stage_id, job.attempt, work, command.knowledge, command.memories, None
                ),
            )

    async def _work(self, job: Job) -> SubmitArtifact:
        run = await self._referee.load(job.run_id)
        world, stage = self._referee.world(run.world.id), run.stage(job.stage_id)
        assert stage is not None, "a job names a stage of its run"
        role = world.role(stage.spec.role)
        brief, work = brief_for(run, stage, role, ()), None
        try:
            brief = brief_for(run, stage, role, self._recalls[world.id].search(recall_query(run, stage)))
        except Exception as error:  # a knowledge base that fails is a failed attempt, shown at the gate
            logger.error("recall failed at %s\n%s", job.stage_id, _traceback(error))
            work = failed_work(error)
        work = work or await self._ask(self._workers[world.id], brief)
        return SubmitArtifact(
            Actor(kind="agent", id=role.id, name=role.title),
            job.stage_id,
            job.attempt,
            work,
            brief.knowledge,
            brief.memories,
            await self._judged(brief, work),
        )

    async def _ask(self, worker: Worker, brief: Brief) -> Work:
        def progress(kind: str, text: str) -> None:
            self._referee.live.progress(brief.run_id, brief.stage.id, kind, text)

        try:
            async with asyncio.timeout(TURN_SECONDS):
                work: object = await worker.work(brief, progress)
                if not isinstance(work, Work):
                    raise TypeError(f"the worker returned {type(work).__name__}, not Work")
                return Work.model_validate(dict(work))
        except Exception as error:  # a worker's failure is an event at the gate, never a lost turn
            logger.error("worker failed at %s\n%s", brief.stage.id, _traceback(error))
            return failed_work(error)

    async def _judged(self, brief: Brief, work: Work) -> Judgement | None:
        if self._judge is None or work.artifact is None:
            return None
        try:
            async with asyncio.timeout(TURN_SECONDS):
                return await self._judge.judge(brief, work)
        except Exception as error:  # a judge that fails leaves the floor standing, and says so
            return Judgement(source="judge", unscored=f"{type(error).__name__}: {error}"[:200])


def failed_work(error: BaseException, usage: InferenceUsage = BROKEN) -> Work:
    """The work of a worker that broke: no artifact, and why."""
    why = str(error) if isinstance(error, Refused) else f"{type(error).__name__}: {error}"
    return Work(artifact=None, error=why[:500].encode("utf-8", "replace").decode(), inference_usage=usage)
