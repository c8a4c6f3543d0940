"""Results that come when their call was answered already: as large, and with the same pictures, as any other."""

from __future__ import annotations

from typing import Any

import pytest

from foreword.compiler.compile import Compiled
from foreword.core.block import Image, Message, Text, ToolCall
from foreword.core.catalog import Catalog
from foreword.core.event import Answered, Draft, Rewritten
from foreword.engine.session import Session
from foreword.errors import OverBudget
from tests.engine.sessions import answer, call
from tests.histories import MODELS, PIXEL, check_manifest, digests, from_scratch, referee_for, target_of

LOG = "".join(f"line {n} of the build\n" for n in range(60_000))
PICTURE = Image(media_type="image/png", data=PIXEL)


def waiting(wire: str = "anthropic", *ids: str, **more: Any) -> Session:
    """Return a session whose calls run in the background, after the model was told so."""
    made = Session.open(None, "late", target=target_of(wire, **more))
    made.say("Build it.")
    made.compile()
    ids = ids or ("a",)
    answer(made, *map(call, ids))
    for each in ids:
        made.returned(each, "started", run="running")
    made.compile()
    answer(made, "I wait.")
    return made


def checked(made: Session) -> Compiled:
    """Compile, judge, and compare with compiling from scratch."""
    compiled = made.compile()
    assert made.target is not None
    assert referee_for(made.target).judge(compiled.body).violations == ()
    assert from_scratch(made, compiled).body == compiled.body
    return compiled


@pytest.mark.parametrize("wire", MODELS)
def test_a_large_late_result_is_an_excerpt(wire: str) -> None:
    """It keeps its bytes in the next request, and is read back whole."""
    made = waiting(wire)
    seq = made.returned("a", LOG, exit_code=0)
    first = checked(made)
    assert first.counted < 3_000
    ref = f"{made.alias}#{seq}"
    assert b"60000 lines" in first.body
    assert ref.encode() in first.body
    assert made.read(ref).text == LOG
    (left_out,) = check_manifest(made, first)["omitted"]
    assert (left_out["events"], left_out["how"]) == ([seq], "artifact")
    assert left_out["tokens"] > 300_000
    answer(made, "Done.")
    made.say("Good.")
    after = checked(made)
    assert digests(after)[: first.size] == digests(first)


def test_a_result_after_a_crash_is_an_excerpt() -> None:
    """The call was answered *unknown* first."""
    made = Session.open(None, "late", target=target_of("anthropic"))
    made.say("Build it.")
    made.compile()
    answer(made, call("a"))
    made.compile()
    answer(made, "I wait.")
    made.returned("a", LOG)
    assert checked(made).counted < 3_000


def test_late_results_share_the_room_of_a_batch() -> None:
    """Each of them is below its own limit."""
    ids = tuple("abcdefghijkl")
    made = waiting("anthropic", *ids)
    for each in ids:
        made.returned(each, LOG[:30_000], exit_code=0)
    assert checked(made).counted < made.compile().budget.available * 0.4


def test_without_a_reader_a_late_result_stays_whole_and_is_named() -> None:
    """What takes the room is listed, also where it is a result of the newest interaction."""
    made = waiting(reader="none")
    made.returned("a", LOG[:40_000], exit_code=0)
    assert LOG[:40_000].encode().replace(b"\n", b"\\n") in checked(made).body
    seq = made.returned("a", LOG, exit_code=0)
    with pytest.raises(OverBudget) as raised:
        made.compile()
    name, events, tokens = max(raised.value.required, key=lambda part: part[2])
    assert "late result of call a" in name
    assert made.events[events[0]].causes == (seq,)
    assert tokens > 300_000

    other = Session.open(None, "whole", target=target_of("anthropic", reader="none"))
    other.say("Build it.")
    answer(other, call("a"))
    other.returned("a", LOG)
    with pytest.raises(OverBudget) as raised:
        other.compile()
    assert max(tokens for _, _, tokens in raised.value.required) > 300_000


@pytest.mark.parametrize("wire", MODELS)
def test_pictures_of_a_late_result_are_shown(wire: str) -> None:
    """Behind the notice of it, or as what stands for a picture where the model reads none."""
    made = waiting(wire)
    seq = made.returned("a", [Text(text="Seen: "), PICTURE, PICTURE])
    body = checked(made).body.decode()
    assert "Seen: " in body
    assert "2 pictures of it below" in body
    assert made.target is not None
    if made.target.spec.vision is False:
        assert f"{made.alias}#{seq}.1" in body
    else:
        assert body.count(PIXEL) == 2


def test_a_late_picture_stands_in_the_message_of_its_notice() -> None:
    """Where the server wants turns, nothing has to be put between them."""
    rows = f'[[model]]\nid = "{MODELS["openai-chat"]}"\nstrict_alternation = true\n'
    made = waiting("openai-chat", catalog=Catalog.load().override(rows))
    made.returned("a", [Text(text="Seen."), PICTURE])
    body = checked(made).body
    assert b"No answer to this was recorded" not in body
    assert PIXEL.encode() in body


@pytest.mark.parametrize("wire", MODELS)
def test_a_large_text_beside_a_picture_is_an_excerpt(wire: str) -> None:
    """The picture stays, and the reference names the text alone."""
    made = Session.open(None, "both", target=target_of(wire))
    made.say("Look.")
    message = Message(role="assistant", blocks=(ToolCall(id="a", name="bash", arguments="{}"),))
    made.append(Draft(body=Answered(message=message), trust="model", actor="model"))
    seq = made.returned("a", [PICTURE, Text(text=LOG)])
    compiled = checked(made)
    assert compiled.counted < 5_000
    assert f"{made.alias}#{seq}.1".encode() in compiled.body
    assert made.read(f"{made.alias}#{seq}.1").text == LOG
    assert made.target is not None
    assert (PIXEL.encode() in compiled.body) is (made.target.spec.vision is not False)


def many(made: Session, count: int) -> list[tuple[int, str]]:
    """Return results late, each told before the next comes and far below its limit; return (event, text) of them."""
    told: list[tuple[int, str]] = []
    for number in range(count):
        text = "".join(f"run {number}, line {n} of its output\n" for n in range(20))
        told.append((made.returned("a", text, exit_code=0), text))
        made.compile()
    return told


@pytest.mark.parametrize("wire", MODELS)
def test_many_small_late_results_fit(wire: str) -> None:
    """What together is over the window becomes a summary that names them, but for the newest; it reads back."""
    made = waiting(wire, window=5_000)
    told = many(made, 25)
    body = checked(made).body.decode()
    assert "run 24, line 19" in body
    assert "run 0, line 19" not in body
    assert "late result of call a" in body
    rewritten = [event.body for event in made.events if isinstance(event.body, Rewritten)]
    assert {(body.how, body.epoch) for body in rewritten} == {("summarized", True)}
    shortened = {seq for body in rewritten for replacement in body.replacements for seq in replacement.events}
    assert {made.events[seq].kind for seq in shortened} == {"noticed"}
    for seq, text in told:
        assert made.read(f"{made.alias}#{seq}").text == text
    answer(made, "So many.")
    made.say("Good.")
    many(made, 12)
    checked(made)


def test_without_a_reader_many_small_late_results_are_named() -> None:
    """All of them have to stay."""
    made = waiting(window=5_000, reader="none")
    with pytest.raises(OverBudget) as raised:
        many(made, 25)
    assert len([name for name, _, _ in raised.value.required if "late result of call a" in name]) > 5
