"""What a session refuses when it is told, in one clear line, and without having changed anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from foreword.core.block import ToolSpec
from foreword.engine.session import Session
from foreword.errors import EmptyRequest, InvalidValue, StoreUnavailable
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
    """No fork, no event: neither for an empty list, nor for one that comes with tools that are none."""
    made = session()
    made.sync([{"role": "user", "content": "go"}, {"role": "assistant", "content": "done"}, said("more")])
    before = (made.id, len(made.events))
    tool = {"name": "a", "description": "d", "input_schema": {"type": "object"}}
    refused: list[tuple[list[Any], dict[str, Any]]] = [
        ([], {}),
        ([], {"system": "Be brief.", "tools": [tool]}),
        ([said("other")], {"tools": [tool, tool]}),
        ([said("other")], {"tools": [{**tool, "input_schema": LIST}]}),
    ]
    for listed, given in refused:
        with pytest.raises(InvalidValue if listed else EmptyRequest):
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
