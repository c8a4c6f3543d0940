"""Sending to a server on loopback: its keys, its wires, and bodies."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from foreword.core.endpoint import Endpoint, endpoint
from foreword.engine.session import Session
from foreword.engine.transport import TIMEOUTS, Retries, Sent, Timeouts, send
from foreword.testing.anthropic_referee import AnthropicReferee
from foreword.testing.deepseek_referee import DeepSeekReferee
from foreword.testing.gemini_referee import GeminiReferee
from foreword.testing.openai_chat_referee import OpenAIChatReferee
from foreword.testing.openai_responses_referee import OpenAIResponsesReferee
from foreword.testing.script import Scripted
from foreword.testing.server import RefereeServer

KEY = "sk-secret-0123456789"
KEYS = {f"{name}_API_KEY": KEY for name in ("ANTHROPIC", "OPENAI", "DEEPSEEK", "GEMINI")}
FAST = Retries(first=0.001, longest=0.002)
ONCE = Retries(attempts=1)
WIRES = {
    "anthropic": ("anthropic", "", "claude-opus-4-8"),
    "openai-chat": ("openai", "/v1", "gpt-6.1-sol"),
    "openai-responses": ("openai", "/v1", "gpt-6.1-sol"),
    "deepseek": ("deepseek", "/deepseek", "deepseek-v4-pro"),
    "gemini": ("gemini", "/v1beta", "gemini-3.8-flash"),
}
BODY = b'{"model":"claude-opus-4-8","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}'
BEGUN = b"".join(
    b"event: x\ndata: " + data + b"\n\n"
    for data in (
        b'{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"c",'
        b'"content":[],"stop_reason":null,"usage":{"input_tokens":5,"output_tokens":1}}}',
        b'{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
        b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Half a"}}',
    )
).replace(b"event: x\n", b"")
T = TypeVar("T")


def server(*script: Scripted) -> RefereeServer:
    """Serve the same script on every wire."""
    return RefereeServer(
        anthropic=AnthropicReferee(script=script),
        openai_chat=OpenAIChatReferee(script=script),
        openai_responses=OpenAIResponsesReferee(script=script),
        deepseek=DeepSeekReferee(script=script),
        gemini=GeminiReferee(script=script),
    )


def at(wire: str, url: str) -> Endpoint:
    """Return the vendor's endpoint of a wire, moved to a server of the test."""
    name, path, _ = WIRES[wire]
    return endpoint(name, wire, base_url=url + path)


def asked(wire: str) -> Session:
    """Return a session in which something was asked."""
    session = Session.open(None, "s", provider=wire, model=WIRES[wire][2])
    session.say("What is there?")
    return session


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run in an event loop, bounded."""
    return asyncio.run(asyncio.wait_for(coroutine, 20))


def sent_to(url: str, *, timeouts: Timeouts = TIMEOUTS, retries: Retries = FAST, body: bytes = BODY) -> Sent:
    """Send bytes to an Anthropic endpoint."""
    return send(at("anthropic", url), body, timeouts=timeouts, retries=retries, environ=KEYS)
