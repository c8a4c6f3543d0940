"""cost, streams: usage to money, and events of a stream to a response."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from foreword.codecs import codec
from foreword.codecs.billing import billing_of
from foreword.codecs.stream.decoder import Decoder
from foreword.codecs.stream.sse import EventStream
from foreword.codecs.stream.streamed import Streamed
from foreword.core.block import Message, Text, ToolCall
from foreword.core.catalog import ModelSpec, Rates, Tier
from foreword.core.event import Answered, Draft
from foreword.core.ledger import Row, rows
from foreword.core.price import FREE, Cost, cost, usd
from foreword.core.prices import Prices
from foreword.core.usage import Usage
from foreword.evals.cost import estimated
from tests.field_cases.bench import Room
from tests.field_cases.cases import Case, Unsupported, known, wire_of
from tests.field_cases.model import CAPS
from tests.field_cases.outcome import Outcome, Warned

PRICES = {
    "input": ("input",),
    "output": ("output",),
    "cache_read": ("cache_read",),
    "cache_write": ("cache_write_short",),
    "cache_write_5m": ("cache_write_short",),
    "cache_write_1h": ("cache_write_long",),
}
"""Name of a price in a case -> members of the product's rates."""


def spec_of(case: Case) -> ModelSpec:
    """Return a model with the prices of a case."""
    tiers = case.input.get("tiers")
    if tiers:
        known("tiers with", tiers, ("base", "threshold_tokens", "above"))
    base = tiers["base"] if tiers else case.input.get("prices_per_mtok")
    above = (Tier(above=tiers["threshold_tokens"], price=_rates(tiers["above"])),) if tiers else ()
    return ModelSpec(
        id="made-up",
        provider="made-up",
        wires=(),
        window=CAPS["window"],
        price=None if base is None else _rates(base),
        tiers=above,
        source="the case",
        as_of="",
    )


def _rates(prices: Mapping[str, Any]) -> Rates:
    found: dict[str, str] = {}
    for name, price in prices.items():
        if name not in PRICES:
            raise Unsupported(f"price {name}")
        for member in PRICES[name]:
            found[member] = price if isinstance(price, str) else repr(price)
    return Rates(**found)


def members_of(usage: Usage, spec: ModelSpec, calls: Iterable[Usage] | None = None) -> dict[str, Any]:
    """Return usage and its cost under the names of the cases; None is unknown.

    ``calls``: the usage of what is billed one by one; None: this usage is one call's.
    """
    made = sum((cost(one, spec) for one in calls or [usage]), FREE)
    writes = [usage.cache_write_short, usage.cache_write_long]
    return {
        "cost_usd": _usd(made),
        "total_input_tokens": usage.total_input,
        "uncached_input_tokens": usage.uncached,
        "cache_read_tokens": usage.cache_read,
        "cache_write_tokens": None if None in writes else sum(write or 0 for write in writes),
        "output_tokens": usage.output,
    }


def _usd(made: Cost) -> str | None:
    return None if made.picodollars is None else usd(made.picodollars)


def row_of(case: Case, body: Answered) -> Row:
    """Return the ledger's row of a call at the prices of a case."""
    own = case.input.get("prices_per_mtok")
    [row] = rows([Draft(body=body)], session="case", prices=Prices(own=own))
    return row


def cost_of(case: Case, room: Room) -> Outcome:
    case.only("usage", "prices_per_mtok", "tiers")
    members = case.input["usage"]
    usage = codec(case.wire).usage_from(members)
    bill = billing_of(case.wire, {"usage": members})
    calls = (usage, *bill.compactions)
    row = row_of(
        case, Answered(message=Message(role="assistant", blocks=()), usage=usage, doubts=bill.doubts)
    )
    warnings = [Warned(doubt) for doubt in row.doubts]
    return Outcome(values=members_of(usage, spec_of(case), calls), warnings=warnings)


def cost_many(case: Case, room: Room) -> Outcome:
    case.only("rows", "prices_per_mtok", "tiers")
    rows: list[dict[str, Any]] = []
    warnings: list[Warned] = []
    for row in case.input["rows"]:
        known("row with", row, ("usage", "wire", "aggregate_of"))
        wire = wire_of(row["wire"]) if "wire" in row else case.wire
        usage, bill = codec(wire).usage_from(row["usage"]), billing_of(wire, row)
        calls = (*_shares(usage, row.get("aggregate_of", 1)), *bill.compactions)
        rows.append(members_of(usage, spec_of(case), calls))
        warnings += map(Warned, bill.doubts)
    return Outcome(values={"rows": rows}, warnings=warnings)


def _shares(usage: Usage, count: int) -> list[Usage]:
    """Split a sum over requests of unknown sizes evenly among them; the product prices calls, never sums."""
    whole = msgspec.structs.asdict(usage)
    return [
        Usage(**{name: None if n is None else n // count + (i < n % count) for name, n in whole.items()})
        for i in range(count)
    ]


def stream_assemble(case: Case, room: Room) -> Outcome:
    case.only("chunks", "events", "ended", "prices_per_mtok", "tiers")
    if case.input.get("ended", "done") not in ("done", "eof"):
        raise Unsupported(f"a stream ended by {case.input['ended']!r:.60}")
    decoder = Decoder(case.wire)
    for piece in _pieces(case):
        decoder.feed(piece)
    return _assembled(decoder.end(), case)


def _pieces(case: Case) -> list[bytes]:
    events = case.input.get("events", case.input.get("chunks", []))
    pieces: list[bytes] = []
    for event in events:
        if isinstance(event, str):
            pieces.append(event.encode("utf-8", "surrogatepass"))
            continue
        named = f"event: {event['type']}\n" if case.wire in ("anthropic", "openai-responses") else ""
        pieces.append(f"{named}data: {json.dumps(event)}\n\n".encode())
    if case.wire in ("openai-chat", "deepseek") and case.input.get("ended", "done") == "done":
        pieces.append(b"data: [DONE]\n\n")
    return pieces


def _assembled(streamed: Streamed, case: Case) -> Outcome:
    blocks = streamed.response.message.blocks if streamed.response is not None else ()
    calls = [(index, block) for index, block in enumerate(blocks) if isinstance(block, ToolCall)]
    usage = None if streamed.usage is None else members_of(streamed.usage, spec_of(case))
    values: dict[str, Any] = {
        "text": "".join(block.text for block in blocks if isinstance(block, Text)),
        "tool_calls": [{"id": c.id, "name": c.name, "arguments": c.arguments} for _, c in calls],
        "usage": usage,
        "cost_usd": None if usage is None else usage["cost_usd"],
        "complete": streamed.state == "complete",
        "state": streamed.state,
        "error": None if streamed.error is None else msgspec.to_builtins(streamed.error),
        "executed": [
            call.id for at, call in calls if streamed.state == "complete" and at not in streamed.partial
        ],
    }
    if streamed.response is not None:
        row = row_of(case, Answered(message=streamed.response.message, usage=streamed.usage, partial=True))
        if row.estimate is not None:
            values["estimate"] = estimated(row.estimate)
    cut = {call.id: "truncated_not_run" for at, call in calls if at in streamed.partial}
    return Outcome(values=values, statuses=cut)


def sse_parse(case: Case, room: Room) -> Outcome:
    case.only("chunks_variants")
    variants: list[list[Any]] = []
    for chunks in case.input["chunks_variants"]:
        stream = EventStream()
        events = [event for chunk in chunks for event in stream.feed(chunk.encode("utf-8", "surrogatepass"))]
        if (last := stream.end()) is not None:
            events.append(last)
        variants.append([_value(event.data) for event in events])
    same = all(variant == variants[0] for variant in variants)
    return Outcome(values={"events_each_variant": variants[0] if same else variants})


def _value(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return data.decode(errors="replace")


COSTING = {
    "cost": cost_of,
    "cost_many": cost_many,
    "stream_assemble": stream_assemble,
    "sse_parse": sse_parse,
}
