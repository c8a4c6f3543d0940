"""Unreported: what a call probably used of which nobody recorded it. An estimate, kept apart from what is known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from foreword.core.block import Block, Text, Thinking, ToolCall, ToolResult
from foreword.core.canonical import compact
from foreword.core.event import (
    Answered,
    Body,
    InstructionsSet,
    Noticed,
    Pinned,
    Said,
    ToolReturned,
    ToolsSet,
    UnseenPrefix,
)
from foreword.core.price import Cost
from foreword.core.tokens import Counter, counter
from foreword.core.usage import Usage


class Estimate(Struct, frozen=True, kw_only=True):
    """Tokens, and what they cost. A prompt that is not known counts as if nothing of it had been cached."""

    usage: Usage
    cost: Cost


class Unreported:
    """The size of the next prompt, as far as the facts so far tell it.

    A request of ours was counted when it was made. Of others, the last prompt whose size is recorded stands for
    itself and what came since is counted; before the first, the unseen prefix and every text. Only text counts,
    by the local counter and the model's factor; what a foreign tool rewrote in between is not known.
    """

    def __init__(self) -> None:
        self._prompt = 0
        self._texts: list[str] = []
        self._counted = 0
        self._counter: Counter | None = None

    def take(self, body: Body | None) -> None:
        """Follow the next fact; of a call, after it was estimated."""
        match body:
            case UnseenPrefix(tokens=tokens):
                self._prompt = tokens
            case Answered(usage=Usage() as usage) if usage.total_input:
                self._prompt, self._counted = usage.total_input, 0
                self._texts = list(_texts(body))
            case _:
                self._texts += _texts(body)

    def usage(self, body: Body, factor: float, *, asked: int | None, known: Usage | None) -> Usage:
        """Estimate a call that comes next.

        ``factor``: its model's; ``asked``: size of the request of ours that it was for, by the counter; None: for none.
        ``known``: what was reported of it.
        """
        output = known.output if known is not None else None
        if output is None:
            output = round(self._count(list(_texts(body))) * factor)
        if known is not None and known.total_input is not None:
            return replace(known, output=output)
        if asked is not None:
            prompt = round(asked * factor)
        else:
            self._counted += self._count(self._texts)
            self._texts = []
            prompt = self._prompt + round(self._counted * factor)
        return Usage(uncached=prompt, cache_read=0, cache_write_short=0, cache_write_long=0, output=output)

    def _count(self, texts: list[str]) -> int:
        self._counter = self._counter or counter()
        return sum(self._counter.count_many(texts)) if texts else 0


def written(answer: Answered) -> int:
    """Return the tokens of an answer's text by the counter, for one whose output nobody reported."""
    return sum(counter().count_many(list(_texts(answer))))


def _texts(body: Body | None) -> Iterator[str]:
    match body:
        case Said(message=message) | Answered(message=message):
            yield from _block_texts(message.blocks)
        case ToolReturned(result=result):
            yield from _block_texts(result.content)
        case InstructionsSet(blocks=blocks):
            yield from _block_texts(blocks)
        case ToolsSet(tools=tools):
            for tool in tools:
                yield f"{tool.name}\n{tool.description}\n{compact(tool.schema).decode()}"
        case Pinned(text=text) | Noticed(text=text):
            yield text
        case _:
            pass


def _block_texts(blocks: Iterable[Block]) -> Iterator[str]:
    for block in blocks:
        match block:
            case Text(text=text) | Thinking(text=text):
                yield text
            case ToolCall(name=name, arguments=arguments):
                yield f"{name}\n{arguments}"
            case ToolResult(content=content):
                yield from _block_texts(content)
            case _:
                pass
