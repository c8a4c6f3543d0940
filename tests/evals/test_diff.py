"""diff: each kind of silent change is found at its place, with its cause, on every wire."""

from __future__ import annotations

import copy
import json
import time
import unicodedata
from collections.abc import Callable
from typing import Any

import pytest

from foreword.errors import MalformedRequest, UnknownWire
from foreword.evals.diff import Diff, diff
from foreword.evals.diff_causes import DETECTORS, FIXES
from foreword.evals.volatile import is_identifier, is_time

Body = dict[str, Any]
Change = Callable[[Body], Any]

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mP4z8AAAAMBAQD3A0FDAAAAAElFTkSuQmCC"
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}}}
RULES = "You build C projects. Session 7f3a91bc started 2026-11-30T10:00:00Z. Naïve names are refused."
REMINDER = "<system-reminder>Two tasks are open.</system-reminder>"
OUTPUT = "".join(f"line {number}: all is well\n" for number in range(40))


def anthropic() -> Body:
    return {
        "model": "claude-opus-4-8",
        "max_tokens": 100,
        "tools": [
            {"name": "read", "description": "Read a file.", "input_schema": copy.deepcopy(SCHEMA)},
            {"name": "write", "description": "Write a file.", "input_schema": copy.deepcopy(SCHEMA)},
        ],
        "system": [{"type": "text", "text": RULES}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Build it. It is café time."}]},
            {
                "role": "assistant",
                "content": [
                    {
                        "type": "tool_use",
                        "id": "toolu_01",
                        "name": "read",
                        "input": {"path": "a.c", "limit": 2},
                    }
                ],
            },
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "toolu_01", "content": OUTPUT}],
            },
            {"role": "assistant", "content": [{"type": "text", "text": "It builds."}]},
            {
                "role": "user",
                "content": [{"type": "text", "text": "Now test it."}, {"type": "text", "text": REMINDER}],
            },
        ],
    }


def chat() -> Body:
    return {
        "model": "gpt-6.1-sol",
        "tools": [
            {"type": "function", "function": {"name": name, "parameters": copy.deepcopy(SCHEMA)}}
            for name in ("read", "write")
        ],
        "messages": [
            {"role": "system", "content": RULES},
            {"role": "user", "content": [
                {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}", "detail": "low"}},
                {"type": "text", "text": "Build it. It is café time."},
            ]},
            {"role": "assistant", "content": None, "tool_calls": [
                {"id": "call_1", "type": "function",
                 "function": {"name": "read", "arguments": '{"path": "a.c", "limit": 2}'}},
            ]},
            {"role": "tool", "tool_call_id": "call_1", "content": OUTPUT},
            {"role": "assistant", "content": "It builds."},
            {"role": "user", "content": f"Now test it.\n{REMINDER}"},
        ],
    }  # fmt: skip


def responses() -> Body:
    return {
        "model": "gpt-6.1-sol",
        "instructions": RULES,
        "tools": [
            {"type": "function", "name": name, "parameters": copy.deepcopy(SCHEMA)}
            for name in ("read", "write")
        ],
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "Build it. It is café time."}]},
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "QUJD"},
            {
                "type": "function_call",
                "call_id": "call_1",
                "name": "read",
                "arguments": '{"path":"a.c","limit":2}',
            },
            {"type": "function_call_output", "call_id": "call_1", "output": OUTPUT},
            {"role": "user", "content": "Now test it."},
        ],
    }


def gemini() -> Body:
    return {
        "tools": [{"functionDeclarations": [
            {"name": name, "parametersJsonSchema": copy.deepcopy(SCHEMA)} for name in ("read", "write")
        ]}],
        "systemInstruction": {"parts": [{"text": RULES}]},
        "contents": [
            {"role": "user", "parts": [{"text": "Build it. It is café time."}]},
            {"role": "model", "parts": [{"functionCall": {"name": "read", "args": {"path": "a.c", "limit": 2}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "read", "response": {"output": OUTPUT}}}]},
            {"role": "user", "parts": [{"text": "Now test it."}]},
        ],
    }  # fmt: skip


BODIES: dict[str, Callable[[], Body]] = {
    "anthropic": anthropic, "openai-chat": chat, "openai-responses": responses, "deepseek": chat, "gemini": gemini,
}  # fmt: skip


def compared(wire: str, change: Change, *, grow: bool = True) -> Diff:
    """Compare a body with a changed copy; by default the copy goes on, as a next request does."""
    before = BODIES[wire]()
    after = copy.deepcopy(before)
    if grow:
        grown(wire, after)
    change(after)
    return diff(as_sent(before), as_sent(after), wire)


def grown(wire: str, body: Body) -> None:
    match wire:
        case "openai-responses":
            body["input"] += [
                {"type": "message", "role": "assistant", "content": "ok"},
                {"role": "user", "content": "on"},
            ]
        case "gemini":
            body["contents"] += [
                {"role": "model", "parts": [{"text": "ok"}]},
                {"role": "user", "parts": [{"text": "on"}]},
            ]
        case _:
            body["messages"] += [{"role": "assistant", "content": "ok"}, {"role": "user", "content": "on"}]


def as_sent(body: Body) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def reordered(value: dict[str, Any]) -> None:
    items = list(value.items())[::-1]
    value.clear()
    value.update(items)


def put(value: Any, key: Any, old: str, new: str) -> None:
    assert old in value[key]
    value[key] = value[key].replace(old, new)


SUMMARY = "This session is being continued from a previous conversation that ran out of context. It built."
A, C, R, D, G = "anthropic", "openai-chat", "openai-responses", "deepseek", "gemini"
KINDS: dict[str, tuple[str, str, str, str, Change]] = {
    "clock": (A, "timestamp", "system", "system[0].text",
              lambda b: put(b["system"][0], "text", "10:00:00", "10:01:01")),
    "day": (C, "timestamp", "system", "messages[0].content",
            lambda b: put(b["messages"][0], "content", "11-30", "12-01")),
    "identifier in a text": (A, "identifier", "system", "system[0].text",
                             lambda b: put(b["system"][0], "text", "7f3a91bc", "99c0d1e2")),
    "identifier in instructions": (R, "identifier", "system", "instructions",
                                   lambda b: put(b, "instructions", "7f3a91bc", "0d1e2f3a")),
    "call id made anew": (A, "identifier", "messages", "messages[1].content[0].id",
                          lambda b: b["messages"][1]["content"][0].update(id="x")),
    "call id made anew in a list": (C, "identifier", "messages", "messages[2].tool_calls[0].id",
                                    lambda b: b["messages"][2]["tool_calls"][0].update(id="y")),
    "item id made anew": (R, "identifier", "messages", "input[1].id", lambda b: b["input"][1].update(id="rs_x")),
    "keys of a schema": (A, "key_order", "tools", "tools[1].input_schema.properties",
                         lambda b: reordered(b["tools"][1]["input_schema"]["properties"])),
    "keys of a declaration": (G, "key_order", "tools", "tools[0].functionDeclarations[1]",
                              lambda b: reordered(b["tools"][0]["functionDeclarations"][1])),
    "keys of a call": (A, "key_order", "messages", "messages[1].content[0].input",
                       lambda b: reordered(b["messages"][1]["content"][0]["input"])),
    "keys of a call's text": (C, "key_order", "messages", "messages[2].tool_calls[0].function.arguments",
                              lambda b: b["messages"][2]["tool_calls"][0]["function"].update(
                                  arguments='{"limit": 2, "path": "a.c"}')),
    "white space of a call's text": (D, "whitespace", "messages", "messages[2].tool_calls[0].function.arguments",
                                     lambda b: b["messages"][2]["tool_calls"][0]["function"].update(
                                         arguments='{"path":"a.c","limit":2}')),
    "number of a call": (A, "form", "messages", "messages[1].content[0].input.limit",
                         lambda b: b["messages"][1]["content"][0]["input"].update(limit=2.0)),
    "tool added": (A, "tool_added", "tools", "tools[2]",
        lambda b: b["tools"].append({"name": "edit", "input_schema": {}})),
    "tool added before": (C, "tool_added", "tools", "tools[0].function.name",
                          lambda b: b["tools"].insert(0, {"type": "function", "function": {"name": "edit"}})),
    "tool removed": (A, "tool_removed", "tools", "tools[0].name", lambda b: b["tools"].pop(0)),
    "last tool removed": (R, "tool_removed", "tools", "tools[1]", lambda b: b["tools"].pop()),
    "tool order": (A, "tool_order", "tools", "tools[0].name", lambda b: b["tools"].reverse()),
    "function order": (G, "tool_order", "tools", "tools[0].functionDeclarations[0].name",
                       lambda b: b["tools"][0]["functionDeclarations"].reverse()),
    "tool described anew": (A, "tool_changed", "tools", "tools[0].description",
                            lambda b: b["tools"][0].update(description="Read any file.")),
    "model": (A, "model", "tools", "model", lambda b: b.update(model="claude-opus-5-5")),
    "effort": (A, "layer_key", "messages", "output_config", lambda b: b.update(output_config={"effort": "low"})),
    "effort of the whole prompt": (R, "layer_key", "tools", "reasoning",
        lambda b: b.update(reasoning={"effort": "low"})),
    "cache key": (C, "layer_key", "tools", "prompt_cache_key", lambda b: b.update(prompt_cache_key="two")),
    "tool choice": (A, "layer_key", "messages", "tool_choice", lambda b: b.update(tool_choice={"type": "any"})),
    "cached content": (G, "layer_key", "tools", "cachedContent", lambda b: b.update(cachedContent="cachedContents/1")),
    "system text": (A, "system_text", "system", "system[0].text",
                    lambda b: put(b["system"][0], "text", "refused", "welcome")),
    "memory put into the system text": (C, "system_text", "system", "messages[0].content",
                                        lambda b: put(b["messages"][0], "content", "refused.", "refused. Likes tea.")),
    "edited message": (A, "message_edited", "messages", "messages[3].content[0].text",
                       lambda b: put(b["messages"][3]["content"][0], "text", "builds", "runs")),
    "oldest turn dropped": (A, "message_removed", "messages", "messages[0].content[0]",
                            lambda b: b["messages"].__delitem__(slice(0, 3))),
    "reasoning dropped": (R, "message_removed", "messages", "input[1]", lambda b: b["input"].pop(1)),
    "reminder taken out": (A, "injection_removed", "messages", "messages[5]",
        lambda b: b["messages"][4]["content"].pop()),
    "reminder cut from a text": (C, "injection_removed", "messages", "messages[5].content",
                                 lambda b: put(b["messages"][5], "content", f"\n{REMINDER}", "")),
    "result cleared": (A, "cleared", "messages", "messages[2].content[0].content",
                       lambda b: b["messages"][2]["content"][0].update(content="[Old tool result content cleared]")),
    "result cut": (C, "cleared", "messages", "messages[3].content",
                   lambda b: b["messages"][3].update(
                       content=f"{OUTPUT[:300]}\n... 900 characters omitted ...\n{OUTPUT[-200:]}")),
    "result cleared on its item": (R, "cleared", "messages", "input[3].output",
                                   lambda b: b["input"][3].update(output="[removed]")),
    "response cleared": (G, "cleared", "messages", "contents[2].parts[0].functionResponse.response.output",
                         lambda b: b["contents"][2]["parts"][0]["functionResponse"]["response"].update(
                             output="(cleared)")),
    "summary": (A, "summarized", "messages", "messages[0].content[0].text",
                lambda b: b.update(messages=[{"role": "user", "content": [{"type": "text", "text": SUMMARY}]}])),
    "compaction item": (R, "summarized", "messages", "input[0]",
                        lambda b: b["input"].__setitem__(
                            slice(0, 4), [{"type": "compaction", "encrypted_content": "x"}])),
    "string to blocks": (A, "form", "messages", "messages[3]",
                         lambda b: b["messages"][3].update(content="It builds.")),
    "string to parts": (D, "form", "messages", "messages[4].content",
                        lambda b: b["messages"][4].update(content=[{"type": "text", "text": "It builds."}])),
    "empty member": (A, "form", "messages", "messages[2].content[0]",
                     lambda b: b["messages"][2]["content"][0].update(is_error=False)),
    "null member": (C, "form", "messages", "messages[4]", lambda b: b["messages"][4].update(refusal=None)),
    "image detail": (C, "form", "messages", "messages[1].content[0].image_url.detail",
                     lambda b: b["messages"][1]["content"][0]["image_url"].update(detail="high")),
    "trailing newline": (A, "whitespace", "messages", "messages[3].content[0].text",
                         lambda b: put(b["messages"][3]["content"][0], "text", "builds.", "builds.\n")),
    "white space in the system text": (R, "whitespace", "system", "instructions",
                                       lambda b: put(b, "instructions", "projects. ", "projects.  ")),
    "composed letters": (A, "unicode", "messages", "messages[0].content[0].text",
                         lambda b: b["messages"][0]["content"][0].update(
                             text=unicodedata.normalize("NFD", b["messages"][0]["content"][0]["text"]))),
    "composed letters in the system text": (G, "unicode", "system", "systemInstruction.parts[0].text",
                                            lambda b: b["systemInstruction"]["parts"][0].update(
                                                text=unicodedata.normalize("NFD", RULES))),
    "picture replaced by a word": (C, "cleared", "messages", "messages[1].content[0].type",
        lambda b: b["messages"][1]["content"].__setitem__(0, {"type": "text", "text": "[image removed]"})),
    "picture dropped from parts": (C, "cleared", "messages", "messages[1].content[0].type",
        lambda b: b["messages"][1]["content"].pop(0)),
    "image detail left out": (C, "form", "messages", "messages[1].content[0].image_url",
        lambda b: b["messages"][1]["content"][0]["image_url"].pop("detail")),
    "item of an easy form": (R, "form", "messages", "input[4].content",
        lambda b: b["input"].__setitem__(4, {
            "type": "message", "role": "user", "content": [{"type": "input_text", "text": "Now test it."}]})),
    "empty text in between": (A, "form", "messages", "messages[2].content[1].text",
        lambda b: b["messages"][2]["content"].append({"type": "text", "text": ""})),
    "role left out": (G, "form", "messages", "contents[0].parts[0]", lambda b: b["contents"][0].pop("role")),
    "message put in between": (A, "message_edited", "messages", "messages[1]",
        lambda b: b["messages"].insert(1, {"role": "user", "content": "By the way."})),
    "citations": (A, "layer_key", "system", "messages[*].content[*]: citations",
        lambda b: b["messages"][0]["content"].append(
            {"type": "document", "source": {"type": "text", "data": "x"}, "citations": {"enabled": True}})),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_has_its_cause(kind: str) -> None:
    """The first difference stands at its place, in its layer, with its cause, and costs what is behind it."""
    wire, cause, layer, path, change = KINDS[kind]
    found = compared(wire, change)
    assert found.first_difference is not None
    assert (found.cause, found.layer, found.first_difference.path) == (cause, layer, path)
    assert found.first_difference.a != found.first_difference.b
    assert found.fix == FIXES[cause]
    assert found.lost_tokens > 0
    untouched = compared(wire, lambda body: None)
    assert found.common_units < untouched.common_units
    assert found.common_tokens + found.lost_tokens == untouched.common_tokens


@pytest.mark.parametrize("wire", BODIES)
def test_growth_loses_nothing(wire: str) -> None:
    """A request that only adds has no difference; nor has the same one, nor one with another output limit."""
    for change, grow in (
        (lambda body: None, True),
        (lambda body: None, False),
        (lambda body: body.update(stream=True), True),
    ):
        found = compared(wire, change, grow=grow)
        assert (found.first_difference, found.cause, found.lost_tokens) == (None, None, 0)
        assert found.common_units > 5


def test_one_mark_more_loses_nothing() -> None:
    """Marks that moved are named as such, wherever they stand."""
    mark = {"cache_control": {"type": "ephemeral"}}
    moved = compared("anthropic", lambda body: body["messages"][0]["content"][0].update(mark))
    assert moved.first_difference is not None
    assert (moved.cause, moved.lost_tokens, moved.layer) == ("mark_only", 0, "")
    assert moved.first_difference.path == "messages[0].content[0].cache_control"
    part = {"prompt_cache_breakpoint": {"mode": "explicit"}}
    assert (
        compared("openai-chat", lambda body: body["messages"][1]["content"][1].update(part)).cause
        == "mark_only"
    )
    inner = compared("anthropic", lambda body: body["tools"][1].update(mark))
    assert (inner.cause, inner.lost_tokens) == ("mark_only", 0)


def test_the_same_values_in_other_bytes_lose_nothing() -> None:
    """JSON with spaces or with escapes reads the same to a provider; the cause says what differs in the bytes."""
    body = anthropic()
    spaced = diff(as_sent(body), json.dumps(body, ensure_ascii=False, indent=1).encode(), "anthropic")
    assert (spaced.cause, spaced.lost_tokens) == ("whitespace", 0)
    escaped = diff(as_sent(body), json.dumps(body, separators=(",", ":")).encode(), "anthropic")
    assert (escaped.cause, escaped.lost_tokens) == ("unicode", 0)


def test_a_rewind_keeps_what_stands() -> None:
    """A list cut at its end is named, and all that is left can still be read."""
    found = compared("openai-chat", lambda body: body["messages"].pop(), grow=False)
    assert (found.cause, found.lost_tokens) == ("message_removed", 0)


def test_what_is_shown_is_short_and_at_the_difference() -> None:
    """Of a long text the window around the first character that differs is shown, with its place."""
    found = compared(
        "anthropic",
        lambda body: put(body["messages"][2]["content"][0], "content", "line 30: all", "line 30: ill"),
    )
    difference = found.first_difference
    assert difference is not None
    assert found.cause == "message_edited"
    assert OUTPUT[difference.offset] == "a"
    assert "line 30: all" in difference.a
    assert "line 30: ill" in difference.b
    assert len(difference.a) < 200


def test_time_grows_with_size_only() -> None:
    """A body of 16 MB with one change near its end is compared in about four times the time of one of 4 MB."""

    def timed(size: int) -> float:
        body = {
            "model": "m",
            "messages": [{"role": "user", "content": [{"type": "text", "text": "a1-" * size}]}],
        }
        other = copy.deepcopy(body)
        other["messages"][0]["content"][0]["text"] += "!"
        start = time.perf_counter()
        assert diff(as_sent(body), as_sent(other), "anthropic", count=Characters()).cause == "message_edited"
        return time.perf_counter() - start

    small = min(timed(400_000) for _ in range(2))
    assert timed(1_600_000) < 12 * small + 0.5


class Characters:
    """A counter that costs nothing, so that the comparison alone is timed."""

    name = "characters"
    exact = False

    def count(self, text: str) -> int:
        return len(text)

    def count_many(self, texts: list[str]) -> list[int]:
        return [len(text) for text in texts]


@pytest.mark.parametrize(
    "data, wire, error",
    [
        (b"[]", "anthropic", MalformedRequest),
        (b"{", "gemini", MalformedRequest),
        (b'{"messages":{}}', "openai-chat", MalformedRequest),
        (b'{"messages":[1]}', "anthropic", MalformedRequest),
        (b'{"messages":[]}', "openai-responses", MalformedRequest),
        (b"{}", "smoke", UnknownWire),
    ],
)
def test_what_is_no_request_is_refused(data: bytes, wire: str, error: type[Exception]) -> None:
    """A body of another form or wire is named as such, with the place."""
    with pytest.raises(error):
        diff(data, data, wire)


@pytest.mark.parametrize(
    "a, b, time, identifier",
    [
        ("Today is Monday, 30 November 2026.", "Today is Tuesday, 1 December 2026.", True, False),
        ("Nov 30, 2026 at 9:59 am", "Nov 30, 2026 at 10:01 am", True, False),
        ("epoch 1796032800 now", "epoch 1796032861 now", True, True),
        ("changed 5 minutes ago", "changed 6 minutes ago", True, False),
        ("30/11/2026", "01/12/2026", True, False),
        ("run 3f2504e0-4f89-41d3-9a0c-0305e82c3301", "run 7c9e6679-7425-40de-944b-e07fc1f90ae7", False, True),
        ("pid 184467 runs", "pid 184469 runs", False, True),
        ("in /var/tmp/build-x7Kq2Z/a.c", "in /var/tmp/build-m3Pw9A/a.c", False, True),
        ("commit a1b2c3d", "commit d4e5f6a", False, True),
        ("step 41 of 60", "step 42 of 60", False, False),
        ("the cat sat", "the dog sat", False, False),
        ("version 1.2.3", "version 1.2.4", False, False),
        ("", "x", False, False),
    ],
)
def test_what_changes_by_itself_is_told_from_words(a: str, b: str, time: bool, identifier: bool) -> None:
    """Times in digits and in words, identifiers of every kind; counters, words and versions are none."""
    assert (is_time(a, b), is_time(b, a)) == (time, time)
    assert (is_identifier(a, b), is_identifier(b, a)) == (identifier, identifier)


def test_every_cause_has_a_fix() -> None:
    """The table of causes and the table of fixes name the same, and each detector can be reached by some kind."""
    causes = {cause for cause, _, _ in DETECTORS}
    assert causes | {"mark_only", "unknown"} == set(FIXES)
    assert causes <= {cause for _, cause, _, _, _ in KINDS.values()}
