"""Ids that are referred to, and those that dangle."""

from __future__ import annotations

from collections.abc import Set

from submission.knowledge.pack.lined import Where
from submission.knowledge.pack.sheet import Sheet


def known(sheet: Sheet, key: str) -> Set[str] | None:
    """The ids one may refer to; None when their file cannot be read, so that not everything seems to dangle."""
    return None if sheet.value is None else {name for _, name in sheet.ids(key)}


def refer(sheet: Sheet, at: Where, kind: str, name: str, ids: Set[str] | None) -> bool:
    """Whether the name may stand there; a fault when it refers to nothing."""
    if ids is None or name in ids:
        return True
    sheet.fault(at, f"unknown {kind} {name!r}")
    return False
