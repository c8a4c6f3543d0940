"""usage_tree, usage_global: the calls of a session and of its sub-contexts, each counted once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from foreword.core.block import Message
from foreword.core.event import Answered, Draft
from foreword.core.ledger import Row, once, rows, total
from foreword.core.price import usd
from foreword.core.prices import Prices
from foreword.core.usage import Usage
from tests.field_cases.bench import Room
from tests.field_cases.cases import Case, known
from tests.field_cases.outcome import Outcome

Node = dict[str, Any]
MEMBERS = frozenset({"id", "calls", "children", "state"})


def usage_tree(case: Case, room: Room) -> Outcome:
    """Each session's own calls, and those of the sessions below it."""
    case.only("tree", "prices_per_mtok")
    whole = _calls_below(case, case.input["tree"], "call")
    values: dict[str, Any] = {"calls_counted": total(once(whole)).calls}
    for node, kind in _nodes(case.input["tree"]):
        own = _calls(case, node, kind)
        values[node["id"]] = {"own": _figures(own), "total": _figures(_calls_below(case, node, kind))}
    return Outcome(values=values)


def usage_global(case: Case, room: Room) -> Outcome:
    """All calls of all sessions, copies of one call counted once."""
    case.only("tree", "sessions", "prices_per_mtok")
    roots = case.input.get("sessions") or [case.input["tree"]]
    found = total(once(row for root in roots for row in _calls_below(case, root, "call")))
    return Outcome(values={"global": {"input_tokens": found.usage.total_input, "calls": found.calls}})


def _nodes(node: Node, kind: str = "call") -> Iterator[tuple[Node, str]]:
    known("session with", node, MEMBERS)
    yield node, kind
    for child in node.get("children", ()):
        yield from _nodes(child, "sub_context")


def _calls_below(case: Case, node: Node, kind: str) -> list[Row]:
    return [row for below, kind in _nodes(node, kind) for row in _calls(case, below, kind)]


def _calls(case: Case, node: Node, kind: Any) -> list[Row]:
    facts = [Draft(body=_answered(call)) for call in node.get("calls", ())]
    return rows(facts, session=node["id"], kind=kind, prices=Prices(own=case.input.get("prices_per_mtok")))


def _answered(call: Any) -> Answered:
    """Return the record of a call, [input, output] or {id, usage: [input, output]}."""
    if isinstance(call, dict):
        known("call with", call, ("id", "usage"))
    tokens = call["usage"] if isinstance(call, dict) else call
    usage = Usage(uncached=tokens[0], cache_read=0, cache_write_short=0, cache_write_long=0, output=tokens[1])
    id_ = call.get("id") if isinstance(call, dict) else None
    return Answered(message=Message(role="assistant", blocks=()), usage=usage, response_id=id_)


def _figures(calls: list[Row]) -> dict[str, Any]:
    found = total(once(calls))
    return {
        "input_tokens": found.usage.total_input,
        "output_tokens": found.usage.output,
        "cost_usd": usd(found.cost) if not found.unknown else None,
    }


TOTALLING = {"usage_tree": usage_tree, "usage_global": usage_global}
