"""The app and its process: `play` opens a browser on it, `serve` leaves that to others."""

from __future__ import annotations

import argparse
import gc
import logging
import socket
import sys
import threading
import webbrowser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

import uvicorn
from fastapi import FastAPI
from starlette.responses import HTMLResponse, Response

from submission.tools import problems
from submission.tools.bootstrap import House, PackFaults, Settings, StoreFailed, open_house
from submission.tools.guard import LOCAL_HOSTS, Guard
from submission.tools.routes import about, gates, log, runs
from submission.tools.routes.gates import approve_current_step

__all__ = ["approve_current_step", "create_app", "main"]

FRONT = Path(__file__).with_name("front.html")
DESCRIPTION = """
A turn-based agent-workforce game: workers propose, a human countersigns. Everything is an event in a log that anyone
can replay and verify. Refusals are RFC 9457 problems with a stable `code` and what would be right.
"""


def create_app(house: House, hosts: frozenset[str] | None = LOCAL_HOSTS) -> FastAPI:
    """The app over an open house. It redoes interrupted turns when it starts and closes the house when it ends."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        await house.turns.recover()
        yield
        await house.close()

    app = FastAPI(
        title="Countersign",
        version="0.1.0",
        description=DESCRIPTION,
        lifespan=lifespan,
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )
    app.state.house = house
    app.add_middleware(Guard, hosts=hosts)
    routers = (runs.router, gates.router, log.router, about.router)
    routes = [route for router in routers for route in router.routes]
    app.router.routes[:0] = routes  # not by include_router, which looks for each request's route twice
    problems.install(app, routes)

    document = app.openapi
    app.openapi = lambda: app.openapi_schema or problems.as_problems(document())  # type: ignore[method-assign]

    @app.get("/", include_in_schema=False)
    async def front() -> Response:
        return HTMLResponse(FRONT.read_bytes())

    return app


def main(argv: list[str] | None = None) -> int:
    """Exit 0 when stopped, 2 when the server could not start, with one sentence why."""
    options = _options(argv)
    settings = Settings.from_environment()
    if options.data is not None:
        settings = replace(settings, data=options.data)
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    try:
        listener = _listen(options.host, options.port)
    except OSError as error:
        return _fail(
            f"cannot listen on {options.host}:{options.port}: {error.strerror or error}; choose another --port"
        )
    try:
        house = open_house(settings)
    except (StoreFailed, PackFaults) as error:
        listener.close()
        return _fail(str(error))
    local = options.host in LOCAL_HOSTS
    app = create_app(house, LOCAL_HOSTS if local else None)
    gc.freeze()  # what is loaded now stays: do not walk it again and again, nor the runs in memory too often
    gc.set_threshold(20_000, 50, 100)
    _run(app, listener, options)
    return 0


def _options(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="manage.py play|serve", description="Play Countersign, or serve it.")
    parser.add_argument("verb", choices=("play", "serve"))
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default 127.0.0.1)")
    parser.add_argument("--port", type=int, default=8000, help="port to listen on, 0 for any free one (default 8000)")
    parser.add_argument("--data", type=Path, help="folder of the log and its signing key (default data/)")
    return parser.parse_args(argv)


def _listen(host: str, port: int) -> socket.socket:
    if not 0 <= port <= 65535:
        raise OSError(f"port {port} is not in 0..65535")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(2048)  # so that whoever reads the address printed below is not refused
    except OSError:
        listener.close()
        raise
    return listener


def _run(app: FastAPI, listener: socket.socket, options: argparse.Namespace) -> None:
    host, port = listener.getsockname()[:2]
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    print(f"Countersign is at {address} (Ctrl-C stops it; nothing is lost)", file=sys.stderr, flush=True)
    config = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=2)
    server = uvicorn.Server(config)
    if options.verb == "play":
        threading.Timer(0.8, webbrowser.open, (address,)).start()
    with suppress(KeyboardInterrupt):
        server.run(sockets=[listener])


def _fail(sentence: str) -> int:
    print(f"countersign: {sentence}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
