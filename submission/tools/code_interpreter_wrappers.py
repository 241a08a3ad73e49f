"""The validators by the names that workers and judges call them: each takes an artifact, whatever it is, and answers
`(success, results)` with results `checks` (by id, whether it held or was not run), `score` 0..100 and `feedback`."""

from __future__ import annotations

from functools import cache
from typing import Any

from submission.knowledge.load import WORLDS, default_world, load_worlds
from submission.state.validation import validate
from submission.state.world import Validator


@cache
def _validators() -> dict[str, Validator]:
    """Those of the world this server plays by default."""
    return {validator.id: validator for validator in load_worlds(WORLDS)[default_world(WORLDS)].validators}


def _run(validator_id: str, artifact: Any) -> tuple[bool, dict[str, Any]]:
    report = validate(_validators()[validator_id], artifact)
    return report.passes, {
        "checks": {finding.check: finding.verdict != "failed" for finding in report.findings},
        "not_run": [finding.check for finding in report.findings if finding.verdict == "not_run"],
        "score": report.score,
        "feedback": [finding.feedback for finding in report.findings if finding.feedback],
    }


def validate_landing_page(artifact: Any) -> tuple[bool, dict[str, Any]]:
    return _run("landing_page", artifact)


def validate_positioning(artifact: Any) -> tuple[bool, dict[str, Any]]:
    return _run("positioning", artifact)


def validate_marketing_email(artifact: Any) -> tuple[bool, dict[str, Any]]:
    return _run("marketing_email", artifact)


def validate_financial_plan(artifact: Any) -> tuple[bool, dict[str, Any]]:
    return _run("financial_plan", artifact)


def validate_org_chart(artifact: Any) -> tuple[bool, dict[str, Any]]:
    return _run("org_chart", artifact)
