"""The one clock, and the one source of names for new runs."""

from __future__ import annotations

import hashlib
import secrets
from datetime import UTC, datetime


def now() -> str:
    """UTC with milliseconds, as 2026-12-01T09:30:00.000Z."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")  # noqa: TID251 - the clock itself


def new_run_id(key: str | None = None) -> str:
    """A name for a new run; the same Idempotency-Key names the same run."""
    return "r-" + (hashlib.sha256(key.encode()).hexdigest()[:16] if key is not None else secrets.token_hex(8))
