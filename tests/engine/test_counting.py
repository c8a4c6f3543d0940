"""The providers' own counts: asked over real HTTP, recorded as events, and what the budget makes of them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from anthropic.types.beta.message_count_tokens_params import MessageCountTokensParams as BetaCountParams
from openai.types.responses import InputTokenCountParams

from foreword.codecs.counting import KEPT, counted_tokens
from foreword.core.endpoint import Endpoint, endpoint
from foreword.core.event import Draft, InputCounted
from foreword.core.target import Target
from foreword.engine.asking import ask_now, counted_request
from foreword.engine.outgoing import counting
from foreword.engine.session import Session
from foreword.engine.target import target_for
from foreword.engine.transport import Retries, Transport
from foreword.errors import EndpointError, MalformedResponse, Rejected
from foreword.store.store import Store
from foreword.testing.anthropic_referee import AnthropicReferee
from foreword.testing.gemini_referee import GeminiReferee
from foreword.testing.openai_responses_referee import OpenAIResponsesReferee
from foreword.testing.script import Answer
from foreword.testing.server import RefereeServer
from tests.engine.faulty_server import FaultyServer, says
from tests.engine.sessions import step

VERTEX = "/v1/projects/p/locations/r"
ROUTES = {
    "anthropic": ("anthropic", "", "claude-opus-4-8"),
    "openai": ("openai-responses", "/v1", "gpt-6.1-sol"),
    "gemini": ("gemini", "/v1beta", "gemini-3.8-flash"),
    "vertex": ("gemini", VERTEX, "gemini-3.8-flash"),
    "vertex-claude": ("anthropic", VERTEX, "claude-opus-4-8"),
}
KEYS = {f"{name}_API_KEY": "k" for name in ("ANTHROPIC", "OPENAI", "GEMINI")} | {"VERTEX_ACCESS_TOKEN": "t"}
ONCE = Retries(attempts=1)


def server() -> RefereeServer:
    """Serve an answer on each wire that counts."""
    script = (Answer(text="A ship."),)
    return RefereeServer(
        anthropic=AnthropicReferee(script=script),
        openai_responses=OpenAIResponsesReferee(script=script),
        gemini=GeminiReferee(script=script),
    )


def at(route: str, url: str) -> Endpoint:
    """Return an endpoint that counts, moved to a server of the test."""
    wire, path, _ = ROUTES[route]
    return endpoint(route.partition("-")[0], wire, base_url=url + path)


def made() -> Transport:
    """Return a transport with keys."""
    return Transport(environ=KEYS, retries=ONCE)


def session_of(route: str, target: Target | None = None) -> Session:
    """Return a session with instructions and something asked."""
    wire, _, model = ROUTES[route]
    opened = Session.open(None, "s", target=target or target_for(wire, model))
    opened.instruct("You keep the light of a tower.")
    opened.say("What is there? " * 40)
    return opened


async def counted(asked: Session, where: Endpoint) -> int:
    """Count what a session sends next."""
    async with made() as transport:
        return await transport.count(where, asked.compile())


@pytest.mark.parametrize("route", ROUTES)
def test_a_count_is_what_the_answer_bills(route: str) -> None:
    """Each route takes the request in its form; the figure is the whole input that the answer then reports."""
    asking = session_of(route)
    with server() as running:
        tokens = asyncio.run(counted(asking, at(route, running.base_url)))
        asked = ask_now(asking, at(route, running.base_url), transport=made)
    assert asked.sent.usage is not None
    assert tokens == asked.sent.usage.total_input
    assert tokens > 100


def test_a_count_is_recorded_and_calibrates_what_is_compiled(tmp_path: Path) -> None:
    """The event stands between the request and its answer, and the budget is calibrated from it, also when reopened."""
    target = target_for("anthropic", "claude-opus-4-8")
    with Store.open(str(tmp_path)) as store, server() as running:
        asking = Session.open(store, "s", target=target)
        asking.say("What is there? " * 40)
        before = asking.compile()
        assert not before.budget.calibrated
        ask_now(asking, at("anthropic", running.base_url), count=True, transport=made)
    sent, told, answered = asking.events[-3:]
    assert (sent.kind, told.kind, answered.kind) == ("request_sent", "input_counted", "answered")
    body = told.body
    assert isinstance(body, InputCounted)
    assert body.request == sent.seq
    with Store.open(str(tmp_path)) as store:
        view = Session.open(store, "s", target=target).view
    ((first, second),) = view.fold.reports.values()
    assert (first.sent, first.actual, first.estimated) == (body.request, body.tokens, before.counted)
    assert second == first


def test_a_request_over_the_budget_by_the_provider_s_count_is_made_smaller() -> None:
    """The counter guessed low: the count says so before anything is sent, and an old result is cleared for it."""
    target = target_for("anthropic", "claude-opus-4-8", window=16_000, reserve_output=1_000)
    looking = Session.open(None, "s", target=target)
    looking.say("Look everywhere.")
    for number in range(8):
        step(looking, number, f"room {number}: " + "nothing but dust and old rope. " * 60)
    before = looking.compile()
    assert not any(event.kind == "rewritten" for event in looking.events)

    async def twice(url: str) -> tuple[int, int]:
        where = at("anthropic", url)
        async with made() as transport:
            smaller = await counted_request(looking, where, transport)
            return len(smaller.body), await transport.count(where, smaller)

    told = b'{"input_tokens":%d}' % (before.budget.available + 500)
    with FaultyServer([says(200, told), says(200, b'{"input_tokens":9}')]) as running:
        size, tokens = asyncio.run(twice(running.url))
    assert size < len(before.body)
    assert tokens == 9
    assert any(event.kind == "rewritten" for event in looking.events)


def test_a_route_is_asked_in_its_own_form() -> None:
    """Limits and sampling are left out, what is input stays byte for byte; Gemini takes the request whole."""
    body = b'{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"\xc3\xa4"}],"stream":true}'
    claude = counting(endpoint("anthropic"), body, model=None)
    assert claude.body == b'{"model":"m","messages":[{"role":"user","content":"\xc3\xa4"}]}'
    host = "https://host.example/v1"
    vertex = counting(endpoint("vertex", "anthropic", base_url=host), body, model="m@1")
    assert vertex.body == claude.body.replace(b'"m"', b'"m@1"')[:-1] + (
        b',"anthropic_version":"vertex-2023-10-16"}'
    )
    asked = b'{"contents":[],"toolConfig":{}}'
    whole = counting(endpoint("gemini"), asked, model="g")
    assert whole.body == b'{"generateContentRequest":{"model":"models/g","contents":[],"toolConfig":{}}}'
    assert counting(endpoint("vertex", base_url=host), asked, model="g").body == b'{"contents":[]}'


def test_the_members_that_are_counted_are_the_sdks_own() -> None:
    """The tables name what the official SDKs let these routes take."""
    named = BetaCountParams.__annotations__.keys() - {"betas"}
    assert set(KEPT["anthropic"].split()) == named
    assert set(KEPT["openai-responses"].split()) == InputTokenCountParams.__annotations__.keys()


@pytest.mark.parametrize("answer", [b"{}", b'{"input_tokens":-1}', b'{"input_tokens":"9"}', b"[]", b"<html>"])
def test_an_answer_that_tells_no_count_is_malformed(answer: bytes) -> None:
    """Nothing is guessed from it."""
    with pytest.raises(MalformedResponse, match="count of tokens"):
        counted_tokens("anthropic", answer)


def test_where_nothing_counts_that_is_said() -> None:
    """A wire without a route, and a provider that refuses: neither is passed over in silence."""
    chat = Session.open(None, "s", provider="openai-chat", model="gpt-6.1-sol")
    chat.say("What is there?")
    with pytest.raises(EndpointError, match="counts no tokens"):
        ask_now(chat, endpoint("openai", "openai-chat"), count=True, transport=made)
    refusal = says(400, {"error": {"type": "invalid_request_error", "message": "no"}})
    with FaultyServer([refusal]) as running, pytest.raises(Rejected):
        asyncio.run(counted(session_of("anthropic"), at("anthropic", running.url)))
    assert running.heard[0].line.startswith("POST /v1/messages/count_tokens")


def test_a_count_follows_its_request_behind_another_writer(tmp_path: Path) -> None:
    """Where another process appended first, request and count are put behind it together."""
    target = target_for("anthropic", "claude-opus-4-8")
    with Store.open(str(tmp_path)) as store, Store.open(str(tmp_path)) as other:
        asking = Session.open(store, "s", target=target)
        asking.say("What is there?")
        asking.compile()
        Session.open(other, "s", target=target).say("And behind it?")
        asking.append(Draft(body=InputCounted(tokens=50, request=asking.unanswered)))
    *_, said, sent, told = asking.events
    assert (said.kind, sent.kind) == ("said", "request_sent")
    assert isinstance(told.body, InputCounted)
    assert told.body.request == sent.seq
    assert [report.actual for each in asking.view.fold.reports.values() for report in each] == [50]
