"""Streams made from unstreamed responses, as each wire's server would cut them: small, and known in advance."""

import json
import random
from collections.abc import Callable, Iterator
from typing import Any

WIRES = ("anthropic", "openai-chat", "deepseek", "openai-responses", "gemini")
SAID = "Grüße, 世界: ∑ 😀 done."
THOUGHT = "Weigh 甲 against 乙\nthen decide."
ARGUMENTS = {"path": "ä/中.txt", "lines": [1, 2.5, None], "deep": {"say": 'a "quoted" word'}}


def pieces(text: str, chance: random.Random) -> list[str]:
    """Cut a text into fragments of 1 to 16 characters."""
    found: list[str] = []
    while text:
        size = chance.randint(1, 16)
        found.append(text[:size])
        text = text[size:]
    return found


def events(payloads: Iterator[dict[str, Any]], *, named: bool, end: str = "\n") -> bytes:
    """Write payloads as an event stream; `named`: with the payload's type as the event's name."""
    written = b""
    for payload in payloads:
        if named:
            written += f"event: {payload['type']}{end}".encode()
        written += b"data: " + json.dumps(payload, ensure_ascii=False).encode() + (end * 2).encode()
    return written


def anthropic_body() -> dict[str, Any]:
    """A turn that thinks, speaks with a citation, and asks for two tools."""
    cited = {
        "type": "char_location",
        "cited_text": "世界",
        "document_index": 0,
        "document_title": None,
        "start_char_index": 0,
        "end_char_index": 2,
        "file_id": None,
    }
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-made-up",
        "content": [
            {"type": "thinking", "thinking": THOUGHT, "signature": "c2ln" * 40},
            {"type": "redacted_thinking", "data": "cmVk"},
            {"type": "text", "text": SAID, "citations": [cited]},
            {"type": "tool_use", "id": "toolu_1", "name": "read", "input": ARGUMENTS},
            {"type": "tool_use", "id": "toolu_2", "name": "list", "input": {}},
        ],
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": {
            "input_tokens": 7,
            "cache_read_input_tokens": 900,
            "cache_creation_input_tokens": 120,
            "cache_creation": {"ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 20},
            "output_tokens": 44,
            "output_tokens_details": {"thinking_tokens": 12},
            "service_tier": "standard",
        },
    }


def anthropic_events(body: dict[str, Any], chance: random.Random) -> Iterator[dict[str, Any]]:
    """Yield the events of a message."""
    usage = {key: value for key, value in body["usage"].items() if key != "output_tokens_details"}
    start = body | {"content": [], "stop_reason": None, "usage": usage | {"output_tokens": 1}}
    yield {"type": "message_start", "message": start}
    yield {"type": "ping"}
    for index, block in enumerate(body["content"]):
        deltas: list[dict[str, Any]] = []
        empty = dict(block)
        if "text" in block:
            empty |= {"text": ""}
            empty.pop("citations", None)
            deltas += [{"type": "text_delta", "text": piece} for piece in pieces(block["text"], chance)]
            deltas += [{"type": "citations_delta", "citation": each} for each in block.get("citations", ())]
        elif "thinking" in block:
            empty |= {"thinking": "", "signature": ""}
            deltas += [{"type": "thinking_delta", "thinking": p} for p in pieces(block["thinking"], chance)]
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
        elif "input" in block:
            empty |= {"input": {}}
            text = json.dumps(block["input"], ensure_ascii=False) if block["input"] else ""
            parts = ["", *pieces(text, chance)]
            deltas += [{"type": "input_json_delta", "partial_json": piece} for piece in parts]
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    counts = {"output_tokens", "output_tokens_details", "input_tokens"}
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": body["stop_reason"], "stop_sequence": None},
        "usage": {key: value for key, value in body["usage"].items() if key in counts},
    }
    yield {"type": "message_stop"}


def chat_body() -> dict[str, Any]:
    """A completion with text and two calls."""
    calls = [
        {"id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": text}}
        for n, (name, text) in enumerate([("read", json.dumps(ARGUMENTS)), ("list", "{}")])
    ]
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-made-up",
        "system_fingerprint": "fp_1",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": SAID, "tool_calls": calls},
                "finish_reason": "tool_calls",
            }
        ],
        "usage": {
            "prompt_tokens": 300,
            "completion_tokens": 20,
            "total_tokens": 320,
            "prompt_tokens_details": {"cached_tokens": 256},
            "completion_tokens_details": {"reasoning_tokens": 8},
        },
    }


def deepseek_body() -> dict[str, Any]:
    """The same with reasoning, and the cache counted in DeepSeek's way."""
    body = chat_body()
    body["choices"][0]["message"]["reasoning_content"] = THOUGHT
    counts = {"prompt_cache_hit_tokens": 256, "prompt_cache_miss_tokens": 44}
    return body | {"usage": {"prompt_tokens": 300, "completion_tokens": 20, "total_tokens": 320, **counts}}


def chat_events(body: dict[str, Any], chance: random.Random) -> Iterator[dict[str, Any]]:
    """Yield the chunks of a completion with one choice; fragments of parallel calls come mixed."""
    head = {key: value for key, value in body.items() if key not in ("choices", "usage")}
    head |= {"object": "chat.completion.chunk"}
    choice = body["choices"][0]
    message = choice["message"]

    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        listed = [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}]
        return {**head, "choices": listed, "usage": None, "obfuscation": "x" * chance.randint(1, 9)}

    yield chunk({"role": "assistant", "content": None if "reasoning_content" in message else ""})
    for name in ("reasoning_content", "content", "refusal"):
        for piece in pieces(message.get(name) or "", chance):
            yield chunk({name: piece})
    waiting: list[tuple[int, list[str]]] = []
    for index, call in enumerate(message.get("tool_calls") or ()):
        named = {"name": call["function"]["name"], "arguments": ""}
        yield chunk(
            {"tool_calls": [{"index": index, "id": call["id"], "type": "function", "function": named}]}
        )
        waiting.append((index, pieces(call["function"]["arguments"], chance)))
    while any(rest for _, rest in waiting):
        index, rest = chance.choice([each for each in waiting if each[1]])
        yield chunk({"tool_calls": [{"index": index, "function": {"arguments": rest.pop(0)}}]})
    yield chunk({}, choice["finish_reason"])
    yield {**head, "choices": [], "usage": body["usage"]}


def responses_body() -> dict[str, Any]:
    """A response that reasons, speaks and asks for a tool."""
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1.0,
        "model": "gpt-made-up",
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "metadata": {},
        "output": [
            {
                "id": "rs_1",
                "type": "reasoning",
                "summary": [{"type": "summary_text", "text": THOUGHT}],
                "encrypted_content": "Z0FBQQ" * 30,
                "status": "completed",
            },
            {
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": SAID, "annotations": [], "logprobs": []}],
            },
            {
                "id": "fc_1",
                "type": "function_call",
                "call_id": "call_1",
                "name": "read",
                "arguments": json.dumps(ARGUMENTS),
                "status": "completed",
            },
        ],
        "usage": {
            "input_tokens": 300,
            "input_tokens_details": {"cached_tokens": 256, "cache_write_tokens": 0},
            "output_tokens": 20,
            "output_tokens_details": {"reasoning_tokens": 8},
            "total_tokens": 320,
        },
    }


def responses_events(body: dict[str, Any], chance: random.Random) -> Iterator[dict[str, Any]]:
    """Yield the events of a response."""
    for number, event in enumerate(_responses_events(body, chance)):
        yield {**event, "sequence_number": number}


def _responses_events(body: dict[str, Any], chance: random.Random) -> Iterator[dict[str, Any]]:
    empty = body | {"status": "in_progress", "output": [], "usage": None}
    yield {"type": "response.created", "response": empty}
    yield {"type": "response.in_progress", "response": empty}
    for index, item in enumerate(body["output"]):
        at = {"output_index": index, "item_id": item["id"]}
        begun = item | {"status": "in_progress"}
        match item["type"]:
            case "reasoning":
                begun |= {"summary": [], "encrypted_content": "Z0"}
            case "message":
                begun |= {"content": []}
            case _:
                begun |= {"arguments": ""}
        yield {"type": "response.output_item.added", "output_index": index, "item": begun}
        if item["type"] == "function_call":
            for piece in pieces(item["arguments"], chance):
                yield {"type": "response.function_call_arguments.delta", **at, "delta": piece}
            yield {
                "type": "response.function_call_arguments.done",
                **at,
                "name": item["name"],
                "arguments": item["arguments"],
            }
        for inner, part in enumerate(item.get("summary") or item.get("content") or ()):
            summary = item["type"] == "reasoning"
            place = at | {"summary_index" if summary else "content_index": inner}
            group = "response.reasoning_summary_part" if summary else "response.content_part"
            growing = "response.reasoning_summary_text" if summary else "response.output_text"
            rest = {} if summary else {"logprobs": []}
            yield {"type": f"{group}.added", **place, "part": part | {"text": ""}}
            for piece in pieces(part["text"], chance):
                yield {"type": f"{growing}.delta", **place, "delta": piece, **rest, "obfuscation": "x"}
            yield {"type": f"{growing}.done", **place, "text": part["text"], **rest}
            yield {"type": f"{group}.done", **place, "part": part}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": "response.completed", "response": body}


def gemini_body() -> dict[str, Any]:
    """A response with a thought, text and two calls, the first of them signed."""
    calls = [
        {"functionCall": {"id": "c1", "name": "read", "args": ARGUMENTS}, "thoughtSignature": "c2ln" * 30},
        {"functionCall": {"id": "c2", "name": "list", "args": {}}},
    ]
    return {
        "candidates": [
            {
                "content": {
                    "role": "model",
                    "parts": [{"text": THOUGHT, "thought": True}, {"text": SAID}, *calls],
                },
                "finishReason": "STOP",
                "index": 0,
            }
        ],
        "usageMetadata": {
            "promptTokenCount": 300,
            "cachedContentTokenCount": 256,
            "candidatesTokenCount": 12,
            "thoughtsTokenCount": 8,
            "totalTokenCount": 320,
        },
        "modelVersion": "gemini-made-up",
        "responseId": "r1",
    }


def gemini_events(body: dict[str, Any], chance: random.Random) -> Iterator[dict[str, Any]]:
    """Yield the responses that a response comes in: texts cut, calls whole, usage growing."""
    head = {key: value for key, value in body.items() if key not in ("candidates", "usageMetadata")}
    candidate = body["candidates"][0]
    parts = [
        cut
        for part in candidate["content"]["parts"]
        for cut in ([part | {"text": p} for p in pieces(part["text"], chance)] if "text" in part else [part])
    ]
    for number, part in enumerate(parts):
        last = number == len(parts) - 1
        listed = [{"content": {"role": "model", "parts": [part]}, "index": 0}]
        usage = body["usageMetadata"]
        if last:
            listed[0] = {**candidate, **listed[0]}
        else:
            usage = {"promptTokenCount": usage["promptTokenCount"], "totalTokenCount": number}
        yield {"candidates": listed, "usageMetadata": usage, **head}


BODIES: dict[str, Callable[[], dict[str, Any]]] = {
    "anthropic": anthropic_body,
    "openai-chat": chat_body,
    "deepseek": deepseek_body,
    "openai-responses": responses_body,
    "gemini": gemini_body,
}
EVENTS: dict[str, Callable[[dict[str, Any], random.Random], Iterator[dict[str, Any]]]] = {
    "anthropic": anthropic_events,
    "openai-chat": chat_events,
    "deepseek": chat_events,
    "openai-responses": responses_events,
    "gemini": gemini_events,
}
NAMED = {"anthropic", "openai-responses"}


def stream(wire: str, seed: int = 0, *, body: dict[str, Any] | None = None, end: str = "\n") -> bytes:
    """Write the whole stream of a response (by default the wire's own of this module)."""
    payloads = EVENTS[wire](body or BODIES[wire](), random.Random(seed))
    written = events(payloads, named=wire in NAMED, end=end)
    if EVENTS[wire] is chat_events:
        written += f"data: [DONE]{end}{end}".encode()
    if wire == "deepseek":
        written = f": keep-alive{end}{end}".encode() * 3 + written
    return written
