"""What the law says no to, and what would be right.

Refused
├── Invalid    the request is malformed or lacks something          HTTP 422
├── Unknown    no such run, gate, stage, option, world              HTTP 404
├── Forbidden  a page or a name that is not the player's            HTTP 403
├── Conflict   the game is not where the request thinks it is       HTTP 409
├── Stale      the human saw an artifact that is no longer current  HTTP 412
└── TooLarge   over a stated limit                                  HTTP 413

BrokenLog      a log that the law could not have written (not an answer to a request)
"""

from __future__ import annotations

from typing import Any, NoReturn


class Refused(Exception):
    """A coded no. `code` is stable, `right` says what would be right, `extra` carries evidence
    such as the winning receipt or the current artifact hash."""

    def __init__(self, code: str, detail: str = "", **extra: Any) -> None:
        super().__init__(f"{code}: {detail or RIGHT[code]}")
        self.code = code
        self.right = RIGHT[code]
        self.detail = detail
        self.extra = extra


class Invalid(Refused): ...


class Unknown(Refused): ...


class Forbidden(Refused): ...


class Conflict(Refused): ...


class Stale(Refused): ...


class TooLarge(Refused): ...


class BrokenLog(Exception):
    """An event that cannot follow the ones before it; `seq` is the first broken one."""

    def __init__(self, seq: int, why: str, verdict: str = "schema") -> None:
        super().__init__(f"seq {seq}: {why}")
        self.seq, self.why, self.verdict = seq, why, verdict


TREE: dict[type[Refused], dict[str, str]] = {
    Invalid: {
        "request.malformed": "Send one JSON object of the documented shape, in UTF-8, with finite numbers.",
        "pitch.blank": "Say in a few words what you offer and to whom.",
        "pitch.unprintable": "Send readable text; control characters alone are not a pitch.",
        "decision.verb_unknown": "The verb is one of approve, reject, redirect.",
        "decision.key_required": "Send an Idempotency-Key header of 1 to 200 visible characters.",
        "decision.hash_required": "Send artifact_sha256, the hash of the artifact you were shown.",
        "decision.reason_required": "A rejection says what to change: send a reason.",
        "decision.option_required": "This gate poses a fork: send option_id, one of its two options.",
        "decision.option_not_posed": "This gate poses no fork: send no option_id.",
        "decision.direction_required": "A redirect names option_id or carries your own direction, not both.",
        "decision.not_for_verb": "Send only what the verb takes: a rejection its reason, an approval no direction.",
        "decision.override_required": "The floor fails: say why you approve all the same in override_reason.",
        "replay.not_a_log": "Send a log.jsonl as exported: a header line, one line an event, a signed head.",
    },
    Unknown: {
        "run.unknown": "Name a run that GET /api/runs lists.",
        "gate.unknown": "Name a gate that GET /api/gates lists.",
        "stage.unknown": "Name one of the run's eight stages.",
        "option.unknown": "Name one of the options this gate shows.",
        "world.unknown": "Name a world that GET /api/worlds lists.",
        "seq.unknown": "Name a sequence number from 1 to the run's last.",
        "route.unknown": "See /docs for the routes.",
    },
    Forbidden: {
        "host.not_allowed": "Address the server by the name it serves, such as 127.0.0.1 or localhost.",
        "origin.not_allowed": "Only pages that this server serves may change a run.",
    },
    Conflict: {
        "run.completed": "This run has ended; start another.",
        "run.exists": "The same Idempotency-Key started another pitch; use a new key.",
        "stage.working": "A worker is at work; wait for its artifact at the gate.",
        "stage.locked": "Work first on the stages this one needs.",
        "stage.done": "This stage is approved; choose one that is open.",
        "gate.waiting": "Decide the open gate first: approve, reject or redirect.",
        "gate.decided": "This gate is decided; the receipt of the winning decision is attached.",
        "gate.no_artifact": "The worker failed and there is nothing to approve: reject, or start the turn again.",
        "gate.rescind_too_late": "A decision can be rescinded only until the next stage starts.",
        "decision.key_reused": "The Idempotency-Key already carried a different decision; use a new key.",
        "decision.not_yours": "This run takes decisions of another kind of actor.",
        "work.unexpected": "Submit work only for the stage and attempt that is being worked on.",
        "run.conflict": "The run moved on meanwhile; read it again and decide on what you see.",
        "method.not_allowed": "See /docs for the methods of this route.",
    },
    Stale: {
        "gate.stale_artifact": "Look at the current artifact and decide on its hash.",
    },
    TooLarge: {
        "pitch.too_long": "Keep the pitch to 10,000 characters.",
        "text.too_long": "Keep reasons and directions to 2,000 characters.",
        "artifact.too_large": "Keep an artifact to 64 KiB of JSON.",
        "request.too_large": "Send a smaller body.",
    },
}

RIGHT: dict[str, str] = {code: right for codes in TREE.values() for code, right in codes.items()}
_KIND: dict[str, type[Refused]] = {code: kind for kind, codes in TREE.items() for code in codes}


def refuse(code: str, detail: str = "", **extra: Any) -> NoReturn:
    """Raise the refusal of this code, as its kind in the tree."""
    raise _KIND[code](code, detail, **extra)
