"""The only reader of the environment, read once at the start."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

DEFAULT_DATA = Path(__file__).resolve().parents[2] / "data"


@dataclass(frozen=True, slots=True)
class Settings:
    """`data` is the folder of the log and its key; `player_name` the human whose decisions the log carries."""

    data: Path = DEFAULT_DATA
    player_name: str = "Player"

    @classmethod
    def from_environment(cls) -> Settings:
        """COUNTERSIGN_DATA and COUNTERSIGN_PLAYER, each with its default."""
        return cls(
            data=Path(os.environ.get("COUNTERSIGN_DATA") or DEFAULT_DATA),
            player_name=(os.environ.get("COUNTERSIGN_PLAYER") or "Player").strip()[:80] or "Player",
        )
