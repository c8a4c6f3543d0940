"""The table of checks, and the checks that are made of others."""

from __future__ import annotations

from typing import Any

from tests.field_cases.cases import Unsupported
from tests.field_cases.checks.comparing import Check
from tests.field_cases.checks.content import CONTENT
from tests.field_cases.checks.excerpts import EXCERPTS
from tests.field_cases.checks.figures import FIGURES
from tests.field_cases.checks.marks import MARKS
from tests.field_cases.checks.media import MEDIA
from tests.field_cases.checks.record import RECORD
from tests.field_cases.checks.stores import STORES
from tests.field_cases.checks.structure import STRUCTURE
from tests.field_cases.outcome import CheckFailed, Outcome

TABLE: dict[str, Check] = {
    **STRUCTURE,
    **CONTENT,
    **MARKS,
    **RECORD,
    **FIGURES,
    **STORES,
    **MEDIA,
    **EXCERPTS,
}


def apply(outcome: Outcome, args: dict[str, Any]) -> None:
    """Apply one check. Raises CheckFailed when it does not hold, Unsupported when there is no such check."""
    name = args["check"]
    match name:
        case "one_of":
            _one_of(outcome, args["any"])
        case "all_of":
            for each in args["each"] if "each" in args else args["all"]:
                apply(outcome, each)
        case "implies":
            if _holds(outcome, args["if"]):
                apply(outcome, args["then"])
        case "every_request":
            for index in range(len(outcome.all({}))):
                apply(outcome, {**args["of"], "output": index})
        case _ if name in TABLE:
            TABLE[name](outcome, args)
        case _:
            raise Unsupported(f"check {name}")


def _holds(outcome: Outcome, args: dict[str, Any]) -> bool:
    try:
        apply(outcome, args)
    except CheckFailed:
        return False
    return True


def _one_of(outcome: Outcome, choices: list[dict[str, Any]]) -> None:
    faults: list[str] = []
    for choice in choices:
        try:
            apply(outcome, choice)
        except CheckFailed as fault:
            faults.append(f"{choice['check']}: {fault}")
        else:
            return
    raise CheckFailed("one of the checks holds", "; ".join(faults))


def expanded(checks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the checks of a case, each once for all outputs that an `applies_to` names."""
    named = next((check["outputs"] for check in checks if check["check"] == "applies_to"), None)
    others = [check for check in checks if check["check"] != "applies_to"]
    if named is None:
        return others
    return [{**check, "outputs": named} if "outputs" not in check else check for check in others]
