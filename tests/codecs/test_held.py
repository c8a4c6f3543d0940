"""Requests whose history is with the provider."""

from typing import Any

import pytest

from foreword.codecs.held import server_held


@pytest.mark.parametrize(
    "body, member",
    [
        ({"previous_response_id": "resp_1", "input": "go on"}, "previous_response_id"),
        ({"previous_response_id": None, "input": "hi"}, None),
        ({"conversation": {"id": "conv_1"}}, "conversation"),
        ({"conversation": "conv_1"}, "conversation"),
        ({"previous_interaction_id": "i"}, "previous_interaction_id"),
        ({"cachedContent": "cachedContents/1"}, "cachedContent"),
        ({"thread": {"type": "continue", "previous_message_id": "msg_1"}}, "thread"),
        ({"thread": {"type": "create"}, "messages": []}, None),
        (
            {"input": [{"role": "user", "content": "x"}, {"type": "item_reference", "id": "rs_1"}]},
            "item_reference",
        ),
        ({"input": [5, {"type": "message"}]}, None),
        ({"messages": []}, None),
    ],
)
def test_what_only_the_provider_holds_is_named(body: dict[str, Any], member: str | None) -> None:
    """The first member that says so; a list that is all here says nothing."""
    assert server_held(body) == member
