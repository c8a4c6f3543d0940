"""Values written as a rule come out as the rule says, the same on every machine."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import pytest

from foreword.core.image import image_size
from tests.field_cases.generators import expanded
from tests.field_cases.wire_forms import grown, turns

WIRES = ("anthropic", "openai-chat", "openai-responses", "deepseek", "gemini")


@pytest.mark.parametrize(
    "rule, value",
    [
        ({"$repeat": "ab", "times": 3}, "ababab"),
        ({"$concat": ["a", {"$repeat": "b", "times": 2}]}, "abb"),
        ({"$numbered_lines": 3, "template": "{i};"}, "0;1;2;"),
        ({"$progress": {"template": "{i}%", "from": 1, "to": 2, "end": "!"}}, "1%2%!"),
        ({"$json_string": {"a": [1, "é"]}}, '{"a":[1,"é"]}'),
        ({"a": [{"$repeat": "x", "times": 2}]}, {"a": ["xx"]}),
        ({"$repeat": {"$prompt": True}, "times": 2}, {"$repeat": {"$prompt": True}, "times": 2}),
    ],
)
def test_a_rule_stands_for_its_value(rule: Any, value: Any) -> None:
    """Rules nest; what only an operation can read stays a rule."""
    assert expanded(rule) == value


def test_random_values_depend_on_their_seed_alone() -> None:
    """The same seed gives the same letters, words and bytes; their number is exact."""
    letters = expanded({"$random_letters": 50, "seed": 7})
    words = expanded({"$random_words": 40, "seed": 4})
    noise = expanded({"$base64_noise": 101, "seed": 1})
    assert len(letters) == 50
    assert letters == expanded({"$random_letters": 50, "seed": 7})
    assert len(words.split(" ")) == 40
    assert all(3 <= len(word) <= 8 for word in words.split(" "))
    assert len(noise) == 101
    assert letters != expanded({"$random_letters": 50, "seed": 8})


@pytest.mark.parametrize("length", [0, 4_000, 10_000])
def test_a_picture_has_its_size_in_pixels_and_in_characters(length: int) -> None:
    """A made picture is a real PNG of that size, padded to the characters asked for."""
    rule = {"$png": {"pixels": [80, 60], "base64_len": length} if length else {"pixels": [80, 60]}}
    made = expanded(rule)
    assert image_size(base64.b64decode(made, validate=True)) == (80, 60)
    assert not length or len(made) == length


@pytest.mark.parametrize("wire", WIRES)
def test_turns_and_growth_are_messages_of_the_wire(wire: str) -> None:
    """Requests of a growing session add finished steps, and end with the user's next word."""
    assert len(turns(wire, {"$turns": 3, "user": "q{i}", "assistant": "a{i}"})) == 6
    requests = grown(wire, 4, {"per_step": "tool_call_and_result"})
    assert [len(request) for request in requests] == [1, 4, 4, 4]
    assert "Step 3." in str(requests[3][-1])
    digests = {hashlib.sha256(str(request).encode()).hexdigest() for request in requests}
    assert len(digests) == 4
