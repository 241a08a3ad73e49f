"""Schema: whether every event is of a known shape and can follow those before it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from submission.state.consequences import MeterChange
from submission.state.events import Event, GateOpened, LevelUp, RunCompleted, XpAwarded
from submission.state.evolve import GENESIS, evolve
from submission.state.refusals import BrokenLog
from submission.state.run import Run
from submission.state.verdicts.lines import Fault, Line, Verdict, count, earlier, failed, not_checkable, passed
from submission.state.world import Meter


class Schema:
    """Folds the log with its chain taken as sound, for that is another verdict's question. After wrong XP the
    fold goes on as if it had been right; after any other break `run` is None, since nothing can be known to follow.

    `content_fault` and `xp_fault` are what the fold found against those other verdicts."""

    def __init__(self) -> None:
        self.run: Run | None = None
        self.content_fault: Fault | None = None
        self.xp_fault: Fault | None = None
        self._fault: Fault | None = None
        self._lost: int | None = None
        self._seen = 0

    def see(self, line: Line) -> Run | None:
        """The run after this line; None once the fold is lost."""
        self._seen += 1
        if line.event is None:
            self._break(BrokenLog(line.seq, line.unreadable))
        elif self._lost is None:
            self._follow(line.event)
        return self.run

    def _follow(self, event: Event) -> None:
        run = self.run
        if run is None:
            event = replace(event, seq=1, prev_hash=GENESIS)
        elif event.seq != run.seq + 1 or event.prev_hash != run.head or event.run_id != run.run_id:
            run = run._replace(seq=event.seq - 1, head=event.prev_hash, run_id=event.run_id)
        try:
            self.run = evolve(run, event)
            _check_prices(self.run, event)
        except BrokenLog as broken:
            if run is None or broken.verdict != "xp":
                self._break(BrokenLog(self._seen, broken.why, broken.verdict))
            else:
                self.xp_fault = earlier(self.xp_fault, Fault(self._seen, broken.why))
                self._follow_mended(run, event)

    def _follow_mended(self, run: Run, event: Event) -> None:
        if isinstance(event.payload, XpAwarded) and run.award is None:
            return
        try:
            self.run = evolve(*_mended(run, event))
        except BrokenLog as broken:
            self._break(BrokenLog(self._seen, broken.why, broken.verdict))

    def _break(self, broken: BrokenLog) -> None:
        fault = Fault(self._seen, broken.why)
        if broken.verdict == "integrity":
            self.content_fault = earlier(self.content_fault, fault)
        elif broken.verdict == "xp":
            self.xp_fault = earlier(self.xp_fault, fault)
        elif self._fault is None:
            self._fault = fault
        self._lost = self._lost or self._seen
        self.run = None

    def verdict(self) -> Verdict:
        if self._fault is not None:
            return failed("schema", self._fault)
        if not self._seen:
            return not_checkable("schema", Fault(0, "There is no event to check"))
        if self._lost is not None:
            why = f"Each event up to seq {self._lost - 1} can follow; what comes after could not be judged"
            return not_checkable("schema", Fault(self._lost, why))
        says = f"{count(self._seen, 'event')} of a known shape, each able to follow those before it."
        return passed("schema", says)


def _check_prices(run: Run, event: Event) -> None:
    """Every price a gate shows starts from the company as it stands there, and keeps each meter in its range."""
    gate = event.payload
    if not isinstance(gate, GateOpened):
        return
    prices = [priced.consequence for priced in gate.fork.options] if gate.fork else []
    for price in (*prices, gate.own_direction) if gate.own_direction else prices:
        if len(price.meters) != len(run.meter_specs) or not all(map(_fits(run), run.meter_specs, price.meters)):
            raise BrokenLog(event.seq, f"the price {price.rule_id} is not one of this company at this gate")


def _fits(run: Run) -> Callable[[Meter, MeterChange], bool]:
    def fits(spec: Meter, change: MeterChange) -> bool:
        in_range = spec.least <= change.after and (spec.most is None or change.after <= spec.most)
        adds_up = change.before == run.meters[spec.id] and change.before + change.delta == change.after
        return change.meter == spec.id and in_range and adds_up

    return fits


def _mended(run: Run, event: Event) -> tuple[Run, Event]:
    """The same step with its XP set right: the actor one who may, the amount and the level what was due."""
    kind = "human" if run.mode == "human" else "scripted"
    actor = event.actor.model_copy(update={"kind": kind, "id": run.player})
    payload, cause = event.payload, event.cause
    if isinstance(payload, (LevelUp, RunCompleted)):
        payload = payload.model_copy(update={"xp": run.xp, "level": run.level.level})
    if isinstance(payload, XpAwarded) and run.award is not None:
        payload, cause = payload.model_copy(update=run.award._asdict()), run.seq
    elif run.award is not None:
        run = run._replace(award=None)
    return run, replace(event, actor=actor, payload=payload, cause=cause)
