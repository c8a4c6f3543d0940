"""cost, streams: usage to money, and events of a stream to a response."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from foreword.codecs import codec
from foreword.codecs.stream.decoder import Decoder
from foreword.codecs.stream.sse import EventStream
from foreword.codecs.stream.streamed import Streamed
from foreword.core.block import Text, ToolCall
from foreword.core.catalog import ModelSpec, Rates, Tier
from foreword.core.price import Cost, cost, usd
from foreword.core.usage import Usage
from tests.field_cases.bench import Room
from tests.field_cases.cases import Case, Unsupported
from tests.field_cases.model import CAPS
from tests.field_cases.outcome import Outcome

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


def members_of(usage: Usage, spec: ModelSpec) -> dict[str, Any]:
    """Return usage and its cost under the names of the cases; None is unknown."""
    made = cost(usage, spec)
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


def cost_of(case: Case, room: Room) -> Outcome:
    case.only("usage", "prices_per_mtok", "tiers")
    usage = codec(case.wire).usage_from(case.input["usage"])
    return Outcome(values=members_of(usage, spec_of(case)))


def cost_many(case: Case, room: Room) -> Outcome:
    case.only("rows", "prices_per_mtok", "tiers")
    rows: list[dict[str, Any]] = []
    for row in case.input["rows"]:
        if row.keys() - {"usage", "wire"}:
            raise Unsupported(f"row with {', '.join(sorted(row.keys() - {'usage', 'wire'}))}")
        rows.append(members_of(codec(case.wire).usage_from(row["usage"]), spec_of(case)))
    return Outcome(values={"rows": rows})


def stream_assemble(case: Case, room: Room) -> Outcome:
    case.only("chunks", "events", "ended", "prices_per_mtok", "tiers")
    decoder = Decoder(case.wire)
    for piece in _pieces(case):
        decoder.feed(piece)
    return _assembled(decoder.end(), spec_of(case))


def _pieces(case: Case) -> list[bytes]:
    events = case.input.get("events", case.input.get("chunks", []))
    pieces: list[bytes] = []
    for event in events:
        named = f"event: {event['type']}\n" if case.wire in ("anthropic", "openai-responses") else ""
        pieces.append(f"{named}data: {json.dumps(event)}\n\n".encode())
    if case.wire in ("openai-chat", "deepseek") and case.input.get("ended", "done") == "done":
        pieces.append(b"data: [DONE]\n\n")
    return pieces


def _assembled(streamed: Streamed, spec: ModelSpec) -> Outcome:
    blocks = streamed.response.message.blocks if streamed.response is not None else ()
    calls = [(index, block) for index, block in enumerate(blocks) if isinstance(block, ToolCall)]
    usage = None if streamed.usage is None else members_of(streamed.usage, spec)
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
    cut = {call.id: "truncated_not_run" for at, call in calls if at in streamed.partial}
    return Outcome(values=values, statuses=cut)


def sse_parse(case: Case, room: Room) -> Outcome:
    case.only("chunks_variants")
    variants: list[list[Any]] = []
    for chunks in case.input["chunks_variants"]:
        stream = EventStream()
        events = [event for chunk in chunks for event in stream.feed(chunk.encode())]
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
