"""The stream: each event of the log once, in order, named by its seq, wherever a watcher begins."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from tests.http import raw
from tests.http.problem import refused
from tests.http.workers import OFF_SCHEMA, Talks, everywhere
from tests.serving import Client, serving


class Sent(NamedTuple):
    """One server-sent event."""

    event: str
    id: int | None
    data: Any


def read(response: httpx.Response) -> Iterator[Sent]:
    fields: dict[str, str] = {}
    for line in response.iter_lines():
        if line and not line.startswith(":"):
            name, _, value = line.partition(":")
            fields[name] = value.removeprefix(" ")
        elif fields:
            number = int(fields["id"]) if "id" in fields else None
            yield Sent(fields.get("event", "message"), number, json.loads(fields["data"]))
            fields = {}


@contextmanager
def watching(client: Client, run_id: str, **request: Any) -> Iterator[Iterator[Sent]]:
    with client.http.stream("GET", f"/api/runs/{run_id}/stream", **request) as response:
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        yield read(response)


def persisted(stream: Iterator[Sent], last: int) -> list[Sent]:
    """What has an id, up to and with that of seq `last`."""
    found: list[Sent] = []
    while not found or found[-1].id != last:
        sent = next(stream)
        if sent.id is not None:
            found.append(sent)
    return found


@pytest.fixture(scope="module")
def played(client: Client) -> str:
    run_id = client.start()
    client.decide(client.work(run_id), "reject")
    client.decide(client.work(run_id))
    return run_id


def test_a_watcher_from_the_start_sees_the_log_as_it_is(client: Client, played: str):
    log = client.events(played)
    with watching(client, played) as stream:
        seen = persisted(stream, len(log))
    assert [sent.id for sent in seen] == list(range(1, len(log) + 1))
    assert [sent.event for sent in seen] == [event["type"] for event in log]
    assert [sent.data for sent in seen] == log


@pytest.mark.parametrize("how", ["Last-Event-ID", "after"])
def test_a_watcher_resumes_at_every_place_without_gap_or_repetition(client: Client, played: str, how: str):
    head = client.run(played)["seq"]
    for after in range(head):
        request: dict[str, Any] = (
            {"headers": {"Last-Event-ID": str(after)}} if how == "Last-Event-ID" else {"params": {"after": after}}
        )
        with watching(client, played, **request) as stream:
            assert [sent.id for sent in persisted(stream, head)] == list(range(after + 1, head + 1))


def test_the_header_of_a_reconnecting_browser_wins_over_the_address_it_first_asked_for(client: Client, played: str):
    head = client.run(played)["seq"]
    request: dict[str, Any] = {"params": {"after": 1}, "headers": {"Last-Event-ID": str(head - 1)}}
    with watching(client, played, **request) as stream:
        assert next(stream).id == head


def test_a_watcher_at_the_head_hears_what_comes_next(client: Client):
    run_id = client.start()
    with watching(client, run_id, params={"after": 3}) as stream:
        client.work(run_id)
        assert [sent.event for sent in persisted(stream, 6)] == ["STAGE_STARTED", "STAGE_EXECUTED", "GATE_OPENED"]


@pytest.mark.parametrize("cursor", ["4", "999", "9" * 15, str(2**53 - 1), "9" * 400])
def test_a_cursor_beyond_the_log_gets_one_resync_and_then_what_comes(client: Client, cursor: str):
    run_id = client.start()
    with watching(client, run_id, headers={"Last-Event-ID": cursor}) as stream:
        assert next(stream) == Sent("resync", None, {"seq": 3})
        client.work(run_id)
        assert [sent.id for sent in persisted(stream, 6)] == [4, 5, 6]


@pytest.mark.parametrize("cursor", [b"", b"-1", b"1.5", b"abc", "٣".encode(), b"\xb2", b"0x1", b" ", b"1\xb2"])
def test_a_cursor_that_is_no_seq_begins_at_the_address_it_asked_for(client: Client, played: str, cursor: bytes):
    """A browser sends back what it was given, so this is somebody else's; they get the log rather than a refusal."""
    target = f"/api/runs/{played}/stream?after=2"
    request = raw.request("GET", target, {"Last-Event-ID": cursor})
    first = raw.first_line(client, request, b"id: ")
    assert first == b"id: 3"


@pytest.mark.parametrize("after", ["-1", "abc", "1.5", str(2**53), ""])
def test_an_address_with_an_odd_cursor_is_refused(client: Client, played: str, after: str):
    refused(client.http.get(f"/api/runs/{played}/stream?after={after}"), 422, "request.malformed")


def test_two_watchers_see_the_same(client: Client):
    run_id = client.start()
    with watching(client, run_id) as one, watching(client, run_id) as two:
        client.campaign(run_id)
        head = client.run(run_id)["seq"]
        assert persisted(one, head) == persisted(two, head)


def test_progress_is_told_without_a_number_and_never_kept(tmp_path: Path):
    with serving(tmp_path, everywhere(Talks("I read the brief", "Nearly done"))) as client:
        run_id = client.start()
        with watching(client, run_id, params={"after": 3}) as stream:
            client.work(run_id)
            seen = [next(stream) for _ in range(5)]
        stage_id = client.run(run_id)["stages"][0]["id"]
        assert [sent.event for sent in seen] == [
            "STAGE_STARTED",
            "progress",
            "progress",
            "STAGE_EXECUTED",
            "GATE_OPENED",
        ]
        assert [sent.data for sent in seen if sent.id is None] == [
            {"stage_id": stage_id, "kind": "says", "text": "I read the brief"},
            {"stage_id": stage_id, "kind": "says", "text": "Nearly done"},
        ]
        assert "Nearly done" not in client.log(run_id).decode()


def test_a_watcher_who_comes_while_200_events_happen_misses_none(client: Client):
    """Watchers connect again and again while the run moves: none sees a gap between the log and what is live."""
    run_id = client.start()
    done = threading.Event()

    def play() -> None:
        try:
            with httpx.Client(base_url=client.http.base_url, timeout=30) as http:
                player = Client(http)
                while player.run(run_id)["seq"] < 200:
                    player.decide(player.work(run_id), "reject")
        finally:
            done.set()

    player = threading.Thread(target=play)
    player.start()
    after = 0
    while not done.is_set():
        with watching(client, run_id, headers={"Last-Event-ID": str(after)}) as stream:
            seen = persisted(stream, min(after + 7, 200))
        last = after + len(seen)
        assert [sent.id for sent in seen] == list(range(after + 1, last + 1))
        after = last if last < 150 else 3
    player.join()


def test_a_watcher_who_does_not_listen_is_told_to_resync_and_loses_nothing(tmp_path: Path):
    """More is said than is kept for one watcher; the persisted part is read again from the log."""
    talker = Talks(*(f"word {n}" for n in range(1_500)), artifact=OFF_SCHEMA)
    with serving(tmp_path, everywhere(talker)) as client:
        run_id = client.start()
        with watching(client, run_id, params={"after": 3}) as stream:
            client.work(run_id)
            seen: list[Sent] = []
            while not seen or seen[-1].event != "GATE_OPENED":
                seen.append(next(stream))
        assert [sent.id for sent in seen if sent.id is not None] == [4, 5, 6]
        assert [sent.event for sent in seen].count("resync") == 1


def test_a_server_with_an_open_stream_stops_promptly(tmp_path: Path):
    with httpx.Client(timeout=10) as http:
        with serving(tmp_path) as client:
            run_id = client.start()
            url = client.http.base_url.join(f"/api/runs/{run_id}/stream")
            response = http.send(http.build_request("GET", url), stream=True)
            lines = response.iter_lines()
            next(lines)
            began = time.monotonic()
        assert time.monotonic() - began < 2.5
        with contextlib.suppress(httpx.HTTPError):  # cut off or ended, but over
            for _ in lines:
                pass
        response.close()
