"""What the pairs of Anthropic requests are made of."""

from typing import Any

import msgspec

from foreword.testing.anthropic_referee import AnthropicReferee
from foreword.testing.facts import ModelFacts
from foreword.testing.referee import Referee
from foreword.testing.script import Answer

OLD = {"anthropic-version": "2023-06-01"}
NEW = {"anthropic-version": "2026-10-21"}
BETA = {"anthropic-beta": "other-2026-01-01, compact-2026-09-04,context-management-2025-06-27"}
MARK = {"type": "ephemeral"}
HOUR = {"type": "ephemeral", "ttl": "1h"}
ASK = {"role": "user", "content": "Where is the harbour?"}
SAID = {"role": "assistant", "content": "In the north."}
TOOL = {"name": "look", "input_schema": {"type": "object", "properties": {}}}
HIDDEN = {"type": "redacted_thinking", "data": "x"}
PDF = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}
PNG = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}


def body(*messages: Any, **members: Any) -> dict[str, Any]:
    """Build a request; one plain question if no message is given."""
    return {"model": "m", "max_tokens": 100, "messages": list(messages) or [ASK], **members}


def without(request: dict[str, Any], *names: str) -> dict[str, Any]:
    """Leave out members."""
    return {name: value for name, value in request.items() if name not in names}


def user(*blocks: Any) -> dict[str, Any]:
    """A user message of blocks."""
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: Any) -> dict[str, Any]:
    """An assistant message of blocks."""
    return {"role": "assistant", "content": list(blocks)}


def system(content: Any, **members: Any) -> dict[str, Any]:
    """A system message in mid-conversation."""
    return {"role": "system", "content": content, **members}


def text(value: str, **members: Any) -> dict[str, Any]:
    """A text block."""
    return {"type": "text", "text": value, **members}


def call(identity: str, **members: Any) -> dict[str, Any]:
    """A tool call."""
    return {"type": "tool_use", "id": identity, "name": "look", "input": {}, **members}


def result(identity: str, **members: Any) -> dict[str, Any]:
    """A tool result."""
    return {"type": "tool_result", "tool_use_id": identity, "content": "seen", **members}


def server_call(identity: str) -> dict[str, Any]:
    """A server tool call."""
    return {"type": "server_tool_use", "id": f"srvtoolu_{identity}", "name": "web_search", "input": {}}


def server_result(identity: str) -> dict[str, Any]:
    """A server tool result."""
    return {"type": "web_search_tool_result", "tool_use_id": f"srvtoolu_{identity}", "content": []}


def found(content: list[Any]) -> dict[str, Any]:
    """A search result."""
    return {"type": "search_result", "source": "https://example.com", "title": "Harbour", "content": content}


def called(*blocks: Any) -> dict[str, Any]:
    """A conversation in which one call was made and answered by `blocks`."""
    return body(ASK, assistant(call("t1")), user(*blocks))


def summary(content: str | None, **members: Any) -> dict[str, Any]:
    """A compaction block."""
    return {"type": "compaction", "content": content, **members}


def spoken(referee: Referee[Any], *turns: dict[str, Any], **members: Any) -> list[dict[str, Any]]:
    """Talk with the referee, one user message after the other; returns the whole conversation."""
    messages: list[dict[str, Any]] = []
    for turn in turns:
        messages.append(turn)
        status, answer = referee.respond(msgspec.json.encode(body(*messages, **members)))
        assert status == 200, answer
        messages.append({"role": "assistant", "content": answer["content"]})
    return messages


def thought(change: Any) -> Any:
    """After two answers with thinking, let `change` alter the conversation, then ask again."""

    def build(referee: Referee[Any]) -> dict[str, Any]:
        messages = spoken(referee, ASK, {"role": "user", "content": "And the market?"})
        return body(*change(messages), ASK)

    return build


def thinking_text(messages: list[dict[str, Any]], value: str) -> list[dict[str, Any]]:
    """Change the text of the first thinking block."""
    first, *rest = messages[1]["content"]
    return [messages[0], assistant({**first, "thinking": value}, *rest), *messages[2:]]


def three_thoughts(*kept: int) -> Any:
    """After three answers with thinking, keep the thinking of some only."""

    def build(referee: Referee[Any]) -> dict[str, Any]:
        messages = spoken(referee, ASK, ASK, ASK)
        for turn in {0, 1, 2} - set(kept):
            blocks = messages[2 * turn + 1]["content"]
            messages[2 * turn + 1] = assistant(*(block for block in blocks if block["type"] != "thinking"))
        return body(*messages, ASK)

    return build


def fallen(*kept: int) -> Any:
    """After an answer that another model took over in the middle, keep some of its blocks, in this order."""

    def build(referee: Referee[Any]) -> dict[str, Any]:
        assert isinstance(referee, AnthropicReferee)
        assert referee.judge(msgspec.json.encode(body())).status == 200
        over = {"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}, "trigger": None}
        blocks = [_signed("s0"), over, _signed("s2"), text("So.")]
        referee.answered(blocks)
        return body(ASK, assistant(*(blocks[index] for index in kept)), ASK)

    return build


def _signed(signature: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": f"before {signature}", "signature": signature}


def edits(*kinds: str) -> dict[str, Any]:
    """Edits of the context of some kinds."""
    return {"edits": [{"type": kind} for kind in kinds]}


def folded(change: Any) -> Any:
    """Let the referee summarise, `change` its block, and go on after it."""

    def build(referee: Referee[Any]) -> dict[str, Any]:
        request = body(ASK, SAID, ASK, compaction={"type": "summarize"})
        _, answer = referee.respond(msgspec.json.encode(request))
        return body(assistant(*map(change, answer["content"])), ASK)

    return build


def called_after_thinking(*after: dict[str, Any]) -> Any:
    """Let the referee think and call, leave the thinking out, and go on."""

    def build(referee: Referee[Any]) -> dict[str, Any]:
        messages = spoken(referee, ASK, tools=[TOOL])
        messages[1]["content"] = [block for block in messages[1]["content"] if block["type"] == "tool_use"]
        return body(*messages, *after, tools=[TOOL])

    return build


TALK = {"script": [Answer(thinking="Hm.", text="North."), Answer(thinking="So.", text="South.")] * 2}
SMALL = {"facts": ModelFacts(window=2_000, max_output=None)}
COMPACTS = "compact_20260112"
BUDGETED = {"facts": ModelFacts(thinking_types=frozenset({"enabled", "disabled"}))}
PREFILLED = {"facts": ModelFacts(prefill=True)}


def budget(tokens: Any) -> dict[str, Any]:
    """A manual thinking configuration."""
    return {"type": "enabled", "budget_tokens": tokens}
