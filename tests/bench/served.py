"""Our server as the bench runs it: the shipped app, over a store that also notes when each commit was acknowledged."""

from __future__ import annotations

import json
import socket
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import uvicorn
from fastapi import FastAPI
from starlette.responses import Response

from submission.state.ports import EventStore, Job
from submission.tools.bootstrap import Settings, open_house
from submission.tools.server import create_app

Commits = dict[str, dict[int, int]]
"""Monotonic nanoseconds by run and by the last seq of an append."""


def main() -> None:
    """Serve the data folder argv[1] on the listener argv[2] until SIGTERM."""
    house = open_house(Settings(data=Path(sys.argv[1]), player_name="Ada"))
    commits: Commits = {}
    _note_commits(house.store, commits)
    app = create_app(house)

    @app.get("/bench/commits/{run_id}", include_in_schema=False)
    async def noted(run_id: str) -> Response:
        return Response(json.dumps(commits.setdefault(run_id, {})))

    serve(app, int(sys.argv[2]))


def serve(app: FastAPI, descriptor: int) -> None:
    """Serve an app on an inherited listener with the shipped server's own settings."""
    config = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=1)
    print("ready", flush=True)
    uvicorn.Server(config).run(sockets=[socket.socket(fileno=descriptor)])


def _note_commits(store: EventStore, commits: Commits) -> None:
    """Note when the store answers that lines are kept, for the runs that somebody asked about."""
    append = store.append

    async def noting(
        run_id: str, expected_seq: int, lines: Sequence[bytes], jobs: Sequence[Job] = (), done: Sequence[Job] = ()
    ) -> int:
        seq = await append(run_id, expected_seq, lines, jobs, done)
        if (watched := commits.get(run_id)) is not None:
            watched[seq] = time.monotonic_ns()
        return seq

    store.append = noting  # type: ignore[method-assign]


if __name__ == "__main__":
    main()
