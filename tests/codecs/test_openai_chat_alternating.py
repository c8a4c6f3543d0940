"""The Chat wire of a server that wants turns: neighbours become one message, and what was sent stays a prefix."""

from __future__ import annotations

import json
from typing import Any

import pytest

from foreword.codecs import CODECS, codec
from foreword.core.block import Image, Message, Text, Thinking, ToolCall, ToolSpec
from foreword.core.catalog import Catalog
from foreword.core.event import Draft, Said
from foreword.engine.session import Session
from foreword.errors import InvalidArgument
from foreword.testing.deepseek_referee import DeepSeekReferee
from foreword.testing.script import Answer, Call
from tests.histories import PIXEL, Script, digests, referee_for, target_of

STRICT = Catalog.load().override('[[model]]\nid = "gpt-6.1-sol"\nstrict_alternation = true\n')
TARGET = target_of("openai-chat", catalog=STRICT)
CALL = ToolCall(id="c", name="bash", arguments="{}")


def opened() -> Session:
    return Session.open(None, "turns", target=TARGET)


def messages(session: Session) -> list[dict[str, Any]]:
    """Compile, have the strict referee judge it, and return the messages without the system's."""
    compiled = session.compile()
    assert referee_for(TARGET).judge(compiled.body).violations == ()
    return [one for one in json.loads(compiled.body)["messages"] if one["role"] != "system"]


def test_texts_of_one_role_are_one_message() -> None:
    """Two words of the user are one message, an empty line between them."""
    session = opened()
    session.say('first "quoted"\n')
    session.say("second")
    assert messages(session) == [{"role": "user", "content": 'first "quoted"\n\n\nsecond'}]


def test_what_was_sent_stays_a_prefix() -> None:
    """A word after a request that got no answer lengthens the message that was sent."""
    session = opened()
    session.say("first")
    before = session.compile()
    session.say("second")
    after = session.compile()
    assert digests(after)[: before.size] == digests(before)
    assert after.body.startswith(before.body[: before.body.index(b"first") + 5])


def test_calls_end_the_message_of_the_words_before_them() -> None:
    """A message with words and calls is one message, and its results follow."""
    session = opened()
    session.offer([ToolSpec(name="bash", schema={"type": "object"})])
    session.say("go")
    script = Script()
    referee = referee_for(TARGET, script)
    script.answer = Answer(text="let me see", calls=(Call(name="bash", input={}, id="call_1"),))
    _, body = referee.respond(session.compile().body)
    session.record(body)
    session.returned("call_1", "done")
    said = messages(session)
    assert [one["role"] for one in said] == ["user", "assistant", "tool"]
    assert said[1]["content"] == "let me see"
    assert said[1]["tool_calls"][0]["id"] == "call_1"


def test_a_picture_next_to_words_of_the_same_role_is_kept_apart() -> None:
    """A message of parts can't be joined to a string: a note of the other role stands between them."""
    session = opened()
    session.say("look")
    picture = Message(role="user", blocks=(Text(text="this"), Image(media_type="image/png", data=PIXEL)))
    session.append(Draft(body=Said(message=picture), trust="person", actor="user"))
    said = messages(session)
    assert [one["role"] for one in said] == ["user", "assistant", "user"]
    assert said[2]["content"][1]["type"] == "image_url"


def test_a_change_in_a_loop_is_told_as_the_users() -> None:
    """No message of the operator stands in mid-conversation; what is said next goes on in the same message."""
    session = opened()
    session.say("go")
    session.compile()
    session.answered(Message(role="assistant", blocks=(ToolCall(id="c", name="bash", arguments="{}"),)))
    session.offer([ToolSpec(name="find", deferred=True)])
    session.returned("c", "ok")
    roles = ["user", "assistant", "tool", "user"]
    assert [one["role"] for one in messages(session)] == roles
    session.say("more")
    assert [one["role"] for one in messages(session)] == roles


def test_one_system_message_opens_the_request() -> None:
    """Instructions of several blocks are one message, and a later pin is told as the user's turn."""
    session = opened()
    session.instruct("be brief", "be kind")
    session.say("go")
    session.compile()
    session.pin("a rule")
    roles = [one["role"] for one in json.loads(session.compile().body)["messages"]]
    assert roles == ["system", "user"]
    assert b'"be brief\\n\\nbe kind"' in session.compile().body


def test_a_change_of_the_server_starts_an_epoch() -> None:
    """The same session on a server without the rule is encoded anew, and the log says why."""
    session = opened()
    session.say("first")
    session.say("second")
    session.compile()
    session.target = target_of("openai-chat")
    again = session.compile()
    assert again.epoch.number == 2
    assert json.loads(again.body)["messages"][-2:] == [
        {"role": "user", "content": "first"},
        {"role": "user", "content": "second"},
    ]


def test_deepseek_takes_turns_and_gets_its_reasoning_back_beside_calls() -> None:
    """Elsewhere it ignores reasoning, which would stand between the texts of one message."""
    row = Catalog.load().override('[[model]]\nid = "deepseek-flash"\nstrict_alternation = true\n')
    target = target_of("deepseek", catalog=row)
    session = Session.open(None, "turns", target=target)
    session.say("a")
    session.say("b")
    thoughts = [Thinking(text=text) for text in ("first", "second")]
    before = session.compile()
    for blocks in ((thoughts[0], Text(text="x")), (thoughts[1], Text(text="y"), CALL)):
        session.answered(Message(role="assistant", blocks=blocks, wire="deepseek"))
    session.returned("c", "out")
    compiled = session.compile()
    assert DeepSeekReferee().judge(compiled.body).violations == ()
    assert digests(compiled)[: before.size] == digests(before)
    said = json.loads(compiled.body)["messages"]
    assert [one["role"] for one in said] == ["user", "assistant", "tool"]
    assert (said[0]["content"], said[1]["content"]) == ("a\n\nb", "x\n\ny")
    assert said[1]["reasoning_content"] == "second"


def test_a_wire_of_items_has_no_turns() -> None:
    """It is said, not passed over; each other wire has its codec."""
    for wire in CODECS:
        if wire == "openai-responses":
            with pytest.raises(InvalidArgument, match="no turns"):
                codec(wire, alternating=True)
        else:
            assert codec(wire, alternating=True).wire == wire
