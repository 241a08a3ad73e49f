"""What every refusal looks like, whatever was refused."""

from __future__ import annotations

from typing import Any

import httpx

from submission.state.refusals import RIGHT
from tests.http.raw import Answer

MEMBERS = {"type", "title", "status", "code", "detail", "right"}


def refused(response: httpx.Response | Answer, status: int, code: str) -> dict[str, Any]:
    """Assert that this is the problem of that code, whole, and return it."""
    found = response.status if isinstance(response, Answer) else response.status_code
    problem: dict[str, Any] = response.json()
    assert (found, problem.get("code")) == (status, code), problem
    assert response.headers["content-type"] == "application/problem+json"
    assert problem.keys() >= MEMBERS
    assert problem["status"] == status
    assert problem["type"] == f"urn:countersign:{code}"
    assert all(isinstance(problem[name], str) and problem[name] for name in MEMBERS - {"status"})
    assert problem["right"] == RIGHT.get(code, problem["right"])
    return problem
