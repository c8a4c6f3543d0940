"""Events: the chain covers every field, an erased payload leaves it whole, and a digest betrays nothing."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.core.block import Message, Text
from foreword.core.event import Body, Draft, Event, Said, kind_of
from foreword.core.sealing import GENESIS, commit_of, decode_body, encode_body, header_of, link_of, seal
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
