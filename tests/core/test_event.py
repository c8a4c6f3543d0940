"""Events: the chain covers every field, an erased payload leaves it whole, and a digest betrays nothing."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.core.block import Message, Text, ToolCall, ToolResult, ToolSpec
from foreword.core.event import (
    Answered,
    Body,
    Draft,
    Event,
    Pinned,
    Revoked,
    Said,
    ToolPrinted,
    ToolReturned,
    ToolsSet,
    kind_of,
)
from foreword.core.sealing import GENESIS, commit_of, decode_body, encode_body, header_of, link_of, seal
from foreword.core.usage import Usage
from foreword.errors import InvalidText, InvalidValue
from tests.engine.sessions import answer, call, session
from tests.histories import AT

DRAFT = Draft(
    body=Said(message=Message(role="user", blocks=(Text(text="hello"),))),
    actor="user", origin="library", trust="person", subject="s", audience=("a", "b"), causes=(1, 2),
)  # fmt: skip


def sealed(draft: Draft = DRAFT, *, nonce: bytes = bytes(16), previous: bytes = GENESIS) -> Event:
    return seal(draft, seq=7, at=AT, tenant="t", previous=previous, nonce=nonce)


@pytest.mark.parametrize(
    "field, value",
    [
        ("seq", 8), ("kind", "answered"), ("schema", 2), ("at", AT + 1), ("actor", "x"), ("origin", "x"),
        ("trust", "tool"), ("tenant", "u"), ("subject", None), ("audience", ("a",)), ("audience", ("b", "a")),
        ("causes", (1,)), ("causes", ()),
    ],
)  # fmt: skip
def test_the_link_covers_every_field(field: str, value: Any) -> None:
    """Changing any one header field changes the link."""
    event = sealed()
    changed = msgspec.structs.replace(event, **{field: value})
    assert link_of(GENESIS, header_of(changed), event.commit) != event.link


def test_the_header_is_all_but_payload_and_hashes() -> None:
    """No field of an event is outside the chain, save what the hashes stand for."""
    fields = {field.name for field in msgspec.structs.fields(Event)}
    assert len(header_of(sealed())) == len(fields - {"commit", "link", "nonce", "body", "original"})


def test_links_chain() -> None:
    """The link depends on the one before and on the commit."""
    assert sealed().link != sealed(previous=b"\1" * 32).link
    assert sealed().link != sealed(nonce=b"\1" * 16).link


def test_a_commit_betrays_nothing() -> None:
    """Two events of the same words have different commits; without the nonce the words can't be guessed."""
    one, other = sealed(nonce=b"\1" * 16), sealed(nonce=b"\2" * 16)
    assert one.commit != other.commit
    assert one.commit == commit_of(b"\1" * 16, encode_body(DRAFT.body))
    gone = msgspec.structs.replace(one, body=None, nonce=None)
    assert link_of(GENESIS, header_of(gone), gone.commit) == one.link


def result(**wrong: Any) -> ToolReturned:
    """Return a tool's result with something of another type in it."""
    within = {name: value for name, value in wrong.items() if name in ToolResult.__struct_fields__}
    beside = {name: value for name, value in wrong.items() if name not in within}
    return ToolReturned(result=ToolResult(**{"call_id": "c"} | within), **beside)


def answered(arguments: Any = "{}", **wrong: Any) -> Answered:
    block = ToolCall(id="c", name="bash", arguments=arguments)
    return Answered(message=Message(role="assistant", blocks=(block,)), **wrong)


@pytest.mark.parametrize(
    "body, field",
    [
        (result(exit_code="0"), "exit_code"), (result(exit_code=True), "exit_code"),
        (result(exit_code=0.0), "exit_code"), (result(run="done"), "run"),
        (result(is_error="no"), "result.is_error"), (result(call_id=5), "result.call_id"),
        (result(content=(b"x",)), "result.content[0]"), (result(content=["x"]), "result.content[0]"),
        (ToolPrinted(call_id="c", text=b"raw bytes"), "text"), (ToolPrinted(call_id="c", text=None), "text"),
        (Pinned(text=datetime.now(UTC)), "text"), (Revoked(target=1, text=None), "text"),
        (answered(model=5), "model"), (answered(recorded_cost_usd=0.5), "recorded_cost_usd"),
        (answered(first_token_ms=12.7), "first_token_ms"), (answered({}), "message.blocks[0].arguments"),
        (ToolsSet(tools=(ToolSpec(name="x", schema=None),)), "tools[0].schema"),
        (ToolsSet(tools=(ToolSpec(name="x", deferred="yes"),)), "tools[0].deferred"),
        (Pinned(text=object()), ""),
    ],
)  # fmt: skip
def test_a_value_of_another_type_is_refused(body: Any, field: str) -> None:
    """It would be written, and then nothing of the log could be read; bytes would come back as base64."""
    with pytest.raises(InvalidValue, match="nothing was recorded") as caught:
        sealed(Draft(body=body))
    assert (caught.value.kind, caught.value.field) == (kind_of(body), field)


@pytest.mark.parametrize(
    "field, value",
    [
        ("subject", 7), ("actor", None), ("trust", "nobody"), ("at", "now"), ("at", 2**70), ("causes", ("a",)),
        ("audience", (1,)),
    ],
)  # fmt: skip
def test_a_header_of_another_type_is_refused(field: str, value: Any) -> None:
    """The chain covers it, so it is read again too."""
    with pytest.raises(InvalidValue) as caught:
        sealed(msgspec.structs.replace(DRAFT, **{field: value}))
    assert (caught.value.kind, caught.value.field) == ("said", field)


@pytest.mark.parametrize("field", ["subject", "actor", "origin"])
def test_a_header_holds_no_half_character(field: str) -> None:
    """It is no text that is sent, so nothing is put in its place."""
    with pytest.raises(InvalidText, match=r"U\+D800 at character 1"):
        sealed(msgspec.structs.replace(DRAFT, **{field: "a\ud800"}))


def test_lists_and_tuples_are_the_same_to_a_log() -> None:
    """A caller may give either; JSON knows one."""
    text = Text(text="hi", extra={"x": (1, [2])})
    made: Any = Said(message=Message(role="user", blocks=[text]))
    event = sealed(Draft(body=made))
    read = decode_body("said", 1, encode_body(made))
    assert event.body == read
    assert encode_body(read) == encode_body(made)


def test_a_body_is_what_will_be_read_of_it() -> None:
    """A dict where a struct belongs is written as one: the log that wrote it must not know less than one that reads."""
    usage: Any = {"uncached": 3, "output": 1}
    event = sealed(Draft(body=Answered(message=Message(role="assistant", blocks=()), usage=usage)))
    assert isinstance(event.body, Answered)
    assert event.body.usage == Usage(uncached=3, output=1)


def bodies() -> list[Body]:
    """Return bodies of every kind that a real session writes."""
    made = session()
    made.instruct("Be brief.")
    first = made.say("hello \u2028 😀")
    made.pin("keep")
    made.compile()
    answer(made, "x", call("c", arguments="{not json"))
    made.returned("c", "", is_error=True)
    made.returned("c", "late")
    answer(made, call("d"))
    made.compile()
    made.revoke(first, "no")
    made.compile()
    made.erase([first], "asked")
    made.compile()
    return [event.body for event in made.events if event.body is not None]


def test_every_body_reads_back() -> None:
    """A payload decodes to the body it was made from and encodes to the same bytes again."""
    found = bodies()
    assert len({kind_of(body) for body in found}) >= 10
    for body in found:
        payload = encode_body(body)
        assert decode_body(kind_of(body), 1, payload) == body
        assert encode_body(decode_body(kind_of(body), 1, payload)) == payload


@given(st.text(st.characters(exclude_categories=("Cs",)), max_size=50))
def test_any_text_is_kept_exactly(text: str) -> None:
    """Text of any characters comes back as it was."""
    body = Said(message=Message(role="user", blocks=(Text(text=text),)))
    assert decode_body("said", 1, encode_body(body)) == body
