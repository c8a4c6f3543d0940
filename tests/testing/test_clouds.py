"""Claude at Bedrock and Vertex, as the official SDK's clients for them meet the referee's server."""

from collections.abc import Iterator
from typing import Any

import anthropic
import pytest

from foreword.testing.anthropic_referee import AnthropicReferee
from foreword.testing.script import Answer, Call, Failure, Scripted, Stream
from foreword.testing.server import RefereeServer

TOOL: Any = {"name": "look", "input_schema": {"type": "object"}}
ASK: Any = {"role": "user", "content": "What is there?"}
ASKED: dict[str, Any] = {
    "model": "anthropic.claude-x-v1:0",
    "max_tokens": 100,
    "tools": [TOOL],
    "messages": [ASK],
}
LONG = Answer(thinking="Hm.", text="A ship. " * 9, calls=(Call(name="look", input={"at": "sea"}),))
Client = anthropic.AnthropicBedrock | anthropic.AnthropicVertex


@pytest.fixture(params=["bedrock", "vertex"])
def cloud(request: pytest.FixtureRequest) -> str:
    """Which cloud."""
    return request.param


def client(cloud: str, url: str) -> Client:
    """Return the SDK's client for a cloud, pointed at a server of the test."""
    if cloud == "bedrock":
        return anthropic.AnthropicBedrock(aws_region="r", api_key="k", base_url=url, max_retries=0)
    return anthropic.AnthropicVertex(
        region="r", project_id="p", access_token="t", base_url=f"{url}/v1", max_retries=0
    )


@pytest.fixture
def served(cloud: str) -> Iterator[Any]:
    """Return a client of a server that has a script."""
    opened: list[Any] = []

    def serve(*script: Scripted) -> Client:
        opened.append(RefereeServer(anthropic=AnthropicReferee(script=script)).start())
        opened.append(client(cloud, opened[0].base_url))
        return opened[1]

    yield serve
    opened[1].close()
    opened[0].stop()


def test_a_cloud_answers_in_one_piece_and_as_a_stream(served: Any) -> None:
    """What the SDK puts together from either is the same message, and the model of the path is the request's."""
    made = served(LONG, LONG)
    whole = made.messages.create(**ASKED)
    with made.messages.stream(**ASKED) as stream:
        streamed = stream.get_final_message()
    assert [block.type for block in whole.content] == ["thinking", "text", "tool_use"]
    assert [block.model_dump(exclude={"id", "signature"}) for block in streamed.content] == [
        block.model_dump(exclude={"id", "signature"}) for block in whole.content
    ]
    assert (streamed.stop_reason, streamed.model) == ("tool_use", ASKED["model"])
    assert streamed.usage.output_tokens == whole.usage.output_tokens > 0


def test_betas_reach_the_referee(served: Any) -> None:
    """The SDK names them in the body at Bedrock and in the header at Vertex; a form that needs one is taken."""
    made = served(Answer(text="Yes."))
    asked = {**ASKED, "context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]}}
    with pytest.raises(anthropic.BadRequestError, match="context_management"):
        made.beta.messages.create(**asked)
    answer = made.beta.messages.create(betas=["context-management-2025-06-27"], **asked)
    assert answer.content[0].text == "Yes."


def test_a_cloud_fails_in_its_own_words(served: Any) -> None:
    """A refusal, a busy server and a stream that breaks are the SDK's own exceptions."""
    made = served(
        Failure(status=429, text="slow down"), Answer(text="words " * 99, stream=Stream(fault="error"))
    )
    with pytest.raises(anthropic.RateLimitError, match="slow down"):
        made.messages.create(**ASKED)
    called = {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "look", "input": {}}]}
    with pytest.raises(anthropic.BadRequestError, match="without `tool_result` blocks"):
        made.messages.create(**{**ASKED, "messages": [ASK, called, ASK]})
    with pytest.raises(anthropic.BadRequestError, match="anthropic_version"):
        made.messages.create(**ASKED, extra_body={"anthropic_version": None})
    with pytest.raises(anthropic.APIStatusError) as raised, made.messages.stream(**ASKED) as stream:
        stream.get_final_message()
    assert "in the middle of the stream" in str(raised.value)


def test_vertex_counts_and_bedrock_does_not(served: Any, cloud: str) -> None:
    """Vertex counts at a model of that name; the SDK itself says that Bedrock can't."""
    made = served()
    if cloud == "vertex":
        assert made.messages.count_tokens(model="m", messages=[ASK]).input_tokens > 0
    else:
        with pytest.raises(anthropic.AnthropicError, match="not supported"):
            made.messages.count_tokens(model="m", messages=[ASK])
