"""Tools and the parameters about them, as the services take them: what would be refused is told first."""

from __future__ import annotations

from typing import Any

import pytest

from foreword.core.block import ToolSpec
from foreword.engine.session import Session
from foreword.engine.target import target_for
from foreword.errors import InvalidArgument
from tests.engine.sessions import judged, session
from tests.histories import target_of

NAMED: dict[str, dict[str, Any]] = {
    "anthropic": {"tool_choice": {"type": "tool", "name": "bash"}},
    "openai-chat": {"tool_choice": {"type": "function", "function": {"name": "bash"}}},
    "deepseek": {
        "tool_choice": {"type": "function", "function": {"name": "bash"}},
        "thinking": {"type": "disabled"},
    },
    "openai-responses": {"tool_choice": {"type": "function", "name": "bash"}},
    "gemini": {
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["read", "bash"]}}
    },
}
ALONE: list[tuple[str, dict[str, Any]]] = [
    ("anthropic", {"tool_choice": {"type": "auto"}}),
    ("openai-chat", {"tool_choice": "auto"}),
    ("openai-chat", {"parallel_tool_calls": False}),
    ("deepseek", {"tool_choice": "auto"}),
]


def asked(wire: str, *tools: str, **target: Any) -> Session:
    """A session that offers tools and has a turn to answer."""
    made = session(target_of(wire, **target))
    made.offer([ToolSpec(name=name, description="x") for name in tools])
    made.say("go")
    return made


@pytest.mark.parametrize("wire", ["openai-chat", "openai-responses", "deepseek"])
@pytest.mark.parametrize("reader, own", [("tool", 1), ("none", 0)])
def test_no_more_tools_are_offered_than_the_model_takes(wire: str, reader: str, own: int) -> None:
    """The engine's own counts; the refusal says so, and what to do."""
    names = [f"t{n}" for n in range(129)]
    assert judged(asked(wire, *names[: 128 - own], reader=reader)).violations == ()
    with pytest.raises(InvalidArgument) as refused:
        asked(wire, *names[: 129 - own], reader=reader).compile()
    assert (refused.value.name, refused.value.value) == ("len(tools)", 129)
    assert refused.value.takes.startswith("at most 128")
    assert ("'read'" in refused.value.takes) == bool(own)


@pytest.mark.parametrize("wire", ["anthropic", "gemini"])
def test_where_no_limit_is_known_there_is_none(wire: str) -> None:
    """A row that doesn't say leaves it to the vendor."""
    assert judged(asked(wire, *(f"t{n}" for n in range(200)))).violations == ()


@pytest.mark.parametrize("wire", NAMED)
def test_a_tool_that_is_named_must_be_offered(wire: str) -> None:
    """A choice among others is refused by the vendor, so it is here, with the member that names it."""
    made = asked(wire, "bash", keys=NAMED[wire])
    assert judged(made).violations == ()
    with pytest.raises(InvalidArgument, match="'bash'") as refused:
        asked(wire, "look", keys=NAMED[wire]).compile()
    assert refused.value.name.startswith("keys.tool")


@pytest.mark.parametrize("wire, keys", ALONE)
def test_what_is_said_of_tools_needs_some(wire: str, keys: dict[str, Any]) -> None:
    """The engine's own are enough."""
    assert judged(asked(wire, keys=keys)).violations == ()
    with pytest.raises(InvalidArgument, match="only beside tools"):
        asked(wire, keys=keys, reader="none").compile()


@pytest.mark.parametrize("choice", ["none", {"type": "none"}])
def test_a_choice_of_none_needs_none(choice: Any) -> None:
    """Nothing is asked for that could be missing."""
    wire = "anthropic" if isinstance(choice, dict) else "openai-chat"
    assert judged(asked(wire, keys={"tool_choice": choice}, reader="none")).violations == ()


def test_tools_of_the_provider_beside_functions_are_asked_for() -> None:
    """Gemini takes both only where it may show what it ran; the engine's own tool is a function, too."""
    search = ToolSpec(name="googleSearch", extra={"gemini": {"googleSearch": {}}})
    for reader, keys in (("none", {}), ("tool", {"toolConfig": {"includeServerSideToolInvocations": True}})):
        made = session(target_of("gemini", reader=reader, keys=keys))
        made.offer([search])
        made.say("go")
        assert judged(made).violations == ()
    made.target = target_of("gemini")
    with pytest.raises(InvalidArgument, match=r"includeServerSideToolInvocations is None; give True.*'read'"):
        made.compile()


@pytest.mark.parametrize("endpoint", ["vllm", "openrouter", "dashscope"])
def test_what_only_the_vendor_refuses_is_sent_to_others(endpoint: str) -> None:
    """Of parallel calls without tools only OpenAI is known to complain."""
    keys = {"parallel_tool_calls": False}
    made = session(target_for("openai-chat", "qwen3.8-max", endpoint=endpoint, keys=keys, reader="none"))
    made.say("hi")
    assert b"parallel_tool_calls" in made.compile().body


@pytest.mark.parametrize("spelled", ["toolConfig", "tool_config"])
def test_both_spellings_of_gemini_ask_for_tools_of_the_provider(spelled: str) -> None:
    """The server reads either."""
    member = (
        "includeServerSideToolInvocations"
        if spelled == "toolConfig"
        else "include_server_side_tool_invocations"
    )
    made = session(target_of("gemini", keys={spelled: {member: True}}))
    made.offer([ToolSpec(name="look"), ToolSpec(name="googleSearch", extra={"gemini": {"googleSearch": {}}})])
    made.say("hi")
    assert b"googleSearch" in made.compile().body
