"""Histories with what only some wires, models or policies know: hosted tools, deferred ones, switches, blind models.

Operations beside those of `histories`, for the same checks.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

from foreword.codecs.check import check
from foreword.compiler.compile import Compiled
from foreword.core.block import Block, Image, Message, Opaque, Text, ToolSpec
from foreword.core.catalog import Catalog
from foreword.core.event import Draft, Said
from foreword.core.target import Target
from foreword.engine.session import Session
from tests.histories import BOUND, MODELS, OPERATIONS, PIXEL, Walk, referee_for, target_of

BLIND = "".join(f'[[model]]\nid = "{name}"\nvision = false\n' for name in sorted(set(MODELS.values())))
TURNS = '[[model]]\nid = "gpt-6.1-sol"\nstrict_alternation = true\n'
JSON_CHAT = {"response_format": {"type": "json_object"}}
JSON_RESPONSES = {"text": {"format": {"type": "json_object"}}}
TARGETS = {
    **{wire: target_of(wire) for wire in MODELS},
    **{f"{wire}, small window": target_of(wire, 6_000) for wire in MODELS},
    **{f"{wire}, no reader": target_of(wire, 9_000, reader="none") for wire in MODELS},
    **{f"{wire}, blind": target_of(wire, 9_000, catalog=Catalog.load().override(BLIND)) for wire in MODELS},
    "anthropic, bound thinking": target_of("anthropic", 9_000, model=BOUND),
    "anthropic, thinking by a budget": target_of(
        "anthropic",
        12_000,
        model="claude-sonnet-4-5",
        keys={"thinking": {"type": "enabled", "budget_tokens": 1_024}},
        reserve_output=2_000,
    ),
    "openai-chat, JSON answers": target_of("openai-chat", 9_000, keys=JSON_CHAT),
    "openai-responses, JSON answers": target_of("openai-responses", 9_000, keys=JSON_RESPONSES),
    "openai-chat, turns": target_of("openai-chat", 9_000, catalog=Catalog.load().override(TURNS)),
}
SPOKEN = (
    "Bitte beheben Sie den Fehler in dieser Datei und starten Sie danach die Tests noch einmal.",
    "Peux-tu regarder pourquoi la dernière page ne s'ouvre plus depuis ce matin ?",
)
SEARCH = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
SCHEMA = {"type": "object", "properties": {"x": {"type": "string"}}}
POOL = (
    ToolSpec(name=SEARCH["name"], extra={"anthropic": SEARCH}),
    ToolSpec(name="alpha", schema=SCHEMA),
    *(ToolSpec(name=name, schema=SCHEMA, deferred=True) for name in ("beta", "gamma")),
    ToolSpec(name="beta", schema=SCHEMA),
)
EXIT = {"stdout": "ok", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}
SHOT = {"type": "computer_screenshot", "image_url": f"data:image/png;base64,{PIXEL}"}
LARGE = 100_000
"""Tokens of a window that no walk fills."""
Pair = tuple[dict[str, Any], dict[str, Any]]


def _served(name: str, found: Any, kind: str = "server_tool_use", **more: Any) -> Callable[[str], Pair]:
    """Return a maker, by id, of a call that Anthropic runs and of its result."""
    tool = name.removesuffix("_bm25").removesuffix("_tool") if kind == "server_tool_use" else "mcp"
    return lambda id_: (
        {"type": kind, "id": f"srvtoolu_{id_}", "name": name, "input": {"query": "x"}, **more},
        {"type": f"{tool}_tool_result", "tool_use_id": f"srvtoolu_{id_}", "content": found},
    )


def _items(call: str, asked: dict[str, Any], answer: dict[str, Any]) -> Callable[[str], Pair]:
    """Return a maker, by id, of an item that a client of Responses runs and of its output."""
    return lambda id_: (
        {"type": call, "call_id": id_, "status": "completed", **asked},
        {"type": f"{call}_output", "call_id": id_, **answer},
    )


REFERENCES = [{"type": "tool_reference", "tool_name": "beta"}]
HOSTED: dict[str, tuple[Callable[[str], Pair], ...]] = {
    "anthropic": (
        _served("web_search", []),
        _served(SEARCH["name"], {"type": "tool_search_tool_search_result", "tool_references": REFERENCES}),
        _served("look", [], "mcp_tool_use", server_name="s"),
    ),
    "openai-responses": (
        _items("shell_call", {"action": {"commands": ["make"]}}, {"output": [EXIT]}),
        _items(
            "apply_patch_call", {"operation": {"type": "delete_file", "path": "a"}}, {"status": "completed"}
        ),
        _items(
            "computer_call", {"action": {"type": "screenshot"}, "pending_safety_checks": []}, {"output": SHOT}
        ),
        lambda id_: (
            {"type": "mcp_approval_request", "id": id_, "name": "t", "arguments": "{}", "server_label": "s"},
            {"type": "mcp_approval_response", "approval_request_id": id_, "approve": True},
        ),
    ),
}
"""Wire -> makers, by id, of what a model asks for and of its answer."""


class WideWalk(Walk):
    """A walk over targets, with hosted and deferred tools; ``describes``: pictures are described to blind models."""

    def __init__(self, rng: random.Random, session: Session, *, describes: bool, **more: Any) -> None:
        super().__init__(rng, session, **more)
        self.describes = describes
        self._aim(session.target)

    def _aim(self, target: Target | None) -> None:
        """Go on with a target, judged by a referee of its own that makes no id a second time."""
        assert target is not None
        self.target = self.session.target = target
        self.session.describe = _described if self.describes else None
        served = self.referee.served
        self.referee = referee_for(target, self.script, foreign=True)
        self.referee.served = served
        self._last = None

    def switch(self) -> None:
        self._aim(self.rng.choice(list(TARGETS.values())))

    def reopen(self) -> None:
        super().reopen()
        self.session.target = self.target
        self.session.describe = _described if self.describes else None

    def hosted(self) -> None:
        """A message with calls that only one wire knows, whole pairs and halves, perhaps with words around."""
        own = self.target.codec.wire
        wire = own if own in HOSTED and self.rng.random() < 0.8 else self.rng.choice(tuple(HOSTED))
        asked: list[Block] = []
        later: list[Opaque] = []
        for make in self.rng.choices(HOSTED[wire], k=self.rng.choice((1, 1, 2))):
            self.made += 1
            halves = make(self.rng.choice((f"h{self.made}", f"h{self.made}", "h1", "toolu_1x")))
            call, answer = (
                Opaque(wire=wire, form=half["type"], raw=json.dumps(half, separators=(",", ":")))
                for half in halves
            )
            asked += [call] if self.rng.random() < 0.9 else []
            given = [answer] if self.rng.random() < 0.7 else []
            if wire == "anthropic" and self.rng.random() < 0.8:
                asked += given
            else:
                later += given
        if self.rng.random() < 0.5:
            asked.insert(self.rng.randint(0, len(asked)), Text(text=self.text(2)))
        if asked:
            self._hosted(asked, wire)
        if later and self.rng.random() < 0.3:
            self.rng.choice((self.say, self.ask, self.defer))()
        for answer in later:
            if wire == "anthropic":
                self._hosted([answer], wire)
            else:
                said = Said(message=Message(role="user", blocks=(answer,), wire=wire), person=False)
                self.session.append(Draft(body=said, trust="tool", actor="client"))

    def _hosted(self, blocks: list[Block], wire: str) -> None:
        self.session.answered(Message(role="assistant", blocks=tuple(blocks), wire=wire))

    def defer(self) -> None:
        tools = {tool.name: tool for tool in self.rng.sample(POOL, self.rng.randint(0, 3))}
        self.session.offer(list(tools.values()))

    def speak(self) -> None:
        self.session.say(self.rng.choice(SPOKEN))

    def late_and_large(self) -> None:
        if self.closed:
            shown = (Image(media_type="image/png", data=PIXEL),) if self.rng.random() < 0.3 else ()
            self.session.returned(
                self.rng.choice(self.closed), (Text(text=self.lines(300, 900)), *shown), exit_code=0
            )

    def ask(self) -> Compiled | None:
        """Compile and check; a large window refuses nothing of this."""
        refused = self.refused
        compiled = super().ask()
        assert self.refused == refused or self.target.window < LARGE
        return compiled

    def checked(self, compiled: Compiled) -> None:
        super().checked(compiled)
        wire = compiled.target.codec.wire
        members = json.loads(compiled.body)
        listed = members.get("messages") or members.get("input") or members.get("contents")
        assert check(listed, wire) == []


def _described(picture: Image) -> str:
    return f"A picture, {picture.digest[:4]}."


WIDE = (*OPERATIONS, "hosted", "hosted", "hosted", "defer", "defer", "speak", "late_and_large", "switch")
