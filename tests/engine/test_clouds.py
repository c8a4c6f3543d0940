"""Claude through Bedrock's and Vertex' own forms, over real HTTP: sent, streamed, refused, cut."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from foreword.core.block import Text, ToolCall
from foreword.core.endpoint import Endpoint, endpoint
from foreword.engine.asking import ask_now
from foreword.engine.outgoing import outgoing
from foreword.engine.session import Session
from foreword.engine.transport import Retries, Transport, send
from foreword.errors import (
    ConnectionFailed,
    ContextOverflow,
    Overloaded,
    ProviderError,
    RateLimited,
    Rejected,
)
from foreword.testing.anthropic_referee import AnthropicReferee
from foreword.testing.script import Answer, Call, Failure, Scripted, Stream
from foreword.testing.server import RefereeServer
from tests.engine.faulty_server import FaultyServer, says

KEYS = {"AWS_BEARER_TOKEN_BEDROCK": "bedrock-key", "VERTEX_ACCESS_TOKEN": "vertex-token"}
MODELS = {"bedrock": "us.anthropic.claude-x-v1:0", "vertex": "claude-x@20260101"}
ONCE = Retries(attempts=1)
BODY = b'{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}'
every_cloud = pytest.mark.parametrize("cloud", MODELS)


def at(cloud: str, url: str) -> Endpoint:
    """Return the Claude endpoint of a cloud, moved to a server of the test."""
    path = "" if cloud == "bedrock" else "/v1/projects/p/locations/r"
    return endpoint(cloud, "anthropic", base_url=url + path)


def server(*script: Scripted) -> RefereeServer:
    """Serve a script on the referee of the wire."""
    return RefereeServer(anthropic=AnthropicReferee(script=script))


def asked() -> Session:
    """Return a session in which something was asked."""
    session = Session.open(None, "s", provider="anthropic", model="claude-opus-4-8")
    session.say("What is there?")
    return session


@every_cloud
@pytest.mark.parametrize("stream", [True, False])
def test_a_loop_with_a_tool_runs_at_a_cloud(cloud: str, stream: bool) -> None:
    """Two rounds with thinking sent back, under the cloud's own name of the model, each accepted by the referee."""
    session, made = asked(), (lambda: Transport(environ=KEYS))
    script = (
        Failure(status=429, retry_after=0),
        Answer(thinking="Hm.", text="Look. " * 9, calls=(Call(name="look", id="c1"),)),
        Answer(text="A ship."),
    )
    with server(*script) as running:
        cloud_at = at(cloud, running.base_url)
        first = ask_now(session, cloud_at, stream=stream, model=MODELS[cloud], transport=made)
        session.returned("c1", "A mast.")
        second = ask_now(session, cloud_at, stream=stream, model=MODELS[cloud], transport=made)
    assert (first.sent.state, first.sent.attempts, second.sent.state) == ("complete", 2, "complete")
    assert first.sent.response is not None
    assert first.sent.response.model == MODELS[cloud]
    *_, text, call = first.sent.response.message.blocks
    assert isinstance(text, Text)
    assert text.text == "Look. " * 9
    assert isinstance(call, ToolCall)
    assert second.sent.usage is not None
    assert second.sent.usage.output


@every_cloud
@pytest.mark.parametrize(
    "fault, state, error", [("cut", "incomplete", ConnectionFailed), ("error", "failed", Overloaded)]
)
def test_a_stream_that_breaks_keeps_what_came(
    cloud: str, fault: Any, state: str, error: type[ProviderError]
) -> None:
    """A cut inside a message and an exception both leave the text so far."""
    with server(Answer(text="words " * 200, stream=Stream(fault=fault, after=12))) as running:
        sent = send(at(cloud, running.base_url), asked().compile(), environ=KEYS, retries=ONCE)
    assert (sent.state, type(sent.failure)) == (state, error)
    assert sent.response is not None
    (text,) = sent.response.message.blocks
    assert isinstance(text, Text)
    assert text.text
    assert ("words " * 200).startswith(text.text)


def test_the_forms_are_the_clouds_own() -> None:
    """What the path says is not in the body, the version is; betas stand where the cloud looks for them."""
    with FaultyServer([says(500, {})]) as running:
        for cloud in MODELS:
            made = endpoint(
                cloud,
                "anthropic",
                base_url=at(cloud, running.url).base_url,
                headers={"anthropic-beta": "one"},
            )
            with pytest.raises(Overloaded):
                send(made, asked().compile(), model=MODELS[cloud], environ=KEYS, retries=ONCE)
        bedrock, vertex = running.heard
    plain = asked().compile().body
    assert bedrock.line == "POST /model/us.anthropic.claude-x-v1:0/invoke-with-response-stream HTTP/1.1"
    head = plain.partition(b'"model":"claude-opus-4-8",')
    assert head[1]
    assert bedrock.body == (
        head[0] + head[2][:-1] + b',"anthropic_beta":["one"],"anthropic_version":"bedrock-2023-05-31"}'
    )
    assert "anthropic-beta" not in bedrock.headers
    assert (bedrock.headers["authorization"], bedrock.headers["accept"]) == (
        "Bearer bedrock-key",
        "application/json",
    )
    assert vertex.line.endswith(
        "/locations/r/publishers/anthropic/models/claude-x@20260101:streamRawPredict HTTP/1.1"
    )
    assert vertex.body == (
        head[0] + head[2][:-1] + b',"stream":true,"anthropic_version":"vertex-2023-10-16"}'
    )
    assert vertex.headers["anthropic-beta"] == "one"
    assert vertex.headers["authorization"] == "Bearer vertex-token"


def test_a_body_that_has_the_form_already_keeps_it() -> None:
    """A version, betas and the wish for a stream that the caller wrote stand."""
    body = b'{"anthropic_version":"2026-10-21","anthropic_beta":["mine"],"stream":false,"messages":[]}'
    made = endpoint("bedrock", "anthropic", base_url="https://h.example", headers={"Anthropic-Beta": "one"})
    out = outgoing(made, body, stream=True, model="m")
    assert msgspec.json.decode(out.body) == {
        "anthropic_version": "2026-10-21",
        "anthropic_beta": ["mine"],
        "messages": [],
    }
    assert out.url(made) == "https://h.example/model/m/invoke"


@pytest.mark.parametrize(
    "status, message, error",
    [
        (400, "Input is too long for requested model.", ContextOverflow),
        (400, "Malformed input request: extraneous key [x] is not permitted", Rejected),
        (429, "Too many tokens, please wait before trying again.", RateLimited),
        (503, "Bedrock is unable to process your request.", Overloaded),
    ],
)
def test_bedrock_s_errors_have_their_types(status: int, message: str, error: type[ProviderError]) -> None:
    """Its body is a message alone."""
    answer = says(status, {"message": message}, x_amzn_requestid="id-1")
    with FaultyServer([answer]) as running, pytest.raises(error) as raised:
        send(at("bedrock", running.url), BODY, environ=KEYS, retries=ONCE)
    assert (raised.value.status, raised.value.request_id) == (status, "id-1")
    assert message[:20] in str(raised.value)


@every_cloud
def test_the_server_refuses_the_vendor_s_own_form(cloud: str) -> None:
    """The plain body at a cloud's address is what its referee says no to, so that the form is proved to be needed."""
    with server(Answer(text="x")) as running:
        plain = msgspec.structs.replace(at(cloud, running.base_url), form=None)
        with pytest.raises(Rejected, match="model"):
            send(plain, BODY, environ=KEYS, retries=ONCE)
