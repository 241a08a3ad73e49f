"""Whether each fork poses a choice: two options, two leans, and prices in meters that exist."""

from __future__ import annotations

from submission.knowledge.pack.lined import Where
from submission.knowledge.pack.models import ForkEntry, Price
from submission.knowledge.pack.reading import Pack
from submission.knowledge.pack.references import known, refer
from submission.knowledge.pack.rules import check_rule
from submission.knowledge.pack.sheet import Sheet


def check_forks(pack: Pack) -> None:
    for at, check in pack.checks:
        check_rule(pack.forks, at, check)
        if check.points:
            pack.forks.fault((*at, "points"), "a check of a direction gives no points")
    seen: set[str] = set()
    for at, fork in pack.fork_entries:
        if fork.stage in seen:
            pack.forks.fault((*at, "stage"), f"a second fork for the stage {fork.stage!r}")
        seen.add(fork.stage)
        _check_fork(pack, at, fork)
    if pack.head is not None:
        _check_price(pack, pack.world, ("own_direction",), pack.head.own_direction)


def _check_fork(pack: Pack, at: Where, fork: ForkEntry) -> None:
    sheet, leans = pack.forks, [option.lean for option in fork.options]
    refer(sheet, (*at, "stage"), "stage", fork.stage, known(pack.stages, "stages"))
    if len(leans) != 2:
        sheet.fault((*at, "options"), f"a fork has two options, not {len(leans)}")
    elif leans[0] == leans[1]:
        sheet.fault((*at, "options"), f"both options lean to {leans[0]!r}")
    for index, option in enumerate(fork.options):
        place: Where = (*at, "options", index)
        _check_price(pack, sheet, place, option)
        for position, name in enumerate(option.checks):
            refer(sheet, (*place, "checks", position), "check", name, known(sheet, "checks"))


def _check_price(pack: Pack, sheet: Sheet, at: Where, price: Price) -> None:
    for meter in price.deltas:
        refer(sheet, (*at, "deltas", meter), "meter", meter, known(pack.world, "meters"))
    if price.adds_worker is not None:
        refer(sheet, (*at, "adds_worker"), "worker", price.adds_worker, known(pack.roles, "workers"))
