"""The files of a pack as text, and the hash that pins them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from submission.knowledge.pack.faults import Fault
from submission.state.canonical import sha256

MAX_FILE_BYTES = 512 * 1024
MAX_FILES = 1_000

_PORTABLE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def read_files(folder: Path, faults: list[Fault]) -> dict[str, str]:
    """Texts by path inside the pack, with LF line ends and no byte order mark, whatever the checkout made of them.
    `golden/`, `__pycache__` and names that begin with a dot are no part of a pack."""
    texts: dict[str, str] = {}
    root = os.path.realpath(folder)
    if not os.path.isdir(root):
        faults.append(Fault(folder.name, 1, "there is no such folder"))
        return texts
    for path in _walk(root, "", root, folder.name, faults):
        if len(texts) == MAX_FILES:
            faults.append(Fault(folder.name, 1, f"a pack holds at most {MAX_FILES:,} files"))
            break
        try:
            texts[path] = _read(os.path.join(root, *path.split("/")))
        except _Unreadable as error:
            faults.append(Fault(f"{folder.name}/{path}", error.line, str(error)))
    return texts


def content_sha256(texts: Mapping[str, str]) -> str:
    """The hash of all paths and contents: the same on every system and wherever the folder stands."""
    lines = (f"{sha256(texts[path].encode())}  {path}\n" for path in sorted(texts))
    return sha256("".join(lines).encode())


class _Unreadable(Exception):
    def __init__(self, message: str, line: int = 1) -> None:
        super().__init__(message)
        self.line = line


def _walk(folder: str, prefix: str, root: str, name: str, faults: list[Fault]) -> Iterator[str]:
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        path = prefix + entry.name
        if entry.name.startswith(".") or entry.name == "__pycache__" or path == "golden":
            continue
        if problem := _problem(entry, root):
            faults.append(Fault(f"{name}/{ascii(path)[1:-1]}", 1, problem))
        elif entry.is_dir():
            yield from _walk(entry.path, f"{path}/", root, name, faults)
        else:
            yield path


def _problem(entry: os.DirEntry[str], root: str) -> str | None:
    if not _PORTABLE.fullmatch(entry.name):
        return "a name may hold only letters a to z, digits, dots, dashes and underscores"
    if entry.is_symlink() and os.path.commonpath([root, os.path.realpath(entry.path)]) != root:
        return "a link that leaves the pack"
    if entry.is_symlink() and entry.is_dir():
        return "a link to a folder; a pack holds each file once"
    if not entry.is_dir() and not entry.is_file():
        return "neither a file nor a folder"
    return None


def _read(path: str) -> str:
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise _Unreadable(f"cannot be read: {error.strerror}") from error
    if len(data) > MAX_FILE_BYTES:
        raise _Unreadable(f"larger than {MAX_FILE_BYTES // 1024} KiB")
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _Unreadable(f"not UTF-8: byte 0x{data[error.start]:02x}", line) from error
