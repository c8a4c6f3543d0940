"""A text that the model is asked to go on from ends in a word; a text that something follows keeps its bytes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from foreword.compiler.compile import Compiled
from foreword.core.block import Block, Message, Text, Thinking
from foreword.core.catalog import Catalog
from foreword.core.event import EpochStarted
from foreword.engine.session import Session
from foreword.engine.target import target_for
from tests.histories import from_scratch

MODEL = "claude-sonnet-4-5"
TAKES = Catalog.load().override(f'[[model]]\nid = "{MODEL}"\nprefill = true\n')
REFUSES = Catalog.load().override(f'[[model]]\nid = "{MODEL}"\nprefill = false\n')


def opened(catalog: Catalog = TAKES) -> Session:
    """A session of a model that takes a prefill, or of one that doesn't."""
    session = Session.open(None, "s", target=target_for("anthropic", MODEL, catalog=catalog))
    session.say("a \n")
    return session


def answer(session: Session, *texts: str) -> None:
    """Append a model's words."""
    blocks: tuple[Block, ...] = tuple(Text(text=text) for text in texts)
    session.answered(Message(role="assistant", blocks=blocks, wire="anthropic"))


def texts(compiled: Compiled) -> list[list[str]]:
    """Return the texts of each message, which nothing else may change."""
    messages: list[dict[str, Any]] = json.loads(compiled.body)["messages"]
    return [[part["text"] for part in message["content"]] for message in messages]


@pytest.mark.parametrize("catalog", [TAKES, REFUSES])
def test_history_keeps_its_white_space(catalog: Catalog) -> None:
    """In the base of the first request, and behind it in the next."""
    session = opened(catalog)
    answer(session, "b \n", "c ")
    session.say(" d")
    first = session.compile()
    answer(session, "e\n\n")
    session.say("f")
    second = session.compile()
    assert texts(first) == [["a \n"], ["b \n", "c "], [" d"]]
    assert texts(second) == [*texts(first), ["e\n\n"], ["f"]]
    assert from_scratch(session, second).body == second.body


def test_a_final_text_ends_in_a_word_and_stays_so() -> None:
    """Only its last block; sent so, it keeps these bytes while the epoch lasts, from scratch too."""
    session = opened()
    answer(session, "b \n", "c \n", " \n")
    first = session.compile()
    assert texts(first) == [["a \n"], ["b \n", "c"]]
    session.say("d")
    second = session.compile()
    assert texts(second) == [*texts(first), ["d"]]
    assert second.units[: first.size] == first.units
    assert from_scratch(session, second).body == second.body
    assert sum(isinstance(event.body, EpochStarted) for event in session.events) == 1


def test_a_blank_message_leaves_the_text_before_it_last() -> None:
    """What counts is what the request ends with, not what the record does."""
    session = opened()
    answer(session, "b ")
    session.say(" \n")
    compiled = session.compile()
    assert texts(compiled) == [["a \n"], ["b"]]
    assert from_scratch(session, compiled).body == compiled.body


@pytest.mark.parametrize("wire", ["anthropic", "gemini"])
@pytest.mark.parametrize("behind", [[], [Text(text="\n")], [Text(text="")]])
def test_reasoning_behind_the_last_text_leaves_it_last(wire: str, behind: list[Block]) -> None:
    """An answer cut in its second reasoning: no request ends in that, so the text before it is the last."""
    session = opened()
    cut = (Text(text="b \n"), Thinking(text="t", signature="S"), *behind)
    session.answered(Message(role="assistant", blocks=cut, wire=wire))
    compiled = session.compile()
    assert texts(compiled) == [["a \n"], ["b"]]
    assert from_scratch(session, compiled).body == compiled.body
