"""Forms that need a beta header: only for who sends it, and never left in a history for who doesn't."""

from __future__ import annotations

from itertools import repeat
from typing import Any

import anthropic
import msgspec
import pytest

from foreword.core.block import ToolSpec
from foreword.core.endpoint import endpoint
from foreword.core.event import EpochStarted
from foreword.core.target import Target
from foreword.engine.asking import ask_now
from foreword.engine.session import Session
from foreword.engine.target import target_for
from foreword.engine.transport import Transport
from foreword.testing.anthropic_referee import AnthropicReferee
from foreword.testing.script import Answer
from foreword.testing.server import RefereeServer
from tests.engine.sessions import plain
from tests.histories import referee_for

MODEL = "claude-opus-4-8"
TOOLS = [
    {"name": name, "description": f"does {name}", "input_schema": {"type": "object"}}
    for name in ("bash", "grep")
]
A, B = (ToolSpec(name=name, description=f"does {name}") for name in ("alpha", "beta"))


def plain_target(**more: Any) -> Target:
    """Return the target that a session gets which is opened by the names of provider and model."""
    made = Session.open(None, "s", provider="anthropic", model=MODEL).target
    assert made is not None
    return msgspec.structs.replace(made, **more)


def whys(made: Session) -> list[str]:
    return [event.body.why for event in made.events if isinstance(event.body, EpochStarted)]


@pytest.mark.parametrize("betas, epochs", [(False, ["start", "tools"]), (True, ["start"])])
def test_a_loop_around_the_official_client_whose_list_of_tools_grows(betas: bool, epochs: list[str]) -> None:
    """As it is copied from the README; who wants the cheaper form says that he sends the headers."""
    made = Session.open(None, "s", target=target_for("anthropic", MODEL, betas=betas))
    with (
        RefereeServer(anthropic=AnthropicReferee(script=repeat(Answer(text="done")))) as server,
        anthropic.Anthropic(base_url=server.base_url, api_key="none", max_retries=0) as client,
    ):
        listed: list[dict[str, Any]] = []
        for number in (1, 2, 2):
            listed.append({"role": "user", "content": "go on"})
            synced = made.sync(listed, tools=TOOLS[:number])
            headers = synced.request.headers if betas else None
            response = client.messages.create(**synced.body, extra_headers=headers)
            made.record(response)
            listed.append({"role": "assistant", "content": response.content})
    assert whys(made) == epochs
    assert bool(made.compile().headers) == betas


def test_ask_sends_the_headers_itself() -> None:
    """So it uses the forms; the next request for another sender has none of them."""
    target = plain_target()
    made = Session.open(None, "s", target=target)
    with RefereeServer(anthropic=AnthropicReferee(script=repeat(Answer(text="done")))) as server:
        at = endpoint("anthropic", base_url=server.base_url)
        for tools in ([A], [A, B]):
            made.offer(tools)
            made.say("go on")
            ask_now(made, at, transport=lambda: Transport(environ={"ANTHROPIC_API_KEY": "k"}))
    assert whys(made) == ["start"]
    assert made.target is target
    made.say("and on")
    compiled = made.compile()
    assert (compiled.headers, whys(made)) == ({}, ["start", "manual"])
    assert referee_for(plain_target()).judge(compiled.body, compiled.headers).violations == ()


def test_a_task_budget_is_stated_for_who_sends_the_header() -> None:
    """Another sender gets a base without it, and one without it may state it later."""
    made = Session.open(None, "s", target=plain_target())
    made.task_budget(64_000)
    made.say("go")
    for betas, epochs in ((False, 1), (True, 2), (True, 2), (False, 3)):
        made.target = plain_target(betas=betas)
        compiled = made.compile()
        assert bool(compiled.headers) == betas
        assert ("output_config" in plain(compiled.body)) == betas
        assert referee_for(made.target).judge(compiled.body, compiled.headers).violations == ()
        assert len(whys(made)) == epochs
