"""Makes the worker for a tier, and reads what models say: JSON out of prose, scores out of opinions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from submission.agents.world_designer import simulation_of
from submission.state.canonical import Document, freeze
from submission.state.memory import clamp
from submission.state.ports import Progress
from submission.state.scoring import Rubric, rubric_from_floor, rubric_from_judgement
from submission.state.validation import validate
from submission.state.work import Brief, InferenceUsage, Judgement, ToolCall, Work
from submission.state.world import Validator, World


class SimulatedWorker:
    """The credential-free worker: writes from the pack's simulation folder, runs the same tools and leaves the
    same receipts as a live one. Its work is labelled `simulation`."""

    def __init__(self, world: World) -> None:
        self._simulation = simulation_of(world)
        self._validators = {validator.id: validator for validator in world.validators}

    async def work(self, brief: Brief, progress: Progress) -> Work:
        progress("brief", f"{brief.role.title} reads the brief for {brief.stage.title}, attempt {brief.attempt}")
        trace = [_recalled(brief)]
        progress("tool", f"recall → {trace[0].result}")
        artifact: Document = freeze(self._simulation.write(brief))
        for call in self._self_checks(brief, artifact):
            progress("tool", f"{call.tool} → {call.result}")
            trace.append(call)
        return Work(
            artifact=artifact,
            tools_called=tuple(call.tool for call in trace),
            tool_trace=tuple(trace),
            inference_usage=SIMULATION_USAGE,
        )

    def _self_checks(self, brief: Brief, artifact: Document) -> list[ToolCall]:
        return [check_draft(self._validators[name], artifact) for name in brief.stage.validators]


SIMULATION_USAGE = InferenceUsage(client="simulation", tier="simulation", model="simulation", cost_usd=0)


def _recalled(brief: Brief) -> ToolCall:
    sources = ", ".join(f"{hit.source}:{hit.start_line}-{hit.end_line}" for hit in brief.knowledge)
    return ToolCall(
        tool="recall",
        source="local-fts5",
        args=brief.stage.title,
        result=f"{len(brief.knowledge)} hits: {sources}",
    )


def check_draft(validator: Validator, artifact: Mapping[str, Any]) -> ToolCall:
    """One validator run on a draft, as the receipt of a tool call."""
    report = validate(validator, artifact)
    held = sum(finding.verdict != "failed" for finding in report.findings)
    return ToolCall(
        tool=f"validate_{validator.id}",
        source="validators",
        args=clamp(f"keys={','.join(sorted(artifact)[:12])}"),
        result=f"score={report.score} checks {held}/{len(report.findings)}",
    )


def rubric_evaluate(floor: int, answer: str | None = None, source: str = "") -> Rubric:
    """The rubric above a floor from a judge's raw answer: our dimensions and weights, the judge's scores. No
    answer: derived from the floor. An answer that cannot be read: unscored, and the floor stands."""
    if answer is None:
        return _rubric_from_floor(floor)
    return rubric_from_judgement(floor, read_judgement(answer, source))


def read_judgement(answer: str, source: str) -> Judgement:
    """A judge's answer as untrusted scores by dimension name."""
    parsed = _extract_json(answer)
    dimensions = parsed.get("dimensions") if parsed else None
    if not isinstance(dimensions, list):
        return Judgement(source=source, unscored="the judge's answer has no dimensions")
    named = {str(d.get("name", "")): d for d in dimensions if isinstance(d, dict) and _is_score(d.get("score"))}
    if not named:
        return Judgement(source=source, unscored="the judge's answer has no scores")
    return Judgement.model_validate(
        {
            "source": source,
            "scores": {name: max(0, min(100, round(d["score"]))) for name, d in named.items()},
            "notes": {name: str(d.get("note", ""))[:120] for name, d in named.items()},
            "verdict": str(parsed.get("verdict", ""))[:300] if parsed else "",
        }
    )


def _is_score(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e9


def _rubric_from_floor(floor: int) -> Rubric:
    return rubric_from_floor(floor)


def _extract_json(text: str) -> dict[str, Any] | None:
    """The JSON object in a model's answer: the whole text, a fenced block, or the last complete object among
    think blocks and prose; None when there is none. Looks at the first 1 MB and 2,000 braces."""
    text = text[:1_000_000].lstrip("\ufeff")
    decoder, found, at, tries = json.JSONDecoder(), None, text.find("{"), 0
    while at != -1 and tries < 2_000:
        tries += 1
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            at = text.find("{", at + 1)
            continue
        found, at = value, text.find("{", end)
    return found
