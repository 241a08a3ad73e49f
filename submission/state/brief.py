"""What a worker is told before it works: the stage, the decisions that bind it, and what was recalled."""

from __future__ import annotations

from submission.state.canonical import FrozenDict
from submission.state.compliance import in_force
from submission.state.memory import injected
from submission.state.run import Run, StageState
from submission.state.work import Brief, Hit
from submission.state.world import Role


def recall_query(run: Run, stage: StageState) -> str:
    """What to ask the knowledge base for this stage."""
    return f"{stage.spec.title} {stage.spec.goal} {stage.spec.artifact.replace('_', ' ')} {run.pitch[:300]}"


def brief_for(run: Run, stage: StageState, role: Role, hits: tuple[Hit, ...]) -> Brief:
    """The brief of the stage's current attempt: two passages, the newest memories, every direction in force."""
    return Brief(
        run_id=run.run_id,
        world=run.world,
        pitch=run.pitch,
        seed=run.seed,
        stage=stage.spec,
        role=role,
        attempt=stage.attempt,
        directions=in_force(run.directions, stage.spec.id),
        knowledge=hits[:2],
        memories=injected(run.memories),
        previous=stage.previous,
        faults=_faults(stage),
        upstream=FrozenDict(
            {
                other.spec.id: other.artifact
                for other in run.stages
                if other.spec.id in stage.spec.needs and other.artifact is not None
            }
        ),
    )


def _faults(stage: StageState) -> tuple[str, ...]:
    """Feedback of the checks the previous attempt failed."""
    reports = stage.score.reports if stage.score else ()
    return tuple(finding.feedback for report in reports for finding in report.findings if finding.feedback)
