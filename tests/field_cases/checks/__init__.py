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
from tests.field_cases.checks.members import CHOOSING, aimed, asks_for, refuse_unread
from tests.field_cases.checks.record import RECORD
from tests.field_cases.checks.stores import STORES
from tests.field_cases.checks.structure import STRUCTURE
from tests.field_cases.outcome import CheckFailed, Outcome

__all__ = ("apply", "asks_for", "expanded")

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


OVER_SEVERAL = frozenset(
    {
        "byte_equal",
        "message_bytes_stable",
        "append_only",
        "prefix_breaks",
        "each_break_has_event",
        "each_request_prefix_of_next",
        "marker_reuse_within_blocks",
        "prefix_unchanged",
        "simulated_cache_read_share",
    }
)
"""Checks that compare the requests they name with one another; every other looks at one by one."""


def apply(outcome: Outcome, args: dict[str, Any]) -> None:
    """Apply one check. Raises CheckFailed when it does not hold, Unsupported when it is none that can be made."""
    refuse_unread(args)
    _apply(outcome, args)


def _apply(outcome: Outcome, args: dict[str, Any]) -> None:
    name = args["check"]
    match name:
        case "one_of":
            _one_of(outcome, [aimed(each, _aim(args)) for each in args["any"]])
        case "all_of":
            for each in args["each"] if "each" in args else args["all"]:
                _apply(outcome, aimed(each, _aim(args)))
        case "implies":
            if _holds(outcome, aimed(args["if"], _aim(args))):
                _apply(outcome, aimed(args["then"], _aim(args)))
        case "every_request":
            for index in range(len(outcome.all(args))):
                chosen = args["outputs"][index] if "outputs" in args else index
                _apply(outcome, aimed(args["of"], {"output": chosen}))
        case _ if "outputs" in args and name not in OVER_SEVERAL:
            alone = {member: value for member, value in args.items() if member != "outputs"}
            for output in args["outputs"]:
                TABLE[name](outcome, {**alone, "output": output})
        case _:
            TABLE[name](outcome, args)


def _aim(args: dict[str, Any]) -> dict[str, Any]:
    return {member: args[member] for member in CHOOSING if member in args}


def _holds(outcome: Outcome, args: dict[str, Any]) -> bool:
    try:
        _apply(outcome, args)
    except CheckFailed:
        return False
    return True


def _one_of(outcome: Outcome, choices: list[dict[str, Any]]) -> None:
    faults: list[str] = []
    missing: Unsupported | None = None
    for choice in choices:
        try:
            _apply(outcome, choice)
        except CheckFailed as fault:
            faults.append(f"{choice['check']}: {fault}")
        except Unsupported as unsupported:
            missing = missing or unsupported
        else:
            return
    raise missing or CheckFailed("one of the checks holds", "; ".join(faults))


def expanded(checks: list[Any]) -> list[dict[str, Any]]:
    """Return the checks of a case, each for all outputs that an `applies_to` names. Raises Unsupported."""
    for check in checks:
        if not isinstance(check, dict) or not isinstance(check.get("check"), str):
            raise Unsupported("a check without a name")
    others: list[dict[str, Any]] = [check for check in checks if check["check"] != "applies_to"]
    named = [check for check in checks if check["check"] == "applies_to"]
    if not named:
        return others
    if len(named) > 1 or not others:
        raise Unsupported("several applies_to, or one alone")
    refuse_unread(named[0])
    return [aimed(check, {"outputs": named[0]["outputs"]}) for check in others]
