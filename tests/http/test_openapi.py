"""The OpenAPI document is the contract that clients are generated from: whole, with examples, and true."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from submission.tools.problems import STATUS
from tests.serving import Client

Operation = tuple[str, str, dict[str, Any]]


@pytest.fixture(scope="module")
def document(client: Client) -> dict[str, Any]:
    return dict(client.http.get("/openapi.json").json())


def operations(document: dict[str, Any]) -> list[Operation]:
    return [(path, method, op) for path, ops in document["paths"].items() for method, op in ops.items()]


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for item in value.values():
            yield from references(item)
    elif isinstance(value, list):
        for item in value:
            yield from references(item)


def resolve(document: dict[str, Any], reference: str) -> Any:
    found: Any = document
    for part in reference.removeprefix("#/").split("/"):
        found = found[part]
    return found


def test_every_reference_resolves(document: dict[str, Any]):
    found = set(references(document))
    assert found
    for reference in found:
        assert resolve(document, reference), reference


def test_every_schema_is_used(document: dict[str, Any]):
    used = {reference.rsplit("/", 1)[-1] for reference in references(document)}
    assert document["components"]["schemas"].keys() <= used


def test_operations_have_names_of_their_own_a_summary_and_a_sentence(document: dict[str, Any]):
    ops = operations(document)
    names = [op["operationId"] for _, _, op in ops]
    assert len(set(names)) == len(names)
    for path, method, op in ops:
        assert op["summary"], (method, path)
        assert op["description"].strip().endswith("."), (method, path)
        assert op["tags"], (method, path)


def test_the_routes_of_the_design_are_there(document: dict[str, Any]):
    promised = {
        ("post", "/api/runs"),
        ("get", "/api/runs"),
        ("get", "/api/runs/{run_id}"),
        ("get", "/api/runs/{run_id}/at/{seq}"),
        ("get", "/api/runs/{run_id}/events"),
        ("get", "/api/runs/{run_id}/stream"),
        ("post", "/api/runs/{run_id}/turns"),
        ("post", "/api/runs/{run_id}/gates/{gate_id}/decision"),
        ("post", "/api/runs/{run_id}/gates/{gate_id}/rescind"),
        ("get", "/api/gates"),
        ("get", "/api/runs/{run_id}/log.jsonl"),
        ("get", "/api/runs/{run_id}/verify"),
        ("post", "/api/replays"),
        ("get", "/api/compare"),
        ("get", "/api/memory"),
        ("get", "/api/worlds"),
        ("get", "/api/mode"),
        ("get", "/healthz"),
        ("get", "/readyz"),
    }
    assert promised <= {(method, path) for path, method, _ in operations(document)}


def test_every_body_has_a_schema_or_an_example_of_what_to_send(document: dict[str, Any]):
    for path, method, op in operations(document):
        if method != "post":
            continue
        for media in op["requestBody"]["content"].values():
            schemas = [resolve(document, reference) for reference in references(media["schema"])]
            assert media["schema"].get("type") == "string" or any("properties" in s for s in schemas), (method, path)


def test_the_bodies_that_start_and_decide_come_with_examples(client: Client, document: dict[str, Any]):
    """Each example of a pitch can be sent as it stands."""
    schemas = document["components"]["schemas"]
    for body, field in (("NewRun", "pitch"), ("NewTurn", "stage_id"), ("Decision", "option_id")):
        assert schemas[body]["properties"][field]["examples"], (body, field)
    stages = {stage["id"] for world in client.http.get("/api/worlds").json()["worlds"] for stage in world["stages"]}
    assert set(schemas["NewTurn"]["properties"]["stage_id"]["examples"]) <= stages
    for pitch in schemas["NewRun"]["properties"]["pitch"]["examples"]:
        assert client.start(pitch=pitch)


def test_every_field_that_a_player_sends_is_described(document: dict[str, Any]):
    for path, method, op in operations(document):
        for parameter in op.get("parameters", ()):
            if parameter["name"] not in ("limit", "seq", "gate_id"):
                assert parameter.get("description"), (method, path, parameter["name"])


def test_refusals_are_documented_as_the_problems_they_are(document: dict[str, Any]):
    """As application/problem+json, with the shape of a problem, and not as the answer's own media type."""
    problem = {"$ref": "#/components/schemas/Problem"}
    for path, method, op in operations(document):
        for status in STATUS.values():
            content = op["responses"][str(status)]["content"]
            assert content.keys() == {"application/problem+json"}, (method, path, status)
            assert content["application/problem+json"]["schema"] == problem, (method, path, status)
    assert {"code", "right", "detail", "status"} <= set(document["components"]["schemas"]["Problem"]["required"])


def test_a_decision_is_documented_to_need_its_key(document: dict[str, Any]):
    for verb in ("decision", "rescind"):
        op = document["paths"][f"/api/runs/{{run_id}}/gates/{{gate_id}}/{verb}"]["post"]
        [key] = [parameter for parameter in op["parameters"] if parameter["name"] == "Idempotency-Key"]
        assert key["required"]


def test_a_success_of_every_json_route_has_a_shape(document: dict[str, Any]):
    for path, method, op in operations(document):
        success = next(content for status, content in op["responses"].items() if status.startswith("2"))["content"]
        if "application/json" in success:
            assert list(references(success["application/json"]["schema"])), (method, path)
        else:
            assert success.keys() & {"text/event-stream", "application/x-ndjson"}, (method, path)


def test_what_is_sent_is_what_the_document_says(client: Client, document: dict[str, Any]):
    """The members of real answers, against the properties of their schemas: none is missing and none is extra."""
    run_id = client.start()
    gate = client.work(run_id)
    receipt = client.decide(gate).json()
    answers = {
        "RunView": client.run(run_id),
        "GateView": gate,
        "Receipt": receipt,
        "RunAt": client.at(run_id, 1),
        "EventPage": client.http.get(f"/api/runs/{run_id}/events").json(),
        "RunList": client.http.get("/api/runs").json(),
        "Verification": client.http.get(f"/api/runs/{run_id}/verify").json(),
        "ModeView": client.http.get("/api/mode").json(),
        "MemorySnapshot": client.http.get("/api/memory", params={"run_id": run_id}).json(),
    }
    for name, answer in answers.items():
        schema = document["components"]["schemas"][name]
        assert answer.keys() == schema["properties"].keys(), name
        assert set(schema.get("required", ())) <= answer.keys()


def test_the_documentation_page_is_served(client: Client):
    assert client.http.get("/docs").status_code == 200
    front = client.http.get("/")
    assert front.headers["content-type"] == "text/html; charset=utf-8"
    assert not set(re.findall(r'(?:src|href)="([^"]+)"', front.text)) - {
        "/api/gates",
        "/api/runs",
        "/api/worlds",
        "/api/mode",
        "/openapi.json",
        "/docs",
    }
