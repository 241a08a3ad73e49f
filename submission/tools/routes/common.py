"""What the routes share."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Header, Path, Request
from pydantic import BaseModel, ConfigDict
from starlette.responses import Response

from submission.tools.bootstrap import House

RunId = Annotated[str, Path(description="The run, such as r-0123456789abcdef", max_length=80)]
GateId = Annotated[str, Path(description="The gate, named by the seq that opened it, such as gate-6")]
IdempotencyKey = Annotated[
    str, Header(alias="Idempotency-Key", description="Names this decision; sending it again returns its receipt")
]


class Body(BaseModel):
    """A request body: unknown fields are refused, types are not guessed."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


async def house(request: Request) -> House:
    found: House = request.app.state.house
    return found


AtHouse = Annotated[House, Depends(house)]


def reply(model: BaseModel, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A view as JSON, written once by pydantic."""
    return Response(model.model_dump_json(), status, headers, media_type="application/json")


IMMUTABLE = {"Cache-Control": "public, max-age=31536000, immutable"}
