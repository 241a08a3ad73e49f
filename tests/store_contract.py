"""What every event store keeps, whatever it is made of. A subclass gives the `store` fixture."""

import asyncio

import pytest

from submission.state.events import Draft, LevelUp
from submission.state.evolve import GENESIS
from submission.state.ports import Conflict, EventStore, Job, RunHead, StoreFailed
from submission.state.store.chain import seal, unseal

AT = "2026-12-01T09:00:00.000Z"
LATER = "2026-12-01T09:00:00.001Z"


def lines(run_id: str, after: int, number: int, at: str = AT) -> list[bytes]:
    """Sealed events that could stand in a store after this seq; their chain begins anew."""
    drafts = [Draft(LevelUp(level=n, title='At "at":"then"', xp=n)) for n in range(number)]
    return [entry.line for entry in seal(drafts, run_id, after, GENESIS, at)]


async def outcome(store: EventStore, run_id: str, expected_seq: int, number: int = 1) -> int | Conflict:
    try:
        return await store.append(run_id, expected_seq, lines(run_id, expected_seq, number))
    except Conflict as conflict:
        return conflict


class StoreContract:
    async def test_gives_back_the_bytes_it_took(self, store: EventStore) -> None:
        first, second = lines("r", 0, 3), lines("r", 3, 2)
        assert await store.append("r", 0, first) == 3
        assert await store.append("r", 3, second) == 5
        assert await store.read("r") == first + second
        assert [unseal(line, seq).seq for seq, line in enumerate(await store.read("r"), 1)] == [1, 2, 3, 4, 5]

    async def test_reads_from_a_seq_and_no_more_than_asked(self, store: EventStore) -> None:
        kept = lines("r", 0, 700)
        await store.append("r", 0, kept)
        for after, limit in ((0, None), (0, 1), (3, 2), (256, 256), (255, 300), (699, 9), (700, None), (9999, 1)):
            end = None if limit is None else after + limit
            assert await store.read("r", after, limit) == kept[after:end], (after, limit)
        assert await store.read("r", -1) == kept
        assert await store.read("r", 0, 0) == []

    async def test_what_it_gave_is_the_readers_own(self, store: EventStore) -> None:
        await store.append("r", 0, lines("r", 0, 2))
        (await store.read("r")).clear()
        assert len(await store.read("r")) == 2

    async def test_knows_no_run_that_was_not_begun(self, store: EventStore) -> None:
        await store.append("r", 0, lines("r", 0, 1))
        for run_id in ("R", "r ", "", "r\0", "\ud800"):
            assert await store.read(run_id) == []
            assert await store.head(run_id) is None

    async def test_keeps_odd_run_ids_apart(self, store: EventStore) -> None:
        odd = ["", "a", "a\0", "a\0b", "A", "é", "e\u0301", "🜁", "'; DROP TABLE event; --", "x" * 10_000]
        for n, run_id in enumerate(odd, 1):
            await store.append(run_id, 0, lines(run_id, 0, n))
        assert [len(await store.read(run_id)) for run_id in odd] == list(range(1, len(odd) + 1))

    async def test_head_tells_when_the_first_and_last_event_were_stamped(self, store: EventStore) -> None:
        await store.append("r", 0, lines("r", 0, 2, AT))
        assert await store.head("r") == RunHead("r", 2, AT, AT)
        await store.append("r", 2, lines("r", 2, 1, LATER))
        assert await store.head("r") == RunHead("r", 3, AT, LATER)

    async def test_another_expected_seq_conflicts_and_writes_nothing(self, store: EventStore) -> None:
        job, other = Job("r", "a", 1), Job("r", "b", 1)
        kept = lines("r", 0, 3)
        await store.append("r", 0, kept, jobs=[job])
        for expected in (0, 1, 2, 4, 99, -1):
            with pytest.raises(Conflict) as caught:
                await store.append("r", expected, lines("r", 3, 1, LATER), jobs=[other], done=[job])
            assert (caught.value.run_id, caught.value.seq) == ("r", 3)
        assert await store.read("r") == kept
        assert await store.head("r") == RunHead("r", 3, AT, AT)
        assert await store.jobs() == [job]

    async def test_a_run_begins_at_nothing(self, store: EventStore) -> None:
        with pytest.raises(Conflict) as caught:
            await store.append("r", 1, lines("r", 1, 1), jobs=[Job("r", "a", 1)])
        assert caught.value.seq == 0
        assert await store.head("r") is None
        assert await store.runs() == []
        assert await store.jobs() == []

    async def test_of_64_that_expect_the_same_seq_one_wins(self, store: EventStore) -> None:
        await store.append("r", 0, lines("r", 0, 1))
        answers = await asyncio.gather(*(outcome(store, "r", 1, 2) for _ in range(64)))
        assert [answer for answer in answers if isinstance(answer, int)] == [3]
        assert {answer.seq for answer in answers if isinstance(answer, Conflict)} == {3}
        assert len(await store.read("r")) == 3

    async def test_of_64_that_begin_the_same_run_one_wins(self, store: EventStore) -> None:
        answers = await asyncio.gather(*(outcome(store, "r", 0, n) for n in range(1, 65)))
        assert sum(isinstance(answer, int) for answer in answers) == 1
        assert len(await store.read("r")) == next(answer for answer in answers if isinstance(answer, int))

    async def test_appends_to_one_run_that_wait_together_follow_each_other(self, store: EventStore) -> None:
        asked = [outcome(store, "r", seq) for seq in (0, 1, 2, 2, 3, 5)]
        answers = await asyncio.gather(*asked)
        assert [a if isinstance(a, int) else f"at {a.seq}" for a in answers] == [1, 2, 3, "at 3", 4, "at 4"]
        assert [unseal(line, seq).seq for seq, line in enumerate(await store.read("r"), 1)] == [1, 2, 3, 4]

    async def test_many_runs_at_once_each_keep_their_order(self, store: EventStore) -> None:
        async def play(run_id: str) -> list[bytes]:
            written: list[bytes] = []
            for number in (1, 5, 2, 7, 1):
                batch = lines(run_id, len(written), number)
                assert await store.append(run_id, len(written), batch) == len(written) + number
                written += batch
                assert await store.read(run_id) == written
            return written

        names = [f"r-{n}" for n in range(300)]
        for name, written in zip(names, await asyncio.gather(*map(play, names)), strict=True):
            assert await store.read(name) == written

    async def test_jobs_come_and_go_with_the_events(self, store: EventStore) -> None:
        a, b, c = Job("r", "a", 1), Job("r", "a", 2), Job("s", "a", 1)
        await store.append("r", 0, lines("r", 0, 1), jobs=[a])
        await store.append("s", 0, lines("s", 0, 1), jobs=[c])
        await store.append("r", 1, lines("r", 1, 1), jobs=[b, a])
        assert await store.jobs() == [a, c, b]
        await store.append("s", 1, lines("s", 1, 1), done=[c, Job("s", "never asked", 1)])
        await store.append("r", 2, lines("r", 2, 1), jobs=[Job("r", "b", 1)], done=[a])
        assert await store.jobs() == [b, Job("r", "b", 1)]

    async def test_runs_come_newest_change_first(self, store: EventStore) -> None:
        for n, at in ((1, "2026-12-01"), (2, "2026-12-02"), (3, "2026-12-03")):
            await store.append(f"r{n}", 0, lines(f"r{n}", 0, 1, at))
        await store.append("r1", 1, lines("r1", 1, 1, "2026-12-04"))
        assert await store.runs() == [
            RunHead("r1", 2, "2026-12-01", "2026-12-04"),
            RunHead("r3", 1, "2026-12-03", "2026-12-03"),
            RunHead("r2", 1, "2026-12-02", "2026-12-02"),
        ]
        assert [run.run_id for run in await store.runs(2)] == ["r1", "r3"]
        assert [run.run_id for run in await store.runs(2, before="2026-12-03")] == ["r2"]
        assert await store.runs(2, before="2026-12-02") == []
        assert await store.runs(0) == []

    async def test_paging_loses_no_run_of_one_instant(self, store: EventStore) -> None:
        for n in range(40):
            at = f"2026-12-01T09:00:00.{n // 8:03d}Z"
            await store.append(f"r{n:02d}", 0, lines(f"r{n:02d}", 0, 1, at))
        seen: list[str] = []
        before = None
        while page := await store.runs(5, before):
            seen += [run.run_id for run in page]
            before = page[-1].updated_at
        assert seen == [f"r{n:02d}" for n in reversed(range(40))]

    async def test_refuses_lines_that_no_referee_appends(self, store: EventStore) -> None:
        good = lines("r", 0, 1)[0]
        for run_id, bad in (("r", []), ("r", [good, b"{}"]), ("r", [good + b"\n"]), ("\ud800", [good])):
            with pytest.raises(ValueError):  # noqa: PT011
                await store.append(run_id, 0, bad)
        assert await store.runs() == []
        assert await store.append("r", 0, [good]) == 1

    async def test_outlives_an_append_that_nobody_waits_for_any_more(self, store: EventStore) -> None:
        task = asyncio.create_task(store.append("r", 0, lines("r", 0, 2)))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await store.append("s", 0, lines("s", 0, 1))
        assert len(await store.read("r")) in (0, 2)

    async def test_a_closed_store_says_so(self, store: EventStore) -> None:
        await store.append("r", 0, lines("r", 0, 1))
        await store.close()
        await store.close()
        asked = (
            store.append("r", 1, lines("r", 1, 1)),
            store.read("r"),
            store.head("r"),
            store.runs(),
            store.jobs(),
        )
        for answer in await asyncio.gather(*asked, return_exceptions=True):
            assert isinstance(answer, StoreFailed)
            assert "closed" in str(answer)
