"""The referees over loopback, as the official SDK clients meet them."""

from collections.abc import Iterator
from typing import Any

import anthropic
import openai
import pytest

from foreword.testing.anthropic_referee import AnthropicReferee
from foreword.testing.openai_chat_referee import OpenAIChatReferee
from foreword.testing.script import Answer, Call, Failure
from foreword.testing.server import RefereeServer

SCRIPT = (
    Answer(thinking="Hm.", text="Look.", calls=(Call(name="look", input={"at": "sea"}),)),
    Failure(status=429, text="slow down", retry_after=0),
    Answer(text="A ship."),
    Failure(status=500, text="broken"),
)
TOOL: Any = {"name": "look", "input_schema": {"type": "object"}}
ASK: Any = {"role": "user", "content": "What is there?"}


@pytest.fixture
def server() -> Iterator[RefereeServer]:
    """Both wires with the same script."""
    with RefereeServer(
        anthropic=AnthropicReferee(script=SCRIPT), openai_chat=OpenAIChatReferee(script=SCRIPT)
    ) as running:
        yield running


def test_the_anthropic_client_gets_answers_usage_and_errors(server: RefereeServer) -> None:
    """A tool loop with thinking sent back, a retried 429, then each error as the SDK's own exception."""
    with anthropic.Anthropic(api_key="k", base_url=server.base_url, max_retries=1) as client:
        asked: dict[str, Any] = {"model": "m", "max_tokens": 100, "tools": [TOOL]}
        first = client.messages.create(messages=[ASK], **asked)
        assert [block.type for block in first.content] == ["thinking", "text", "tool_use"]
        assert first.usage.input_tokens > 0
        said = {"role": "assistant", "content": first.content}
        found = {"type": "tool_result", "tool_use_id": first.content[-1].id, "content": "A mast."}
        talk = [ASK, said, {"role": "user", "content": [found]}]
        second = client.messages.create(messages=talk, **asked)
        assert second.content[0].text == "A ship."

        once = client.with_options(max_retries=0)
        with pytest.raises(anthropic.InternalServerError, match="broken"):
            once.messages.create(messages=talk, **asked)
        with pytest.raises(anthropic.BadRequestError, match="without `tool_result` blocks"):
            once.messages.create(messages=[ASK, said, ASK], **asked)
        with pytest.raises(anthropic.BadRequestError, match="bound to a different conversation"):
            once.messages.create(messages=[{**ASK, "content": "Else?"}, *talk[1:]], **asked)
        with pytest.raises(anthropic.InternalServerError, match="the script has 2 answers"):
            client.messages.create(messages=talk, **asked)
        assert once.messages.count_tokens(model="m", messages=[ASK]).input_tokens > 0
        with pytest.raises(anthropic.NotFoundError):
            once.models.retrieve("m")


def test_the_openai_client_gets_answers_usage_and_errors(server: RefereeServer) -> None:
    """The same loop on the other wire."""
    with openai.OpenAI(api_key="k", base_url=server.base_url + "/v1", max_retries=1) as client:
        tools = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]
        asked: dict[str, Any] = {"model": "m", "tools": tools}
        first = client.chat.completions.create(messages=[ASK], **asked)
        message = first.choices[0].message
        assert message.tool_calls
        assert first.usage
        assert first.usage.total_tokens == first.usage.prompt_tokens + first.usage.completion_tokens
        said = message.model_dump(exclude_none=True)
        found = {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "A mast."}
        second = client.chat.completions.create(messages=[ASK, said, found], **asked)
        assert second.choices[0].message.content == "A ship."

        once = client.with_options(max_retries=0)
        with pytest.raises(openai.InternalServerError, match="broken"):
            once.chat.completions.create(messages=[ASK, said, found], **asked)
        with pytest.raises(openai.BadRequestError, match="must be followed by tool messages"):
            once.chat.completions.create(messages=[ASK, said], **asked)
        with pytest.raises(openai.NotFoundError):
            once.models.retrieve("m")


def test_a_stream_is_refused_as_not_implemented() -> None:
    """A legal request for a stream gets 501 at once, and takes no answer from the script."""
    referee = AnthropicReferee(script=[Answer(text="A ship.")])
    with (
        RefereeServer(anthropic=referee) as server,
        anthropic.Anthropic(api_key="k", base_url=server.base_url) as client,
    ):
        with pytest.raises(anthropic.APIStatusError, match="does not stream") as error:
            client.messages.create(model="m", max_tokens=9, messages=[ASK], stream=True)
        assert error.value.status_code == 501
        assert client.messages.create(model="m", max_tokens=9, messages=[ASK]).content[0].text == "A ship."


def test_a_wire_without_a_referee_is_not_served() -> None:
    """Only the wires that were given answer."""
    with (
        RefereeServer(anthropic=AnthropicReferee()) as server,
        openai.OpenAI(api_key="k", base_url=server.base_url + "/v1", max_retries=0) as client,
        pytest.raises(openai.NotFoundError),
    ):
        client.chat.completions.create(model="m", messages=[ASK])
