"""Every no of the server in one shape: an RFC 9457 problem with a stable code and what would be right."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, Route

from submission.state.canonical import canonical
from submission.state.ports import StoreFailed
from submission.state.receipt import Receipt
from submission.state.refusals import (
    RIGHT,
    BrokenLog,
    Conflict,
    Forbidden,
    Invalid,
    Refused,
    Stale,
    TooLarge,
    Unknown,
)

logger = logging.getLogger(__name__)

STATUS: dict[type[Refused], int] = {
    Invalid: 422,
    Unknown: 404,
    Forbidden: 403,
    Conflict: 409,
    Stale: 412,
    TooLarge: 413,
}


CODES = {"body.verb": "decision.verb_unknown", "header.Idempotency-Key": "decision.key_required"}
"""The code of a fault at one place of a request, where it has its own."""


class Problem(BaseModel):
    """Why a request was refused. `right` says what would be right; 409 and 412 at a gate carry the receipt of the
    decision that won, 412 also the current artifact."""

    model_config = ConfigDict(extra="allow")
    type: str
    title: str
    status: int
    code: str
    detail: str
    right: str
    receipt: Receipt | None = None
    current: dict[str, Any] | None = None


REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": kind.__name__} for kind, status in STATUS.items()
}


def as_problems(document: dict[str, Any]) -> dict[str, Any]:
    """The OpenAPI document with each refusal under the media type it has on the wire."""
    shape = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    for operations in document["paths"].values():
        for operation in operations.values():
            for status in STATUS.values():
                operation["responses"][str(status)]["content"] = shape
    return document


def problem(status: int, code: str, right: str, detail: str = "", **extra: Any) -> Response:
    """The response of one refusal. `extra` values are JSON or models."""
    body = {
        "type": f"urn:countersign:{code}",
        "title": code.replace(".", ": ").replace("_", " "),
        "status": status,
        "code": code,
        "detail": detail or right,
        "right": right,
        **{name: value.model_dump() if isinstance(value, BaseModel) else value for name, value in extra.items()},
    }
    return Response(canonical(body), status, media_type="application/problem+json")


def refusal(error: Refused) -> Response:
    return problem(STATUS[type(error)], error.code, error.right, _printable(error.detail), **error.extra)


def _printable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _allowed(routes: Sequence[BaseRoute], request: Request) -> str:
    """The methods of this path, for the Allow header."""
    here = [route for route in routes if isinstance(route, Route) and route.matches(request.scope)[0] != Match.NONE]
    return ", ".join(sorted({method for route in here for method in route.methods or ()}))


def install(app: FastAPI, routes: Sequence[BaseRoute]) -> None:
    """Answer every failure of a request as a problem. `routes` are those of the app."""

    @app.exception_handler(Refused)
    async def refused(request: Request, error: Refused) -> Response:
        return refusal(error)

    @app.exception_handler(RequestValidationError)
    async def malformed(request: Request, error: RequestValidationError) -> Response:
        faults = [{"where": _where(fault["loc"]), "what": _printable(str(fault["msg"]))} for fault in error.errors()]
        code = next((CODES[fault["where"]] for fault in faults if fault["where"] in CODES), "request.malformed")
        detail = "; ".join(f"{fault['where']}: {fault['what']}" for fault in faults[:3])
        return problem(422, code, RIGHT[code], detail, faults=faults[:20])

    @app.exception_handler(HTTPException)
    async def http_error(request: Request, error: HTTPException) -> Response:
        if error.status_code == 404:
            return problem(404, "route.unknown", RIGHT["route.unknown"], _printable(request.url.path))
        if error.status_code == 405:
            response = problem(405, "method.not_allowed", RIGHT["method.not_allowed"], request.method)
            response.headers["Allow"] = _allowed(routes, request)
            return response
        return problem(422, "request.malformed", RIGHT["request.malformed"], str(error.detail))

    @app.exception_handler(StoreFailed)
    async def store_failed(request: Request, error: StoreFailed) -> Response:
        logger.error("store failed: %s", error)
        return problem(503, "store.failed", "Free space or mend the data folder, then try again.", str(error))

    @app.exception_handler(BrokenLog)
    async def broken_log(request: Request, error: BrokenLog) -> Response:
        logger.error("broken log: %s", error)
        return problem(503, "log.broken", "Run verify on the log; it was changed outside the server.", str(error))


def _where(loc: tuple[Any, ...]) -> str:
    return _printable(".".join(str(part) for part in loc))
