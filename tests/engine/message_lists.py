"""Message lists as callers hold them, and the ways in which they come back."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from typing import Any, Literal

Messages = list[dict[str, Any]]
Wire = Literal["anthropic", "openai-chat"]
MARK = {"type": "ephemeral"}


class Lists:
    """Random lists of one wire; every text in them is unique, so that each can be found in a request."""

    def __init__(self, wire: str, rng: random.Random) -> None:
        self.wire = wire
        self.rng = rng
        self.number = 0

    def word(self, longest: int = 6) -> str:
        """Return a text that stands nowhere else."""
        self.number += 1
        tail = " ".join(
            self.rng.choice(("naïve", "<b>", '"x"', "\\n", "日本", "a\nb")) for _ in range(longest)
        )
        return f"text{self.number}. {tail} .end{self.number}"

    def rounds(self, count: int) -> Messages:
        """Return so many rounds of a user's turn, an answer, and its calls with their results."""
        listed: Messages = []
        for _ in range(count):
            listed.append(self.user())
            for _ in range(self.rng.randint(0, 2)):
                listed += self.batch(self.rng.choice((1, 1, 2, 4)))
            listed.append(self.answer())
        return listed

    def user(self) -> dict[str, Any]:
        """Return a person's turn: a string, or blocks."""
        text = self.word()
        if self.rng.random() < 0.5:
            return {"role": "user", "content": text}
        return {
            "role": "user",
            "content": [{"type": "text", "text": text}, {"type": "text", "text": self.word()}],
        }

    def answer(self) -> dict[str, Any]:
        """Return an answer without calls."""
        if self.wire == "anthropic" and self.rng.random() < 0.7:
            content: list[dict[str, Any]] = [{"type": "text", "text": self.word()}]
            if self.rng.random() < 0.5:
                content.insert(0, {"type": "thinking", "thinking": self.word(), "signature": "c2ln"})
            return {"role": "assistant", "content": content}
        return {"role": "assistant", "content": self.word()}

    def batch(self, size: int) -> Messages:
        """Return an answer with calls, and the results of all of them in any order."""
        ids = [f"call_{self.rng.randint(0, 10**9)}" for _ in range(size)]
        arguments: list[dict[str, Any]] = [{"b": i, "a": [1, {"z": None, "y": "é"}]} for i in range(size)]
        results = [(id_, self.word() + "\n" + "\n".join(self.word(2) for _ in range(8))) for id_ in ids]
        self.rng.shuffle(results)
        if self.wire == "anthropic":
            calls = [
                {"type": "tool_use", "id": id_, "name": "bash", "input": given}
                for id_, given in zip(ids, arguments, strict=True)
            ]
            answers = [self._result(id_, text) for id_, text in results]
            said = [{"type": "text", "text": self.word()}] if self.rng.random() < 0.5 else []
            return [{"role": "assistant", "content": [*said, *calls]}, {"role": "user", "content": answers}]
        functions = [
            {"id": id_, "type": "function", "function": {"name": "bash", "arguments": json.dumps(given)}}
            for id_, given in zip(ids, arguments, strict=True)
        ]
        said_text = self.word() if self.rng.random() < 0.5 else None
        return [
            {"role": "assistant", "content": said_text, "tool_calls": functions},
            *({"role": "tool", "tool_call_id": id_, "content": text} for id_, text in results),
        ]

    def _result(self, id_: str, text: str) -> dict[str, Any]:
        content = text if self.rng.random() < 0.5 else [{"type": "text", "text": text}]
        return {"type": "tool_result", "tool_use_id": id_, "content": content}


Block = dict[str, Any]


def is_result(message: dict[str, Any], block: Block | None = None) -> bool:
    """Whether a message (or a block in it) is a tool's result."""
    return message["role"] == "tool" or (block is not None and block.get("type") == "tool_result")


def places(listed: Messages) -> list[Block]:
    """Return every block, call and result of a list that is an object of its own."""
    found: list[Block] = []
    for message in listed:
        content = message.get("content")
        found += content if isinstance(content, list) else []
        found += message.get("tool_calls") or []
    return found


def results_of(listed: Messages) -> list[Block]:
    """Return the results of a list: blocks of one wire, messages of the other."""
    return [m for m in listed if m["role"] == "tool"] + [
        block for block in places(listed) if block.get("type") == "tool_result"
    ]


def text_of(result: Block) -> str:
    """Return a result's text."""
    content = result["content"]
    return content if isinstance(content, str) else "".join(block["text"] for block in content)


def put(result: Block, text: str) -> None:
    """Give a result another text, in the form it has."""
    if isinstance(result["content"], str):
        result["content"] = text
    else:
        result["content"][0]["text"] = text


# -- what changes nothing ----------------------------------------------------------------------------------


def add_nulls(listed: Messages, rng: random.Random) -> None:
    for block in places(listed):
        if block["type"] == "text":
            block["citations"] = None
        block["cache_control"] = None
    for message in listed:
        if message["role"] == "assistant" and isinstance(message.get("content"), str | None):
            message |= {"refusal": None, "audio": None, "function_call": None}


def turn_keys(listed: Messages, rng: random.Random) -> None:
    def turned(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: turned(value[key]) for key in reversed(value)}
        return [turned(item) for item in value] if isinstance(value, list) else value

    listed[:] = turned(listed)
    for block in places(listed):
        if "function" in block:
            given = json.loads(block["function"]["arguments"])
            block["function"]["arguments"] = json.dumps(given, sort_keys=True, separators=(" , ", " : "))


def move_marks(listed: Messages, rng: random.Random) -> None:
    for block in places(listed):
        block.pop("cache_control", None)
        if block["type"] in ("text", "tool_use", "tool_result") and rng.random() < 0.3:
            block["cache_control"] = MARK


def drop_thinking(listed: Messages, rng: random.Random) -> None:
    for message in listed:
        message.pop("reasoning_content", None)
        if isinstance(message.get("content"), list):
            message["content"] = [block for block in message["content"] if block["type"] != "thinking"]


def shorten(listed: Messages, rng: random.Random) -> None:
    for result in results_of(listed):
        whole = text_of(result)
        if len(whole) < 200:
            continue  # nobody shortens what is short
        lines = whole.split("\n")
        put(
            result,
            rng.choice(
                (
                    "\n".join([*lines[:3], "... output truncated ...", *lines[-4:]]),
                    "[Old tool result content cleared]",
                    whole[: len(whole) // 2],
                    whole[:40] + f"\n\n[{len(whole) - 80} characters removed]\n\n" + whole[-40:],
                )
            ),
        )


def add_defaults(listed: Messages, rng: random.Random) -> None:
    for block in places(listed):
        if block["type"] == "text":
            block["citations"] = None
        if block["type"] == "tool_use":
            block["caller"] = {"type": "direct"}
        if block["type"] == "tool_result":
            block["is_error"] = rng.choice((False, None))
    for message in listed:
        if message["role"] == "assistant" and not isinstance(message.get("content"), list):
            message["annotations"] = []


def change_form(listed: Messages, rng: random.Random) -> None:
    for holder in [*listed, *results_of(listed)]:
        content = holder.get("content")
        if isinstance(content, str):
            holder["content"] = [{"type": "text", "text": content}]
        elif isinstance(content, list) and len(content) == 1 and content[0]["type"] == "text":
            holder["content"] = content[0]["text"]


def reorder(listed: Messages, rng: random.Random) -> None:
    index = 0
    while index < len(listed):
        if listed[index]["role"] == "tool":
            stop = index
            while stop < len(listed) and listed[stop]["role"] == "tool":
                stop += 1
            run = listed[index:stop]
            rng.shuffle(run)
            listed[index:stop] = run
            index = stop
            continue
        content = listed[index].get("content")
        if isinstance(content, list) and all(block["type"] == "tool_result" for block in content):
            rng.shuffle(content)
        index += 1


HARMLESS: dict[str, Callable[[Messages, random.Random], None]] = {
    "null members": add_nulls,
    "key order": turn_keys,
    "moved marks": move_marks,
    "dropped thinking": drop_thinking,
    "shortened results": shorten,
    "defaults": add_defaults,
    "string or block": change_form,
    "order of results": reorder,
}


# -- what is an edit ---------------------------------------------------------------------------------------


def edit_user(listed: Messages, rng: random.Random) -> tuple[str, str]:
    """Edit a person's text; return the old and the new one."""
    message = rng.choice([m for m in listed if m["role"] == "user" and not results_of([m])])
    old = message["content"] if isinstance(message["content"], str) else message["content"][-1]["text"]
    new = "edited " + old.replace("text", "TEXT")
    if isinstance(message["content"], str):
        message["content"] = new
    else:
        message["content"][-1]["text"] = new
    return old, new


def edit_result(listed: Messages, rng: random.Random) -> tuple[str, str]:
    """Edit a result to one at least as long; return the old and the new text."""
    result = rng.choice(results_of(listed))
    old = text_of(result)
    new = old.replace("text", "TEXT") if rng.random() < 0.5 else old + " and more"
    put(result, new)
    return old, new


def remove_turn(listed: Messages, rng: random.Random) -> tuple[str, str]:
    """Remove a person's turn that is not the last message; return its text."""
    turns = [i for i, m in enumerate(listed[:-1]) if m["role"] == "user" and not results_of([m])]
    content = listed.pop(rng.choice(turns))["content"]
    return (content if isinstance(content, str) else content[-1]["text"]), ""


def rewind(listed: Messages, rng: random.Random) -> tuple[str, str]:
    """Cut the list after one of its answers without calls; return a text that is gone."""
    ends = [i for i, m in enumerate(listed[:-1]) if m["role"] == "assistant" and not calls_in(m)]
    cut = rng.choice(ends) + 1
    gone = listed[cut]["content"]
    del listed[cut:]
    return (gone if isinstance(gone, str) else gone[-1]["text"]), ""


def calls_in(message: dict[str, Any]) -> bool:
    """Whether an assistant's message asks for tools."""
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    return bool(message.get("tool_calls")) or any(block["type"] == "tool_use" for block in blocks)


EDITS: dict[str, Callable[[Messages, random.Random], tuple[str, str]]] = {
    "edited turn": edit_user,
    "edited result": edit_result,
    "removed turn": remove_turn,
    "rewound": rewind,
}


def texts(listed: Messages) -> list[str]:
    """Return every text of a list that must stand in a request: all but reasoning."""
    found: list[str] = []
    for message in listed:
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        for block in blocks:
            if block["type"] == "text":
                found.append(block["text"])
            elif block["type"] == "tool_result":
                found.append(text_of(block))
    return found


def copied(listed: Messages) -> Messages:
    """Return a copy that shares nothing."""
    return copy.deepcopy(listed)


def broken(lists: Lists, length: int) -> Messages:
    """Return a list as careless agents hold it: orphans, missing, late and repeated results, empty texts."""
    rng = lists.rng
    listed: Messages = [lists.user()]
    known: list[str] = []
    while len(listed) < length:
        kind = rng.choice(
            ("user", "answer", "batch", "partial", "orphan", "again", "empty", "mixed", "system")
        )
        if kind == "user":
            listed.append(lists.user())
        elif kind == "answer":
            listed.append(lists.answer())
        elif kind in ("batch", "partial", "mixed"):
            made = lists.batch(rng.choice((1, 2, 4)))
            known += [result.get("tool_use_id") or result["tool_call_id"] for result in results_of(made)]
            if kind == "partial":
                made = thinned(made, rng)
            if kind == "mixed" and isinstance(made[-1]["content"], list):
                made[-1]["content"].insert(rng.randint(0, 1), {"type": "text", "text": lists.word()})
            listed += made
        elif kind == "orphan" or (kind == "again" and known):
            id_ = rng.choice(known) if kind == "again" else f"nobody_{lists.number}"
            if lists.wire == "anthropic":
                block = {"type": "tool_result", "tool_use_id": id_, "content": lists.word()}
                listed.append({"role": "user", "content": [block]})
            else:
                listed.append({"role": "tool", "tool_call_id": id_, "content": lists.word()})
        elif kind == "empty":
            listed.append({"role": rng.choice(("user", "assistant")), "content": rng.choice(("", "  "))})
        elif kind == "system":
            listed.append({"role": "system", "content": lists.word()})
    return listed


def thinned(made: Messages, rng: random.Random) -> Messages:
    """Drop some results of a batch."""
    if made[-1]["role"] == "tool":
        return [made[0], *(message for message in made[1:] if rng.random() < 0.5)]
    kept = [block for block in made[-1]["content"] if rng.random() < 0.5]
    return [made[0], {**made[-1], "content": kept}] if kept else made[:1]
