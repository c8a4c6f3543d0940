"""The referees over loopback, as the official SDK clients meet them."""

from collections.abc import Iterator
from typing import Any

import anthropic
import openai
import pytest

from foreword.testing.anthropic_referee import AnthropicReferee
from foreword.testing.deepseek_referee import DeepSeekReferee
from foreword.testing.gemini_referee import GeminiReferee
from foreword.testing.openai_chat_referee import OpenAIChatReferee
from foreword.testing.openai_responses_referee import OpenAIResponsesReferee
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
    """Every wire with the same script."""
    with RefereeServer(
        anthropic=AnthropicReferee(script=SCRIPT),
        openai_chat=OpenAIChatReferee(script=SCRIPT),
        openai_responses=OpenAIResponsesReferee(script=SCRIPT),
        deepseek=DeepSeekReferee(script=SCRIPT),
        gemini=GeminiReferee(script=SCRIPT),
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
        with pytest.raises(anthropic.UnprocessableEntityError, match="the script has 2 answers"):
            client.messages.create(messages=talk, **asked)
        assert once.messages.count_tokens(model="m", messages=[ASK]).input_tokens > 0
        with pytest.raises(anthropic.NotFoundError):
            once.models.retrieve("m")


def test_the_openai_client_gets_answers_usage_and_errors(server: RefereeServer) -> None:
    """The same loop on the other wire."""
    with openai.OpenAI(api_key="k", base_url=server.base_url + "/v1", max_retries=1) as client:
        tools = [
            {
                "type": "function",
                "function": {"name": "look", "parameters": {"type": "object", "properties": {}}},
            }
        ]
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


def test_the_openai_client_loops_over_responses(server: RefereeServer) -> None:
    """The output goes back as it came, or by the id of the response; a dropped reasoning item is refused."""
    with openai.OpenAI(api_key="k", base_url=server.base_url + "/v1", max_retries=1) as client:
        tool: Any = {
            "type": "function",
            "name": "look",
            "parameters": {"type": "object", "properties": {}},
            "strict": False,
        }
        asked: dict[str, Any] = {"model": "m", "tools": [tool]}
        first = client.responses.create(input=[ASK], **asked)
        assert [item.type for item in first.output] == ["reasoning", "message", "function_call"]
        assert first.output_text == "Look."
        assert first.usage
        assert first.usage.total_tokens == first.usage.input_tokens + first.usage.output_tokens
        made = [item.model_dump(exclude_none=True) for item in first.output]
        found: Any = {"type": "function_call_output", "call_id": made[-1]["call_id"], "output": "A mast."}
        second = client.responses.create(input=[ASK, *made, found], **asked)
        assert second.output_text == "A ship."

        once = client.with_options(max_retries=0)
        with pytest.raises(openai.InternalServerError, match="broken"):
            once.responses.create(input=[ASK], **asked)
        with pytest.raises(openai.BadRequestError, match="required 'reasoning' item"):
            once.responses.create(input=[ASK, *made[1:], found], **asked)
        with pytest.raises(openai.BadRequestError, match="No tool output found for function call"):
            once.responses.create(input=[ASK, *made], **asked)
        with pytest.raises(openai.NotFoundError, match="Conversation with id"):
            once.responses.create(input=[ASK], conversation="conv_9", **asked)
        with pytest.raises(openai.UnprocessableEntityError, match="the script has 2 answers"):
            client.responses.create(input=[found], previous_response_id=first.id, **asked)
        counted = once.responses.input_tokens.count(model="m", input=[ASK])
        assert counted.input_tokens > 0


def test_the_openai_client_loops_over_deepseek(server: RefereeServer) -> None:
    """Reasoning comes with the call and must go back with it; hits and misses sum to the prompt."""
    with openai.OpenAI(api_key="k", base_url=server.base_url + "/deepseek", max_retries=1) as client:
        first = client.chat.completions.create(model="m", messages=[ASK])
        message = first.choices[0].message
        assert message.model_extra == {"reasoning_content": "Hm."}
        assert message.tool_calls
        said: Any = message.model_dump(exclude_none=True)
        found: Any = {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "A mast."}
        second = client.chat.completions.create(model="m", messages=[ASK, said, found])
        assert second.choices[0].message.content == "A ship."
        usage = second.usage.model_extra if second.usage else None
        assert second.usage
        assert usage
        hit, miss = usage["prompt_cache_hit_tokens"], usage["prompt_cache_miss_tokens"]
        assert hit + miss == second.usage.prompt_tokens
        assert hit > 0

        once = client.with_options(max_retries=0)
        with pytest.raises(openai.InternalServerError, match="broken"):
            once.chat.completions.create(model="m", messages=[ASK])
        del said["reasoning_content"]
        with pytest.raises(openai.BadRequestError, match="must be passed back"):
            once.chat.completions.create(model="m", messages=[ASK, said, found])


def test_the_google_client_loops_over_gemini(server: RefereeServer) -> None:
    """A signed call goes back as the client holds it; without its signature it is refused."""
    genai = pytest.importorskip("google.genai")
    http = {"base_url": server.base_url, "retry_options": {"attempts": 1}}
    client = genai.Client(api_key="k", http_options=http)
    look = {"name": "look", "parameters_json_schema": {"type": "object"}}
    asked: dict[str, Any] = {
        "model": "gemini-3.8-flash",
        "config": {
            "system_instruction": "Be brief.",
            "tools": [{"function_declarations": [look]}],
            "automatic_function_calling": {"disable": True},
        },
    }
    ask = {"role": "user", "parts": [{"text": "What is there?"}]}
    first = client.models.generate_content(contents=[ask], **asked)
    said = first.candidates[0].content
    assert [part.function_call is not None for part in said.parts] == [False, True]
    assert said.parts[1].thought_signature
    found = {
        "role": "user",
        "parts": [{"function_response": {"name": "look", "response": {"output": "A mast."}}}],
    }
    with pytest.raises(genai.errors.ClientError, match="RESOURCE_EXHAUSTED"):
        client.models.generate_content(contents=[ask, said, found], **asked)
    second = client.models.generate_content(contents=[ask, said, found], **asked)
    assert second.text == "A ship."
    assert second.usage_metadata.prompt_token_count > first.usage_metadata.prompt_token_count
    with pytest.raises(genai.errors.ServerError, match="broken"):
        client.models.generate_content(contents=[ask], **asked)
    said.parts[1].thought_signature = None
    with pytest.raises(genai.errors.ClientError, match="missing a thought_signature"):
        client.models.generate_content(contents=[ask, said, found], **asked)
    assert client.models.count_tokens(model="m", contents=[ask]).total_tokens > 0


def test_a_wire_without_a_referee_is_not_served() -> None:
    """Only the wires that were given answer."""
    with (
        RefereeServer(anthropic=AnthropicReferee()) as server,
        openai.OpenAI(api_key="k", base_url=server.base_url + "/v1", max_retries=0) as client,
        pytest.raises(openai.NotFoundError),
    ):
        client.chat.completions.create(model="m", messages=[ASK])
