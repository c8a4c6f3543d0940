"""Is a raw message list one that its provider takes: pairing, placement, roles, emptiness.

Judges the list as a caller holds it, before anything is decoded or repaired. Rules by the providers' SDK
types and error texts (2026-11-30); calls that a provider runs itself (`server_tool_use`) are not judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from foreword.codecs.check_fault import Fault, answer, unanswered
from foreword.codecs.check_gemini import gemini, gemini_plain
from foreword.codecs.check_items import items_plain, responses
from foreword.codecs.reading import At
from foreword.core.surrogates import LONE
from foreword.errors import CodecError, UnknownWire


def check(messages: Sequence[Any], wire: str) -> list[Fault]:
    """List the faults of a message list of plain values or SDK objects, by index; [] when it may be sent.

    Raises: UnknownWire; MalformedRequest when it is no list.
    """
    if wire not in RULES:
        raise UnknownWire(wire, tuple(RULES))
    read, judge = RULES[wire]
    plain: list[dict[str, Any]] = []
    faults: list[Fault] = []
    for index, message in enumerate((At(wire) / "messages").items(messages)):
        at = At(wire) / "messages" / index
        try:
            plain.append(read(message, at))
        except CodecError as error:
            # What stands after a message of no form can't be judged: its pairs may be in it.
            faults += [Fault(index=index, rule="form", text=str(error)), *judge(plain, False)]
            return sorted(faults, key=_index)
        faults += _unencodable(plain[-1], index)
    return sorted([*faults, *judge(plain, True)], key=_index)


def _unencodable(message: dict[str, Any], index: int) -> Iterator[Fault]:
    pending: list[Any] = [message]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            pending += [*value.keys(), *value.values()]
        elif isinstance(value, list):
            pending += value
        elif isinstance(value, str) and (lone := LONE.search(value)):
            text = f"a lone surrogate, U+{ord(lone[0]):04X}, at character {lone.start()} of a text"
            yield Fault(index=index, rule="text", text=text)
            return


def _index(fault: Fault) -> int:
    return fault.index


def _plain(message: Any, at: At) -> dict[str, Any]:
    """Return a message whose role is a string, and whose content (or a string) and calls list objects."""
    found = at.mapping(message)
    at.string(found, "role")
    for name in ("content", "tool_calls"):
        value = found.get(name)
        if value is not None and not (isinstance(value, str) and name == "content"):
            items = (at / name).items(value)
            found[name] = [(at / name / i).mapping(item) for i, item in enumerate(items)]
    return found


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content: Any = message.get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else content or []


def _anthropic(messages: list[dict[str, Any]], complete: bool) -> Iterator[Fault]:
    yield from _anthropic_order(messages, complete)
    for index, message in enumerate(messages):
        yield from _anthropic_empty(message, index, last=complete and index == len(messages) - 1)
    seen: set[str] = set()
    calls: dict[str, int] = {}  # of the assistant turn that the current user turn must answer
    answered: set[str] = set()
    turn, spoken = "user", False
    for index, message in enumerate(messages):
        role = message["role"]
        if role != turn:
            if turn != "assistant":
                yield from unanswered(calls, answered)
                calls, answered = {}, set()
            elif role != "user":
                yield from unanswered(calls, answered)
                calls = {}
            turn, spoken = role, False
        if role == "assistant":
            for call in _blocks(message):
                if call.get("type") != "tool_use":
                    continue
                id_ = str(call.get("id"))
                if id_ in seen:
                    yield Fault(
                        index=index, rule="duplicate-call", text=f"id {id_} names an earlier call too"
                    )
                seen.add(id_)
                calls[id_] = index
        elif role == "user":
            for block in _blocks(message):
                if block.get("type") != "tool_result":
                    spoken = True
                    continue
                yield from answer(str(block.get("tool_use_id")), index, calls, answered)
                if spoken and calls:
                    text = "a result after other content of the turn; results come first"
                    yield Fault(index=index, rule="placement", text=text)
    if complete:
        yield from unanswered(calls, answered)


def _anthropic_order(messages: list[dict[str, Any]], complete: bool) -> Iterator[Fault]:
    for index, message in enumerate(messages):
        role = message["role"]
        if role not in ("user", "assistant", "system"):
            yield Fault(index=index, rule="role", text=f"role {role!r}; known are user, assistant, system")
        if index == 0 and role != "user" and not (role == "assistant" and _compacted(message)):
            yield Fault(index=0, rule="first", text=f"a conversation starts with a user message, not {role}")
        if role != "system" or index == 0:
            continue
        after = messages[index + 1]["role"] if index + 1 < len(messages) else "assistant"
        if messages[index - 1]["role"] != "user" and not _served(messages[index - 1]):
            yield Fault(index=index, rule="placement", text="a system message must follow a user message")
        if after != "assistant":
            text = f"a system message must be last or before an assistant's, not before {after}"
            yield Fault(index=index, rule="placement", text=text)


def _compacted(message: dict[str, Any]) -> bool:
    return [block.get("type") for block in _blocks(message)[:1]] == ["compaction"]


def _served(message: dict[str, Any]) -> bool:
    """Whether an assistant message ends in a tool that the provider ran."""
    kinds = [str(block.get("type")) for block in _blocks(message)[-1:]]
    return any(kind in ("server_tool_use", "mcp_tool_use") or kind.endswith("_tool_result") for kind in kinds)


def _anthropic_empty(message: dict[str, Any], index: int, *, last: bool) -> Iterator[Fault]:
    if not message.get("content"):
        if not (last and message["role"] == "assistant") and "output_config" not in message:
            yield Fault(index=index, rule="empty", text="a message without content")
        return
    texts = [block.get("text") for block in _blocks(message) if block.get("type") == "text"]
    if not all(isinstance(text, str) and text.strip() for text in texts):
        yield Fault(index=index, rule="empty", text="a text without a visible character")


def _chat(messages: list[dict[str, Any]], complete: bool) -> Iterator[Fault]:
    calls: dict[str, int] = {}
    answered: set[str] = set()
    for index, message in enumerate(messages):
        role = message["role"]
        if role == "tool":
            yield from answer(str(message.get("tool_call_id")), index, calls, answered)
        else:
            yield from unanswered(calls, answered)
            calls, answered = {}, set()
        if role not in ("system", "developer", "user", "assistant", "tool", "function"):
            yield Fault(index=index, rule="role", text=f"role {role!r} is none of this wire")
        if role == "assistant":
            for call in message.get("tool_calls") or ():
                id_ = str(call.get("id"))
                if id_ in calls:
                    yield Fault(index=index, rule="duplicate-call", text=f"id {id_} names two calls")
                calls[id_] = index
        said = [message.get(name) for name in ("content", "tool_calls", "function_call", "refusal", "audio")]
        if all(value is None for value in (said if role == "assistant" else said[:1])) or said[0] == []:
            yield Fault(index=index, rule="empty", text="a message without content")
    if complete:
        yield from unanswered(calls, answered)


Read = Callable[[Any, At], dict[str, Any]]
Judge = Callable[[list[dict[str, Any]], bool], Iterator[Fault]]
RULES: dict[str, tuple[Read, Judge]] = {
    "anthropic": (_plain, _anthropic),
    "openai-chat": (_plain, _chat),
    "openai-responses": (items_plain, responses),
    "deepseek": (_plain, _chat),
    "gemini": (gemini_plain, gemini),
}
"""Wire -> how a message is read, and the rules that judge a list of them (and whether it is complete)."""
