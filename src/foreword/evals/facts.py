"""The facts of a session as rows: which step each belongs to, what it is, its text and its size.

A step is one recorded model call. What was said and returned since the call before belongs to the step that
reads it first; the call's own answer closes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from foreword.core.block import Block, Image, Opaque, Text, Thinking, ToolCall
from foreword.core.canonical import compact
from foreword.core.event import (
    Answered,
    Body,
    Draft,
    InstructionsSet,
    Pinned,
    Said,
    ToolReturned,
    ToolsSet,
    UnseenPrefix,
)
from foreword.core.tokens import counter

Category = Literal[
    "unseen", "tools", "instructions", "person", "said", "answer", "reasoning", "call", "result"
]
CATEGORIES: tuple[Category, ...] = (
    "unseen", "tools", "instructions", "person", "said", "answer", "reasoning", "call", "result",
)  # fmt: skip
"""``said``: messages of the agent's program rather than of a person. ``call``: names and arguments."""


class Row(Struct, frozen=True, kw_only=True):
    """One block of one fact.

    ``fact``: its index in what was given. ``step`` counts from 1. ``tool``: of a call or a result, None: not
    known. ``call``: the id that binds call and result. ``media``: it is no text, and its size is not counted.
    """

    fact: int
    step: int
    category: Category
    text: str
    tokens: int
    tool: str | None = None
    call: str | None = None
    is_error: bool = False
    media: bool = False


def rows_of(drafts: Sequence[Draft]) -> list[Row]:
    """Return the rows of a session's facts in log order, counted in one batch."""
    rows = list(_rows(drafts))
    counts = counter().count_many([row.text for row in rows])
    return [
        Row(
            fact=row.fact,
            step=row.step,
            category=row.category,
            text=row.text,
            tokens=row.tokens or count,
            tool=row.tool,
            call=row.call,
            is_error=row.is_error,
            media=row.media,
        )
        for row, count in zip(rows, counts, strict=True)
    ]


def _rows(drafts: Sequence[Draft]) -> Iterator[Row]:
    step = 1
    opened: dict[str, list[str]] = {}
    ended: dict[str, str] = {}
    for fact, draft in enumerate(drafts):
        body = draft.body
        match body:
            case Answered():
                yield from _answered(fact, step, body, opened)
                step += 1
            case ToolReturned():
                result = body.result
                # Ids come twice: a result is that of the oldest open call, else once more of the one ended last.
                if waiting := opened.get(result.call_id):
                    ended[result.call_id] = waiting.pop(0)
                tool = ended.get(result.call_id)
                for text, media in _contents(result.content):
                    yield Row(
                        fact=fact, step=step, category="result", text=text, tokens=0, tool=tool,
                        call=result.call_id, is_error=result.is_error, media=media,
                    )  # fmt: skip
            case Said():
                person = body.person
                for text, media in _contents(body.message.blocks):
                    category: Category = "person" if person else "said"
                    yield Row(fact=fact, step=step, category=category, text=text, tokens=0, media=media)
            case _:
                yield from _standing(fact, step, body)


def _standing(fact: int, step: int, body: Body) -> Iterator[Row]:
    match body:
        case InstructionsSet():
            for block in body.blocks:
                yield Row(fact=fact, step=step, category="instructions", text=block.text, tokens=0)
        case ToolsSet():
            for tool in body.tools:
                text = f"{tool.name}\n{tool.description}\n{compact(tool.schema).decode()}"
                yield Row(fact=fact, step=step, category="tools", text=text, tokens=0, tool=tool.name)
        case UnseenPrefix():
            yield Row(fact=fact, step=step, category="unseen", text="", tokens=body.tokens)
        case Pinned():
            yield Row(fact=fact, step=step, category="said", text=body.text, tokens=0)
        case _:
            pass


def _answered(fact: int, step: int, body: Answered, opened: dict[str, list[str]]) -> Iterator[Row]:
    for block in body.message.blocks:
        match block:
            case ToolCall():
                opened.setdefault(block.id, []).append(block.name)
                text = f"{block.name}\n{block.arguments}"
                yield Row(
                    fact=fact, step=step, category="call", text=text, tokens=0, tool=block.name, call=block.id
                )
            case Thinking():
                yield Row(fact=fact, step=step, category="reasoning", text=block.text, tokens=0)
            case _:
                for text, media in _contents((block,)):
                    yield Row(fact=fact, step=step, category="answer", text=text, tokens=0, media=media)


def _contents(blocks: Sequence[Block]) -> Iterator[tuple[str, bool]]:
    for block in blocks:
        match block:
            case Text():
                yield block.text, False
            case Image():
                yield "", True
            case Opaque():
                yield block.raw, False
            case _:
                pass
