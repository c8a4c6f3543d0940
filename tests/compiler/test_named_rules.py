"""Rules on what stands in the bytes of units: each finds its own fault, and what it found in the engine is mended."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from foreword.compiler.compile import Compiled
from foreword.compiler.invariants.check import CutPoints, broken
from foreword.core.block import Block, Image, Message, Opaque, Text, Thinking, ToolCall
from foreword.core.canonical import compact
from foreword.core.catalog import Catalog
from foreword.core.event import Draft, Said
from foreword.core.request import Unit
from foreword.engine.session import Session
from tests.compiler.test_invariants import names, tampered
from tests.histories import BOUND, MODELS, PIXEL, TIGHT, referee_for, target_of

CALL = ToolCall(id="c1", name="bash", arguments="{}")
JPEG = base64.b64encode(b"\xff\xd8\xff\xe0 and more\xff\xd9").decode()


def asked(wire: str, *blocks: Block, model: str | None = None, **facts: Any) -> Session:
    """A session in which the model answered our request with these blocks, its calls answered."""
    name = model or MODELS[wire]
    rows = "\n".join(f"{key} = {compact(value).decode()}" for key, value in facts.items())
    catalog = Catalog.load().override(f'[[model]]\nid = "{name}"\n{rows}\n')
    made = Session.open(None, "s", target=target_of(wire, model=name, catalog=catalog))
    made.say("go")
    made.compile()
    made.answered(Message(role="assistant", blocks=blocks, wire=wire))
    for block in blocks:
        if isinstance(block, ToolCall):
            made.returned(block.id, "done")
    return made


def sound(made: Session) -> Compiled:
    """Its next request, which breaks nothing."""
    compiled = made.compile()
    assert broken(compiled) == []
    return compiled


def changed(compiled: Compiled, change: Callable[[Unit], Unit]) -> Compiled:
    """The request with every new unit changed."""
    return tampered(compiled, [change(unit) for unit in compiled.tail])


def put(old: bytes, new: bytes) -> Callable[[Unit], Unit]:
    """A change of bytes in units."""
    return lambda unit: msgspec.structs.replace(unit, data=unit.data.replace(old, new))


def without(compiled: Compiled, *kinds: str) -> Compiled:
    """The request without its new units of some kinds."""
    return tampered(compiled, [unit for unit in compiled.tail if unit.kind not in kinds])


def opaque(wire: str, **members: Any) -> Opaque:
    """A block that only one wire knows."""
    return Opaque(wire=wire, form=members["type"], raw=compact(members).decode())


def test_reasoning_keeps_its_order() -> None:
    """Reasoning behind its call, before nothing, in another order, or with a hole, is found."""
    blocks = [Thinking(text=f"t{n}", signature=f"s{n}") for n in range(3)]
    compiled = sound(asked("anthropic", *blocks, CALL, Text(text="so")))
    first, second, third, call, text, result = compiled.tail
    for units in (
        [call, first, second, third, text, result],
        [second, first, third, call, text, result],
        [first, third, call, text, result],
        [first, second, third],
    ):
        assert "reasoning_in_order" in names(tampered(compiled, units))
    assert "reasoning_in_order" not in names(tampered(compiled, [second, third, call, text, result]))


@pytest.mark.parametrize("wire", ["anthropic", "openai-responses", "gemini"])
def test_reasoning_goes_back_as_it_came(wire: str) -> None:
    """Another seal, other words or another member beside them is found."""
    thought = Thinking(text="one\ntwo", signature="seal", extra={"id": "rs_1", "summary": ["one", "two"]})
    compiled = sound(asked(wire, thought, CALL))
    for old, new in ((b'"seal"', b'"sea"'), (b"two", b"three"), (b"rs_1", b"rs_2")):
        assert "reasoning_exact" in names(changed(compiled, put(old, new)))


def test_the_turn_under_way_keeps_its_reasoning() -> None:
    """A call without what led to it is found until the user speaks again."""
    made = asked("anthropic", Thinking(text="t", signature="s"), CALL)
    assert names(without(sound(made), "thinking")) == {"reasoning_returned"}
    made = asked("anthropic", Thinking(text="t", signature="s"), CALL)
    made.say("and now?")
    assert names(without(sound(made), "thinking")) == set()


@pytest.mark.parametrize(
    "wire, member, blocks",
    [
        ("deepseek", b"reasoning_content", (Thinking(text="t"), CALL)),
        ("gemini", b"thoughtSignature", (msgspec.structs.replace(CALL, extra={"thoughtSignature": "c2ln"}),)),
    ],
)
def test_a_member_that_calls_need_is_there(wire: str, member: bytes, blocks: tuple[Block, ...]) -> None:
    """Calls without the member that gives their reasoning, or with another one than the model gave, are found."""
    compiled = sound(asked(wire, *blocks))
    assert "reasoning_returned" in names(changed(compiled, put(member, b"other")))
    value = b'"t"' if wire == "deepseek" else b'"c2ln"'
    assert "reasoning_returned" in names(changed(compiled, put(value, b'"b3RoZXI="')))


def test_what_another_model_called_is_signed_by_the_placeholder() -> None:
    """A call that Gemini never made stands with a signature all the same."""
    made = Session.open(None, "s", target=target_of("gemini"))
    made.say("go")
    made.answered(Message(role="assistant", blocks=(CALL,)))
    made.returned("c1", "done")
    compiled = sound(made)
    assert names(changed(compiled, put(b"thoughtSignature", b"other"))) == {"reasoning_returned"}


def test_no_id_asks_for_reasoning_that_is_not_there() -> None:
    """An item of a call that names itself while its reasoning is left out is found."""
    thought = Thinking(signature="s", extra={"id": "rs_1", "summary": []})
    compiled = sound(asked("openai-responses", thought, msgspec.structs.replace(CALL, extra={"id": "fc_1"})))
    assert names(without(compiled, "thinking")) == {"reasoning_returned"}


@pytest.mark.parametrize("wire", MODELS)
def test_no_text_is_empty(wire: str) -> None:
    """White space where a person's words, the model's or the operator's stood is found."""
    made = asked(wire, Text(text="Words."))
    made.say("Words.")
    compiled = sound(made)
    for role in ("assistant", "user"):
        blank = changed(compiled, lambda u, role=role: put(b"Words.", rb" \n")(u) if u.role == role else u)
        assert "content_not_empty" in names(blank)


def test_words_on_a_server_that_wants_turns_are_read_too() -> None:
    """Its units are pieces of a string."""
    made = asked("openai-chat", Text(text="Words."), strict_alternation=True)
    made.say("Words.")
    assert "content_not_empty" in names(changed(sound(made), put(b"Words.", rb" \n")))


def test_a_text_to_go_on_from_ends_in_a_word() -> None:
    """White space at its end is found, and the engine leaves none, blank texts behind it included."""
    made = Session.open(None, "s", target=target_of("anthropic", model="claude-sonnet-4-5"))
    made.say("go")
    made.answered(Message(role="assistant", blocks=(Text(text="Well "), Text(text=" \n"))))
    compiled = sound(made)
    assert referee_for(compiled.target).judge(compiled.body).violations == ()
    assert names(changed(compiled, put(b"Well", b"Well "))) == {"content_not_empty"}


@pytest.mark.parametrize("wire", MODELS)
def test_ids_are_legal_and_pair(wire: str) -> None:
    """An id with a space, one that is too long, and one that differs from its result's are found."""
    compiled = sound(asked(wire, Thinking(text="t", signature="s"), CALL))
    limit = compiled.target.codec.id_limit
    for id_ in (b'"c 1"', b'"' + b"c" * (limit + 1) + b'"'):
        assert "ids_legal" in names(changed(compiled, put(b'"c1"', id_)))
    other = changed(compiled, lambda u: put(b'"c1"', b'"c2"')(u) if u.kind == "tool_result" else u)
    assert names(other) == {"ids_legal"}


def test_an_id_is_used_once() -> None:
    """A second call with the id of one that was sent is found."""
    made = asked("anthropic", CALL)
    made.compile()
    made.answered(
        Message(role="assistant", blocks=(msgspec.structs.replace(CALL, id="c2"),), wire="anthropic")
    )
    made.returned("c2", "done")
    compiled = sound(made)
    assert compiled.frozen
    assert names(changed(compiled, put(b'"c2"', b'"c1"'))) == {"ids_legal"}
    faults = broken(changed(compiled, put(b'"c2"', b'"c1"')), start=compiled.frozen)
    assert {fault.rule for fault in faults} == {"ids_legal"}


def test_the_operator_speaks_behind_a_turn_and_before_an_answer() -> None:
    """A system message elsewhere, or for a model that takes none, is found."""
    made = asked("anthropic", Text(text="a"))
    made.say("b")
    compiled = sound(made)
    answer, words = compiled.tail
    said = msgspec.structs.replace(words, role="system", kind="notice", category="notice")
    assert names(tampered(compiled, [answer, words, said])) == set()
    for units in ([answer, said, words], [answer, words, said, words]):
        assert names(tampered(compiled, units)) == {"system_placed"}
    made = asked("anthropic", Text(text="a"), model="claude-sonnet-4-5")
    made.say("b")
    assert names(tampered(sound(made), [answer, words, said])) == {"system_placed"}


def test_a_block_that_must_be_first_is() -> None:
    """A signed block behind other messages, and one that failed, are found; so is a base that another item opens."""
    block = opaque("anthropic", type="compaction", content="so far", signature="s")
    made = asked("anthropic", block, Text(text="a"))
    made.say("b")
    compiled = sound(made)
    text = next(unit for unit in compiled.tail if unit.kind == "text" and unit.role == "assistant")
    for raw in (block.raw, opaque("anthropic", type="compaction", content=None).raw):
        moved = msgspec.structs.replace(text, kind="opaque", data=raw.encode())
        assert names(tampered(compiled, [moved, *compiled.tail])) == {"compaction_placed"}
    made.policy = msgspec.structs.replace(made.policy, layout="provider")
    opened = sound(made)
    assert opened.epoch.body.block is not None
    plain = msgspec.structs.replace(opened.tail[-1], kind="opaque", role="assistant")
    plain = msgspec.structs.replace(
        plain, data=opaque("anthropic", type="compaction", content="more").raw.encode()
    )
    assert "compaction_placed" in names(tampered(opened, [*opened.tail, plain]))
    rest = [unit for unit in opened.tail if unit.kind != "opaque" and unit.events != text.events]
    assert "compaction_placed" in names(tampered(opened, rest))


@pytest.mark.parametrize("wire", [wire for wire in MODELS if wire != "deepseek"])
def test_pictures_go_where_they_are_read(wire: str) -> None:
    """A picture for a model that reads none, data that is none, and one under another name are found."""
    made = asked(wire, Text(text="a"))
    blocks = (Text(text="look"), Image(media_type="image/png", data=PIXEL))
    made.append(Draft(body=Said(message=Message(role="user", blocks=blocks)), trust="person", actor="user"))
    compiled = sound(made)
    spec = msgspec.structs.replace(compiled.target.spec, vision=False)
    target = msgspec.structs.replace(compiled.target, spec=spec)
    blind = Compiled(compiled.view, compiled.policy, target, compiled.layout, compiled.tail)
    assert names(blind) == {"pictures_legal"}
    assert names(changed(compiled, put(b"image/png", b"image/gif"))) == {"pictures_legal"}


@pytest.mark.parametrize("wire", [wire for wire in MODELS if wire != "deepseek"])
def test_a_picture_goes_under_its_own_type(wire: str) -> None:
    """One that was given another type is sent as what its bytes are, a tool's too; words that are base64 are words."""
    made = asked(wire, Text(text="a"))
    blocks = (
        Text(text=JPEG),
        Image(media_type="image/png", data=JPEG),
        Image(url=f"data:image/gif;base64,{JPEG}"),
    )
    made.append(Draft(body=Said(message=Message(role="user", blocks=blocks)), trust="person", actor="user"))
    made.answered(Message(role="assistant", blocks=(CALL,)))
    made.returned("c1", [Image(media_type="image/webp", data=JPEG)])
    body = sound(made).body
    assert body.count(b"image/jpeg") == 3
    assert all(other not in body for other in (b"image/png", b"image/gif", b"image/webp"))


@pytest.mark.parametrize("wire", [wire for wire in MODELS if wire != "deepseek"])
@pytest.mark.parametrize("url", ["data:image/svg+xml,<svg/>", "data:image/png;base64,bm90IGEgcGljdHVyZQ=="])
def test_data_that_is_no_picture_is_told(wire: str, url: str) -> None:
    """Neither its bytes nor its URL is sent."""
    made = asked(wire, Text(text="a"))
    said = Said(message=Message(role="user", blocks=(Text(text="look"), Image(url=url))))
    made.append(Draft(body=said, trust="person", actor="user"))
    body = sound(made).body
    assert url.partition(",")[2].encode() not in body
    assert b"not shown: its data is no picture" in body


SEARCH = opaque("anthropic", type="server_tool_use", id="srvtoolu_1", name="web_search", input={"query": "x"})
FOUND = opaque("anthropic", type="web_search_tool_result", tool_use_id="srvtoolu_1", content=[])


def test_what_the_provider_has_under_way_is_sent_back_alone() -> None:
    """A paused turn goes back as it is, without a word behind it; words behind it are found, its result is not."""
    made = asked("anthropic", Text(text="I search."), SEARCH)
    made.say("wait")
    words = made.compile().tail[-1]
    made = asked("anthropic", Text(text="I search."), SEARCH)
    compiled = sound(made)
    assert compiled.unit(compiled.size - 1).kind == "opaque"
    assert referee_for(compiled.target).judge(compiled.body).violations == ()
    assert "approvals_pending" in names(tampered(compiled, [*compiled.tail, words]))
    made.answered(Message(role="assistant", blocks=(FOUND, Text(text="Nothing.")), wire="anthropic"))
    made.say("and now?")
    compiled = sound(made)
    assert referee_for(compiled.target).judge(compiled.body).violations == ()
    unasked = [
        msgspec.structs.replace(u, data=u.data.replace(b"srvtoolu_1", b"srvtoolu_2")) for u in compiled.tail
    ]
    assert names(tampered(compiled, unasked)) == {"approvals_pending"}


def test_a_clients_call_has_its_output() -> None:
    """One without is found, and so is an output without its call; an approval may wait."""
    wire = "openai-responses"
    shell = opaque(wire, type="shell_call", call_id="sh1", action={"commands": ["ls"]})
    output = opaque(wire, type="shell_call_output", call_id="sh1", output=[])
    made = asked(wire, shell)
    made.append(Draft(body=Said(message=Message(role="user", blocks=(output,), wire=wire)), actor="user"))
    compiled = sound(made)
    call, answer = compiled.tail
    for units in ([call], [answer]):
        assert "approvals_pending" in names(tampered(compiled, units))
    asks = opaque(wire, type="mcp_approval_request", id="mcpr_1", name="x", arguments="{}", server_label="z")
    compiled = sound(asked(wire, asks))
    assert compiled.unit(compiled.size - 1).kind == "opaque"


@pytest.mark.parametrize("kind", ["shell_call", "mcp_approval_request"])
def test_a_pair_that_only_its_wire_knows_is_not_parted(kind: str) -> None:
    """A call stays where the record gets shorter, since its output is a person's and stays."""
    wire = "openai-responses"
    words = "word " * 900
    if kind == "shell_call":
        call = opaque(wire, type=kind, call_id="sh1", action={"commands": [words]})
        answer = opaque(wire, type=f"{kind}_output", call_id="sh1", output=[])
    else:
        call = opaque(wire, type=kind, id="mcpr_1", name="x", arguments=words, server_label="z")
        answer = opaque(wire, type="mcp_approval_response", approval_request_id="mcpr_1", approve=True)
    made = Session.open(None, "s", target=target_of(wire, 9_000, reserve_output=1_000), policy=TIGHT)
    made.say("go")
    made.compile()
    made.answered(Message(role="assistant", blocks=(call,), wire=wire))
    said = Said(message=Message(role="user", blocks=(answer,), wire=wire))
    made.append(Draft(body=said, trust="person", actor="user"))
    for number in range(60):
        made.answered(Message(role="assistant", blocks=(msgspec.structs.replace(CALL, id=f"f{number}"),)))
        made.returned(f"f{number}", "word " * 600)
    compiled = sound(made)
    assert any(event.kind == "rewritten" for event in made.events)
    assert referee_for(compiled.target, foreign=True).judge(compiled.body).violations == ()
    assert {unit.kind for unit in compiled.units} >= {"opaque", "summary"}
    asking, answering = (item.seq for item in made.view.fold.items[1:3])
    assert made.target is not None
    assert CutPoints(made.view, made.target).tied == {asking, answering}


def test_reasoning_that_led_to_no_call_is_not_missed() -> None:
    """An answer that was cut in its reasoning goes back without it, in the turn under way too."""
    made = asked("anthropic", CALL, Thinking(text="so", signature="s"))
    compiled = sound(made)
    assert all(unit.kind != "thinking" for unit in compiled.units)


def test_redacted_reasoning_that_may_not_stand_ends_its_turn() -> None:
    """Under a new prefix its call stands without it, so the turn is ended in words, as with reasoning in the open."""
    made = asked("anthropic", Thinking(data="sealed"), CALL, model=BOUND)
    made.instruct("Be brief.")
    compiled = sound(made)
    assert all(unit.kind != "thinking" for unit in compiled.units)
    last = compiled.tail[-1]
    assert (last.role, last.kind) == ("user", "notice")
    assert names(tampered(compiled, compiled.tail[:-1])) == {"reasoning_returned"}
