"""Who may reach a local server: its own pages by its own name, and nobody's page by another."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from submission.tools.bootstrap import Settings, open_house
from submission.tools.guard import MAX_BODY, MAX_LOG
from submission.tools.server import create_app
from tests.http import raw
from tests.http.problem import refused
from tests.serving import Client

LOCAL = ["127.0.0.1", "127.0.0.1:8000", "localhost", "LocalHost:5173", "[::1]:8000", "[::1]"]
FOREIGN = [
    "evil.example",
    "127.0.0.1.evil.example",
    "localhost.evil.example:80",
    "10.0.0.7",
    "0.0.0.0",
    "",
    "[::1",
    "[x]",
]


@pytest.mark.parametrize("host", LOCAL)
def test_a_local_name_is_answered(client: Client, host: str):
    assert raw.send(client, raw.request("GET", "/healthz", {"Host": host})).status == 200


@pytest.mark.parametrize("host", FOREIGN)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_name_that_was_rebound_to_this_machine_is_not(client: Client, host: str, method: str):
    body = b'{"pitch":"x"}' if method == "POST" else None
    refused(raw.send(client, raw.request(method, "/api/runs", {"Host": host}, body)), 403, "host.not_allowed")


def test_a_request_without_a_host_is_not_answered(client: Client):
    answer = raw.send(client, b"GET /api/runs HTTP/1.0\r\n\r\n")
    refused(answer, 403, "host.not_allowed")


@pytest.mark.parametrize(
    "origin",
    ["https://evil.example", "http://127.0.0.1.evil.example", "null", "file://", "", "http://[::1", "localhost"],
)
def test_a_page_of_another_site_changes_nothing(client: Client, origin: str):
    gate = client.work(client.start())
    before = client.log(gate["run_id"])
    for path in ("decision", "rescind"):
        answer = client.http.post(
            f"/api/runs/{gate['run_id']}/gates/{gate['gate_id']}/{path}",
            json=client.answer(gate),
            headers={"Origin": origin, "Idempotency-Key": "k"},
        )
        refused(answer, 403, "origin.not_allowed")
    for path in ("/api/runs", f"/api/runs/{gate['run_id']}/turns", "/api/replays"):
        refused(client.http.post(path, headers={"Origin": origin}), 403, "origin.not_allowed")
    assert client.log(gate["run_id"]) == before


@pytest.mark.parametrize("origin", ["http://127.0.0.1:8000", "http://localhost:5173", "http://[::1]:8000"])
def test_the_servers_own_pages_decide(client: Client, origin: str):
    gate = client.work(client.start())
    answer = client.http.post(
        f"/api/runs/{gate['run_id']}/gates/{gate['gate_id']}/decision",
        json=client.answer(gate),
        headers={"Origin": origin, "Idempotency-Key": "k"},
    )
    assert answer.status_code == 200


def test_no_answer_invites_other_sites_in(client: Client):
    answer = client.http.options(
        "/api/runs", headers={"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    )
    assert answer.status_code in (403, 405)
    for path in ("/api/runs", "/healthz", "/openapi.json"):
        headers = client.http.get(path, headers={"Origin": "https://evil.example"}).headers
        assert not [name for name in headers if name.startswith("access-control")]


async def test_a_server_for_others_answers_to_any_name(tmp_path: Path):
    house = open_house(Settings(data=tmp_path), in_memory=True)
    transport = httpx.ASGITransport(create_app(house, hosts=None))
    async with httpx.AsyncClient(transport=transport, base_url="http://games.example") as http:
        assert (await http.get("/healthz")).status_code == 200
    await house.close()


# --- the size of what is sent -----------------------------------------------------------------------------

POSTS = ["/api/runs", "/api/runs/{run_id}/turns", "/api/runs/{run_id}/gates/gate-4/decision"]


def chunked(size: int, chunk: int = 16_000) -> bytes:
    piece = b"%x\r\n%s\r\n" % (chunk, b" " * chunk)
    return piece * (size // chunk + 1) + b"0\r\n\r\n"


@pytest.mark.parametrize("path", POSTS)
def test_a_body_over_the_limit_is_refused_whether_it_says_so_or_not(client: Client, path: str):
    path = path.format(run_id=client.start())
    declared = raw.request("POST", path, body=b" " * (MAX_BODY + 1))
    streamed = raw.request(
        "POST", path, {"Transfer-Encoding": "chunked", "Content-Type": "application/json"}, chunked(MAX_BODY + 1)
    )
    for request in (declared, streamed):
        refused(raw.send(client, request), 413, "request.too_large")


def test_a_body_that_only_claims_to_be_huge_is_refused_at_once(client: Client):
    for path, size in (("/api/runs", 10**12), ("/api/replays", MAX_LOG + 1)):
        request = raw.request("POST", path, {"Content-Length": str(size)}, b"{")
        refused(raw.send(client, request), 413, "request.too_large")


def test_a_log_may_be_larger_than_a_decision(client: Client):
    answer = client.http.post("/api/replays", content=b"x" * (2 * MAX_BODY))
    assert answer.status_code != 413


@pytest.mark.parametrize("length", ["-1", "1e3", "0x10", "²", "9" * 30, "9" * 5_000, "12, 13"])
def test_an_odd_length_is_no_failure_of_the_server(client: Client, length: str):
    request = raw.request("POST", "/api/runs", {"Content-Length": length}, b'{"pitch":"x"}')
    assert 400 <= raw.send(client, request).status < 500


@pytest.mark.parametrize("sent", [b"", b"{", b'{"stage_id":null}'])
def test_a_client_that_leaves_half_way_has_asked_for_nothing(client: Client, sent: bytes):
    run_id = client.start()
    before = client.log(run_id)
    raw.hang_up(client, raw.request("POST", f"/api/runs/{run_id}/turns", {"Content-Length": "100"}, sent))
    assert client.log(run_id) == before
    client.work(run_id)
