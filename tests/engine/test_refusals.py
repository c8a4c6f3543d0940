"""What a session refuses when it is told, in one clear line, and without having changed anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from foreword.core.block import ToolSpec
from foreword.engine.session import Session
from foreword.engine.spend import Limit
from foreword.errors import (
    EmptyRequest,
    InvalidArgument,
    InvalidValue,
    MalformedRequest,
    MalformedResponse,
    StoreUnavailable,
)
from tests.engine.sessions import session
from tests.histories import MODELS, target_of

A = ToolSpec(name="a", description="does it")
LIST = {"type": "array", "items": {}}


@pytest.mark.parametrize(
    "tools, field, fault",
    [
        ([A, A], "tools[1].name", "'a' is the name of tools[0] already"),
        ([A, ToolSpec(name="b", schema=LIST)], "tools[1].schema", "'b' has the type 'array', not 'object'"),
        ([ToolSpec(name="b", schema={"properties": {}})], "tools[0].schema", "'b' has the type None"),
        ([{"name": "a"}], "tools[0]", "Expected `ToolSpec`, got `dict`"),
    ],
)
def test_tools_that_every_service_would_refuse(tools: list[Any], field: str, fault: str) -> None:
    """They are refused when they are offered, by name, not by each request."""
    made = session()
    size = len(made.events)
    with pytest.raises(InvalidValue) as caught:
        made.offer(tools)
    assert (caught.value.kind, caught.value.field) == ("tools_set", field)
    assert fault in str(caught.value)
    assert len(made.events) == size


def test_a_refused_list_changes_nothing() -> None:
    """No fork, no event: neither for a list that shows nothing, nor for one that comes with tools that are none."""
    made = session()
    made.sync([{"role": "user", "content": "go"}, {"role": "assistant", "content": "done"}, said("more")])
    before = (made.id, len(made.events))
    tool = {"name": "a", "description": "d", "input_schema": {"type": "object"}}
    nobody = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "nobody", "content": "out"}]}
    refused: list[tuple[list[Any], dict[str, Any]]] = [
        ([], {}),
        ([nobody], {}),
        ([], {"system": "Be brief.", "tools": [tool]}),
        ([said("other")], {"system": 1.5}),
        ([said("other")], {"system": {"type": "text", "text": "Be brief."}}),
        ([said("other")], {"system": [{"type": "text"}]}),
        ([said("other")], {"system": ["Be brief."]}),
        ([said("other")], {"tools": [tool, tool]}),
        ([said("other")], {"tools": [{**tool, "input_schema": LIST}]}),
    ]
    for listed, given in refused:
        wrong = MalformedRequest if "system" in given else InvalidValue
        with pytest.raises(EmptyRequest if listed in ([], [nobody]) else wrong):
            made.sync(listed, **given)
        assert (made.id, len(made.events)) == before


def said(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


@pytest.mark.parametrize("wire", MODELS)
def test_the_providers_own_tools_may_share_a_name(wire: str) -> None:
    """Only their wire's members describe them, and a name is that of their kind."""
    made = session(target_of(wire))
    own = [ToolSpec(name="mcp", extra={wire: {"type": "mcp", "server_label": label}}) for label in "ab"]
    made.offer(own)
    assert made.view.fold.tools[1] == tuple(own)


@pytest.mark.parametrize("given", ["mystore", Path("mystore")])
def test_a_place_is_no_store(given: Any) -> None:
    """Whoever gives one is told what opens it."""
    with pytest.raises(StoreUnavailable, match=r"mystore.*no open store; give Store\.open\(place\)"):
        Session.open(given, "s", provider="anthropic", model="claude-opus-4-8")


@pytest.mark.parametrize("given", [None, 5, ["ref"], "[]"])
def test_a_read_call_without_arguments_is_told_to_the_model(given: Any) -> None:
    """As every other fault of its call."""
    assert session().run_read_tool(given).startswith("[ref is missing; give ")


@pytest.mark.parametrize(
    "given, name",
    [
        ({"policy": "tight"}, "policy"),
        ({"policy": {"low_water": 0.4}}, "policy"),
        ({"target": "claude-opus-4-8"}, "target"),
        ({"user": 7}, "user"),
        ({"provider": "anthropic"}, "model"),
        ({"model": "claude-opus-4-8"}, "provider"),
        ({"provider": "anthropic", "model": "claude-opus-4-8", "target": target_of("anthropic")}, "provider"),
    ],
)
def test_a_session_is_not_opened_with_what_no_request_could_use(given: dict[str, Any], name: str) -> None:
    """Said when it is opened; the first request is too late."""
    with pytest.raises(InvalidArgument) as caught:
        Session.open(None, "s", **given)
    assert caught.value.name == name


def test_a_session_has_a_text_for_a_name() -> None:
    """A number is none."""
    odd: Any = 42
    with pytest.raises(InvalidArgument, match=r"Session\.open: name is 42; give a text"):
        Session.open(None, odd)


@pytest.mark.parametrize(
    "name, value, takes",
    [
        ("spend", Limit(scope="day", hard="1"), "Spend([Limit(...), ...]), or None"),
        ("policy", None, "a Policy"),
        ("target", "openai-chat", "what target_for returns, or None"),
        ("user", 7, "a text, or None"),
    ],
)
def test_a_setting_of_another_type_is_refused_where_it_is_set(name: str, value: Any, takes: str) -> None:
    """What stood before stays."""
    made = session()
    before = getattr(made, name)
    with pytest.raises(InvalidArgument) as caught:
        setattr(made, name, value)
    assert (caught.value.name, caught.value.takes) == (name, takes)
    assert getattr(made, name) == before


def test_a_slip_in_the_name_of_a_setting_is_said() -> None:
    """It would be a user whom no call is billed to."""
    made: Any = session()
    with pytest.raises(AttributeError, match="usr"):
        made.usr = "ada"


@pytest.mark.parametrize("content", [{"a": 1}, b"bytes", 5, None])
def test_a_result_of_another_form_is_refused_with_the_way_to_give_it(content: Any) -> None:
    """A dictionary's keys are no blocks."""
    made = session()
    with pytest.raises(InvalidArgument, match=r"json\.dumps makes one of a value"):
        made.returned("c", content)


def test_one_in_place_of_a_list_is_refused() -> None:
    """With the form that is taken."""
    made: Any = session()
    with pytest.raises(InvalidArgument, match=r"a list of ToolSpec\(name="):
        made.offer(A)
    with pytest.raises(InvalidArgument, match=r"such as \[5\]"):
        made.erase(5, "slip")


def test_a_dictionary_is_no_tool_and_the_refusal_names_what_is_one() -> None:
    """It can be written as it is read, with its import."""
    tools: Any = [{"name": "a"}]
    with pytest.raises(InvalidValue, match=r"give ToolSpec\(.*of foreword\.core\.block$"):
        session().offer(tools)


@pytest.mark.parametrize("wire", MODELS)
def test_a_response_of_another_wire_is_named(wire: str) -> None:
    """A session records what its own wire answered."""
    made = session(target_of(wire))
    made.say("hi")
    made.compile()
    chat = {"choices": [{"message": {"role": "assistant", "content": "x"}}]}
    claude = {"role": "assistant", "content": [{"type": "text", "text": "x"}]}
    other, name = (claude, "anthropic") if wire in ("openai-chat", "deepseek") else (chat, "openai-chat")
    with pytest.raises(MalformedResponse, match=f"looks like a response of {name}"):
        made.record(other)
    assert made.unanswered is not None


CHAT_TOOL = {"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}


@pytest.mark.parametrize(
    "wire, tool, takes",
    [
        ("anthropic", CHAT_TOOL, "input_schema"),
        ("gemini", CHAT_TOOL, "functionDeclarations"),
        ("gemini", {"name": "bash", "parameters": {"type": "object"}}, "functionDeclarations"),
    ],
)
def test_a_tool_of_another_wire_is_refused_with_the_form_of_this_one(
    wire: str, tool: dict[str, Any], takes: str
) -> None:
    """It would be sent as a tool of the provider's own, which the provider refuses."""
    made = Session.open(None, "s", target=target_of(wire))
    message = (
        {"role": "user", "parts": [{"text": "q"}]} if wire == "gemini" else {"role": "user", "content": "q"}
    )
    with pytest.raises(MalformedRequest, match=takes):
        made.sync([message], tools=[tool])
    assert made.view.fold.items == []
