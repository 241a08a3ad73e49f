"""The log over HTTP: read it, follow it, take it away, check it, compare two."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query, Request
from starlette.responses import Response, StreamingResponse

from submission.state.canonical import canonical
from submission.state.compare import Comparison, compare
from submission.state.refusals import refuse
from submission.state.store.export import LogHeader, export_log, header_of
from submission.state.store.verify import Verification, verify_log
from submission.state.world import WorldPin
from submission.tools.bootstrap import House
from submission.tools.live import Lagged, Message, Progressed, event_frame, frame
from submission.tools.problems import REFUSALS
from submission.tools.routes.common import AtHouse, RunId, house, reply
from submission.tools.routes.shapes import EventPage

router = APIRouter(prefix="/api", tags=["log"], responses=REFUSALS)

After = Annotated[int, Query(ge=0, lt=2**53, description="The last seq you have")]
OneRun = Annotated[str, Query(max_length=80, description="A run of GET /api/runs")]
STREAM_PAGE = 500
KEEP_ALIVE, PING = 15, b": ping\n\n"
LOG_BODY = {
    "requestBody": {
        "required": True,
        "content": {"application/x-ndjson": {"schema": {"type": "string"}}},
        "description": "A log.jsonl as GET /api/runs/{run_id}/log.jsonl gives it, at most 64 MiB",
    }
}


@router.get("/runs/{run_id}/events", response_model=EventPage)
async def list_events(
    run_id: RunId,
    house: AtHouse,
    after: After = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 500,
    wait: Annotated[float, Query(ge=0, le=30, description="Seconds to wait when there is nothing new")] = 0,
) -> Response:
    """The run's events after a seq."""
    head = (await house.referee.load(run_id)).seq
    if head <= after and wait > 0:
        head = await _wait(house, run_id, after, wait)
    lines = await house.store.read(run_id, after, limit)
    body = b'{"run_id":%b,"head":%d,"events":[%b]}' % (canonical(run_id), head, b",".join(lines))
    return Response(body, media_type="application/json", headers={"Cache-Control": "no-cache"})


async def _wait(house: House, run_id: str, after: int, seconds: float) -> int:
    with house.live.watch(run_id) as queue:
        run = await house.referee.load(run_id)
        try:
            async with asyncio.timeout(seconds):
                while run.seq <= after:
                    await queue.get()
                    run = await house.referee.load(run_id)
        except TimeoutError:
            pass
    return run.seq


async def known_run(run_id: RunId, request: Request) -> str:
    """Refuses an unknown run before a stream begins."""
    await (await house(request)).referee.load(run_id)
    return run_id


@router.get(
    "/runs/{run_id}/stream",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {}}, "description": "The run's events as they come"}},
)
async def stream(
    run_id: Annotated[str, Depends(known_run)],
    house: AtHouse,
    after: After = 0,
    last_event_id: Annotated[
        str | None, Header(alias="Last-Event-ID", description="The last seq you have; wins over after")
    ] = None,
) -> StreamingResponse:
    """Server-sent events: each persisted event once, in order, with its seq as id; `progress` of the worker
    without one; `resync` when the cursor is not of this log or you fell behind. Resume with Last-Event-ID."""
    headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
    frames = _frames(house, run_id, _cursor(last_event_id, after))
    return StreamingResponse(frames, media_type="text/event-stream", headers=headers)


async def _frames(house: House, run_id: str, last: int) -> AsyncIterator[bytes]:
    with house.live.watch(run_id) as queue:
        head = (await house.referee.load(run_id)).seq
        if last > head:
            yield _resync(head)
            last = head
        while True:
            lines = await house.store.read(run_id, last, STREAM_PAGE)
            if lines:
                yield b"".join(event_frame(seq, line) for seq, line in enumerate(lines, last + 1))
                last += len(lines)
            if last < (await house.referee.load(run_id)).seq:
                continue
            async for last_seq, frames in _live(queue, last):
                last = last_seq
                yield frames
            yield _resync(last)


def _cursor(last_event_id: str | None, after: int) -> int:
    """The seq a browser sends back, however long; what is no seq is not ours, and the address counts."""
    if last_event_id is None or not (last_event_id.isascii() and last_event_id.isdigit()):
        return after
    return int(last_event_id[:300])


async def _live(queue: asyncio.Queue[Message], last: int) -> AsyncIterator[tuple[int, bytes]]:
    """What waits, as it comes, in one piece; ends when something was missed, so that the caller reads on from
    the store."""
    while True:
        frames: list[bytes] = []
        for message in await _waiting(queue):
            if isinstance(message, Progressed):
                frames.append(message.frame)
            elif isinstance(message, Lagged) or message.seq > last + 1:
                if frames:
                    yield last, b"".join(frames)
                return
            elif message.seq == last + 1:
                last = message.seq
                frames.append(message.frame)
        yield last, b"".join(frames) or PING


async def _waiting(queue: asyncio.Queue[Message]) -> list[Message]:
    """All that waits, at least one; nothing after KEEP_ALIVE seconds of silence."""
    try:
        async with asyncio.timeout(KEEP_ALIVE):
            messages = [await queue.get()]
    except TimeoutError:
        return []
    while not queue.empty():
        messages.append(queue.get_nowait())
    return messages


def _resync(seq: int) -> bytes:
    return frame("resync", b'{"seq":%d}' % seq)


@router.get(
    "/runs/{run_id}/log.jsonl",
    response_class=Response,
    responses={200: {"content": {"application/x-ndjson": {}}, "description": "Header, events, signed head"}},
)
async def export(run_id: RunId, house: AtHouse) -> Response:
    """The run as a file anyone can check: a header, one line an event, a signed head."""
    return Response(
        await exported(house, run_id),
        media_type="application/x-ndjson",
        headers={"Content-Disposition": f'attachment; filename="{run_id}.jsonl"'},
    )


async def exported(house: House, run_id: str) -> bytes:
    """The file of a run, from its stored lines as they are; nothing of it has to fold."""
    if await house.store.head(run_id) is None:
        refuse("run.unknown", f"no run {run_id[:40]!r}")
    lines = await house.store.read(run_id)
    header = header_of(lines[0]) or LogHeader(run_id, WorldPin(id="unknown", version="unknown", sha256="unknown"))
    return b"".join(export_log(header, lines, house.key))


@router.get("/runs/{run_id}/verify", response_model=Verification)
async def verify(run_id: RunId, house: AtHouse) -> Response:
    """Five separate verdicts on the run's own log, each with the first broken seq."""
    data = await exported(house, run_id)
    return reply(await asyncio.to_thread(verify_log, data, house.worlds, house.key.key_id))


@router.post("/replays", response_model=Verification, openapi_extra=LOG_BODY)
async def replay(request: Request, house: AtHouse) -> Response:
    """Verify an uploaded log.jsonl. Nothing is stored."""
    verification = await asyncio.to_thread(verify_log, await request.body(), house.worlds, house.key.key_id)
    if not verification.is_log:
        refuse("replay.not_a_log", "; ".join(verdict.says for verdict in verification.verdicts[:3]))
    return reply(verification)


@router.get("/compare", response_model=Comparison)
async def compare_runs(a: OneRun, b: OneRun, house: AtHouse) -> Response:
    """Where two runs part, and how their companies differ."""
    await house.referee.load(a)
    await house.referee.load(b)
    return reply(compare(await house.referee.events(a), await house.referee.events(b)))
