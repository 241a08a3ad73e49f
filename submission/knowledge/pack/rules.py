"""Whether the checks a pack declares can be run: each rule has what it needs and nothing it would ignore."""

from __future__ import annotations

from collections.abc import Mapping

from submission.knowledge.pack.lined import Where
from submission.knowledge.pack.sheet import Entry, Sheet
from submission.state.world import Check, RuleName, Validator

_PARAMETERS = ("at_least", "at_most", "any_of", "keys")

# What a rule reads: any of the alternatives, separated by |, will do.
_READS: Mapping[RuleName, tuple[str, ...]] = {
    "min_chars": ("at_least",),
    "url": (),
    "observed": (),
    "contains_any": ("any_of",),
    "is_object": (),
    "min_items": ("at_least",),
    "max_items": ("at_most",),
    "items_have_numbers": ("keys",),
    "items_have_list": ("keys", "at_least"),
    "any_item_says": ("any_of",),
    "non_decreasing": ("at_least",),
    "number_between": ("at_least|at_most",),
}


def check_validator(sheet: Sheet, entry: Entry[Validator]) -> None:
    """Points, pass mark and every check of one validator."""
    at, validator = entry
    total = sum(check.points for check in validator.checks)
    if total != 100:
        sheet.fault((*at, "checks"), f"the points of {validator.id} sum to {total}; they must sum to 100")
    if not 1 <= validator.passes_at <= 100:
        sheet.fault((*at, "passes_at"), f"passes_at is {validator.passes_at}; it must be 1 to 100")
    for index, check in enumerate(validator.checks):
        place: Where = (*at, "checks", index)
        check_rule(sheet, place, check)
        if check.points < 1:
            sheet.fault((*place, "points"), f"{check.id} is worth {check.points} points; it must be 1 or more")
        if not check.feedback:
            sheet.fault(place, f"{check.id} has no feedback, so that a worker could not mend what it fails")


def check_rule(sheet: Sheet, at: Where, check: Check) -> None:
    """Path and parameters of one check."""
    if not check.path or not all(check.path.split(".")):
        sheet.fault((*at, "path"), f"{check.id} needs the path of a field, such as hero.headline")
    reads = [name for group in _READS[check.rule] for name in group.split("|")]
    for group in _READS[check.rule]:
        if not any(_given(check, name) for name in group.split("|")):
            sheet.fault((*at, "rule"), f"the rule {check.rule} needs {group.replace('|', ' or ')}")
    for name in _PARAMETERS:
        if _given(check, name) and name not in reads:
            sheet.fault((*at, name), f"the rule {check.rule} does not read {name}")
    if check.at_least is not None and check.at_most is not None and check.at_least > check.at_most:
        sheet.fault((*at, "at_least"), f"at_least {check.at_least} is above at_most {check.at_most}")


def _given(check: Check, name: str) -> bool:
    return getattr(check, name) not in (None, ())
