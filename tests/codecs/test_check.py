"""Faults of raw message lists: each rule by a list that breaks it and by one that doesn't."""

from typing import Any

import pytest

from foreword.codecs.check import check
from foreword.errors import MalformedRequest, UnknownWire


def use(*ids: str) -> dict[str, Any]:
    """Write an assistant message that calls tools (Anthropic)."""
    return {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": id_, "name": "t", "input": {}} for id_ in ids],
    }


def result(*ids: str) -> dict[str, Any]:
    """Write a user message with results (Anthropic)."""
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id_} for id_ in ids]}


def said(role: str, text: str = "x") -> dict[str, Any]:
    """Write a message of text, of either wire."""
    return {"role": role, "content": text}


def call(*ids: str) -> dict[str, Any]:
    """Write an assistant message that calls tools (Chat)."""
    calls = [{"id": id_, "type": "function", "function": {"name": "t", "arguments": "{}"}} for id_ in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def tool(id_: str) -> dict[str, Any]:
    """Write a result (Chat)."""
    return {"role": "tool", "tool_call_id": id_, "content": "x"}


SPOKEN = {
    "role": "user",
    "content": [{"type": "text", "text": "x"}, {"type": "tool_result", "tool_use_id": "a"}],
}
COMPACTION = {"role": "assistant", "content": [{"type": "compaction", "content": "x", "signature": "s"}]}
SERVED = {
    "role": "assistant",
    "content": [{"type": "server_tool_use", "id": "srvtoolu_1", "name": "n", "input": {}}],
}
ANTHROPIC: list[tuple[list[Any], list[tuple[int, str]]]] = [
    ([], []),
    ([said("user"), use("a", "b"), result("b", "a"), said("assistant")], []),
    ([said("user"), use("a"), use("b"), result("a"), result("b")], []),
    ([said("user"), said("user"), said("system"), said("assistant"), said("user"), said("system")], []),
    ([said("user"), SERVED, said("system")], []),
    ([COMPACTION, said("user")], []),
    ([said("user"), {"role": "assistant", "content": []}], []),
    ([said("user"), result("a")], [(1, "orphan-result")]),
    ([said("user"), use("a"), result("a"), said("assistant"), result("a")], [(4, "orphan-result")]),
    ([said("user"), use("a", "b"), result("a")], [(1, "unanswered-call")]),
    ([said("user"), use("a")], [(1, "unanswered-call")]),
    ([said("user"), use("a"), said("user"), said("assistant")], [(1, "unanswered-call")]),
    (
        [said("user"), use("a"), said("system"), result("a")],
        [(1, "unanswered-call"), (2, "placement"), (2, "placement"), (3, "orphan-result")],
    ),
    ([said("user"), use("a"), result("a"), use("a"), result("a")], [(3, "duplicate-call")]),
    ([said("user"), use("a"), result("a", "a")], [(2, "duplicate-result")]),
    ([said("user"), use("a"), SPOKEN], [(2, "placement")]),
    ([said("user"), use("a"), said("user"), result("a")], [(3, "placement")]),
    ([said("assistant")], [(0, "first")]),
    ([said("system"), said("user")], [(0, "first")]),
    ([said("user"), said("robot")], [(1, "role")]),
    ([said("user", " ")], [(0, "empty")]),
    ([{"role": "user", "content": []}], [(0, "empty")]),
    (
        [{"role": "user", "content": [{"type": "text", "text": ""}, {"type": "text", "text": "x"}]}],
        [(0, "empty")],
    ),
    ([said("user"), 5, said("robot")], [(1, "form")]),
    ([said("user"), {"role": "user", "content": [5]}], [(1, "form")]),
    ([said("user"), use("a"), {"content": "x"}], [(2, "form")]),
]
CHAT: list[tuple[list[Any], list[tuple[int, str]]]] = [
    ([], []),
    (
        [said("system"), said("user"), tool("z"), call("a"), tool("a"), said("assistant")],
        [(2, "orphan-result")],
    ),
    ([said("developer"), said("user"), call("a", "b"), tool("b"), tool("a"), said("system")], []),
    ([said("user"), call("a"), tool("a"), call("a"), tool("a")], []),
    ([said("user"), call("a", "b"), tool("a")], [(1, "unanswered-call")]),
    ([call("a"), said("user"), tool("a")], [(0, "unanswered-call"), (2, "orphan-result")]),
    ([call("a", "a"), tool("a")], [(0, "duplicate-call")]),
    ([call("a"), tool("a"), tool("a")], [(2, "duplicate-result")]),
    ([said("robot")], [(0, "role")]),
    ([{"role": "assistant", "content": None}], [(0, "empty")]),
    ([{"role": "user"}], [(0, "empty")]),
    ([{"role": "user", "content": []}], [(0, "empty")]),
    ([{"role": "assistant", "content": None, "refusal": "no"}], []),
    ([call("a"), {"role": "tool", "tool_call_id": "a", "content": 5}], [(1, "form")]),
]


@pytest.mark.parametrize("messages, faults", ANTHROPIC)
def test_anthropic_messages_are_judged(messages: list[Any], faults: list[tuple[int, str]]) -> None:
    """Each fault names the message of the given list, and the rule."""
    assert [(fault.index, fault.rule) for fault in check(messages, "anthropic")] == faults


@pytest.mark.parametrize("messages, faults", CHAT)
def test_chat_messages_are_judged(messages: list[Any], faults: list[tuple[int, str]]) -> None:
    """Each fault names the message of the given list, and the rule."""
    assert [(fault.index, fault.rule) for fault in check(messages, "openai-chat")] == faults


def item(kind: str, id_: str) -> dict[str, Any]:
    """Write a call or a result (Responses)."""
    rest = {"output": "x"} if kind.endswith("_output") else {"name": "t", "arguments": "{}"}
    return {"type": kind, "call_id": id_, **rest}


REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"}
CALL, OUTPUT = item("function_call", "a"), item("function_call_output", "a")
RESPONSES: list[tuple[list[Any], list[tuple[int, str]]]] = [
    ([], []),
    ([said("developer"), said("user"), REASONING, CALL, OUTPUT, REASONING, said("assistant")], []),
    ([REASONING, {"type": "web_search_call", "id": "ws_1"}, said("assistant")], []),
    ([CALL, item("custom_tool_call", "b"), item("custom_tool_call_output", "b"), OUTPUT], []),
    ([said("user"), CALL], [(1, "unanswered-call")]),
    ([OUTPUT], [(0, "orphan-result")]),
    ([CALL, OUTPUT, OUTPUT], [(2, "duplicate-result")]),
    ([CALL, CALL, OUTPUT], [(1, "duplicate-call")]),
    ([said("user"), REASONING], [(1, "orphan-reasoning")]),
    ([REASONING, said("user")], [(0, "orphan-reasoning")]),
    ([REASONING, OUTPUT, CALL], [(0, "orphan-reasoning"), (1, "orphan-result")]),
    ([{"type": "compaction_trigger"}, said("user")], [(0, "placement")]),
    ([said("user"), {"type": "compaction_trigger"}], []),
    ([said("robot")], [(0, "role")]),
    ([{"role": "user", "content": []}], [(0, "empty")]),
    ([{"role": "user"}], [(0, "empty")]),
    ([CALL, {"type": "function_call_output", "output": "x"}], [(1, "form")]),
    ([REASONING, 5], [(1, "form")]),
    ([{"content": "x"}], [(0, "form")]),
]


def part(role: str, *parts: dict[str, Any]) -> dict[str, Any]:
    """Write a content (Gemini)."""
    return {"role": role, "parts": list(parts)}


def asks(*names: str) -> dict[str, Any]:
    """Write the model's calls (Gemini)."""
    return part("model", *({"functionCall": {"name": name, "args": {}}} for name in names))


def answers(*names: str) -> dict[str, Any]:
    """Write their responses (Gemini)."""
    return part("user", *({"functionResponse": {"name": name, "response": {}}} for name in names))


TEXT = {"text": "x"}
GEMINI: list[tuple[list[Any], list[tuple[int, str]]]] = [
    ([], []),
    (["x", asks("a", "b", "a"), answers("a", "a", "b"), asks("a"), answers("a"), part("model", TEXT)], []),
    ([part("user", TEXT), asks("a", "b"), answers("a")], [(1, "unanswered-call")]),
    ([part("user", TEXT), asks("a")], [(1, "unanswered-call")]),
    (
        [part("user", TEXT), asks("a"), part("user", TEXT), answers("a")],
        [(1, "unanswered-call"), (3, "orphan-result")],
    ),
    ([part("user", TEXT), asks("a"), answers("b")], [(1, "unanswered-call"), (2, "orphan-result")]),
    ([part("user", TEXT), asks("a"), answers("a", "a")], [(2, "orphan-result")]),
    (
        [
            part("user", TEXT),
            part("model", {"functionCall": {"id": "1", "name": "a"}}),
            part("user", {"functionResponse": {"id": "2", "name": "a", "response": {}}}),
        ],
        [(1, "unanswered-call"), (2, "orphan-result")],
    ),
    ([asks("a"), answers("a")], [(0, "placement")]),
    ([part("user", TEXT), part("model", TEXT), asks("a"), answers("a")], [(2, "placement")]),
    ([part("user", TEXT), part("user", {"function_call": {"name": "a"}}), answers("a")], [(1, "role")]),
    ([part("system", TEXT)], [(0, "role")]),
    ([part("user")], [(0, "empty")]),
    ([part("user", TEXT), asks("a"), {"role": "user", "parts": [5]}], [(2, "form")]),
]


@pytest.mark.parametrize("messages, faults", RESPONSES)
def test_responses_items_are_judged(messages: list[Any], faults: list[tuple[int, str]]) -> None:
    """Each fault names the item of the given list, and the rule."""
    assert [(fault.index, fault.rule) for fault in check(messages, "openai-responses")] == faults


@pytest.mark.parametrize("messages, faults", GEMINI)
def test_gemini_contents_are_judged(messages: list[Any], faults: list[tuple[int, str]]) -> None:
    """Each fault names the content of the given list, and the rule."""
    assert [(fault.index, fault.rule) for fault in check(messages, "gemini")] == faults


@pytest.mark.parametrize("messages, faults", CHAT)
def test_deepseek_messages_are_judged_as_chat_messages(
    messages: list[Any], faults: list[tuple[int, str]]
) -> None:
    """The provider documents the same pairing rules."""
    assert [(fault.index, fault.rule) for fault in check(messages, "deepseek")] == faults


def test_the_text_names_the_call() -> None:
    """A reader sees which call it is about."""
    assert "call a" in check([said("user"), use("a")], "anthropic")[0].text


def test_an_unknown_wire_is_refused() -> None:
    """No list is judged by rules that aren't its own."""
    with pytest.raises(UnknownWire):
        check([], "gopher")


@pytest.mark.parametrize("messages", [None, "text", {"role": "user"}, 7])
@pytest.mark.parametrize("wire", ["anthropic", "openai-chat", "openai-responses", "deepseek", "gemini"])
def test_what_is_no_list_is_refused(messages: Any, wire: str) -> None:
    """With the error of a malformed request, not one of the language."""
    with pytest.raises(MalformedRequest, match="messages: expected a list"):
        check(messages, wire)


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": "a\ud83d"},
        {"role": "user", "content": [{"type": "text", "text": "\ude00\ud83d"}]},
        {"role": "user", "content": [{"type": "text", "text": "a", "\udc00": 1}]},
    ],
)
@pytest.mark.parametrize("wire", ["anthropic", "openai-chat", "openai-responses", "deepseek"])
def test_half_a_character_is_a_fault(message: dict[str, Any], wire: str) -> None:
    """In texts and names, at any depth; no provider reads such a body. A whole one is none."""
    assert [(fault.index, fault.rule) for fault in check([said("user"), message], wire)] == [(1, "text")]
    assert check([said("user", "a\ud83d\ude00😀")], wire) == []


def test_half_a_character_is_a_fault_of_gemini() -> None:
    """The wire has parts instead of content."""
    found = check([{"role": "user", "parts": [{"text": "a\ud83d"}]}], "gemini")
    assert [(fault.index, fault.rule) for fault in found] == [(0, "text")]
    assert "U+D83D, at character 1" in found[0].text
