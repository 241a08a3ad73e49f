"""Whatever is sent is played or refused with a code; nothing breaks the server and nothing half-done is kept."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from tests.http import raw
from tests.http.problem import refused
from tests.serving import PITCH, Client, decision_path

JSON = {"Content-Type": "application/json"}

NOT_OF_THE_SHAPE = {
    "NaN": b'{"pitch":"a","seed":NaN,"verb":NaN,"stage_id":NaN,"reason":NaN}',
    "infinity": b'{"pitch":"a","seed":1e999,"verb":1e999,"stage_id":-1e999,"reason":-Infinity}',
    "bare NaN": b"NaN",
    "a list": b"[]",
    "a text": b'"approve"',
    "a number": b"7",
    "true": b"true",
    "not UTF-8": b'{"pitch":"\xff\xfe","verb":"\xc3\x28"}',
    "bytes": bytes(range(256)),
    "cut short": b'{"pitch":"a"',
    "two objects": b"{}{}",
    "70,000 lists deep": b"[" * 70_000,
    "15,000 objects deep": b'{"a":' * 15_000 + b"1" + b"}" * 15_000,
    "70,000 lists deep in a field": b'{"reason":' + b"[" * 60_000 + b"]" * 60_000 + b"}",
    "an unknown field": b'{"pitch":"a","verb":"approve","zzz":1}',
    "a field with half a surrogate": b'{"pitch":"a","verb":"approve","\\ud800":1}',
    "a field with NUL": b'{"pitch":"a","verb":"approve","\\u0000":1}',
    "5,000 digits": b'{"seed":' + b"9" * 5_000 + b',"pitch":"a","verb":"approve","reason":' + b"9" * 5_000 + b"}",
    "numbers as texts": b'{"pitch":7,"verb":7,"stage_id":7,"reason":7}',
    "booleans as texts": b'{"pitch":true,"verb":true,"stage_id":true,"reason":true}',
}
POSTS = ["/api/runs", "/api/runs/{run_id}/turns", "/decision", "/rescind"]


@pytest.fixture(scope="module")
def gate(client: Client) -> dict[str, Any]:
    """An open gate that no bad body moves."""
    return client.work(client.start())


def place(path: str, gate: dict[str, Any]) -> str:
    where = decision_path(gate).removesuffix("/decision")
    return where + path if path in ("/decision", "/rescind") else path.format(**gate)


def post(client: Client, path: str, body: bytes, **headers: str) -> httpx.Response:
    return client.http.post(path, content=body, headers={**JSON, "Idempotency-Key": "k", **headers})


def everything(client: Client, run_id: str) -> tuple[bytes, bytes]:
    return client.log(run_id), client.http.get("/api/runs").content


@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize("name", NOT_OF_THE_SHAPE)
def test_a_body_of_another_shape_is_refused(client: Client, gate: dict[str, Any], path: str, name: str):
    before = everything(client, gate["run_id"])
    answer = post(client, place(path, gate), NOT_OF_THE_SHAPE[name])
    code = answer.json()["code"]
    assert code in ("request.malformed", "decision.verb_unknown")
    refused(answer, 422, code)
    assert everything(client, gate["run_id"]) == before


@pytest.mark.parametrize("path", ["/api/runs", "/decision"])
@pytest.mark.parametrize("body", [b"", b"null", b"{}"])
def test_a_missing_body_is_refused_where_one_is_needed(client: Client, gate: dict[str, Any], path: str, body: bytes):
    answer = post(client, place(path, gate), body)
    refused(answer, 422, answer.json()["code"])


@pytest.mark.parametrize("body", [b"", b"null", b"{}", b'{"stage_id":null}'])
def test_a_turn_needs_no_body(client: Client, body: bytes):
    run_id = client.start()
    turn = post(client, f"/api/runs/{run_id}/turns", body)
    assert turn.status_code == 202
    client.wait_gate(run_id, turn.json()["seq"])


@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize(
    "content_type",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "", "nonsense", "a/b/c;;=é"],
)
def test_a_body_that_is_not_called_json_is_refused(client: Client, gate: dict[str, Any], path: str, content_type: str):
    """So no form of another page, which needs no leave to post, is ever an answer at a gate."""
    before = everything(client, gate["run_id"])
    body = json.dumps(client.answer(gate) if path == "/decision" else {"pitch": PITCH} if path == "/api/runs" else {})
    headers: dict[str, bytes | str] = {"Content-Type": content_type.encode("latin-1"), "Idempotency-Key": "k"}
    answer = raw.send(client, raw.request("POST", place(path, gate), headers, body.encode()))
    refused(answer, 422, answer.json()["code"])
    assert everything(client, gate["run_id"]) == before


ODD: dict[str, list[Any]] = {
    "seed": ["1", 1.5, True, -1, 2**53, 2**63, 2**200, None, [], {}],
    "mode": ["autoplay", "HUMAN", "", None, True, 0, ["human"]],
    "world": [7, True, [], {"id": "venture"}],
    "pitch": [7, None, True, [PITCH], {"text": PITCH}],
}
ODD_RUNS = [{field: value} for field, odd in ODD.items() for value in odd]


@pytest.mark.parametrize("fields", ODD_RUNS, ids=str)
def test_types_are_not_guessed(client: Client, fields: dict[str, Any]):
    before = client.http.get("/api/runs").content
    refused(client.http.post("/api/runs", json={"pitch": PITCH, **fields}), 422, "request.malformed")
    assert client.http.get("/api/runs").content == before


def test_the_seeds_at_both_ends_are_played(client: Client):
    for seed in (0, 2**53 - 1):
        assert client.run(client.start(seed=seed))["seed"] == seed


@pytest.mark.parametrize("world", ["", "../venture", "venture\x00", "v" * 5_000, "\u202eerutnev", "{{7*7}}"])
def test_an_odd_world_is_an_unknown_one(client: Client, world: str):
    refused(client.http.post("/api/runs", json={"pitch": PITCH, "world": world}), 404, "world.unknown")


def test_of_a_field_sent_twice_the_log_keeps_one(client: Client):
    answer = post(
        client, "/api/runs", b'{"pitch":"Bread by bicycle","pitch":"Bread by boat"}', **{"Idempotency-Key": "2"}
    )
    assert answer.json()["pitch"] == "Bread by boat"
    started = client.payloads(answer.json()["run_id"], "RUN_STARTED")
    assert [payload["pitch"] for payload in started] == ["Bread by boat"]


HALF = "\\ud800"
"""Half of a surrogate pair, as JSON writes it: text that has no UTF-8."""


@pytest.mark.parametrize("field", ["artifact_sha256", "option_id", "reason", "direction", "override_reason", "verb"])
def test_half_a_surrogate_in_a_decision_is_refused_before_and_after_the_gate_is_decided(client: Client, field: str):
    gate = client.work(client.start())
    body = json.dumps({**client.answer(gate), field: "HALF"}).replace("HALF", f"a{HALF}b").encode()
    for _ in range(2):
        before = client.log(gate["run_id"])
        answer = post(client, decision_path(gate), body, **{"Idempotency-Key": "won"})
        refused(answer, 422, "decision.verb_unknown" if field == "verb" else "request.malformed")
        assert client.log(gate["run_id"]) == before
        client.decide(gate, key="won")


def test_half_a_surrogate_elsewhere_is_refused_or_left_out(client: Client, gate: dict[str, Any]):
    half = f'"a{HALF}b"'.encode()
    refused(post(client, place("/rescind", gate), b'{"reason":' + half + b"}"), 422, "request.malformed")
    for path, body in (
        (f"/api/runs/{gate['run_id']}/turns", b'{"stage_id":' + half + b"}"),
        ("/api/runs", b'{"pitch":"x","world":' + half + b"}"),
    ):
        answer = post(client, path, body)
        refused(answer, answer.status_code, answer.json()["code"])
    started = post(
        client, "/api/runs", b'{"pitch":"Bread ' + HALF.encode() + b'by bicycle"}', **{"Idempotency-Key": "h"}
    )
    assert started.json()["pitch"] == "Bread by bicycle"


@pytest.mark.parametrize("key", [b"", b" ", b"\xa0", b"k" * 201])
def test_a_blank_or_endless_key_starts_no_run_that_others_share(client: Client, key: bytes):
    """An empty Idempotency-Key must not be one name for the runs of all who leave it empty."""
    outcomes = []
    for pitch in (b'{"pitch":"Bread by bicycle"}', b'{"pitch":"Bread by boat"}'):
        outcomes.append(raw.send(client, raw.request("POST", "/api/runs", {"Idempotency-Key": key}, pitch)))
    if outcomes[0].status == 201:
        assert outcomes[1].status == 201
        assert outcomes[0].json()["run_id"] != outcomes[1].json()["run_id"]
    else:
        for outcome in outcomes:
            refused(outcome, 422, outcome.json()["code"])


# --- addresses --------------------------------------------------------------------------------------------

ODD_RUN_IDS = [
    "x" * 81,
    "x" * 8_000,
    "%00",
    "%ff%fe",
    "%ed%a0%80",
    "..%2f..%2fetc",
    "%2e%2e",
    "{{7*7}}",
    "%F0%9F%8C%9E",
]
ODD_RUN_IDS += ["'%20OR%201=1", "r-%E2%80%AE", "%0d%0aX-Evil:1"]


@pytest.mark.parametrize("run_id", ODD_RUN_IDS)
def test_an_odd_run_id_is_an_unknown_run(client: Client, run_id: str):
    for method, path in (
        ("GET", ""),
        ("GET", "/at/1"),
        ("GET", "/events"),
        ("GET", "/stream"),
        ("GET", "/log.jsonl"),
        ("GET", "/verify"),
        ("GET", "/gates/gate-6"),
        ("POST", "/turns"),
        ("POST", "/gates/gate-6/decision"),
        ("POST", "/gates/gate-6/rescind"),
    ):
        body = b'{"verb":"approve"}' if path.endswith("decision") else b"{}" if method == "POST" else None
        request = raw.request(method, f"/api/runs/{run_id}{path}", {"Idempotency-Key": "k"}, body)
        answer = raw.send(client, request)
        assert answer.status in (404, 422), (path, answer)
        refused(answer, answer.status, answer.json()["code"])
        assert "x-evil" not in answer.headers


@pytest.mark.parametrize(
    "seq", ["0", "-1", "9" * 16, "9" * 400, "9" * 5_000, "%D9%A3", "1.5", "1e3", "0x1", "NaN", "%00"]
)
def test_an_odd_seq_is_no_place_in_the_log(client: Client, gate: dict[str, Any], seq: str):
    answer = client.http.get(f"/api/runs/{gate['run_id']}/at/{seq}")
    assert answer.status_code in (404, 422)
    refused(answer, answer.status_code, answer.json()["code"])


ODD_GATES = [
    "gate-0",
    "gate--1",
    "gate-06",
    "gate-%D9%A3",
    "gate-%C2%B2",
    "gate-" + "9" * 400,
    "GATE-6",
    "gate-",
    "6",
    "%00",
]


@pytest.mark.parametrize("gate_id", [*ODD_GATES, "gate-6%20", "x" * 8_000, "%ed%a0%80"])
def test_an_odd_gate_is_unknown(client: Client, gate: dict[str, Any], gate_id: str):
    path = f"/api/runs/{gate['run_id']}/gates/{gate_id}"
    answers = [
        client.http.get(path),
        post(client, f"{path}/decision", json.dumps(client.answer(gate)).encode()),
        post(client, f"{path}/rescind", b"{}"),
    ]
    for answer in answers:
        refused(answer, answer.status_code, answer.json()["code"])
        assert answer.status_code in (404, 422)


ODD_QUERIES = ["after=-1", "after=x", "after=", "after=9007199254740992", "limit=0", "limit=1001", "limit=x", "wait=31"]
ODD_QUERIES += ["wait=-1", "wait=NaN", "wait=inf", "wait=x"]


@pytest.mark.parametrize("query", ODD_QUERIES)
def test_an_odd_page_is_refused(client: Client, gate: dict[str, Any], query: str):
    refused(client.http.get(f"/api/runs/{gate['run_id']}/events?{query}"), 422, "request.malformed")


@pytest.mark.parametrize(
    "path",
    [
        "/api/runs?limit=0",
        "/api/runs?limit=101",
        "/api/runs?before=" + "9" * 41,
        "/api/memory",
        "/api/memory?run_id=" + "x" * 81,
        "/api/compare",
        "/api/compare?a=r-1",
        "/api/compare?a=r-1&b=" + "x" * 81,
    ],
)
def test_an_odd_query_is_refused(client: Client, path: str):
    refused(client.http.get(path), 422, "request.malformed")


@pytest.mark.parametrize(
    "path",
    ["/api/memory?run_id=%00", "/api/memory?run_id=%ff", "/api/memory?run_id=", "/api/compare?a=%ed%a0%80&b=x"],
)
def test_a_query_for_a_run_that_cannot_be_is_unknown(client: Client, path: str):
    refused(client.http.get(path), 404, "run.unknown")


@pytest.mark.parametrize("before", ["zzz", "%00", "%ff", "2026", "~", "'", "%ed%a0%80", ""])
def test_a_page_before_an_odd_instant_is_a_page(client: Client, gate: dict[str, Any], before: str):
    assert client.http.get(f"/api/runs?before={before}").status_code == 200


def test_a_query_that_is_not_asked_for_is_left_aside(client: Client, gate: dict[str, Any]):
    assert client.http.get(f"/api/runs/{gate['run_id']}?after=x&limit=-7&%ff=%00").status_code == 200


def test_every_other_method_of_every_route_is_refused(client: Client, gate: dict[str, Any]):
    document = client.http.get("/openapi.json").json()
    before = everything(client, gate["run_id"])
    for path, operations in document["paths"].items():
        allowed = {method.upper() for method in operations}
        where = path.format(run_id=gate["run_id"], gate_id=gate["gate_id"], seq=1)
        for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"} - allowed:
            answer = client.http.request(method, where)
            refused(answer, 405, "method.not_allowed")
            assert set(answer.headers.get("allow", "").split(", ")) & allowed, f"{method} {path}: no Allow"
    assert everything(client, gate["run_id"]) == before


def test_head_is_answered_or_refused_and_changes_nothing(client: Client, gate: dict[str, Any]):
    for path in ("/api/runs", "/healthz", f"/api/runs/{gate['run_id']}", f"/api/runs/{gate['run_id']}/turns"):
        answer = client.http.head(path)
        assert answer.status_code in (200, 405)
        assert answer.content == b""


@pytest.mark.parametrize(
    "target",
    ["/api", "/api/", "/api/nothing", "//", "/api/runs/r-1/x/y", "/%00", "/%ff", "/..%2f..%2fetc%2fpasswd"],
)
def test_an_unknown_route_is_a_problem_like_any_other(client: Client, target: str):
    refused(raw.send(client, raw.request("GET", target)), 404, "route.unknown")


@pytest.mark.parametrize(
    "target", ["*", "http://evil.example/api/runs", "/api/runs/", "//api//runs", "/api/runs#x", "/\xff", "/é"]
)
def test_an_odd_target_is_no_failure_of_the_server(client: Client, target: str):
    assert raw.send(client, raw.request("GET", target.encode("latin-1"))).status < 500


@pytest.mark.parametrize(
    "request_bytes", [b"GARBAGE\r\n\r\n", b"\x16\x03\x01\x02\x00\x01", b"GET / HTTP/9.9\r\n\r\n", b"\0" * 64]
)
def test_what_is_not_http_ends_its_connection_only(client: Client, request_bytes: bytes):
    raw.hang_up(client, request_bytes)
    assert client.http.get("/healthz").status_code == 200
