"""Rescoring: every artifact hashed and scored once more, by the rules that the run pinned at its start."""

from __future__ import annotations

from submission.state.canonical import document_sha256
from submission.state.consequences import Consequence, calculate_consequence
from submission.state.events import GateOpened, PricedFork, RunStarted, StageExecuted, WorldDesigned
from submission.state.run import Run
from submission.state.scoring import Score, score_artifact
from submission.state.verdicts.lines import Fault, Line, Verdict, count, failed, not_checkable, passed
from submission.state.work import Judgement
from submission.state.world import Fork, Rule, Stage, Validator, World, WorldPin

MAX_CHECKS = 2_000
"""A log that pins more checks than this is not rescored: a stranger's file may not cost a server hours."""


class Rescoring:
    """`worlds` are the packs at hand; where the run's own is among them, what it pinned is held against it too."""

    def __init__(self, worlds: tuple[World, ...] = ()) -> None:
        self._worlds = worlds
        self._world: World | None = None
        self._pin: WorldPin | None = None
        self._rules: tuple[Validator, ...] = ()
        self._asks: dict[str, tuple[str, ...]] = {}
        self._fault: Fault | None = None
        self._doubt: Fault | None = None
        self._scored = self._judged = 0

    def see(self, line: Line, run: Run | None = None) -> None:
        """`run` is the state after this line, None where it is unknown."""
        if line.event is None:
            self._doubt = self._doubt or Fault(line.seq, f"seq {line.seq} cannot be read and may be an artifact")
            return
        match line.event.payload:
            case RunStarted() as payload if self._pin is None:
                self._started(line.seq, payload)
            case WorldDesigned() as payload:
                self._designed(line.seq, payload)
            case StageExecuted() as payload:
                if why := self._wrong(line.seq, payload):
                    self._note(line.seq, f"stage {payload.stage_id}: {why}")
            case GateOpened() as payload:
                self._posed(line.seq, payload, run)

    def _started(self, seq: int, payload: RunStarted) -> None:
        self._pin, self._rules = payload.world, payload.validators
        self._world = next((world for world in self._worlds if world.pin == payload.world), None)
        if sum(len(rule.checks) for rule in payload.validators) > MAX_CHECKS:
            self._doubt = self._doubt or Fault(seq, f"The run pins over {MAX_CHECKS:,} checks; that many are not run")
            self._pin = None
        elif self._world is not None and _pinned(self._world) != _pinned(payload):
            self._note(seq, "the pinned validators, meters or levels are not those of the pack it names")

    def _designed(self, seq: int, payload: WorldDesigned) -> None:
        self._asks = {stage.id: stage.validators for stage in payload.stages}
        if self._world is not None and _bare(payload.stages) != _bare(self._world.stages):
            self._note(seq, "the stages ask for other work than those of the pack it names")

    def _posed(self, seq: int, payload: GateOpened, run: Run | None) -> None:
        """The fork and the prices as the pack has them. No fork may stand here too: an earlier redirect settled it."""
        if self._world is None or run is None:
            return
        if payload.own_direction is not None and payload.own_direction != _price(self._world.own_direction, run):
            self._note(seq, "an own direction is priced otherwise than by the pack's rule")
        if payload.fork is not None and not _is_posed(payload.fork, self._world.fork(payload.stage_id), run):
            self._note(seq, "the gate poses another fork or price than the pack it names")

    def _note(self, seq: int, why: str) -> None:
        self._fault = self._fault or Fault(seq, why)

    def _wrong(self, seq: int, payload: StageExecuted) -> str:
        """What is not as recorded, or nothing."""
        if payload.artifact is None or payload.score is None:
            return ""
        if document_sha256(payload.artifact) != payload.artifact_sha256:
            return "the artifact is not the one whose hash was recorded"
        if self._pin is None or payload.stage_id not in self._asks:
            self._doubt = self._doubt or Fault(seq, f"The rules for the artifact at seq {seq} cannot be read")
            return ""
        asked = self._asks[payload.stage_id]
        self._scored += 1
        self._judged += payload.score.rubric.status == "judged"
        return _difference(payload.score, _again(payload, tuple(rule for rule in self._rules if rule.id in asked)))

    def verdict(self) -> Verdict:
        if self._fault is not None:
            return failed("rescoring", self._fault)
        if self._doubt is not None:
            return not_checkable("rescoring", self._doubt)
        if self._pin is None:
            return not_checkable("rescoring", Fault(0, "There is no RUN_STARTED that pins the rules"))
        return passed("rescoring", f"{self._results()} {self._whose_rules(self._pin)}")

    def _results(self) -> str:
        if not self._scored:
            return "There is no artifact yet."
        judged = f" ({self._judged} with a model's rubric, taken as recorded)" if self._judged else ""
        return f"{count(self._scored, 'artifact')}: hash and score are as recorded{judged}."

    def _whose_rules(self, pin: WorldPin) -> str:
        if self._world is not None:
            return f"The rules are those of pack {pin.id} {pin.version}."
        return f"The rules are the log's own; pack {pin.id} {pin.version} ({pin.sha256[:12]}) is not here to compare."


def _again(payload: StageExecuted, rules: tuple[Validator, ...]) -> Score:
    """The score by our rules alone; what a judge or the outside world said is taken from the record."""
    rubric = payload.score.rubric if payload.score else None
    judgement = None
    if rubric is not None and rubric.status != "derived":
        judgement = Judgement.model_validate(
            {
                "source": rubric.source,
                "scores": {dimension.name: dimension.score for dimension in rubric.dimensions},
                "notes": {dimension.name: dimension.note for dimension in rubric.dimensions},
                "verdict": rubric.verdict,
                "spread": rubric.spread,
                "unscored": rubric.reason if rubric.status == "unscored" else None,
            }
        )
    return score_artifact(rules, payload.artifact, judgement, payload.observations)


def _difference(recorded: Score, again: Score) -> str:
    """The first part of the score that differs, in words."""
    if recorded == again:
        return ""
    for report, fresh in zip(recorded.reports, again.reports, strict=False):
        if report != fresh:
            return f"validator {report.validator} is recorded with {report.score} and gives {fresh.score}"
    for name in ("reports", "floor", "floor_from", "passes", "rubric"):
        if getattr(recorded, name) != getattr(again, name):
            was, now = getattr(recorded, name), getattr(again, name)
            return f"its {name} is recorded as {was!r:.60} and comes out as {now!r:.60}"
    return f"its final score is recorded as {recorded.final} and comes out as {again.final}"


def _is_posed(posed: PricedFork, fork: Fork | None, run: Run) -> bool:
    if fork is None or posed.question != fork.question or len(posed.options) != len(fork.options):
        return False
    return all(
        all(getattr(option, name) == value for name, value in priced.option)
        and priced.consequence == _price(option.rule, run)
        for priced, option in zip(posed.options, fork.options, strict=True)
    )


def _price(rule: Rule, run: Run) -> Consequence:
    return calculate_consequence(rule, run.meter_specs, run.meters, run.team)


def _pinned(rules: World | RunStarted) -> tuple[object, ...]:
    return rules.validators, rules.meters, rules.levels


def _bare(stages: tuple[Stage, ...]) -> list[Stage]:
    """Stages without the narrator's words."""
    return [stage.model_copy(update={"title": "", "goal": ""}) for stage in stages]
