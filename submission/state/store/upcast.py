"""Brings an older event's fields up to the current schema. Stored bytes and hashes stay as they were."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from submission.state.events import SCHEMA_VERSION

Fields = dict[str, Any]

UPCASTERS: dict[tuple[str, int], Callable[[Fields], Fields]] = {}
"""(event type, schema_version) -> the payload one version later."""


def upcast(fields: Fields) -> Fields:
    """The same event as the current schema would have written it."""
    version = fields["schema_version"]
    while isinstance(version, int) and version < SCHEMA_VERSION:
        step = UPCASTERS.get((fields["type"], version))
        payload = step(fields["payload"]) if step else fields["payload"]
        version += 1
        fields = {**fields, "payload": payload, "schema_version": version}
    return fields
