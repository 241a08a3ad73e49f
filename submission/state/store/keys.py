"""The Ed25519 key that signs the heads of exported logs. It lives beside the database and never leaves it."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path
from typing import NoReturn

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from submission.state.ports import StoreFailed
from submission.state.store.export import public_key_id

FILE = "signing.key"
_MAX_BYTES = 4096


class SigningKey:
    """Shows its key id and nothing else; it can be neither printed, copied nor pickled."""

    __slots__ = ("_private", "key_id", "public_key")

    def __init__(self, private: Ed25519PrivateKey) -> None:
        self._private = private
        self.public_key = private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        self.key_id = public_key_id(self.public_key)

    @classmethod
    def generate(cls) -> SigningKey:
        """A key for as long as the process lives."""
        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def in_folder(cls, folder: Path) -> SigningKey:
        """The folder's key, made on first use. Raises StoreFailed when it cannot be made or read, when others
        may read it, or when it is no Ed25519 key: a lost key is never replaced in silence."""
        path = folder / FILE
        try:
            if not path.exists():
                _create(path)
            return cls(_load(path))
        except OSError as error:
            raise StoreFailed(f"the signing key {path} cannot be used: {error.strerror}") from None

    def sign(self, data: bytes) -> bytes:
        return self._private.sign(data)

    def __repr__(self) -> str:
        return f"SigningKey({self.key_id})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a signing key stays where it is")


def _create(path: Path) -> None:
    """Put a whole key in place or nothing: a start that dies half-way must not leave a broken one. Where
    another process was first, its key stands."""
    data = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    draft = path.with_name(f"{FILE}.{os.getpid()}.new")
    draft.unlink(missing_ok=True)
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with open(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):
            # Both refuse to replace a file that is there; Windows has hard links on some disks only.
            (os.rename if os.name == "nt" else os.link)(draft, path)
    finally:
        draft.unlink(missing_ok=True)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Make the new name survive power loss; Windows does so by itself and cannot open folders."""
    if os.name != "nt":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _load(path: Path) -> Ed25519PrivateKey:
    with open(path, "rb") as file:
        mode = os.fstat(file.fileno()).st_mode
        data = file.read(_MAX_BYTES)
    if os.name != "nt" and stat.S_IMODE(mode) & 0o077:
        raise StoreFailed(
            f"others may read the signing key {path} (mode {stat.S_IMODE(mode):04o}); "
            f"make it its owner's alone: chmod 600 {path}"
        )
    try:
        key = load_pem_private_key(data, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise StoreFailed(f"{path} is not an Ed25519 signing key; put the one that was here back")
    return key
