"""A caller's own list against the log: what is the same matches, what is an edit forks, nothing is lost."""

from __future__ import annotations

import json
import random
from functools import cache
from typing import Any

import pytest

from foreword.compiler.compile import Compiled
from foreword.core.canonical import compact
from foreword.core.event import Answered, Event, Said, ToolReturned
from foreword.core.sealing import encode_body
from foreword.engine.session import Session
from foreword.engine.shortened import is_shortened
from tests.engine.message_lists import EDITS, HARMLESS, Lists, Messages, broken, copied, texts
from tests.histories import counting_clock, examples, from_scratch, referee_for, target_of

WIRES = ("anthropic", "openai-chat")
LISTS = examples(18, 2_000)


def begun(wire: str) -> Session:
    return Session.open(None, "synced", target=target_of(wire), clock=counting_clock())


@cache
def kept(wire: str, seed: int) -> tuple[list[Event], str, int, object]:
    """Sync a growing list as an agent's loop would, once before every answer; what a test starts from."""
    lists = Lists(wire, random.Random(f"{wire} {seed}"))
    listed = lists.rounds(lists.rng.randint(2, 3))
    session = begun(wire)
    for end in range(1, len(listed) + 1):
        turn_of_model = end == len(listed) or listed[end]["role"] == "assistant"
        if turn_of_model and listed[end - 1]["role"] != "assistant":
            assert session.sync(listed[:end]).forked_at is None
    assert session.sync(listed).forked_at is None
    return list(session.events), json.dumps(listed), lists.number, lists.rng.getstate()


def recorded(wire: str, seed: int) -> tuple[Session, Messages, Lists]:
    """Return a session of its own, the list it was synced with, and what makes more of such lists."""
    events, listed, number, state = kept(wire, seed)
    session = Session(events, store=None, target=target_of(wire), clock=counting_clock())
    lists = Lists(wire, random.Random())
    lists.number = number
    lists.rng.setstate(state)
    return session, json.loads(listed), lists


def legal(request: Compiled) -> bool:
    verdict = referee_for(request.target, foreign=True).judge(request.body)
    assert verdict.violations == ()
    return True


def stands(text: str, body: bytes) -> bool:
    return compact(text)[1:-1] in body


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("change", [*HARMLESS, "all of them"])
def test_what_clients_change_on_their_own_is_no_edit(wire: str, change: str) -> None:
    """A list that comes back in another form matches: no fork, and only the new turn is appended."""
    false_forks = []
    for seed in range(LISTS):
        session, listed, lists = recorded(wire, seed)
        for name in HARMLESS if change == "all of them" else (change,):
            HARMLESS[name](listed, lists.rng)
        size = len(session.events)
        listed.append(lists.user())
        synced = session.sync(listed)
        if synced.forked_at is not None or synced.appended != 1:
            false_forks.append((seed, synced.forked_at, synced.appended))
            continue
        assert isinstance(session.events[size].body, Said)
        assert stands(texts(listed)[-1], synced.request.body)
        assert legal(synced.request)
    assert false_forks == []


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_forks_where_it_stands(wire: str, edit: str) -> None:
    """An edited or rewound list forks before the edited event; the request holds the list as it is now."""
    silent, wrong = [], []
    tried = 0
    for seed in range(LISTS):
        session, listed, lists = recorded(wire, seed)
        before = list(session.events)
        parent = session.id
        try:
            old, new = EDITS[edit](listed, lists.rng)
        except IndexError:
            continue  # this list has no place for such an edit
        tried += 1
        listed.append(lists.user())
        synced = session.sync(listed)
        at = first_with(before, old)
        if synced.forked_at is None:
            silent.append(seed)
            continue
        body = synced.request.body
        lost = [text for text in texts(listed) if not stands(text, body)]
        stale = (new == "" or old not in new) and stands(old, body)
        if synced.forked_at >= at or lost or stale or synced.forked_at < start_of(before, at):
            wrong.append((seed, synced.forked_at, at, lost, stale))
            continue
        assert session.id != parent
        assert list(session.events[: synced.forked_at + 1]) == before[: synced.forked_at + 1]
        assert legal(synced.request)
    assert tried > LISTS // 2
    assert silent == []
    assert wrong == []


def first_with(events: list[Any], text: str) -> int:
    """Return the seq of the event that holds a text."""
    needle = compact(text)[1:-1]
    return next(
        event.seq
        for event in events
        if isinstance(event.body, Said | ToolReturned | Answered) and needle in encode_body(event.body)
    )


def start_of(events: list[Any], seq: int) -> int:
    """Return the last event that a fork for an edit of ``seq`` must still share.

    That is the one before the turn, or before the first result of the batch.
    """
    start = seq
    while start and events[start - 1].kind not in ("said", "answered"):
        start -= 1
    return max(0, start - 1)


@pytest.mark.parametrize("wire", WIRES)
def test_the_same_message_twice_is_an_append(wire: str) -> None:
    """A message that repeats the last one is new, not a copy to be merged."""
    for seed in range(LISTS):
        session, listed, lists = recorded(wire, seed)
        turn = lists.user()
        session.sync([*listed, turn])
        synced = session.sync([*listed, turn, copied([turn])[0]])
        assert (synced.forked_at, synced.appended) == (None, 1)


@pytest.mark.parametrize("wire", WIRES)
def test_the_same_list_again_appends_nothing(wire: str) -> None:
    """A retry gets the same request, byte for byte."""
    for seed in range(LISTS // 4):
        session, listed, lists = recorded(wire, seed)
        listed.append(lists.user())
        first = session.sync(listed).request.body
        size = len(session.events)
        assert session.sync(copied(listed)).request.body == first
        assert len(session.events) == size


def test_edited_result_of_a_batch_keeps_the_other_results() -> None:
    """An edit in a batch whose results came in another order than their ids loses none of them."""
    calls = [{"type": "tool_use", "id": id_, "name": "x", "input": {}} for id_ in "abc"]
    results = [{"type": "tool_result", "tool_use_id": id_, "content": f"result {id_}"} for id_ in "bca"]
    listed = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": calls},
        {"role": "user", "content": results},
    ]
    session = begun("anthropic")
    session.sync(listed)
    results[0]["content"] = "RESULT b, edited"
    body = session.sync(listed).request.body
    assert all(text in body for text in (b"result a", b"RESULT b, edited", b"result c"))
    assert b"outcome unknown" not in body


@pytest.mark.parametrize("wire", WIRES)
def test_system_and_tools_survive_a_fork(wire: str) -> None:
    """New instructions and tools that come with an edited list stand in the request of the fork."""
    session = begun(wire)
    schema = {"type": "object", "properties": {}}
    tool = {"name": "shout", "description": "d", "input_schema": schema}
    if wire == "openai-chat":
        tool = {"type": "function", "function": {"name": "shout", "description": "d", "parameters": schema}}
    listed = [
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "two"},
        {"role": "user", "content": "three"},
    ]
    session.sync(listed, system="old words")
    listed[0]["content"] = "edited"
    synced = session.sync(listed, system="brand new words", tools=[tool])
    assert synced.forked_at is not None
    assert b"brand new words" in synced.request.body
    assert b"old words" not in synced.request.body
    assert b'"shout"' in synced.request.body


@pytest.mark.parametrize("wire", WIRES)
def test_tools_in_another_key_order_change_nothing(wire: str) -> None:
    """The same tools written otherwise append no event and start no epoch."""
    session = begun(wire)
    schema = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}}
    turned = {"properties": {"b": {"type": "integer"}, "a": {"type": "string"}}, "type": "object"}
    forms = [{"name": "t", "description": "d", "input_schema": s} for s in (schema, turned)]
    if wire == "openai-chat":
        forms = [
            {"type": "function", "function": {"name": "t", "description": "d", "parameters": s}}
            for s in (schema, turned)
        ]
    listed = [{"role": "user", "content": "one"}]
    first = session.sync(listed, tools=[forms[0]]).request
    size = len(session.events)
    assert session.sync(listed, tools=[dict(reversed(forms[1].items()))]).request.body == first.body
    assert len(session.events) == size


BROKEN: dict[str, tuple[str, Messages]] = {
    "a result without a call": (
        "openai-chat",
        [
            {"role": "user", "content": "hi"},
            {"role": "tool", "tool_call_id": "x", "content": "from nowhere"},
            {"role": "user", "content": "more"},
        ],
    ),
    "two results of one call": (
        "openai-chat",
        [
            {"role": "user", "content": "hi"},
            {
                "role": "assistant",
                "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
            },
            {"role": "tool", "tool_call_id": "a", "content": "first"},
            {"role": "tool", "tool_call_id": "a", "content": "second"},
        ],
    ),
    "a text before the result": (
        "anthropic",
        [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "note"},
                    {"type": "tool_result", "tool_use_id": "a", "content": "r"},
                ],
            },
        ],
    ),
    "a call without a result": (
        "anthropic",
        [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]},
            {"role": "user", "content": "never mind"},
        ],
    ),
    "one id twice": (
        "openai-chat",
        [
            {"role": "user", "content": "hi"},
            *[
                {
                    "role": "assistant",
                    "tool_calls": [
                        {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
                    ],
                },
                {"role": "tool", "tool_call_id": "a", "content": "first"},
            ]
            * 2,
        ],
    ),
    "empty texts": (
        "anthropic",
        [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": [{"type": "text", "text": ""}, {"type": "text", "text": "yes"}]},
            {"role": "user", "content": ""},
            {"role": "user", "content": "go"},
        ],
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_list_that_only_grew_is_no_edit(name: str) -> None:
    """A list that no wire takes is repaired in the request, and still matches when it comes again."""
    wire, listed = BROKEN[name]
    listed = copied(listed)
    session = begun(wire)
    first = session.sync(listed).request
    assert legal(first)
    listed.append({"role": "user", "content": "again"})
    synced = session.sync(listed)
    assert (synced.forked_at, synced.appended) == (None, 1)
    assert legal(synced.request)


def test_a_flipped_error_flag_is_an_edit() -> None:
    """A result that turns from success to error is no longer what was recorded; null and false are one."""
    result: dict[str, Any] = {"type": "tool_result", "tool_use_id": "a", "content": "r"}
    listed = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]},
        {"role": "user", "content": [result]},
    ]
    session = begun("anthropic")
    session.sync(listed)
    result["is_error"] = None
    assert session.sync(listed).forked_at is None
    result["is_error"] = False
    assert session.sync(listed).forked_at is None
    result["is_error"] = True
    synced = session.sync(listed)
    assert synced.forked_at is not None
    assert b'"is_error":true' in synced.request.body


def test_null_members_of_a_foreign_block_are_no_edit() -> None:
    """A document that comes back with the defaults of a client in it is the same document."""
    source = {"type": "text", "media_type": "text/plain", "data": "abc"}
    document = {"type": "document", "source": source}
    session = begun("anthropic")
    session.sync([{"role": "user", "content": [document]}])
    listed = [{"role": "user", "content": [{**document, "citations": None, "title": None}]}]
    synced = session.sync([*listed, {"role": "user", "content": "and?"}])
    assert (synced.forked_at, synced.appended) == (None, 1)


@pytest.mark.parametrize(
    "whole, short, cut",
    [
        ("exit 1", "exit 0", False),
        ("a" * 500, "a" * 100, True),
        ("a" * 500, "[cleared]", True),
        ("a" * 500, "", True),
        ("a" * 500, "b" * 100, False),
        ("head " + "x" * 900 + " tail", "head ... tail", True),
        ("head " + "x" * 900 + " tail", "head\n" + "n" * 300 + " tail", False),
        ("short", "[a longer note in brackets]", False),
        ("same", "same", False),
    ],
)
def test_what_counts_as_cut(whole: str, short: str, cut: bool) -> None:
    """Cut is a shorter text made of the head and tail of the whole one and a note, or a bare placeholder."""
    assert is_shortened(whole, short) is cut


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("seed", range(examples(20, 2_000)))
def test_a_careless_list_that_grows_never_forks(wire: str, seed: int) -> None:
    """Broken lists that only grow, in steps of any size, are appends; every request made of them is legal."""
    lists = Lists(wire, random.Random(f"broken {wire} {seed}"))
    listed = broken(lists, 14)
    session = begun(wire)
    end = 0
    while end < len(listed):
        end = min(len(listed), end + lists.rng.randint(1, 3))
        synced = session.sync(copied(listed[:end]))
        assert synced.forked_at is None
        assert legal(synced.request)
        assert from_scratch(session, synced.request).body == synced.request.body
    size = len(session.events)
    assert session.sync(copied(listed)).appended == 0
    assert len(session.events) == size


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("seed", range(examples(10, 1_000)))
def test_an_edit_in_a_list_that_came_back_otherwise(wire: str, seed: int) -> None:
    """An edit is found, and forks, also where the whole list comes back in another form."""
    for edit in EDITS:
        session, listed, lists = recorded(wire, seed)
        try:
            _, new = EDITS[edit](listed, lists.rng)
        except IndexError:
            continue
        foreign = (
            ("moved marks", "defaults") if wire == "openai-chat" else ()
        )  # the caller's own members go along
        for name in HARMLESS:
            if name not in ("shortened results", *foreign):
                HARMLESS[name](listed, lists.rng)
        listed.append(lists.user())
        synced = session.sync(listed)
        assert synced.forked_at is not None
        assert all(stands(text, synced.request.body) for text in texts(listed))
        assert new == "" or stands(new, synced.request.body)
        assert legal(synced.request)
        assert session.sync(copied(listed)).forked_at is None


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("cleaned", [False, True])
def test_what_was_erased_is_not_recorded_again(wire: str, cleaned: bool) -> None:
    """A caller that still holds an erased message or result, or took it out, brings nothing of it back."""
    session = begun(wire)
    chat = wire == "openai-chat"
    calls = [{"id": "c1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}]
    use = [{"type": "tool_use", "id": "c1", "name": "bash", "input": {}}]
    asked = {"content": None, "tool_calls": calls} if chat else {"content": use}
    listed: list[Any] = [
        {"role": "user", "content": "my key is SECRET-1"},
        {"role": "assistant", **asked},
        {"role": "tool", "tool_call_id": "c1", "content": "SECRET-2"}
        if chat
        else {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "SECRET-2"}],
        },
    ]
    session.sync(listed)
    gone = [
        event.seq
        for event in session.events
        if event.body is not None and b"SECRET" in encode_body(event.body)
    ]
    session.erase(gone, "asked to")
    if cleaned:
        del listed[0]
    listed.append({"role": "user", "content": "go on"})
    synced = session.sync(listed)
    assert synced.forked_at is None
    assert synced.appended == 1
    assert b"SECRET" not in synced.request.body
    assert all(b"SECRET" not in encode_body(event.body) for event in session.events if event.body is not None)
