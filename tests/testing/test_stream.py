"""Streams as the official SDK clients read them: whole, cut into odd pieces, broken off, slow."""

import time
import urllib.request
from collections.abc import Callable
from typing import Any

import anthropic
import msgspec
import openai
import pytest

from foreword.testing.anthropic_referee import AnthropicReferee
from foreword.testing.deepseek_referee import DeepSeekReferee
from foreword.testing.gemini_referee import GeminiReferee
from foreword.testing.openai_chat_referee import OpenAIChatReferee
from foreword.testing.openai_responses_referee import OpenAIResponsesReferee
from foreword.testing.referee import Referee
from foreword.testing.script import Answer, Call, Stream
from foreword.testing.server import RefereeServer
from foreword.testing.sse import sending

TEXT = "Ein Schiff — 船 — am Horizont, noch weit draußen. " * 8
THOUGHT = "Erst schauen, dann 答える. " * 6
INPUT = {"at": "sea", "what": "船" * 40, "n": [1, 2, {"deep": None}]}
ASK: Any = {"role": "user", "content": "What is there?"}
LOOK: Any = {"name": "look", "input_schema": {"type": "object"}}
CUT = "peer closed connection|Connection error|IncompleteRead"


def answer(stream: Stream) -> Answer:
    """A thought, a text and two calls, one of them without arguments."""
    calls = (Call(name="look", input=INPUT), Call(name="rest"))
    return Answer(thinking=THOUGHT, text=TEXT, calls=calls, stream=stream)


def anthropic_said(url: str) -> dict[str, Any]:
    """Read a stream of Messages."""
    with anthropic.Anthropic(api_key="k", base_url=url, max_retries=0) as client:
        ask: dict[str, Any] = {"model": "m", "max_tokens": 900, "messages": [ASK]}
        with client.messages.stream(**ask) as stream:
            message = stream.get_final_message()
        thought, said, *calls = message.content
        assert message.stop_reason == "tool_use"
        assert message.usage.output_tokens > 1
        back: dict[str, Any] = {"role": "assistant", "content": message.to_dict()["content"]}
        results = [{"type": "tool_result", "tool_use_id": call.id, "content": "ok"} for call in calls]
        ask["messages"] = [ASK, back, {"role": "user", "content": results}]
        assert client.messages.create(**ask).content[0].text == "Done."
        return {
            "thinking": thought.thinking,
            "text": said.text,
            "calls": [(call.name, call.input) for call in calls],
        }


def chat_said(url: str) -> dict[str, Any]:
    """Read a stream of Chat Completions; the wire carries no thinking."""
    return {**_chat_said(url + "/v1"), "thinking": THOUGHT}


def deepseek_said(url: str) -> dict[str, Any]:
    """Read a stream of DeepSeek, with comments in it."""
    return _chat_said(url + "/deepseek")


def _chat_said(url: str) -> dict[str, Any]:
    with openai.OpenAI(api_key="k", base_url=url, max_retries=0) as client:
        ask: dict[str, Any] = {"model": "m", "messages": [ASK]}
        thinking, text = "", ""
        calls: dict[int, dict[str, str]] = {}
        options = {"include_usage": True}
        chunks = list(client.chat.completions.create(**ask, stream=True, stream_options=options))
        assert [chunk.usage for chunk in chunks[:-1]] == [None] * (len(chunks) - 1)
        assert chunks[-1].choices == []
        assert chunks[-1].usage.completion_tokens > 1
        assert chunks[-2].choices[0].finish_reason == "tool_calls"
        for delta in (chunk.choices[0].delta for chunk in chunks[:-1]):
            thinking += (delta.model_extra or {}).get("reasoning_content") or ""
            text += delta.content or ""
            for part in delta.tool_calls or ():
                call = calls.setdefault(
                    part.index, {"id": part.id, "name": part.function.name, "arguments": ""}
                )
                call["arguments"] += part.function.arguments
        made = [
            {
                "id": call["id"],
                "type": "function",
                "function": {"name": call["name"], "arguments": call["arguments"]},
            }
            for call in calls.values()
        ]
        back: dict[str, Any] = {"role": "assistant", "content": text, "tool_calls": made}
        if thinking:
            back["reasoning_content"] = thinking
        results = [{"role": "tool", "tool_call_id": call["id"], "content": "ok"} for call in made]
        ask["messages"] = [ASK, back, *results]
        assert client.chat.completions.create(**ask).choices[0].message.content == "Done."
        said = [(call["name"], msgspec.json.decode(call["arguments"])) for call in calls.values()]
        return {"thinking": thinking, "text": text, "calls": said}


def responses_said(url: str) -> dict[str, Any]:
    """Read a stream of Responses: the final response is what the events add up to."""
    with openai.OpenAI(api_key="k", base_url=url + "/v1", max_retries=0) as client:
        deltas: dict[str, str] = {}
        with client.responses.stream(model="m", input=[ASK]) as stream:
            events = list(stream)
            final = stream.get_final_response()
        for event in events:
            if event.type.endswith(".delta"):
                place = f"{event.type} {event.output_index}"
                deltas[place] = deltas.get(place, "") + event.delta
        assert [event.sequence_number for event in events] == list(range(len(events)))
        assert events[-1].type == "response.completed"
        assert final.usage.output_tokens > 1
        reasoning, message, *calls = final.output
        assert deltas["response.reasoning_summary_text.delta 0"] == reasoning.summary[0].text
        assert deltas["response.output_text.delta 1"] == message.content[0].text
        assert deltas["response.function_call_arguments.delta 2"] == calls[0].arguments
        back = [event.item.to_dict() for event in events if event.type == "response.output_item.done"]
        results = [
            {"type": "function_call_output", "call_id": call.call_id, "output": "ok"} for call in calls
        ]
        assert client.responses.create(model="m", input=[ASK, *back, *results]).output_text == "Done."
        return {
            "thinking": reasoning.summary[0].text,
            "text": message.content[0].text,
            "calls": [(call.name, msgspec.json.decode(call.arguments)) for call in calls],
        }


def posted(url: str, body: dict[str, Any]) -> bytes:
    """Send JSON and read the whole answer, however it is framed."""
    headers = {"content-type": "application/json"}
    request = urllib.request.Request(url, msgspec.json.encode(body), headers)
    with urllib.request.urlopen(request, timeout=30) as answered:
        return answered.read()


def gemini_said(url: str) -> dict[str, Any]:
    """Read a stream of generateContent: calls come whole, a signature with the first one."""
    model = f"{url}/v1beta/models/gemini-3.8-flash"
    ask = {"role": "user", "parts": [{"text": "What is there?"}]}
    body: dict[str, Any] = {
        "contents": [ask],
        "generationConfig": {"thinkingConfig": {"includeThoughts": True}},
    }
    stream = posted(f"{model}:streamGenerateContent?alt=sse", body)
    chunks = [msgspec.json.decode(line[6:]) for line in stream.splitlines() if line.startswith(b"data: ")]
    assert all("usageMetadata" in chunk for chunk in chunks)
    assert chunks[-1]["candidates"][0]["finishReason"] == "STOP"
    assert chunks[-1]["usageMetadata"]["candidatesTokenCount"] > 1
    parts = [part for chunk in chunks for part in chunk["candidates"][0]["content"]["parts"]]
    calls = [part for part in parts if "functionCall" in part]
    assert ["thoughtSignature" in call for call in calls] == [True, False]
    found = [{"functionResponse": {"name": call["functionCall"]["name"], "response": {}}} for call in calls]
    body["contents"] = [ask, {"role": "model", "parts": parts}, {"role": "user", "parts": found}]
    second = msgspec.json.decode(posted(f"{model}:generateContent", body))
    assert second["candidates"][0]["content"]["parts"][0]["text"] == "Done."
    texts = [part for part in parts if "text" in part]
    return {
        "thinking": "".join(part["text"] for part in texts if part.get("thought")),
        "text": "".join(part["text"] for part in texts if not part.get("thought")),
        "calls": [(call["functionCall"]["name"], call["functionCall"]["args"]) for call in calls],
    }


Wire = tuple[str, type[Referee[Any]], Callable[[str], dict[str, Any]]]
WIRES: list[Wire] = [
    ("anthropic", AnthropicReferee, anthropic_said),
    ("openai_chat", OpenAIChatReferee, chat_said),
    ("openai_responses", OpenAIResponsesReferee, responses_said),
    ("deepseek", DeepSeekReferee, deepseek_said),
    ("gemini", GeminiReferee, gemini_said),
]


def serving(wire: Wire, *script: Answer) -> RefereeServer:
    """A server of one wire."""
    name, referee, _ = wire
    served: dict[str, Any] = {name: referee(script=script)}
    return RefereeServer(**served)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("wire", WIRES, ids=[name for name, _, _ in WIRES])
def test_a_client_reads_a_stream_and_sends_it_back(wire: Wire, seed: int) -> None:
    """Text of several bytes a letter, arguments and thoughts arrive whole; the server knows them again."""
    with serving(wire, answer(Stream(seed=seed)), Answer(text="Done.")) as server:
        said = wire[2](server.base_url)
    assert said == {"thinking": THOUGHT, "text": TEXT, "calls": [("look", INPUT), ("rest", {})]}


@pytest.mark.parametrize("wire", WIRES, ids=[name for name, _, _ in WIRES])
def test_a_seed_decides_the_pieces(wire: Wire) -> None:
    """The same seed gives the same bytes in the same writes; another one cuts the same answer otherwise."""
    name, referee, _ = wire
    ask = {
        "contents": [{"role": "user", "parts": [{"text": "a"}]}],
    }
    if name != "gemini":
        turns = {"input" if name == "openai_responses" else "messages": [ASK]}
        ask = {"model": "m", **turns, **({"max_tokens": 900} if name == "anthropic" else {})}

    def writes(seed: int) -> tuple[bytes, ...]:
        reply = referee(script=[answer(Stream(seed=seed))]).reply(msgspec.json.encode(ask), stream=True)
        assert reply.sending
        return reply.sending.writes

    assert writes(3) == writes(3)
    assert writes(3) != writes(4)
    assert len(writes(3)) > 5


@pytest.mark.parametrize("wire", WIRES, ids=[name for name, _, _ in WIRES])
def test_a_stream_can_break_off(wire: Wire) -> None:
    """The connection closes in the middle of an event: the client sees no end."""
    with (
        serving(wire, answer(Stream(fault="cut", after=6))) as server,
        pytest.raises(Exception, match=CUT),
    ):
        wire[2](server.base_url)


@pytest.mark.parametrize(
    "wire, expected",
    [(WIRES[0], anthropic.APIStatusError), (WIRES[1], openai.APIError), (WIRES[3], openai.APIError)],
    ids=["anthropic", "openai_chat", "deepseek"],
)
def test_an_error_in_the_stream_is_the_clients_own_exception(wire: Wire, expected: type[Exception]) -> None:
    """After 200 and some events: each SDK raises what it raises for an error of the API."""
    with (
        serving(wire, answer(Stream(fault="error", after=5))) as server,
        pytest.raises(expected, match="scripted failure in the middle of the stream"),
    ):
        wire[2](server.base_url)


def test_an_error_in_a_stream_of_responses_or_gemini_comes_as_an_event() -> None:
    """Responses has an event of its own for it; Gemini sends its error body as a chunk."""
    plan = Stream(fault="error", after=5)
    with (
        serving(WIRES[2], answer(plan)) as server,
        openai.OpenAI(api_key="k", base_url=server.base_url + "/v1", max_retries=0) as client,
    ):
        events: list[Any] = list(client.responses.create(model="m", input=[ASK], stream=True))
        assert len(events) == 6
        assert events[-1].type == "error"
        assert events[-1].message == "scripted failure in the middle of the stream"
    with serving(WIRES[4], answer(plan)) as server:
        url = f"{server.base_url}/v1beta/models/m:streamGenerateContent"
        stream = posted(url, {"contents": [{"role": "user", "parts": [{"text": "a"}]}]})
        last = msgspec.json.decode(stream.split(b"data: ")[-1])
        assert last["error"]["status"] == "INTERNAL"


def events(wire: Wire, said: Answer, body: dict[str, Any]) -> list[dict[str, Any]]:
    """The events of an answer, decoded."""
    reply = wire[1](script=[said]).reply(msgspec.json.encode(body), stream=True)
    assert reply.sending
    lines = b"".join(reply.sending.writes).splitlines()
    return [msgspec.json.decode(line[6:]) for line in lines if line.startswith(b"data: ")]


def test_an_anthropic_call_without_arguments_streams_nothing_of_them() -> None:
    """Its deltas join to the empty text, which clients read as {}."""
    said = events(WIRES[0], answer(Stream()), {"model": "m", "max_tokens": 900, "messages": [ASK]})
    deltas = [event["delta"] for event in said if event.get("index") == 3 and "delta" in event]
    assert [delta["type"] for delta in deltas] == ["input_json_delta"]
    assert deltas[0]["partial_json"] == ""


def test_the_signature_of_a_gemini_text_comes_in_a_last_part_without_text() -> None:
    """No part of the text itself carries it."""
    said = events(WIRES[4], Answer(text=TEXT), {"contents": [{"role": "user", "parts": [{"text": "a"}]}]})
    parts = [event["candidates"][0]["content"]["parts"][0] for event in said]
    assert ["thoughtSignature" in part for part in parts] == [False] * (len(parts) - 1) + [True]
    assert parts[-1]["text"] == ""
    assert "".join(part["text"] for part in parts) == TEXT


def test_a_cut_is_in_the_middle_of_an_event() -> None:
    """What arrived last is no whole event; an error is, and the last one."""
    frames = [b"data: one\n\n", b"data: two\n\n", b"data: three\n\n"]
    cut = sending(frames, b"data: no\n\n", Stream(fault="cut", after=2))
    assert cut.cut
    assert b"".join(cut.writes) == b"data: one\n\ndata: two\n\ndata: "
    failed = sending(frames, b"data: no\n\n", Stream(fault="error", after=2))
    assert not failed.cut
    assert b"".join(failed.writes) == b"data: one\n\ndata: two\n\ndata: no\n\n"


def test_a_stream_of_chat_hides_sizes_and_one_of_deepseek_has_comments() -> None:
    """Members and lines that a client has to pass over; the first can be switched off."""

    def streamed(wire: Wire, **options: bool) -> bytes:
        body = {
            "model": "m",
            "messages": [ASK],
            "stream": True,
            **({"stream_options": options} if options else {}),
        }
        reply = wire[1](script=[answer(Stream())]).reply(msgspec.json.encode(body))
        assert reply.sending
        return b"".join(reply.sending.writes)

    assert b'"obfuscation":"' in streamed(WIRES[1])
    assert b"obfuscation" not in streamed(WIRES[1], include_obfuscation=False)
    assert b'"usage"' not in streamed(WIRES[1])
    assert b"obfuscation" not in streamed(WIRES[3])
    assert streamed(WIRES[3]).startswith(b": keep-alive\n\n")
    assert streamed(WIRES[3]).endswith(b"data: [DONE]\n\n")


def test_a_slow_stream_takes_its_time() -> None:
    """There is a pause before every write."""
    with serving(WIRES[0], Answer(text=TEXT, stream=Stream(pause=0.02))) as server:
        began = time.monotonic()
        with (
            anthropic.Anthropic(api_key="k", base_url=server.base_url) as client,
            client.messages.stream(model="m", max_tokens=900, messages=[ASK]) as stream,
        ):
            assert stream.get_final_text() == TEXT
        assert time.monotonic() - began > 0.2


def test_a_refused_stream_is_a_plain_error() -> None:
    """A request that breaks a rule gets its 400 as JSON, stream or not."""
    with (
        serving(WIRES[1]) as server,
        openai.OpenAI(api_key="k", base_url=server.base_url + "/v1", max_retries=0) as client,
        pytest.raises(openai.BadRequestError, match="minimum length 1"),
    ):
        client.chat.completions.create(model="m", messages=[], stream=True)
