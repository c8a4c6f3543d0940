"""Decoding and encoding of whole requests and responses, against the official SDKs' own parsing."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from anthropic.types import Message as AnthropicMessage
from openai.types.chat import ChatCompletion
from openai.types.responses import Response

from foreword.codecs import codec
from foreword.engine.session import Session
from foreword.engine.target import target_for
from foreword.testing import Answer, AnthropicReferee, Call, OpenAIChatReferee, OpenAIResponsesReferee

WIRES: dict[str, tuple[str, Any, Any]] = {
    "anthropic": ("claude-opus-4-8", AnthropicReferee, AnthropicMessage),
    "openai-chat": ("gpt-6.1-sol", OpenAIChatReferee, ChatCompletion),
    "openai-responses": ("gpt-6.1-sol", OpenAIResponsesReferee, Response),
}
ROUNDS = 400


def best(work: Callable[[], Any]) -> float:
    """Microseconds of one call, the best of several rounds."""
    times = []
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(ROUNDS):
            work()
        times.append((time.perf_counter() - start) / ROUNDS * 1e6)
    return min(times)


def main() -> None:
    """Print microseconds and ratios per wire."""
    print(
        f"{'wire':20}{'decode':>9}{'SDK':>9}{'ratio':>7}{'dump':>9}{'SDK dump':>10}{'ratio':>7}  microseconds"
    )
    for wire in WIRES:
        measure(wire)


def measure(wire: str) -> None:
    """Print the row of a wire."""
    model, referee, kind = WIRES[wire]
    call = Call(name="bash", input={"command": "make -j2", "timeout": 30})
    made = referee(script=[Answer(text="The build fails in config.c. " * 40, calls=(call,))])
    session = Session.open(None, "bench", target=target_for(wire, model, max_output=4_000))
    session.say("Build it.")
    raw = json.dumps(made.respond(session.compile().body)[1]).encode()
    mine = codec(wire)
    response, parsed = mine.decode_response(raw), kind.model_validate_json(raw)
    decode, sdk = best(lambda: mine.decode_response(raw)), best(lambda: kind.model_validate_json(raw))
    dump, theirs = best(lambda: mine.encode_response(response)), best(lambda: parsed.model_dump(mode="json"))
    print(f"{wire:20}{decode:9.1f}{sdk:9.1f}{sdk / decode:7.2f}{dump:9.1f}{theirs:10.1f}{theirs / dump:7.2f}")


if __name__ == "__main__":
    main()
