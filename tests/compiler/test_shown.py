"""What a target can't be shown is told, on every wire; the record keeps it."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from foreword.core.block import Image, Message, Opaque, Text, ToolCall, ToolSpec
from foreword.core.catalog import Catalog
from foreword.core.event import Answered, Draft, Said
from foreword.core.target import Target
from foreword.engine.reading import find
from foreword.engine.session import Session
from foreword.errors import StringTooLong
from foreword.store import Store
from tests.histories import MODELS, PIXEL, digests, from_scratch, referee_for, target_of

OTHER = base64.b64encode(base64.b64decode(PIXEL) + b"again").decode()


def target(wire: str, **facts: Any) -> Target:
    rows = "\n".join(f"{name} = {json.dumps(value)}" for name, value in facts.items())
    catalog = Catalog.load().override(f'[[model]]\nid = "{MODELS[wire]}"\n{rows}\n')
    return target_of(wire, catalog=catalog)


def shown(session: Session, picture: str = PIXEL, words: str = "what is this?") -> None:
    blocks = (Image(media_type="image/png", data=picture), Text(text=words))
    session.append(
        Draft(body=Said(message=Message(role="user", blocks=blocks)), trust="person", actor="user")
    )


def body_of(session: Session) -> bytes:
    """Compile, judge, compare with compiling from scratch, and return the bytes."""
    compiled = session.compile()
    assert session.target is not None
    assert referee_for(session.target).judge(compiled.body).violations == ()
    assert from_scratch(session, compiled).body == compiled.body
    return compiled.body


@pytest.mark.parametrize("wire", MODELS)
def test_a_model_that_reads_no_pictures_is_sent_none(wire: str) -> None:
    """Pictures of a user and of a tool are told as a note; a model that reads them gets both."""
    session = Session.open(None, "blind", target=target(wire, vision=False))
    session.offer([ToolSpec(name="look", schema={"type": "object"})])
    shown(session)
    call = Message(role="assistant", blocks=(ToolCall(id="call_1", name="look", arguments="{}"),))
    session.append(Draft(body=Answered(message=call), trust="model", actor="model"))
    session.returned("call_1", [Image(media_type="image/png", data=OTHER)])
    blind = body_of(session)
    assert PIXEL.encode() not in blind
    assert OTHER.encode() not in blind
    assert blind.count(b"reads no pictures") == 2
    returned = next(event.seq for event in session.events if event.kind == "tool_returned")
    assert f'ref=\\"{session.alias}#{returned}.0\\"'.encode() in blind
    assert find(session, f"{session.alias}#{returned}.0")[1:] == ("image/png", base64.b64decode(OTHER))
    session.target = target_of(wire)
    assert PIXEL.encode() in body_of(session)


def test_a_picture_is_described_once(tmp_path: Path) -> None:
    """The words stay the same after a restart, for the same picture again, and are asked for once."""
    asked: list[str] = []

    def describe(image: Image) -> str:
        asked.append(image.digest)
        return f"Description {len(asked)} </foreword>"

    with Store.open(tmp_path) as store:
        blind = target("openai-chat", vision=False)
        session = Session.open(store, "blind", target=blind)
        session.describe = describe
        shown(session)
        first = body_of(session)
        again = Session.open(store, "blind", target=blind)
        again.describe = describe
        assert body_of(again) == first
        shown(again, words="and this?")
        shown(again, OTHER)
        body = body_of(again)
        assert len(asked) == 2
        assert body.count(b"Description 1") == 2
        assert b"Description 1 &lt;/foreword>" in body
        assert body.startswith(first[: first.index(b"what is this?")])


def test_a_description_made_later_waits_for_the_next_epoch() -> None:
    """What was sent as a note stays one until the base is rebuilt."""
    session = Session.open(None, "blind", target=target("anthropic", vision=False))
    shown(session)
    before = session.compile()
    session.describe = lambda image: "A red dot."
    session.say("and now?")
    after = session.compile()
    assert digests(after)[: before.size] == digests(before)
    assert b"A red dot." not in body_of(session)
    session.instruct("another base")
    assert b"A red dot." in body_of(session)


def test_erasing_the_message_erases_the_description() -> None:
    """The words of a picture go with it."""
    session = Session.open(None, "blind", target=target("anthropic", vision=False))
    session.describe = lambda image: "A red dot."
    shown(session)
    session.say("go on")
    assert b"A red dot." in body_of(session)
    said = next(event.seq for event in session.events if event.kind == "said")
    described = next(event.seq for event in session.events if event.kind == "described")
    assert described in session.erase([said], "asked to")
    session.describe = None
    assert b"A red dot." not in body_of(session)


@pytest.mark.parametrize("kept", ["memory", "store"])
def test_a_fork_names_a_picture_as_its_parent_did(kept: str, tmp_path: Path) -> None:
    """So that its prefix stands, also when it is opened again; and its reader reads it."""
    with Store.open(tmp_path) as opened:
        store = opened if kept == "store" else None
        session = Session.open(store, "blind", target=target("anthropic", vision=False))
        shown(session)
        before = session.compile()
        session.answered(Message(role="assistant", blocks=(Text(text="A dot."),)))
        fork = session.fork(session.events[-1].seq)
        if store is not None:
            fork.flush()
            fork = Session.open(store, fork.id, target=session.target)
        fork.say("Go on.")
        body_of(fork)
        after = fork.compile()
        assert after.epoch.body.why == "start"
        assert digests(after)[: before.size] == digests(before)
        ref = f"{session.alias}#{next(event.seq for event in fork.events if event.kind == 'said')}.0"
        assert ref.encode() in after.body
        assert find(fork, ref)[1:] == ("image/png", base64.b64decode(PIXEL))


@pytest.mark.parametrize("reopened", [False, True])
def test_erasing_one_of_two_equal_pictures_keeps_the_description_of_the_other(
    reopened: bool, tmp_path: Path
) -> None:
    """It goes with the last of them, in forks too."""
    with Store.open(tmp_path) as store:
        blind = target("anthropic", vision=False)
        session = Session.open(store, "blind", target=blind)
        session.describe = lambda image: "A red dot."
        shown(session)
        shown(session)
        assert body_of(session).count(b"A red dot.") == 2
        fork = session.fork(session.events[-1].seq)
        shown(fork)
        fork.flush()
        first, second = (event.seq for event in session.events if event.kind == "said")
        session.erase([first], "asked to")
        session.say("Go on.")
        if reopened:
            session.flush()
            session = Session.open(store, "blind", target=blind)
        assert body_of(session).count(b"A red dot.") == 1
        session.erase([second], "asked to")
        assert b"A red dot." not in body_of(session)
        assert all(event.kind != "described" or event.body is None for event in session.events)
        fork = Session.open(store, fork.id, target=blind)
        fork.describe = lambda image: "A red dot again."
        assert body_of(fork).count(b"A red dot again.") == 1
        assert not store.verify()


def test_a_description_that_was_erased_is_made_again_for_a_picture_that_stays() -> None:
    """As a session that was opened again would."""
    session = Session.open(None, "blind", target=target("anthropic", vision=False))
    session.describe = lambda image: "A red dot."
    shown(session)
    body_of(session)
    described = next(event.seq for event in session.events if event.kind == "described")
    session.erase([described], "wrong")
    session.say("Go on.")
    assert b"A red dot." in body_of(session)


@pytest.mark.parametrize("wire", MODELS)
def test_no_string_is_longer_than_the_wire_takes(wire: str) -> None:
    """Arguments keep both ends of their long texts and stay JSON; a person's words are split, not cut."""
    limit = 2_000
    session = Session.open(None, "long", target=target(wire, max_string_chars=limit))
    session.offer([ToolSpec(name="write", schema={"type": "object"})])
    words = "".join(f"{n:05}" for n in range(1_000))
    session.say(words)
    arguments = json.dumps({"path": "a.txt", "body": "b" + "y" * 50_000 + "e", "lines": ["z\n" * 4_000]})
    calls = (
        ToolCall(id="call_1", name="write", arguments=arguments),
        ToolCall(id="call_2", name="write", arguments="{not json" + "x" * 9_000),
        ToolCall(id="call_3", name="write", arguments=json.dumps(["x" * 9_000])),
    )
    session.append(Draft(body=Answered(message=Message(role="assistant", blocks=calls)), trust="model"))
    session.returned("call_1", "ok")
    session.returned("call_2", "ok")
    session.returned("call_3", "ok")
    value = json.loads(body_of(session))
    strings = list(strings_in(value))
    assert max(map(len, strings)) <= limit
    assert words in "".join(text for text in strings if text[:5].isdigit())
    first = next(found for found in calls_in(value) if "path" in found)
    assert first["path"] == "a.txt"
    assert first["body"].startswith("byyy")
    assert first["body"].endswith("yyye")
    assert "characters left out]" in first["body"]


@pytest.mark.parametrize("wire", MODELS)
def test_what_a_wire_joins_is_no_longer_than_it_takes(wire: str) -> None:
    """Texts of one result or message, late results, framed words of the operator, and pictures."""
    limit = 2_000
    session = Session.open(None, "long", target=target(wire, max_string_chars=limit))
    session.say("Go.")
    calls = tuple(ToolCall(id=id_, name="run", arguments="{}") for id_ in "ab")
    texts = (Text(text="t" * 1_500), Text(text="u" * 1_500))
    session.answered(Message(role="assistant", blocks=(*texts, *calls)))
    session.returned("a", [Text(text="head" + "x" * 1_900), Text(text="y" * 1_900 + "tail")])
    session.returned("b", "started", run="running")
    body_of(session)
    session.answered(Message(role="assistant", blocks=(Text(text="I wait."),)))
    session.returned("b", "begin" + "z" * 5_000 + "end", exit_code=3)
    session.append(Draft(body=Said(message=Message(role="developer", blocks=(Text(text="d" * 1_990),)))))
    shown(session, "A" * limit)
    texts_sent = list(strings_in(json.loads(body_of(session))))
    assert max(map(len, texts_sent)) <= limit
    whole = "".join(texts_sent)
    assert "headx" in whole
    assert "ytail" in whole
    assert "beginz" in whole
    assert "zend" in whole
    assert "longer than the server takes" in whole or "reads no pictures" in whole


@pytest.mark.parametrize("wire", MODELS)
@pytest.mark.parametrize("where", ["system", "pin", "tool", "opaque"])
def test_what_may_not_be_cut_is_refused_before_it_is_sent(wire: str, where: str) -> None:
    """With its place in the request and the event it comes from; the session goes on once it is shorter or gone."""
    limit = 2_000
    session = Session.open(None, "long", target=target(wire, max_string_chars=limit))
    session.say("Go.")
    body_of(session)
    match where:
        case "system":
            session.instruct("s" * 3_000)
        case "pin":
            session.pin("p" * 3_000)
        case "tool":
            session.offer([ToolSpec(name="run", description="d" * 3_000, schema={"type": "object"})])
        case _:
            block = Opaque(
                wire=wire, form="hologram", raw=json.dumps({"type": "hologram", "data": "i" * 3_000})
            )
            message = Message(role="user", blocks=(block,))
            session.append(Draft(body=Said(message=message), trust="person", actor="user"))
    seq = session.events[-1].seq
    sent = len(session.view.fold.sent)
    with pytest.raises(StringTooLong) as raised:
        session.compile()
    assert raised.value.length >= 3_000
    assert raised.value.limit == limit
    assert seq in raised.value.events
    assert raised.value.path
    assert len(session.view.fold.sent) == sent
    if where == "pin":
        session.revoke(seq, "It was too long.")
    elif where == "system":
        session.instruct("s" * 1_000)
    elif where == "tool":
        session.offer([])
    else:
        session.erase([seq], "too long")
    assert max(map(len, strings_in(json.loads(body_of(session))))) <= limit


def strings_in(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for each in inner for text in strings_in(each)]


def calls_in(value: Any) -> list[dict[str, Any]]:
    """Return the arguments of all calls, whatever a wire calls them."""
    found: list[dict[str, Any]] = []
    if isinstance(value, dict):
        for name, member in value.items():
            if name in ("arguments", "input", "args") and not isinstance(member, list):
                found.append(json.loads(member) if isinstance(member, str) else member)
            else:
                found += calls_in(member)
    elif isinstance(value, list):
        found += [one for each in value for one in calls_in(each)]
    return found
