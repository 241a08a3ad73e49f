"""Plays one campaign over HTTP with every verb, and fails the build when a promise of the game does not hold.

    python submission/tools/demo_smoke_test.py              # starts a server of its own on a free port
    python submission/tools/demo_smoke_test.py --base URL   # plays a rehearsal on a server that is running

Everything is checked from outside: on what the server answers, and on the log it exports.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import httpx

from submission.state.evolve import evolve
from submission.state.memory import INJECTED_CHARS, clamp
from submission.state.run import Run, state_hash
from submission.state.scoring import RUBRIC_DIMENSIONS
from submission.state.store.chain import unseal
from submission.state.store.verify import verify_log

PITCH = "Solar microgrids for rural clinics"
PROOF_POINTS = ("iq_hits", "memory_injected", "tools_called", "inference_usage")
TOKENS = ("tokens_in", "tokens_out")
VERDICTS = {"followed", "not_followed", "not_checkable"}
ODD_VERBS = (None, "", "yes", 1, True, "APPROVE", ["approve"])
Json = dict[str, Any]


class SmokeFailed(Exception):
    """A promise that does not hold; the message says which and where."""


def _require(condition: object, message: str) -> None:
    if not condition:
        raise SmokeFailed(message)


class Evidence(NamedTuple):
    """What is left of a campaign: the run's last view, its events, the state at every seq, and its log file."""

    run: Json
    events: list[Json]
    states: list[Json]
    log: bytes
    tier: str


class Game:
    """One campaign, played over HTTP."""

    def __init__(self, http: httpx.Client, mode: str) -> None:
        self._http, self._turns = http, 0
        self.run_id: str = self._expect(201, "POST", "/api/runs", json={"pitch": PITCH, "mode": mode})["run_id"]
        self.path = f"/api/runs/{self.run_id}"

    def _expect(self, status: int, method: str, path: str, **request: Any) -> Json:
        answer = self._http.request(method, path, **request)
        _require(answer.status_code == status, f"{method} {path} answers {answer.status_code}: {answer.text[:300]}")
        return dict(answer.json())

    def get(self, path: str = "", **params: Any) -> Json:
        return self._expect(200, "GET", self.path + path, params=params)

    def work(self) -> Json:
        """Send a worker to work, and return the gate its work arrives at."""
        after = self._expect(202, "POST", f"{self.path}/turns")["seq"]
        while True:
            page = self.get("/events", after=after, wait=20)
            _require(page["events"], f"no gate has opened within 20 seconds after seq {after}")
            for event in page["events"]:
                if event["type"] == "GATE_OPENED":
                    return self.get(f"/gates/{event['payload']['gate_id']}")
            after = page["head"]

    def answer(self, gate: Json, verb: Any, key: str, status: int = 200, **fields: Any) -> Json:
        body = {"verb": verb, "artifact_sha256": gate["artifact_sha256"], **fields}
        headers = {"Idempotency-Key": key} if key else {}
        return self._expect(status, "POST", f"{self.path}/gates/{gate['gate_id']}/decision", json=body, headers=headers)

    def approve(self, gate: Json, key: str) -> Json:
        passes = gate["score"]["passes"]
        return self.answer(
            gate,
            "approve",
            key,
            option_id=gate["fork"]["options"][0]["option"]["id"] if gate["fork"] else None,
            override_reason=None if passes else "the smoke test goes on all the same",
        )

    def rescind(self, gate: Json, key: str) -> Json:
        path = f"{self.path}/gates/{gate['gate_id']}/rescind"
        return self._expect(200, "POST", path, headers={"Idempotency-Key": key})

    def evidence(self) -> Evidence:
        run = self.get()
        events: list[Json] = []
        while len(events) < run["seq"]:
            page = self.get("/events", after=len(events))["events"]
            _require(page, f"GET {self.path}/events ends at seq {len(events)} of {run['seq']}")
            events += page
        states = [self.get(f"/at/{seq}") for seq in range(1, run["seq"] + 1)]
        tier = self._expect(200, "GET", "/api/mode")["tier"]
        return Evidence(run, events, states, self.log(), tier)

    def log(self) -> bytes:
        answer = self._http.get(f"{self.path}/log.jsonl")
        _require(answer.status_code == 200, f"the log cannot be exported: {answer.status_code}")
        return answer.content

    def replayed(self, log: bytes) -> Json:
        return self._expect(200, "POST", "/api/replays", content=log)


def play(game: Game) -> None:
    """Every verb and a rescission at the first stage, whatever the gate must refuse in between, then approvals."""
    nowhere = {"gate_id": "gate-4", "artifact_sha256": "0" * 64}
    for _ in range(3):
        game.answer(nowhere, "approve", "never done", 404)
    first = game.work()
    _refuse_what_is_no_decision(game, first)
    rejected = game.answer(first, "reject", "no", reason=_complaint(first))
    _one_decision_stands(game, first, rejected)

    second = game.work()
    stale = game.answer(first, "approve", "too late", 412)
    _require(stale["current"]["gate_id"] == second["gate_id"], "412 does not name the gate that is current")
    game.answer({**second, "artifact_sha256": first["artifact_sha256"]}, "approve", "blind", 412)
    again = game.answer(first, "reject", "no", reason=_complaint(first))
    _require(again == rejected, "the same Idempotency-Key gets another receipt after the rework")
    _require(second["fork"], "the first gate poses no fork")
    redirected = game.answer(second, "redirect", "turn", option_id=second["fork"]["options"][0]["option"]["id"])
    _require(redirected["consequence"] and redirected["xp"] == 0, "a redirect has its price and no XP")

    third = game.work()
    approved = game.approve(third, "yes")
    _require(approved["xp"] == 10 + third["score"]["final"] // 10, "an approval gives 10 + score // 10 XP")
    undone = game.rescind(third, "undo")
    _require(undone["xp"] == -approved["xp"] and game.get()["xp"] == 0, "a rescission withdraws the XP")
    game.approve(game.get(f"/gates/{undone['reopened_gate_id']}"), "yes again")
    while game.get()["outcome"] is None:
        gate = game.work()
        game.approve(gate, f"{gate['gate_id']}:approve")


def _complaint(gate: Json) -> str:
    """A reason that names a field of the artifact, so that its rework can be checked."""
    field = next(name for name, value in gate["artifact"].items() if isinstance(value, str))
    return f"Say it more plainly: rewrite {field} with one concrete example."


def _refuse_what_is_no_decision(game: Game, gate: Json) -> None:
    before = game.log()
    for verb in ODD_VERBS:
        game.answer(gate, verb, "odd", 422, reason="r")
    game.answer(gate, "approve", "", 422)
    game.answer({**gate, "artifact_sha256": "0" * 64}, "approve", "unseen", 412)
    game.answer({**gate, "gate_id": "gate-1"}, "approve", "elsewhere", 404)
    _require(game.log() == before, "a refused decision changed the log")


def _one_decision_stands(game: Game, gate: Json, receipt: Json) -> None:
    again = game.answer(gate, "reject", "no", reason=_complaint(gate))
    _require(again == receipt, "the same Idempotency-Key gets another receipt")
    lost = game.answer(gate, "approve", "a second opinion", 409)
    _require(lost["receipt"] == receipt, "409 does not carry the receipt of the decision that won")


def _of(evidence: Evidence, kind: str) -> list[Json]:
    return [event for event in evidence.events if event["type"] == kind]


def check_proof_points(evidence: Evidence) -> str:
    """The four of them, on every worker turn."""
    executed = _of(evidence, "STAGE_EXECUTED")
    _require(len(executed) >= 10, f"eight stages and two reworks were played, {len(executed)} turns are in the log")
    for event in executed:
        where, payload = f"STAGE_EXECUTED at seq {event['seq']}", event["payload"]
        for point in PROOF_POINTS:
            _require(payload.get(point), f"{where} has no {point}")
        usage = payload["inference_usage"]
        for field in ("client", "tier", "model"):
            _require(usage.get(field), f"{where}: inference_usage has no {field}")
        _require("fallback_reason" in usage, f"{where}: inference_usage does not say whether it fell back")
        for field in TOKENS:
            _require(isinstance(usage.get(field), int), f"{where}: inference_usage has no {field}")
            _require(usage["tier"] == "simulation" or usage[field] > 0, f"{where}: a model was used for no {field}")
    return f"{len(executed)} turns with {', '.join(PROOF_POINTS)}"


def check_only_a_human_mints_xp(evidence: Evidence) -> str:
    decider = "human" if evidence.run["mode"] == "human" else "scripted"
    decisions = {event["seq"]: event for event in evidence.events if event["type"] in DECISIONS}
    total = 0
    for event, state in zip(evidence.events, evidence.states, strict=True):
        if event["type"] == "XP_AWARDED":
            total += event["payload"]["amount"]
            decision = decisions.get(event["cause"])
            _require(decision, f"XP_AWARDED at seq {event['seq']} follows no decision")
            _require(event["actor"]["kind"] == decider, f"XP at seq {event['seq']} is by a {event['actor']['kind']}")
        _require(state["xp"] == total, f"at seq {event['seq']} the log has {total} XP and the state {state['xp']}")
    for seq, decision in decisions.items():
        _require(decision["actor"]["kind"] == decider, f"the decision at seq {seq} is by a {decision['actor']['kind']}")
    _require(total == evidence.run["xp"] > 0, "the campaign has no XP")
    return f"{total} XP, each award by a {decider} decision, the sum right at {len(evidence.states)} seqs"


DECISIONS = ("CEO_DECISION", "DECISION_RESCINDED")


def check_one_decision_a_gate(evidence: Evidence) -> str:
    gates = [event["payload"]["gate_id"] for event in _of(evidence, "CEO_DECISION")]
    _require(len(gates) == len(set(gates)), "a gate was decided twice")
    verbs = {event["payload"]["verb"] for event in _of(evidence, "CEO_DECISION")}
    _require(verbs == {"approve", "reject", "redirect"}, f"the campaign used only {sorted(verbs)}")
    opened = [event["payload"]["gate_id"] for event in _of(evidence, "GATE_OPENED")]
    _require(sorted(opened) == sorted(gates), "a gate that was opened was not decided, or the other way round")
    return f"{len(gates)} gates, {len(gates)} decisions; 404, 409, 412 and 422 as promised"


def check_reads_write_nothing(evidence: Evidence, game: Game) -> str:
    """After hundreds of reads the log is, byte for byte, what it was."""
    for path in ("", "/events", "/at/1", "/verify", f"/gates/{_of(evidence, 'GATE_OPENED')[0]['payload']['gate_id']}"):
        game.get(path)
    _require(game.log() == evidence.log, "reading changed the log")
    return f"{len(evidence.states) + 6} reads and the same log, byte for byte"


def check_replay(evidence: Evidence, game: Game) -> str:
    """Folded here, without the server, its world pack or a network, the log gives the server's state at every seq."""
    run: Run | None = None
    lines = evidence.log.splitlines()[1:-1]
    _require(len(lines) == len(evidence.states), f"the log has {len(lines)} of {len(evidence.states)} events")
    for seq, (line, state) in enumerate(zip(lines, evidence.states, strict=True), 1):
        run = evolve(run, unseal(line, seq))
        _require(state_hash(run) == state["state_hash"], f"the replayed state differs from the server's at seq {seq}")
    final = evidence.states[-1]["state_hash"]
    for who, verification in (
        ("GET verify", game.get("/verify")),
        ("POST replays", game.replayed(evidence.log)),
        ("verify_log", verify_log(evidence.log).model_dump()),
    ):
        failed = [verdict["says"] for verdict in verification["verdicts"] if verdict["status"] != "passed"]
        _require(len(verification["verdicts"]) == 5 and not failed, f"{who}: {failed}")
        _require(verification["state_hash"] == final, f"{who} arrives at another state")
    return f"{len(lines)} events fold to the same state_hash at every seq; five verdicts passed, three times"


def check_tiers_are_labelled(evidence: Evidence) -> str:
    for event in _of(evidence, "STAGE_EXECUTED"):
        where, usage = f"STAGE_EXECUTED at seq {event['seq']}", event["payload"]["inference_usage"]
        simulated = "simulation" in (usage["client"], usage["model"], usage["tier"])
        _require(usage["tier"] == "simulation" or not simulated, f"{where}: simulated work is labelled {usage['tier']}")
        fell_back = usage["tier"] != evidence.tier
        _require(not fell_back or usage["fallback_reason"], f"{where}: fell back to {usage['tier']} without a reason")
    return f"every artifact says its tier; this server's is {evidence.tier}"


def check_the_floor_stands(evidence: Evidence) -> str:
    weights = dict(RUBRIC_DIMENSIONS)
    executed = [event for event in _of(evidence, "STAGE_EXECUTED") if event["payload"]["score"]]
    for event in executed:
        where, score = f"STAGE_EXECUTED at seq {event['seq']}", event["payload"]["score"]
        rubric = score["rubric"]
        _require({d["name"]: d["weight"] for d in rubric["dimensions"]} == weights, f"{where}: the rubric is not ours")
        total = (sum(d["weight"] * d["score"] for d in rubric["dimensions"]) + 50) // 100
        counted = 0 if rubric["status"] == "unscored" else total
        _require(rubric["weighted_total"] == counted, f"{where}: the rubric's total is not the sum of its dimensions")
        final = max(score["floor"], counted)
        _require(score["final"] == final, f"{where}: the score is {score['final']}, not max(floor, rubric) = {final}")
    return f"{len(executed)} scores are max(floor, weighted total)"


def check_memory_binds(evidence: Evidence) -> str:
    """The newest procedural memory is in each brief that follows it, and the gate says whether it was obeyed."""
    newest: dict[int, Json] = {}
    binding: dict[int, int] = {}
    briefs = verdicts = 0
    for event in evidence.events:
        seq, kind, payload = event["seq"], event["type"], event["payload"]
        if kind == "MEMORY_WRITTEN" and payload["kind"] == "procedural":
            _require(payload["decision_seq"] in binding, f"the memory at seq {seq} cites no decision that binds")
            newest[seq] = payload
        elif kind == "MEMORY_RETRACTED":
            newest.pop(payload["memory_seq"], None)
        elif kind == "CEO_DECISION":
            binding[seq] = seq if payload["direction"] else 0
        elif kind == "DECISION_RESCINDED":
            del binding[payload["decision_seq"]]
        elif kind == "STAGE_EXECUTED" and newest:
            text = clamp(newest[max(newest)]["text"], INJECTED_CHARS)
            found = [memory["text"] for memory in payload["memory_injected"] if memory["kind"] == "procedural"]
            _require(text in found, f"the brief of seq {seq} lacks the newest procedural memory: {text}")
            briefs += 1
        elif kind == "GATE_OPENED" and any(binding.values()):
            given = {line["decision_seq"]: line["verdict"] for line in payload["compliance"]}
            last = max(binding.values())
            _require(given.get(last) in VERDICTS, f"the gate at seq {seq} has no verdict on the decision of seq {last}")
            verdicts += 1
    _require(briefs and verdicts, "no brief carried a decision")
    return f"the newest decision is in {briefs} briefs and judged at {verdicts} gates"


def check_campaign(game: Game) -> Iterator[str]:
    """The promises of the design, one line each. Raises SmokeFailed at the first that does not hold."""
    play(game)
    evidence = game.evidence()
    _require(evidence.run["outcome"] == "victory", "the campaign did not end")
    yield f"proof points: {check_proof_points(evidence)}"
    yield f"1 only a human mints XP: {check_only_a_human_mints_xp(evidence)}"
    yield f"2 a decision is a compare-and-swap: {check_one_decision_a_gate(evidence)}"
    yield f"3 the log is the state: {check_reads_write_nothing(evidence, game)}"
    yield f"4 replay is a pure fold: {check_replay(evidence, game)}"
    yield f"5 same program without credentials: {check_tiers_are_labelled(evidence)}"
    yield f"6 the floor cannot be argued with: {check_the_floor_stands(evidence)}"
    yield f"7 memory binds: {check_memory_binds(evidence)}"


@contextmanager
def own_server() -> Iterator[str]:
    """A server on a free port over an empty folder; gives its address."""
    with tempfile.TemporaryDirectory() as data:
        command = [sys.executable, "-m", "submission.tools.server", "serve", "--port", "0", "--data", data]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None, "stderr is a pipe"
        try:
            said = []
            for line in process.stderr:
                said.append(line.strip())
                if " at http://" in line:
                    yield line.split(" at ", 1)[1].split()[0]
                    return
            raise SmokeFailed(f"the server did not start: {' '.join(said) or 'it said nothing'}")
        finally:
            process.terminate()
            process.stderr.close()
            process.wait(10)


@contextmanager
def running_server(address: str) -> Iterator[str]:
    yield address


def main(argv: Sequence[str] | None = None) -> int:
    """Exit 0 when every promise holds, 1 with the one that does not."""
    parser = argparse.ArgumentParser(prog="demo_smoke_test.py", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--base", metavar="URL", help="play a rehearsal on this server instead of starting one")
    base = parser.parse_args(argv).base
    try:
        with running_server(base) if base else own_server() as address:
            # A rehearsal: nobody may find XP on their server that no person awarded.
            transport = httpx.HTTPTransport(retries=3)
            with httpx.Client(base_url=address, timeout=30, transport=transport) as http:
                for line in check_campaign(Game(http, "rehearsal" if base else "human")):
                    print(f"ok  {line}")
    except SmokeFailed as failure:
        print(f"FAILED  {failure}", file=sys.stderr)
        return 1
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        print(f"FAILED  {base or 'the server'} cannot be played on: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
