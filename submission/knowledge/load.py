"""Worlds from folders: a typed world, or every fault of its pack with file and line."""

from __future__ import annotations

from pathlib import Path

from submission.knowledge.pack.checks import check_pack
from submission.knowledge.pack.faults import Fault, PackFaults
from submission.knowledge.pack.files import read_files
from submission.knowledge.pack.reading import build_world, read_pack
from submission.state.world import World

__all__ = ["WORLDS", "Fault", "PackFaults", "default_world", "list_worlds", "load_world", "load_worlds"]

WORLDS = Path(__file__).parent / "worlds"
"""Where the packs of this installation stand, one folder each. `default.txt` beside them names the first choice."""


def load_world(folder: Path) -> World:
    """Raises PackFaults."""
    faults: list[Fault] = []
    texts = read_files(folder, faults)
    if not texts and faults:
        raise PackFaults(faults)
    pack = read_pack(folder.name, texts, faults)
    check_pack(pack)
    if faults:
        raise PackFaults(faults)
    return build_world(pack)


def list_worlds(root: Path = WORLDS) -> tuple[Path, ...]:
    """The pack folders in a folder, by name."""
    if not root.is_dir():
        return ()
    folders = (path for path in root.iterdir() if path.is_dir() and not path.name.startswith((".", "_")))
    return tuple(sorted(folders, key=lambda path: path.name))


def load_worlds(root: Path = WORLDS) -> dict[str, World]:
    """Every pack by its id, which is its folder's name. Raises PackFaults with the faults of all of them."""
    faults: list[Fault] = []
    worlds: dict[str, World] = {}
    for folder in list_worlds(root):
        try:
            world = load_world(folder)
        except PackFaults as error:
            faults.extend(error.faults)
            continue
        if world.id != folder.name:
            faults.append(Fault(f"{folder.name}/world.yaml", 1, f"the id {world.id!r} is not the folder's name"))
        worlds[world.id] = world
    if not worlds and not faults:
        faults.append(Fault(root.name, 1, "there is no pack in this folder"))
    if faults:
        raise PackFaults(faults)
    return worlds


def default_world(root: Path = WORLDS) -> str:
    """The id of the world to play when none is asked for: the one `default.txt` names, else the first by name."""
    names = [folder.name for folder in list_worlds(root)]
    choice = root / "default.txt"
    name = choice.read_text(encoding="utf-8").strip() if choice.is_file() else next(iter(names), "")
    if name not in names:
        raise PackFaults([Fault(f"{root.name}/default.txt", 1, f"there is no world {name!r}")])
    return name
