"""Calls and outputs in blocks that only their wire knows: a half that stands alone is left out, and recorded."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from foreword.codecs.check import check
from foreword.compiler.compile import Compiled
from foreword.compiler.invariants.check import broken
from foreword.compiler.manifest import manifest
from foreword.compiler.passes.repair_pairs import UNKNOWN
from foreword.core.block import Block, Opaque, Text, ToolCall, ToolSpec
from foreword.core.event import EpochStarted, Repaired
from foreword.engine.session import Session
from tests.engine.sessions import answer, call, judged, plain, session
from tests.histories import TIGHT, digests, target_of

OLDER = "claude-opus-4-7"
"""A model that takes no system message in mid-conversation."""
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
TEXT = {"type": "text", "text": "I look."}
USE = {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "out"}
HI = {"role": "user", "content": "hi"}
ON = {"role": "user", "content": "go on"}


def said(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def user(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def kinds(body: dict[str, Any]) -> list[str]:
    """The types of all blocks but text."""
    found = [block["type"] for message in body["messages"] for block in message["content"]]
    return [kind for kind in found if kind != "text"]


def unpaired(made: Session) -> list[tuple[int, int]]:
    """Event and block of every half that was left out."""
    repairs = [event.body for event in made.events if isinstance(event.body, Repaired)]
    return [(body.event, body.call) for body in repairs if body.fault == "unpaired"]


PAIRED: list[list[dict[str, Any]]] = [
    [HI, said(TEXT, SEARCH, FOUND, TEXT), ON],
    [HI, said(TEXT, SEARCH)],
    [HI, said(TEXT, SEARCH, FOUND)],
    [HI, said(TEXT, SEARCH), said(FOUND, TEXT), ON],
    [HI, said(TEXT, SEARCH, USE), user(RESULT), said(FOUND, TEXT), ON],
    [HI, said(TEXT, SEARCH, USE), user(RESULT)],
]
TORN: list[tuple[list[dict[str, Any]], list[str]]] = [
    ([HI, said(TEXT, SEARCH), ON], []),
    ([HI, said(SEARCH), ON, said(TEXT), ON], []),
    ([HI, said(TEXT, SEARCH), ON, said(FOUND, TEXT), ON], []),
    ([HI, said(TEXT, FOUND), ON], []),
    (
        [HI, said(TEXT, SEARCH, USE), user(RESULT, {"type": "text", "text": "and"}), said(TEXT), ON],
        ["tool_use", "tool_result"],
    ),
    ([HI, said(TEXT, SEARCH, FOUND, SEARCH, TEXT), ON], ["server_tool_use", "web_search_tool_result"]),
]


@pytest.mark.parametrize("listed", PAIRED)
def test_a_pair_of_the_providers_is_left_alone(listed: list[dict[str, Any]]) -> None:
    """Also one that a paused turn still waits for, over results of the client's and at the end of a request."""
    made = session(target_of("anthropic"))
    body = plain(made.sync(listed).request.body)
    assert judged(made).violations == ()
    assert unpaired(made) == []
    assert kinds(body).count("server_tool_use") == 1


def test_a_paused_turn_is_sent_as_it_is() -> None:
    """Nobody speaks behind it, or the provider would not go on with it."""
    made = session(target_of("anthropic"))
    body = plain(made.sync([HI, said(TEXT, SEARCH)]).request.body)
    assert body["messages"][-1] == said(TEXT, SEARCH)


@pytest.mark.parametrize("listed, left", TORN)
def test_half_of_a_pair_of_the_providers_is_left_out(listed: list[dict[str, Any]], left: list[str]) -> None:
    """In any message, with a record of it; the log and what the caller may resend stay as they are."""
    made = session(target_of("anthropic"))
    synced = made.sync(listed)
    assert judged(made).violations == ()
    assert kinds(plain(synced.request.body)) == left
    again = made.sync(listed)
    assert (again.appended, again.forked_at, again.request.body) == (0, None, synced.request.body)
    dropped = unpaired(made)
    assert dropped
    told = manifest(synced.request, session="s", provider="anthropic", step=1, previous=None, violations=())[
        "omitted"
    ]
    assert [(row["events"][0], row["how"]) for row in told] == [(event, "dropped") for event, _ in dropped]


def test_a_change_waits_for_a_paused_turn() -> None:
    """A notice of tools is the user's words: it is said once the provider has nothing under way any more."""
    made = session(target_of("anthropic"))
    paused = plain(made.sync([HI, said(TEXT, SEARCH)]).request.body)["messages"]
    made.offer([ToolSpec(name="find", deferred=True)])
    assert judged(made).violations == ()
    assert plain(made.compile().body)["messages"] == paused
    found = plain(made.sync([HI, said(TEXT, SEARCH), said(FOUND, TEXT), ON]).request.body)
    assert judged(made).violations == ()
    assert kinds(found) == ["server_tool_use", "web_search_tool_result"]
    assert "loaded when they are needed: find" in json.dumps(found)


def paused(made: Session, *more: ToolCall) -> Compiled:
    """Answer with a call that the provider has under way; return the request that is sent then."""
    made.say("hi")
    answer(made, "I look.", Opaque(wire="anthropic", form="server_tool_use", raw=json.dumps(SEARCH)), *more)
    for each in more:
        made.returned(each.id, "out")
    assert judged(made).violations == ()
    return made.compile()


def goes_on(made: Session, sent: Compiled) -> str:
    """Let the provider go on with the turn as it was sent; return what is sent behind that."""
    found = Opaque(wire="anthropic", form="web_search_tool_result", raw=json.dumps(FOUND))
    answer(made, found, "So it is.")
    made.say("go on")
    assert judged(made).violations == ()
    assert unpaired(made) == []
    compiled = made.compile()
    assert digests(compiled)[: sent.size] == digests(sent)
    assert kinds(plain(compiled.body))[-1] == "web_search_tool_result"
    return "".join(unit.data.decode() for _, unit in compiled.since(sent.size))


def test_a_late_result_waits_for_a_paused_turn() -> None:
    """The engine tells of it when the turn has ended; until then the manifest says that it waits."""
    made = session(target_of("anthropic"))
    made.say("build")
    made.compile()
    answer(made, call("late"))
    made.returned("late", "started", run="running")
    made.compile()
    answer(made, "I wait.")
    sent = paused(made)
    seq = made.returned("late", "built", exit_code=0)
    compiled = made.compile()
    assert judged(made).violations == ()
    assert compiled.body == sent.body
    told = manifest(compiled, session="s", provider="anthropic", step=1, previous=None, violations=())
    assert [(row["events"], row["how"]) for row in told["omitted"]] == [([seq], "dropped")]
    assert "built" in goes_on(made, compiled)
    assert "late result of call late" in made.compile().body.decode()


@pytest.mark.parametrize("more", [(), (call("c"),)])
def test_a_countdown_waits_for_a_paused_turn(more: tuple[ToolCall, ...]) -> None:
    """Also where results of the client's stand behind the provider's call."""
    policy = msgspec.structs.replace(TIGHT, countdown=0.1)
    made = Session.open(None, "made", target=target_of("anthropic", betas=False), policy=policy)
    sent = paused(made, *more)
    made.task_budget(50_000)
    compiled = made.compile()
    assert judged(made).violations == ()
    assert compiled.body == sent.body
    assert "output tokens are left" in goes_on(made, compiled)


def test_the_operator_may_speak_behind_a_paused_turn() -> None:
    """By his own channel, where the wire has one: the turn goes on all the same."""
    made = session(target_of("anthropic"))
    sent = paused(made)
    made.pin("a rule of ours")
    made.offer([ToolSpec(name="find", deferred=True)])
    compiled = made.compile()
    assert judged(made).violations == ()
    assert digests(compiled)[: sent.size] == digests(sent)
    listed = plain(compiled.body)["messages"]
    assert [message["role"] for message in listed] == ["user", "assistant", "system"]
    assert [fault.rule for fault in check(listed, "anthropic")] == []
    assert "loaded when they are needed: find" in goes_on(made, compiled)


def test_a_call_that_the_model_passed_over_is_left_out() -> None:
    """It answered without what the provider had under way: nobody waits for that any more."""
    made = session(target_of("anthropic"))
    paused(made)
    answer(made, "No matter.")
    made.pin("a rule of ours")
    assert judged(made).violations == ()
    compiled = made.compile()
    assert kinds(plain(compiled.body)) == []
    assert broken(compiled) == []


def test_a_notice_in_the_users_channel_ends_a_pause() -> None:
    """A model that has no other."""
    made = session(target_of("anthropic", model=OLDER))
    paused(made)
    made.pin("a rule of ours")
    assert judged(made).violations == ()
    assert kinds(plain(made.compile().body)) == []


@pytest.mark.parametrize(
    "last", [Text(text="Also"), Opaque(wire="openai-responses", form="shell_call", raw="{}")]
)
def test_words_behind_a_call_of_the_providers_end_its_wait(last: Block) -> None:
    """It goes on only with what a request ends in; a block of another wire is words, too."""
    made = session(target_of("anthropic"))
    made.say("hi")
    answer(made, Opaque(wire="anthropic", form="server_tool_use", raw=json.dumps(SEARCH)), last)
    assert judged(made).violations == ()
    body = plain(made.compile().body)
    assert kinds(body) == []
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]


def test_a_turn_that_paused_and_was_sent_is_rebuilt_when_the_user_speaks() -> None:
    """What stands in the frozen part can be left out only by an epoch."""
    made = session(target_of("anthropic"))
    paused = plain(made.sync([HI, said(TEXT, SEARCH)]).request.body)
    assert kinds(paused) == ["server_tool_use"]
    assert judged(made).violations == ()
    spoken = made.sync([HI, said(TEXT, SEARCH), ON])
    assert kinds(plain(spoken.request.body)) == []
    assert judged(made).violations == ()
    whys = [event.body.why for event in made.events if isinstance(event.body, EpochStarted)]
    assert whys == ["start", "permission"]


def test_a_result_of_another_kind_is_no_answer_of_the_providers() -> None:
    """A connector's result under the id of a search that is left out, since no tool is offered any more."""
    made = session(target_of("anthropic"))
    searched = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "tool_search_tool_bm25", "input": {}}
    other = {"type": "mcp_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    body = plain(made.sync([HI, said(searched, TEXT, other), ON]).request.body)
    assert judged(made).violations == ()
    assert kinds(body) == []


SHELL = {"type": "shell_call", "call_id": "c1", "action": {"commands": ["make"]}, "status": "completed"}
OUT = {
    "type": "shell_call_output",
    "call_id": "c1",
    "output": [{"stdout": "ok", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}],
}
LOCAL = {
    "type": "local_shell_call",
    "id": "lsh_1",
    "call_id": "l1",
    "action": {"type": "exec", "command": ["ls"], "env": {}},
    "status": "completed",
}
LOCAL_OUT = {"type": "local_shell_call_output", "id": "l1", "output": "{}"}
PATCH = {
    "type": "apply_patch_call",
    "call_id": "c1",
    "operation": {"type": "delete_file", "path": "a"},
    "status": "completed",
}
PATCHED = {"type": "apply_patch_call_output", "call_id": "c1", "status": "completed"}
CLICK = {
    "type": "computer_call",
    "id": "u1",
    "call_id": "c1",
    "action": {"type": "screenshot"},
    "pending_safety_checks": [],
    "status": "completed",
}
SEEN = {
    "type": "computer_call_output",
    "call_id": "c1",
    "output": {"type": "computer_screenshot", "image_url": "data:image/png;base64,AA=="},
}
CUSTOM = {"type": "custom_tool_call", "call_id": "c1", "name": "patch", "input": "x"}
CUSTOM_OUT = {"type": "custom_tool_call_output", "call_id": "c1", "output": "done"}
ASKS = {"type": "mcp_approval_request", "id": "mcpr_1", "name": "t", "arguments": "{}", "server_label": "s"}
MAY = {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True}
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "sealed"}
CLIENTS = [(SHELL, OUT), (LOCAL, LOCAL_OUT), (PATCH, PATCHED), (CLICK, SEEN)]


def items(made: Session, listed: list[dict[str, Any]]) -> list[str]:
    """Sync a list of items; return the types that are sent, judged."""
    body = plain(made.sync(listed).request.body)
    assert judged(made).violations == ()
    return [item.get("type", "message") for item in body["input"]]


@pytest.mark.parametrize("call, output", [*CLIENTS, (ASKS, MAY), (CUSTOM, CUSTOM_OUT)])
def test_a_pair_of_items_is_left_alone(call: dict[str, Any], output: dict[str, Any]) -> None:
    """Also when something is said between."""
    made = session(target_of("openai-responses"))
    assert items(made, [HI, call, output, ON]) == ["message", call["type"], output["type"], "message"]
    assert unpaired(made) == []


@pytest.mark.parametrize("call, output", CLIENTS)
def test_a_call_of_the_clients_without_an_output_is_told(
    call: dict[str, Any], output: dict[str, Any]
) -> None:
    """It is left out with its reasoning; the model reads that it may have taken effect, and late what came of it."""
    made = session(target_of("openai-responses"))
    assert items(made, [HI, THOUGHT, call]) == ["message", "message"]
    text = made.compile().body.decode()
    assert json.dumps(UNKNOWN)[1:-1] in text
    assert items(made, [HI, THOUGHT, call, output, ON]) == ["message"] * 4
    assert "late output of call" in made.compile().body.decode()


@pytest.mark.parametrize("output", [PATCHED, SEEN])
def test_an_output_of_another_kind_is_no_answer(output: dict[str, Any]) -> None:
    """Though it names the same id: the call is told as one of unknown outcome, the output is left out."""
    made = session(target_of("openai-responses"))
    assert items(made, [HI, SHELL, output, ON]) == ["message", "message", "message"]
    assert json.dumps(UNKNOWN)[1:-1] in made.compile().body.decode()
    assert [fault.rule for fault in check([HI, SHELL, output, ON], "openai-responses")] == [
        "unanswered-call",
        "orphan-result",
    ]


@pytest.mark.parametrize("first", [True, False])
def test_a_call_with_the_id_of_a_functions_is_told(first: bool) -> None:
    """A server takes an id once; what came of the other call is told, too."""
    made = session(target_of("openai-responses"))
    function = {"type": "function_call", "call_id": "c1", "name": "bash", "arguments": "{}"}
    done = {"type": "function_call_output", "call_id": "c1", "output": "done"}
    calls = [function, SHELL] if first else [SHELL, function]
    assert [kind for kind in items(made, [HI, *calls, done, OUT, ON]) if kind != "message"] == [
        "function_call",
        "function_call_output",
    ]
    assert "late output of call c1" in made.compile().body.decode()


@pytest.mark.parametrize("output", [OUT, LOCAL_OUT, PATCHED, SEEN, CUSTOM_OUT, MAY])
def test_an_output_without_a_call_is_left_out(output: dict[str, Any]) -> None:
    """As with functions."""
    made = session(target_of("openai-responses"))
    assert items(made, [HI, output, ON]) == ["message", "message"]


def test_a_custom_call_without_an_output_is_answered() -> None:
    """In the form of its own result."""
    made = session(target_of("openai-responses"))
    assert items(made, [HI, CUSTOM, ON]) == [
        "message",
        "custom_tool_call",
        "custom_tool_call_output",
        "message",
    ]
    assert json.dumps(UNKNOWN)[1:-1] in made.compile().body.decode()


def test_an_approval_waits_only_at_the_end() -> None:
    """A person may take his time; when something else is said instead, it was not given."""
    made = session(target_of("openai-responses"))
    assert items(made, [HI, ASKS])[:2] == ["message", "mcp_approval_request"]
    assert items(made, [HI, ASKS, ON]) == ["message", "message"]
