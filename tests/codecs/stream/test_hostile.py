"""Whatever stands in a stream, it comes to something: never an exception, never a lost beginning."""

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foreword.codecs.stream.decoder import Decoder
from foreword.codecs.stream.streamed import Streamed
from tests.codecs.stream.streams import BODIES, EVENTS, NAMED, WIRES, stream

every_wire = pytest.mark.parametrize("wire", WIRES)
GONE = object()
INSTEAD = (
    GONE,
    None,
    True,
    -1,
    7,
    2**70,
    0.5,
    "",
    "x",
    "\ud83d",
    "\udc00x",
    [],
    [1],
    {},
    {"type": "x"},
    [{"text": 1}],
)


def run(wire: str, body: bytes) -> Streamed:
    """Decode bytes in two pieces, and hold that what comes out can be shown and stored."""
    decoder = Decoder(wire)
    for delta in [*decoder.feed(body[: len(body) // 2]), *decoder.feed(body[len(body) // 2 :])]:
        delta.text.encode()
    streamed = decoder.end()
    msgspec.json.encode(streamed)
    return streamed


def written(wire: str, payloads: list[Any]) -> bytes:
    """Write payloads as an event stream, halves of characters escaped."""
    name = "event: x\n" if wire in NAMED else ""
    return "".join(f"{name}data: {json.dumps(payload)}\n\n" for payload in payloads).encode()


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the path of each value below a value."""
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in steps:
        yield (*path, step)
        yield from places(inner, (*path, step))


def changed(payloads: list[Any], path: tuple[str | int, ...], new: Any) -> list[Any]:
    """Return payloads with one value replaced or gone."""
    other = copy.deepcopy(payloads)
    parent: Any = other
    for step in path[:-1]:
        parent = parent[step]
    if new is GONE:
        del parent[path[-1]]
    else:
        parent[path[-1]] = new
    return other


@pytest.mark.no_cover  # many examples; others measure these lines
@every_wire
def test_one_wrong_value_anywhere_is_survived(wire: str) -> None:
    """Replaced and missing values give a state; most streams stay readable, some fail with a reason."""
    chance = random.Random(3)
    payloads = list(EVENTS[wire](BODIES[wire](), random.Random(0)))
    found = list(places(payloads))
    states = {"complete": 0, "incomplete": 0, "failed": 0}
    for _ in range(300):
        streamed = run(wire, written(wire, changed(payloads, chance.choice(found), chance.choice(INSTEAD))))
        states[streamed.state] += 1
        assert (streamed.error is not None) == (streamed.state == "failed")
    assert states["complete"] + states["incomplete"] > 20
    assert states["failed"] > 20


@every_wire
def test_events_in_any_order_are_survived(wire: str) -> None:
    """Shuffled, doubled and missing events give a state."""
    chance = random.Random(5)
    payloads = list(EVENTS[wire](BODIES[wire](), random.Random(0)))
    for _ in range(60):
        run(wire, written(wire, chance.choices(payloads, k=len(payloads))))


@every_wire
@settings(max_examples=60, deadline=None)
@given(noise=st.binary(max_size=40), place=st.integers(0, 20_000), size=st.integers(0, 30))
def test_noise_is_survived(wire: str, noise: bytes, place: int, size: int) -> None:
    """Bytes put in or left out anywhere give a state."""
    body = stream(wire)
    place %= len(body)
    run(wire, body[:place] + noise + body[place + size :])
    run(wire, noise)


@every_wire
@pytest.mark.parametrize("depth", [200, 900, 990, 100_000])
def test_deep_values_are_survived(wire: str, depth: int) -> None:
    """Values nested to the limit of the reader and beyond neither crash nor hang."""
    deep = "[" * depth + "]" * depth
    payloads = list(EVENTS[wire](BODIES[wire](), random.Random(0)))
    middle = len(payloads) // 2
    for index in (0, middle, len(payloads) - 1):
        nest = copy.deepcopy(payloads)
        nest[index]["novel"] = "HERE"
        for value in list(nest[index].values()):
            if isinstance(value, dict):
                value["novel"] = "HERE"
            elif isinstance(value, list) and value and isinstance(value[0], dict):
                value[0]["novel"] = "HERE"
                for inner in value[0].values():
                    if isinstance(inner, dict):
                        inner["novel"] = "HERE"
        run(wire, written(wire, nest).replace(b'"HERE"', deep.encode()))
