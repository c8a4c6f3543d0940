"""Files and pictures between wires: a PDF crosses, and what a wire can't show is named, with where it is read back."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from foreword.compiler.manifest import manifest
from foreword.core.block import Image, Message, Opaque, Text, ToolCall, ToolResult
from foreword.core.catalog import Catalog
from foreword.core.event import Answered, Draft, Said, ToolReturned
from foreword.engine.session import Session
from tests.engine.sessions import session
from tests.histories import MODELS, PIXEL, referee_for, target_of

PDF = base64.b64encode(b"%PDF-1.7\n%%EOF\n").decode()
URL = f"data:application/pdf;base64,{PDF}"
FORMS: dict[str, dict[str, Any]] = {
    "anthropic": {
        "type": "document",
        "source": {"type": "base64", "media_type": "application/pdf", "data": PDF},
        "title": "plan.pdf",
    },
    "openai-chat": {"type": "file", "file": {"filename": "plan.pdf", "file_data": URL}},
    "openai-responses": {"type": "input_file", "filename": "plan.pdf", "file_data": URL},
    "gemini": {"inlineData": {"mimeType": "application/pdf", "data": PDF}},
}
LIST = {"type": "server_list", "title": "Berths", "items": []}


def opaque(wire: str, value: dict[str, Any]) -> Opaque:
    return Opaque(wire=wire, form=str(value.get("type") or next(iter(value))), raw=json.dumps(value))


def said(made: Session, *blocks: Any, wire: str) -> int:
    """Append a person's message; its seq."""
    message = Message(role="user", blocks=(Text(text="read"), *blocks), wire=wire)
    made.append(Draft(body=Said(message=message), trust="person", actor="user"))
    return made.events[-1].seq


def text_of(made: Session) -> str:
    """Compile, judge, and return the body."""
    compiled = made.compile()
    assert made.target is not None
    assert referee_for(made.target, foreign=True).judge(compiled.body).violations == ()
    return compiled.body.decode()


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """Yield all objects in a JSON value, without cache marks."""
    if isinstance(value, dict):
        yield {name: member for name, member in value.items() if name != "cache_control"}
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from objects(inner)


@pytest.mark.parametrize("wire", FORMS)
@pytest.mark.parametrize("origin", FORMS)
def test_a_pdf_crosses_between_wires(origin: str, wire: str) -> None:
    """In the wire's own form, with its title where both have one; nothing of it is left out, and it counts."""
    made = session(target_of(wire))
    said(made, opaque(origin, FORMS[origin]), wire=origin)
    expected = FORMS[wire]
    if origin == "gemini" and wire != "gemini":
        expected = json.loads(json.dumps(expected).replace("plan.pdf", "document.pdf"))
        expected.pop("title", None)
    assert expected in list(objects(json.loads(text_of(made))))
    compiled = made.compile()
    assert compiled.unit(compiled.size - 1).tokens > 1_000
    assert not any(compiled.unit(index).lost for index in range(compiled.size))


@pytest.mark.parametrize("wire", MODELS)
def test_a_file_that_the_wire_can_not_show_is_named_with_its_reference(wire: str) -> None:
    """So that the model knows which one it lacks and reads it back; the manifest lists it."""
    made = session(target_of(wire))
    seq = said(made, opaque("other", LIST), wire="other")
    told = '[server_list \\"Berths\\" of other, not shown: this model\'s interface has no such block'
    assert f"{told}; ref {made.alias}#{seq}.1]" in text_of(made)
    omitted = manifest(made.compile(), session="s", provider=wire, step=1, previous=None, violations=())[
        "omitted"
    ]
    assert [row["events"] for row in omitted if row["how"] == "dropped"] == [[seq]]


@pytest.mark.parametrize("wire", MODELS)
def test_without_a_reader_there_is_no_reference(wire: str) -> None:
    """A reference that nobody can follow only costs."""
    made = session(msgspec.structs.replace(target_of(wire), reader="none"))
    said(made, opaque("other", LIST), wire="other")
    body = text_of(made)
    assert "Berths" in body
    assert f"{made.alias}#" not in body


@pytest.mark.parametrize("wire", ["anthropic", "openai-chat", "openai-responses"])
def test_a_picture_that_a_model_made_is_named_with_its_reference(wire: str) -> None:
    """These wires take none in an assistant's message."""
    made = session(target_of(wire))
    said(made, wire="gemini")
    picture = Image(media_type="image/png", data=PIXEL)
    message = Message(role="assistant", blocks=(Text(text="here"), picture), wire="gemini")
    made.append(Draft(body=Answered(message=message), origin="harness:file:1", actor="model"))
    seq = made.events[-1].seq
    said(made, wire="gemini")
    body = text_of(made)
    assert PIXEL not in body
    assert f"[image image/png, not shown; ref {made.alias}#{seq}.1]" in body


@pytest.mark.parametrize("wire", MODELS)
def test_a_file_in_a_result_is_there_or_named(wire: str) -> None:
    """A tool's result is read back by its own event."""
    made = session(target_of(wire))
    said(made, wire="anthropic")
    call = ToolCall(id="c1", name="f", arguments="{}")
    made.append(Draft(body=Answered(message=Message(role="assistant", blocks=(call,)))))
    result = ToolResult(call_id="c1", content=(Text(text="x"), opaque("anthropic", FORMS["anthropic"])))
    made.append(Draft(body=ToolReturned(result=result)))
    seq = made.events[-1].seq
    body = text_of(made)
    shown = wire in ("anthropic", "openai-responses", "gemini")
    assert (PDF in body) is shown
    assert (f"ref {made.alias}#{seq}.1]" in body) is not shown


@pytest.mark.parametrize("wire", FORMS)
def test_a_model_that_reads_no_pictures_is_told_of_a_document(wire: str) -> None:
    """With its reference; a document of the wire itself is the caller's to know."""
    catalog = Catalog.load().override(f'[[model]]\nid = "{MODELS[wire]}"\nvision = false\n')
    made = session(target_of(wire, catalog=catalog))
    origin = "anthropic" if wire != "anthropic" else "openai-chat"
    seq = said(made, opaque(origin, FORMS[origin]), wire=origin)
    body = text_of(made)
    assert PDF not in body
    assert f'ref=\\"{made.alias}#{seq}.1\\"' in body


def test_the_same_picture_twice_has_two_references() -> None:
    """Each stands where it was recorded."""
    catalog = Catalog.load().override(f'[[model]]\nid = "{MODELS["anthropic"]}"\nvision = false\n')
    made = session(target_of("anthropic", catalog=catalog))
    seq = said(made, *(Image(media_type="image/png", data=PIXEL) for _ in range(2)), wire="anthropic")
    body = text_of(made)
    assert f"#{seq}.1" in body
    assert f"#{seq}.2" in body
