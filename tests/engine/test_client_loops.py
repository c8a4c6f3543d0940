"""Loops of the official clients, on loopback, with every request made from the caller's own list."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest

from foreword.core.target import Target
from foreword.engine.session import Session
from foreword.store import Store
from foreword.testing.script import Answer, Call, Scripted
from foreword.testing.server import RefereeServer
from tests.engine.message_lists import HARMLESS, Lists, copied
from tests.histories import BOUND, TIGHT, examples, referee_for, target_of

TURNS = examples(4, 40)
SEEDS = range(examples(1, 40))
READ = {"type": "object", "properties": {"path": {"type": "string"}}}


def script(rng: random.Random) -> Iterator[Scripted]:
    """Answer now with calls, now with words, some of them after thinking."""
    number = 0
    while True:
        calls = tuple(
            Call(name="bash", input={"command": f"ls {number + i}"}) for i in range(rng.randint(0, 3))
        )
        number += len(calls)
        text = f"words {number}" if not calls or rng.random() < 0.5 else None
        yield Answer(text=text, thinking=rng.choice((None, f"thought {number}")), calls=calls)


class AnthropicLoop:
    """A caller that keeps its own list and appends the client's objects to it."""

    def __init__(self, url: str, session: Session, rng: random.Random) -> None:
        self.client = anthropic.Anthropic(base_url=url, api_key="none", max_retries=0)
        self.session = session
        self.rng = rng
        self.listed: list[Any] = []
        self.forks = 0
        self.sent: list[bytes] = []

    def turn(self, text: str, *, recorded: bool) -> None:
        """Run one person's turn to its end; ``recorded``: responses are recorded, not left to the next sync."""
        self.listed.append({"role": "user", "content": text})
        for _ in range(4):
            synced = self.session.sync(
                self.listed,
                system="Be brief.",
                tools=[{"name": "bash", "description": "d", "input_schema": READ}],
            )
            self.forks += synced.forked_at is not None
            self.sent.append(synced.request.body)
            response = self.client.messages.create(**synced.body)
            if recorded:
                self.session.record(response)
            self.listed.append({"role": "assistant", "content": response.content})
            calls = [block for block in response.content if block.type == "tool_use"]
            if not calls:
                return
            self.rng.shuffle(calls)
            results = [
                {"type": "tool_result", "tool_use_id": call.id, "content": output(self.rng)} for call in calls
            ]
            self.listed.append({"role": "user", "content": results})

    def plain(self) -> list[dict[str, Any]]:
        """Return the list without client objects, with all defaults of the client in it."""
        found = []
        for message in self.listed:
            content = message["content"]
            if not isinstance(content, str):
                content = [b if isinstance(b, dict) else b.model_dump(mode="json") for b in content]
            found.append({**message, "content": content})
        return copy.deepcopy(found)

    def close(self) -> None:
        """Close the connections."""
        self.client.close()


class ChatLoop(AnthropicLoop):
    """The same over the other wire."""

    def __init__(self, url: str, session: Session, rng: random.Random) -> None:
        super().__init__(url, session, rng)
        self.chat = openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
        self.listed.append({"role": "developer", "content": "Be brief."})

    def turn(self, text: str, *, recorded: bool) -> None:
        """Run one person's turn to its end."""
        self.listed.append({"role": "user", "content": text})
        function = {"name": "bash", "description": "d", "parameters": READ}
        for _ in range(4):
            synced = self.session.sync(self.listed, tools=[{"type": "function", "function": function}])
            self.forks += synced.forked_at is not None
            self.sent.append(synced.request.body)
            response = self.chat.chat.completions.create(**synced.body)
            if recorded:
                self.session.record(response)
            message = response.choices[0].message
            self.listed.append(message)
            if not message.tool_calls:
                return
            for call in self.rng.sample(message.tool_calls, len(message.tool_calls)):
                self.listed.append({"role": "tool", "tool_call_id": call.id, "content": output(self.rng)})

    def plain(self) -> list[dict[str, Any]]:
        """Return the list without client objects, with all defaults of the client in it."""
        return [copy.deepcopy(m) if isinstance(m, dict) else m.model_dump(mode="json") for m in self.listed]

    def close(self) -> None:
        """Close the connections."""
        super().close()
        self.chat.close()


def output(rng: random.Random) -> str:
    """Return a tool's output: empty, short, or long enough to be moved out."""
    return rng.choice(
        ("", "done", "\n".join(f"line {n} of {rng.random()}" for n in range(rng.choice((5, 300)))))
    )


LOOPS = {
    "anthropic": (AnthropicLoop, target_of("anthropic", 200_000, reserve_output=8_000)),
    "anthropic, bound thinking": (AnthropicLoop, target_of("anthropic", 12_000, model=BOUND)),
    "anthropic, small window": (AnthropicLoop, target_of("anthropic", 9_000)),
    "openai-chat": (ChatLoop, target_of("openai-chat", 200_000)),
    "openai-chat, small window": (ChatLoop, target_of("openai-chat", 9_000)),
}


def served(target: Target, rng: random.Random, seed: int) -> RefereeServer:
    referee: Any = referee_for(target, script(rng), seed=seed)
    if target.codec.wire == "anthropic":
        return RefereeServer(anthropic=referee)
    return RefereeServer(openai_chat=referee)


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("recorded", [True, False], ids=["recorded", "synced"])
def test_a_loop_never_forks_and_every_request_is_taken(name: str, recorded: bool, tmp_path: Path) -> None:
    """The server takes every request of a real client's loop, no sync forks, and a changed form still matches."""
    make, target = LOOPS[name]
    for seed in SEEDS:
        rng = random.Random(f"{name} {seed}")
        with Store.open(tmp_path / str(seed)) as store, served(target, rng, seed) as server:
            session = Session.open(store, "loop", target=target, policy=TIGHT)
            loop = make(server.base_url, session, rng)
            lists = Lists(target.codec.wire, rng)
            with closing(loop):
                for _ in range(TURNS):
                    loop.turn(lists.word(), recorded=recorded)
            assert loop.forks == 0
            loop.session.sync(loop.listed)
            turns: list[dict[str, Any]] = []
            for change in HARMLESS.values():
                listed = [*loop.plain(), *copied(turns)]
                change(listed, rng)
                later = Session.open(store, "loop", target=target, policy=TIGHT)
                size = len(later.events)
                turns.append(lists.user())
                synced = later.sync([*listed, turns[-1]])
                assert (synced.forked_at, synced.appended) == (None, 1), change.__name__
                assert later.events[size].kind == "said"
            assert store.verify() == []
