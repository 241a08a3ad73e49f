"""Any body to any POST: an answer with a code, never a failure of the server, and a log that still verifies."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.http import raw
from tests.http.problem import refused
from tests.serving import Client

quick = settings(
    max_examples=60,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)

half_surrogates = st.characters(categories=["Cs"])
texts = st.text(st.one_of(st.characters(), half_surrogates), max_size=60)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    texts,
    st.sampled_from(["approve", "reject", "redirect", "human", "rehearsal", "", "0" * 64, 2**53, 1e999]),
)
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4))

keys = st.lists(st.integers(0x20, 0xFF).filter(lambda byte: byte != 0x7F), max_size=20).map(bytes)
"""What a header may hold; the HTTP parser itself refuses control characters."""

FIELDS: dict[str, tuple[str, ...]] = {
    "/api/runs": ("pitch", "world", "seed", "mode"),
    "/api/runs/{run_id}/turns": ("stage_id",),
    "/api/runs/{run_id}/gates/{gate_id}/decision": (
        "verb",
        "artifact_sha256",
        "option_id",
        "reason",
        "direction",
        "override_reason",
    ),
    "/api/runs/{run_id}/gates/{gate_id}/rescind": ("reason",),
}


def bodies(path: str) -> st.SearchStrategy[Any]:
    """JSON near the documented shape, or far from it."""
    near = st.fixed_dictionaries({}, optional=dict.fromkeys(FIELDS[path], values))
    return st.one_of(near, values)


@pytest.fixture(scope="module")
def place(client: Client) -> dict[str, str]:
    """A run with a decided and an open gate, moved on by whatever a body happens to decide."""
    run_id = client.start()
    client.decide(client.work(run_id))
    return {"run_id": run_id, "gate_id": client.work(run_id)["gate_id"]}


def answered(answer: raw.Answer) -> None:
    assert answer.status < 500, answer
    if answer.status >= 400:
        refused(answer, answer.status, answer.json()["code"])


@pytest.mark.parametrize("path", FIELDS)
def test_any_json_to_any_post_is_answered(client: Client, place: dict[str, str], path: str):
    @quick
    @given(body=bodies(path), key=keys)
    def send(body: Any, key: bytes) -> None:
        headers: dict[str, bytes | str] = {"Idempotency-Key": key}
        request = raw.request("POST", path.format(**place), headers, json.dumps(body).encode())
        answered(raw.send(client, request))

    send()
    still_whole(client, place["run_id"])


@pytest.mark.parametrize("path", [*FIELDS, "/api/replays"])
def test_any_bytes_to_any_post_are_answered(client: Client, place: dict[str, str], path: str):
    @quick
    @given(body=st.binary(max_size=200) | texts.map(lambda text: text.encode("utf-8", "surrogatepass")))
    def send(body: bytes) -> None:
        answered(raw.send(client, raw.request("POST", path.format(**place), {"Idempotency-Key": "k"}, body)))

    send()
    still_whole(client, place["run_id"])


def test_any_log_with_a_few_bytes_changed_is_judged(client: Client, place: dict[str, str]):
    log = client.log(place["run_id"])

    @quick
    @given(at=st.integers(0, len(log) - 1), cut=st.integers(0, 40), put=st.binary(max_size=8))
    def send(at: int, cut: int, put: bytes) -> None:
        edited = log[:at] + put + log[at + cut :]
        answer = client.http.post("/api/replays", content=edited)
        assert answer.status_code == 200, answer.text
        assert answer.json()["passed"] == (edited == log or edited == log[:-1])

    send()


@quick
@given(texts)
def test_any_text_in_an_address_is_answered(client: Client, text: str):
    data = text.encode("utf-8", "surrogatepass")
    quoted = "".join(f"%{byte:02x}" for byte in data)
    for path in ("/api/runs/{}", "/api/runs/{}/gates/{}", "/api/memory?run_id={}", "/api/runs?before={}", "/{}"):
        answered(raw.send(client, raw.request("GET", path.format(quoted, quoted))))


def still_whole(client: Client, run_id: str) -> None:
    """Nothing that was sent has harmed what is kept, whatever of it was taken for a move."""
    assert client.http.get("/api/runs", params={"limit": 100}).status_code == 200
    assert client.http.get("/api/gates").status_code == 200
    assert client.http.get(f"/api/runs/{run_id}/verify").json()["passed"]
