"""Halves of characters anywhere in a history: kept in the log, mended in the request, recorded as a repair."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from foreword.core.block import ToolSpec
from foreword.core.event import Repaired, Said
from foreword.engine.import_file import import_file
from foreword.engine.session import Session
from foreword.errors import InvalidText
from foreword.store import Store
from tests.engine.sessions import answer, call, judged, reopened, session
from tests.histories import MODELS, target_of


def test_a_name_with_half_a_character_is_refused(tmp_path: Path) -> None:
    """It is no text that is sent: with U+FFFD it would be another session's name, another user's bill."""
    with Store.open(tmp_path) as store:
        for place in (store, None):
            with pytest.raises(InvalidText):
                session(store=place, name="x\ud800")
        made = session(store=store)
        made.user = "a\ud800"
        with pytest.raises(InvalidText):
            answer(made, "x")
        assert len(reopened(store, made).events) == 1


HALF = "cut \ud83d here"
ARGUMENTS = r'{"x":"\ud83d","\udc00":"\ud83d\ude00"}'


LISTS: dict[str, list[dict[str, Any]]] = {
    "anthropic": [
        {"role": "user", "content": [{"type": "text", "text": HALF, "\ud83d": 1}]},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "c1", "name": "bash", "input": {"\udc00": HALF}}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": HALF}]},
        {"role": "user", "content": [{"type": "search_result", "title": HALF, "source": "s", "content": []}]},
    ],
    "openai-chat": [
        {"role": "system", "content": HALF},
        {"role": "user", "content": HALF},
        {
            "role": "assistant",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"x":"\ud83d"}'}}
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": HALF},
    ],
    "openai-responses": [
        {"role": "user", "content": HALF},
        {"type": "function_call", "call_id": "c1", "name": "bash", "arguments": ARGUMENTS},
        {"type": "function_call_output", "call_id": "c1", "output": HALF},
    ],
    "gemini": [
        {"role": "user", "parts": [{"text": HALF}]},
        {"role": "model", "parts": [{"functionCall": {"name": "bash", "args": {"\udc00": HALF}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "bash", "response": {"output": HALF}}}]},
    ],
}


def sound(text: str) -> str:
    """Return JSON text with no escapes left in it, also in JSON inside of it; fail where half a character stands."""
    value: Any = json.loads(text)
    flat = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    flat.encode()
    return re.sub(r'"\{(?:[^"\\]|\\.)*\}"', lambda found: sound(json.loads(found[0])), flat)


def repaired(made: Session) -> list[str]:
    """The kinds of the events whose text was mended."""
    repairs = [event.body for event in made.events if isinstance(event.body, Repaired)]
    return [made.events[body.event].kind for body in repairs if body.fault == "lone_surrogate"]


@pytest.mark.parametrize("wire", MODELS)
def test_every_text_is_sent_mended(wire: str, tmp_path: Path) -> None:
    """Instructions, tools, words, arguments and results; in another process the request is the same."""
    schema = {"type": "object", "properties": {"\udc00": {"type": "string"}}}
    with Store.open(tmp_path) as store:
        made = session(target_of(wire), store)
        for _ in range(2):  # the same again is no change
            made.instruct(HALF)
            made.offer([ToolSpec(name="bash", description=HALF, schema=schema)])
        made.say(HALF + "\ud83d" + "\ude00")
        assert judged(made).violations == ()
        answer(made, HALF, call("c1", arguments=ARGUMENTS))
        made.returned("c1", HALF * 300)
        assert judged(made).violations == ()
        compiled = made.compile()
        text = compiled.body.decode()
        assert "cut \ufffd here😀" in text
        assert '{"x":"\ufffd","\ufffd":"😀"}' in sound(text)
        assert repaired(made) == ["instructions_set", "tools_set", "said", "answered", "tool_returned"]
        assert store.verify() == []
        again = reopened(store, made)
        assert again.compile().body == compiled.body
        [said] = [event for event in store.load(made.id) if event.kind == "said"]
        assert isinstance(said.original, Said)
        assert said.original.message.blocks[0].text == HALF + "😀"


@pytest.mark.parametrize("wire", LISTS)
def test_a_callers_list_matches_itself(wire: str) -> None:
    """Synced again and again it adds nothing, and is the same request."""
    made = session(target_of(wire))
    tools = None if wire == "gemini" else []
    first = made.sync(LISTS[wire], tools=tools)
    again = made.sync(LISTS[wire], tools=tools)
    assert (again.appended, again.forked_at, again.request.body) == (0, None, first.request.body)
    assert "cut \ufffd here" in sound(first.request.body.decode())


def test_a_response_with_half_a_character_is_recorded() -> None:
    """As bytes of the provider: the text keeps it, a pair that is escaped is one character."""
    made = session(target_of("openai-chat"))
    made.say("go")
    made.compile()
    body = rb'{"model":"m","choices":[{"message":{"role":"assistant","content":"a\ud83d\ude00b\ud83d"}}]}'
    made.record(body)
    made.say("on")
    assert msgspec.json.decode(made.compile().body)["messages"][1]["content"] == "a😀b\ufffd"
    assert repaired(made) == ["answered"]


def test_a_file_with_half_a_character_is_known_again(tmp_path: Path) -> None:
    """Arguments are text of the model's, in which an escape may stand alone; the second import adds nothing."""
    path = tmp_path / "s.json"
    listed = json.loads(json.dumps(LISTS["openai-chat"]))
    listed[2]["tool_calls"][0]["function"]["arguments"] = ARGUMENTS
    path.write_text(json.dumps(listed))
    with Store.open(tmp_path / "store") as store:
        [first] = import_file(store, path)
        [again] = import_file(store, path)
        assert (again.session, again.added) == (first.session, 0)
        made = session(target_of("openai-chat"), store, first.session)
        assert "cut \ufffd here" in sound(made.compile().body.decode())
        assert repaired(made) == ["answered"]
        assert store.verify() == []
