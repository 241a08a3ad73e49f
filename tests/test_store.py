"""The event stores: one contract for both, and what SQLite owes besides."""

import asyncio
import contextlib
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from submission.state.ports import EventStore, Job, StoreFailed
from submission.state.store import sqlite
from submission.state.store.keys import SigningKey
from submission.state.store.memory import MemoryStore
from submission.state.store.sqlite import SqliteStore, StoreLocked
from tests.store_contract import StoreContract, lines

posix = pytest.mark.skipif(os.name == "nt", reason="permission bits and limits of POSIX")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
async def kept(folder: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore.open(folder)
    yield store
    await store.close()


@contextlib.contextmanager
def ordinary_user() -> Iterator[None]:
    """Be nobody for a while, since permissions do not bind root."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that the ordinary user can get to, which pytest's own are not."""
    place = Path(tempfile.mkdtemp())
    place.chmod(0o755)
    try:
        with ordinary_user():
            list(place.iterdir())
        yield place
    except PermissionError:
        pytest.skip("the folder for temporary files is closed to other users")
    finally:
        for path in [place, *place.rglob("*/")]:
            path.chmod(0o700)
        shutil.rmtree(place)


def sql(folder: Path, statement: str) -> list[Any]:
    connection = apsw.Connection(str(folder / sqlite.FILE))
    try:
        return connection.execute(statement).fetchall()
    finally:
        connection.close()


class TestMemoryStore(StoreContract):
    @pytest.fixture
    async def store(self) -> EventStore:
        return MemoryStore()


class TestSqliteStore(StoreContract):
    @pytest.fixture
    async def store(self, kept: SqliteStore) -> EventStore:
        return kept


async def test_a_reopened_store_holds_the_same(folder: Path) -> None:
    store = SqliteStore.open(folder)
    await store.append("r", 0, lines("r", 0, 5), jobs=[Job("r", "a", 1)])
    await store.append("s", 0, lines("s", 0, 400))
    before = [await store.read("r"), await store.read("s"), await store.runs(), await store.jobs()]
    await store.close()
    assert sorted(path.name for path in folder.iterdir()) == ["countersign.db", "countersign.lock"]
    again = SqliteStore.open(folder)
    assert [await again.read("r"), await again.read("s"), await again.runs(), await again.jobs()] == before
    assert await again.append("r", 5, lines("r", 5, 1)) == 6
    await again.close()


async def test_closing_writes_what_was_asked_for(folder: Path) -> None:
    store = SqliteStore.open(folder)
    asked = [asyncio.create_task(store.append(f"r{n}", 0, lines(f"r{n}", 0, 1))) for n in range(600)]
    await asyncio.sleep(0)
    await store.close()
    assert await asyncio.gather(*asked) == [1] * 600
    with contextlib.closing(apsw.Connection(str(folder / sqlite.FILE))) as connection:
        assert connection.execute("SELECT count(*) FROM event").fetchall() == [(600,)]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE event SET line = x'00' WHERE seq = 1",
        "UPDATE event SET seq = seq + 10",
        "DELETE FROM event WHERE seq = 2",
        "INSERT OR REPLACE INTO event SELECT run, seq, x'00' FROM event",
    ],
)
async def test_an_event_can_be_neither_changed_nor_removed(kept: SqliteStore, folder: Path, statement: str) -> None:
    written = lines("r", 0, 3)
    await kept.append("r", 0, written)
    with pytest.raises(apsw.ConstraintError, match="append-only"):
        sql(folder, statement)
    assert await kept.read("r") == written


async def test_an_uncommitted_line_is_not_read(kept: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    written, go_on = threading.Event(), threading.Event()
    write = sqlite._Writer._write

    def slow(self: Any, item: Any) -> Any:
        answer = write(self, item)
        written.set()
        assert go_on.wait(10)
        return answer

    monkeypatch.setattr(sqlite._Writer, "_write", slow)
    append = asyncio.create_task(kept.append("r", 0, lines("r", 0, 1), jobs=[Job("r", "a", 1)]))
    await asyncio.to_thread(written.wait, 10)
    assert (await kept.read("r"), await kept.head("r"), await kept.jobs()) == ([], None, [])
    go_on.set()
    assert await append == 1
    assert len(await kept.read("r")) == 1


async def test_what_waits_together_is_written_together(kept: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    flush = sqlite._Writer._flush

    def counted(self: Any, batch: Any) -> Any:
        sizes.append(len(batch))
        return flush(self, batch)

    monkeypatch.setattr(sqlite._Writer, "_flush", counted)
    await asyncio.gather(*(kept.append(f"r{n}", 0, lines(f"r{n}", 0, 1)) for n in range(600)))
    assert sum(sizes) == 600
    assert len(sizes) < 60
    assert max(sizes) <= sqlite.BATCH


async def test_an_acknowledged_append_is_flushed_to_the_disk(kept: SqliteStore) -> None:
    assert kept._writer is not None
    connection = kept._writer._connection
    assert connection.pragma("journal_mode") == "wal"
    assert connection.pragma("synchronous") == 2, "FULL: without it a power cut loses what was acknowledged"


async def test_the_cost_of_an_append_does_not_grow_with_its_run(kept: SqliteStore) -> None:
    steps: list[int] = []

    def step() -> bool:
        steps.append(1)
        return False

    async def cost(seq: int) -> int:
        steps.clear()
        await kept.append("r", seq, lines("r", seq, 5))
        await kept.read("r", seq, 5)
        return len(steps)

    await kept.append("r", 0, lines("r", 0, 100))
    for connection in (kept._reader, kept._writer._connection if kept._writer else kept._reader):
        connection.set_progress_handler(step, 1)
    early = await cost(100)
    await kept.append("r", 105, lines("r", 105, 9_895))
    assert await cost(10_000) <= early * 1.1


# --- who owns the folder


async def test_a_second_store_in_this_process_is_refused(kept: SqliteStore, folder: Path) -> None:
    with pytest.raises(StoreLocked, match=f"process {os.getpid()}") as caught:
        SqliteStore.open(folder)
    assert str(folder) in str(caught.value)
    assert await kept.append("r", 0, lines("r", 0, 1)) == 1


def test_a_second_process_is_refused_until_the_first_ends(folder: Path) -> None:
    hold = "import sys; from pathlib import Path; from submission.state.store.sqlite import SqliteStore; "
    hold += "store = SqliteStore.open(Path(sys.argv[1])); print('open', flush=True); sys.stdin.read()"
    child = subprocess.Popen([sys.executable, "-c", hold, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"open\n"
        with pytest.raises(StoreLocked, match=f"process {child.pid}"):
            SqliteStore.open(folder)
        child.kill()
        child.wait()
    asyncio.run(SqliteStore.open(folder).close())


async def test_a_looker_needs_no_lock_and_writes_nothing(kept: SqliteStore, folder: Path) -> None:
    written = lines("r", 0, 2)
    await kept.append("r", 0, written)
    looker = SqliteStore.read_only(folder)
    assert await looker.read("r") == written
    await kept.append("r", 2, lines("r", 2, 1))
    assert len(await looker.read("r")) == 3
    with pytest.raises(StoreFailed, match="read only"):
        await looker.append("r", 3, lines("r", 3, 1))
    await looker.close()
    assert await kept.append("r", 3, lines("r", 3, 1)) == 4


async def test_there_is_nothing_to_look_at_where_nothing_was_kept(folder: Path) -> None:
    with pytest.raises(StoreFailed, match="no Countersign data"):
        SqliteStore.read_only(folder)
    assert not folder.exists()
    folder.mkdir()
    (folder / sqlite.FILE).touch()
    with pytest.raises(StoreFailed, match="no Countersign data"):
        SqliteStore.read_only(folder)
    await SqliteStore.open(folder).close()  # a start that died before its first commit


# --- what can be wrong with a folder


@posix
async def test_the_folder_is_its_owners_alone(kept: SqliteStore, folder: Path) -> None:
    await kept.append("r", 0, lines("r", 0, 1))
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}


@posix
async def test_a_folder_that_may_not_be_written_is_refused(place: Path) -> None:
    shut, archive = place / "shut", place / "archive"
    shut.mkdir()
    store = SqliteStore.open(archive)
    await store.append("r", 0, lines("r", 0, 2))
    await store.close()
    for path in archive.iterdir():
        path.chmod(0o444)
    for folder in (shut, archive):
        folder.chmod(0o555)
    with ordinary_user():
        for folder in (shut, archive, shut / "new"):
            with pytest.raises(StoreFailed, match="cannot be written") as caught:
                SqliteStore.open(folder)
            assert str(folder) in str(caught.value)
        looker = SqliteStore.read_only(archive)
        assert len(await looker.read("r")) == 2
        await looker.close()


@posix
async def test_a_database_that_may_not_be_written_is_refused(place: Path) -> None:
    folder = place / "data"
    await SqliteStore.open(folder).close()
    folder.chmod(0o777)
    (folder / sqlite.LOCK_FILE).chmod(0o666)
    (folder / sqlite.FILE).chmod(0o444)
    with ordinary_user(), pytest.raises(StoreFailed, match="may not be written"):
        SqliteStore.open(folder)
    (folder / sqlite.FILE).chmod(0o000)
    with ordinary_user(), pytest.raises(StoreFailed, match=r"may read|cannot be opened"):
        SqliteStore.read_only(folder)


def test_a_file_in_the_folders_place_is_refused(folder: Path) -> None:
    folder.write_text("not a folder")
    with pytest.raises(StoreFailed, match="cannot be written"):
        SqliteStore.open(folder)


@pytest.mark.parametrize("content", [b"garbage" * 1000, b"SQLite format 3\0" + b"\xff" * 4096])
def test_a_file_that_is_no_database_is_refused_and_left_alone(folder: Path, content: bytes) -> None:
    folder.mkdir()
    (folder / sqlite.FILE).write_bytes(content)
    for _ in range(2):  # the second time tells that the first let the folder go
        with pytest.raises(StoreFailed, match="not a Countersign database"):
            SqliteStore.open(folder)
    assert (folder / sqlite.FILE).read_bytes() == content


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("CREATE TABLE theirs (x)", "another program"),
        ("PRAGMA application_id = 7", "another program"),
        (f"PRAGMA application_id = {sqlite._APPLICATION}; PRAGMA user_version = 2", "newer Countersign"),
    ],
)
def test_another_programs_or_a_newer_database_is_refused(folder: Path, statement: str, why: str) -> None:
    folder.mkdir()
    sql(folder, statement)
    before = (folder / sqlite.FILE).read_bytes()
    for open_store in (SqliteStore.open, SqliteStore.read_only):
        with pytest.raises(StoreFailed, match=why):
            open_store(folder)
    assert (folder / sqlite.FILE).read_bytes() == before


async def test_a_damaged_database_fails_in_words(folder: Path) -> None:
    store = SqliteStore.open(folder)
    await store.append("r", 0, lines("r", 0, 500))
    await store.close()
    with open(folder / sqlite.FILE, "r+b") as file:
        file.seek(2 * 8192)
        file.write(b"\xff" * (os.fstat(file.fileno()).st_size - 2 * 8192))
    store = SqliteStore.open(folder)
    with pytest.raises(StoreFailed, match="damaged"):
        await store.read("r")
    with pytest.raises(StoreFailed, match="damaged"):
        await store.append("r", 500, lines("r", 500, 1))
    await store.close()


# --- a disk that is full or fails


async def fill(store: SqliteStore) -> dict[str, int]:
    """Append until the disk refuses; the runs that were acknowledged, and their seq."""
    held: dict[str, int] = {}
    for n in range(10_000):
        run_id = f"r{n}"
        try:
            held[run_id] = await store.append(run_id, 0, lines(run_id, 0, 5), jobs=[Job(run_id, "a", 1)])
        except StoreFailed:
            return held
    pytest.fail("the disk never filled")


async def check_held(store: SqliteStore, held: dict[str, int]) -> None:
    assert {run.run_id: run.seq for run in await store.runs(10_000)} == held
    assert {job.run_id for job in await store.jobs()} == held.keys()
    for run_id, seq in held.items():
        assert len(await store.read(run_id)) == seq


async def test_a_full_disk_fails_the_append_and_nothing_else(kept: SqliteStore, folder: Path) -> None:
    assert kept._writer is not None
    connection = kept._writer._connection
    room = connection.pragma("page_count") + 20
    connection.pragma("max_page_count", room)
    held = await fill(kept)
    await check_held(kept, held)
    asked = [kept.append(f"s{n}", 0, lines(f"s{n}", 0, 400)) for n in range(40)]
    answers = await asyncio.gather(*asked, return_exceptions=True)
    assert all(isinstance(answer, StoreFailed) for answer in answers)
    assert "disk is full" in str(answers[0])
    await check_held(kept, held)
    connection.pragma("max_page_count", 10**6)
    for run_id in list(held):
        held[run_id] = await kept.append(run_id, 5, lines(run_id, 5, 1))
    await check_held(kept, held)
    await kept.close()
    again = SqliteStore.open(folder)
    await check_held(again, held)
    await again.close()


@posix
async def test_a_write_that_fails_in_the_middle_leaves_nothing_half_written(kept: SqliteStore, folder: Path) -> None:
    import resource

    await kept.append("first", 0, lines("first", 0, 5), jobs=[Job("first", "a", 1)])
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    journal = (folder / f"{sqlite.FILE}-wal").stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (journal + 100_000, hard))
    try:
        held = {"first": 5, **await fill(kept)}
        await check_held(kept, held)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    held["later"] = await kept.append("later", 0, lines("later", 0, 200), jobs=[Job("later", "a", 1)])
    await check_held(kept, held)
    assert sql(folder, "PRAGMA integrity_check") == [("ok",)]


async def test_a_commit_that_fails_fails_its_whole_batch(kept: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    await kept.append("r", 0, lines("r", 0, 1))
    assert kept._writer is not None
    connection = kept._writer._connection
    connection.set_commit_hook(lambda: True)  # SQLite turns the COMMIT into a rollback
    asked = [kept.append("r", 1, lines("r", 1, 1)), kept.append("s", 0, lines("s", 0, 1))]
    answers = await asyncio.gather(*asked, return_exceptions=True)
    assert all(isinstance(answer, StoreFailed) for answer in answers)
    connection.set_commit_hook(None)
    assert [run.seq for run in await kept.runs()] == [1]
    assert await kept.append("r", 1, lines("r", 1, 1)) == 2


async def test_another_programs_write_lock_is_waited_for(
    kept: SqliteStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = apsw.Connection(str(folder / sqlite.FILE))
    other.execute("BEGIN IMMEDIATE")
    append = asyncio.create_task(kept.append("r", 0, lines("r", 0, 1)))
    await asyncio.sleep(0.05)
    assert not append.done()
    other.execute("ROLLBACK")
    assert await append == 1
    assert kept._writer is not None
    kept._writer._connection.set_busy_timeout(1)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreFailed, match="another program"):
        await kept.append("r", 1, lines("r", 1, 1))
    other.close()
    assert await kept.append("r", 1, lines("r", 1, 1)) == 2


# --- the signing key


def test_the_key_is_made_once_and_stays(tmp_path: Path) -> None:
    key = SigningKey.in_folder(tmp_path)
    again = SigningKey.in_folder(tmp_path)
    assert key.key_id == again.key_id
    assert key.sign(b"x") == again.sign(b"x")
    assert len(key.key_id) == 16
    assert len(key.public_key) == 32
    assert [path.name for path in tmp_path.iterdir()] == ["signing.key"]
    assert SigningKey.generate().key_id != key.key_id


def test_the_key_shows_itself_to_nobody(tmp_path: Path) -> None:
    key = SigningKey.in_folder(tmp_path)
    assert repr(key) == str(key) == f"SigningKey({key.key_id})"
    assert not hasattr(key, "__dict__")
    with pytest.raises(TypeError):
        pickle.dumps(key)


@posix
def test_a_key_that_others_may_read_is_refused(tmp_path: Path) -> None:
    SigningKey.in_folder(tmp_path)
    path = tmp_path / "signing.key"
    assert path.stat().st_mode & 0o777 == 0o600
    for mode in (0o640, 0o604, 0o620, 0o666):
        path.chmod(mode)
        with pytest.raises(StoreFailed, match="chmod 600"):
            SigningKey.in_folder(tmp_path)
    path.chmod(0o400)
    SigningKey.in_folder(tmp_path)


def pem_of_another_kind() -> bytes:
    return generate_private_key(SECP256R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


@pytest.mark.parametrize("content", [b"", b"garbage", b"\xff" * 9000, pem_of_another_kind()])
def test_a_file_that_is_no_key_is_refused_and_kept(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "signing.key"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(StoreFailed, match="not an Ed25519 signing key") as caught:
        SigningKey.in_folder(tmp_path)
    assert "PRIVATE" not in str(caught.value)
    assert path.read_bytes() == content


def test_a_key_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreFailed, match="cannot be used"):
        SigningKey.in_folder(tmp_path / "nowhere")
    (tmp_path / "signing.key").mkdir()
    with pytest.raises(StoreFailed, match="cannot be used"):
        SigningKey.in_folder(tmp_path)
