"""Requests whose history only the provider holds are recognised, and left as they are."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from foreword.engine.sync import held

HELD: list[tuple[str, dict[str, Any]]] = [
    ("previous_response_id", {"previous_response_id": "resp_1", "input": "more"}),
    ("conversation", {"conversation": {"id": "conv_1"}, "input": []}),
    ("thread", {"thread": {"type": "continue", "previous_message_id": "msg_1"}, "messages": []}),
    ("previous_interaction_id", {"previous_interaction_id": "int_1", "input": "more"}),
    ("item_reference", {"input": [{"type": "item_reference", "id": "msg_1"}]}),
]


@pytest.mark.parametrize("member, body", HELD)
def test_a_held_history_is_left_alone(member: str, body: dict[str, Any]) -> None:
    """The request comes back as the very same value, with a note of what names its history."""
    before = copy.deepcopy(body)
    found = held(body)
    assert found is not None
    assert found.member == member
    assert found.body is body
    assert body == before


@pytest.mark.parametrize(
    "body", [None, {}, {"messages": [{"role": "user", "content": "hi"}]}, {"thread": {"type": "create"}}]
)
def test_a_whole_history_is_not(body: dict[str, Any] | None) -> None:
    """A request that holds all it says is for `sync`."""
    assert held(body) is None
