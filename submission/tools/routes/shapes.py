"""The shape of each event on the wire, for the OpenAPI document and the clients generated from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, Union

from pydantic import Field, create_model

from submission.state.canonical import Frozen
from submission.state.events import PAYLOADS, Actor, Payload, Sha256


class Envelope(Frozen):
    """What every event carries. `hash` is the SHA-256 of the line without its `hash` member."""

    seq: Annotated[int, Field(ge=1)]
    run_id: str
    at: Annotated[str, Field(description="UTC with milliseconds", examples=["2026-12-01T09:30:00.000Z"])]
    actor: Actor
    cause: Annotated[int | str | None, Field(description="The seq this follows from, or the id of its command")]
    schema_version: int
    prev_hash: Sha256
    hash: Sha256


def _shape(payload: type[Payload]) -> type[Envelope]:
    fields: dict[str, Any] = {"type": (Literal[payload.type], ...), "payload": (payload, ...)}
    return create_model(f"{payload.__name__}Event", __base__=Envelope, __doc__=payload.__doc__, **fields)


if TYPE_CHECKING:
    EventShape = Envelope
else:
    EventShape = Annotated[Union[tuple(map(_shape, PAYLOADS.values()))], Field(discriminator="type")]  # noqa: UP007


class EventPage(Frozen):
    """Events after a seq, in order, each exactly as it is stored; `head` is the run's last seq."""

    run_id: str
    head: int
    events: tuple[EventShape, ...]
