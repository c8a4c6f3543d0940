"""A session that remembers its last list and one that forgot it come to the same, whatever happens in between."""

from __future__ import annotations

import copy
import random
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from anthropic.types import TextBlock, ToolUseBlock
from msgspec import structs
from openai.types.chat import ChatCompletionMessage

from foreword.core.block import Message, Text, ToolCall
from foreword.core.event import Answered, Event
from foreword.core.sealing import encode_body
from foreword.engine.last_list import LastList, prints_of
from foreword.engine.session import Session
from foreword.engine.sync_forks import LOOKED
from foreword.errors import ForewordError
from foreword.store import Store
from tests.engine.message_lists import EDITS, HARMLESS, Lists, broken, copied, results_of
from tests.histories import BOUND, TIGHT, counting_clock, examples, target_of

WIRES = ("anthropic", "openai-chat", "openai-responses")
OTHER = {
    "anthropic": ("anthropic", BOUND),
    "openai-chat": ("deepseek", None),
    "openai-responses": ("openai-responses", None),
}
SCHEMA = {"type": "object", "properties": {}}


class Pair:
    """Two sessions with one history: ``one`` remembers its last list, ``other`` forgets it before every sync."""

    def __init__(self, wire: str, seed: str, folder: Path | None) -> None:
        self.listing = wire
        self.wire = "openai-chat" if wire == "openai-responses" else wire
        self.lists = Lists(self.wire, random.Random(seed))
        self.rng = random.Random(f"steps {seed}")
        self.stores = [Store.open(folder / name) if folder else None for name in ("one", "other")]
        self.target = target_of(wire)
        self.one, self.other = (
            Session.open(store, "twin", target=self.target, policy=TIGHT, clock=counting_clock())
            for store in self.stores
        )
        self.listed: list[Any] = [self.lists.user()]
        self.request: dict[str, Any] = {}
        self.told: Any = None
        self.missing: list[Any] = []
        self.counted: Counter[str] = Counter()

    def both(self, act: Callable[[Session], Any]) -> None:
        """Do the same to both."""
        act(self.one)
        act(self.other)

    def sync(self) -> None:
        """Sync the list with both, and hold what they say and recorded against each other."""
        if self.stores[0] is not None and self.rng.random() < 0.7:
            self.both(Session.flush)
        listed = self.listed if self.listing == self.wire else as_items(self.listed)
        behind = self.one.last_list.settled(type(self.one.codec), prints_of(listed)).items
        self.told = told = outcome(self.one, listed, self.request)
        self.other.last_list = LastList()  # as an opened session's, which compares everything
        assert outcome(self.other, copy.deepcopy(listed), self.request) == told
        assert facts(self.other.events) == facts(self.one.events)
        assert self.other.id == self.one.id
        self.counted["shortcuts"] += bool(behind)
        self.counted[
            "refused" if isinstance(told, str) else "forked" if told[1] is not None else "went on"
        ] += 1

    def plain(self) -> None:
        """Turn SDK objects of the list back into plain messages, which the helpers can change."""
        self.listed[:] = [plain(message) for message in self.listed]

    def close(self) -> None:
        for store in self.stores:
            if store is not None:
                store.close()


def plain(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return plain(value.model_dump(mode="json", exclude_unset=True))
    if isinstance(value, dict):
        return {key: plain(member) for key, member in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


def as_items(listed: list[Any]) -> list[Any]:
    """Return a list of Chat as the items of Responses, where the model's neighbours become one message."""
    items: list[Any] = []
    for message in listed:
        told = plain(message)
        if not isinstance(told, dict):
            items.append(told)
        elif told["role"] == "tool":
            items.append({
                "type": "function_call_output", "call_id": told["tool_call_id"], "output": text_in(told)
            })  # fmt: skip
        elif told["role"] == "assistant":
            said = [{"type": "output_text", "text": text_in(told)}] if text_in(told) else []
            items += [{"type": "message", "role": "assistant", "content": said}] if said else []
            for call in told.get("tool_calls") or ():
                items.append({"type": "function_call", "call_id": call["id"], **call["function"]})
        else:
            items.append({"role": told["role"], "content": text_in(told)})
    return items


def text_in(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(str(part.get("text")) for part in content)


def outcome(session: Session, listed: list[Any], request: dict[str, Any]) -> Any:
    """Return what a sync came to, or how it was refused."""
    try:
        synced = session.sync(listed, **request)
    except ForewordError as error:
        return f"{type(error).__name__}: {error}"
    return synced.request.body, synced.forked_at, synced.appended, synced.shortened


def facts(events: Any) -> list[Any]:
    """Return what events say, without when and how they were sealed."""

    def told(event: Event) -> Any:
        said = event.body
        if isinstance(said, Answered) and said.copy_of is not None:
            said = structs.replace(said, copy_of="link")  # of a log that was sealed otherwise
        body = None if said is None else encode_body(said)
        return event.seq, event.kind, body, event.origin, event.actor, event.trust, event.causes

    return [told(event) for event in events if event.kind not in ("session_opened", "erased")]


# -- what happens between two syncs ------------------------------------------------------------------------


def go_on(pair: Pair) -> None:
    pair.listed += pair.lists.rounds(1)[pair.rng.randint(0, 1) :]


def answer_and_ask(pair: Pair) -> None:
    pair.listed += [*pair.lists.batch(pair.rng.choice((1, 2))), pair.lists.user()]


def carelessly(pair: Pair) -> None:
    pair.listed += broken(pair.lists, pair.rng.randint(2, 5))[pair.rng.randint(0, 1) :]


def change_form(pair: Pair) -> None:
    pair.plain()
    HARMLESS[pair.rng.choice(list(HARMLESS))](pair.listed, pair.rng)


def edit(pair: Pair) -> None:
    pair.plain()
    with suppress(LookupError, TypeError):  # where the list has no place for such an edit
        EDITS[pair.rng.choice(list(EDITS))](pair.listed, pair.rng)


def edit_and_undo(pair: Pair) -> None:
    """A change that is taken back, by equal values that are other objects."""
    pair.listed[:] = copied(pair.listed)


def mutate(pair: Pair) -> None:
    """Change one value inside one message in place: to another type that compares equal, too."""
    for message in pair.rng.sample(pair.listed, min(2, len(pair.listed))):
        if isinstance(message, ChatCompletionMessage):
            message.content = f"{message.content} more"
        elif isinstance(message, dict):
            blocks = message.get("content") if isinstance(message.get("content"), list) else []
            for block in blocks:
                if isinstance(block, ToolUseBlock):
                    block.input = {**block.input, "more": 1}
                elif isinstance(block, dict) and block["type"] == "tool_result":
                    block["is_error"] = pair.rng.choice((True, 1, 0, False))
                elif isinstance(block, dict) and block["type"] == "tool_use":
                    block["input"] = pair.rng.choice(({"b": 1}, {"b": True}, {"b": 1.0}, {"b": float("nan")}))
            if not blocks and message["role"] == "user":
                message["content"] = pair.lists.word()


def shorten_one(pair: Pair) -> None:
    pair.plain()
    found = results_of(pair.listed)
    if found:
        pair.rng.choice(found)["content"] = "[Old tool result content cleared]"


def drop_last(pair: Pair) -> None:
    del pair.listed[max(1, len(pair.listed) - pair.rng.randint(1, 2)) :]


def cut(pair: Pair) -> None:
    del pair.listed[pair.rng.randint(1, len(pair.listed)) :]


def remind(pair: Pair) -> None:
    """A reminder at the end that the next list no longer has."""
    pair.listed.append({"role": "user", "content": pair.lists.word()})
    pair.sync()
    pair.listed.pop()


def mark_the_end(pair: Pair) -> None:
    """Caches marks at the newest messages, moved along as clients do."""
    pair.plain()
    for message in pair.listed:
        for block in message["content"] if isinstance(message.get("content"), list) else ():
            block.pop("cache_control", None)
    holders = [m for m in pair.listed if isinstance(m.get("content"), list) and m["content"]]
    for message in holders[-2:]:
        message["content"][-1]["cache_control"] = {"type": "ephemeral"}


def as_objects(pair: Pair) -> None:
    """The model's messages as the SDK gives them."""
    pair.plain()
    for number, message in enumerate(pair.listed):
        if message["role"] != "assistant":
            continue
        if pair.wire == "openai-chat" and isinstance(message.get("content"), str | None):
            pair.listed[number] = ChatCompletionMessage.model_validate(message)
        elif pair.wire == "anthropic" and isinstance(message["content"], list):
            made = {"text": TextBlock, "tool_use": ToolUseBlock}
            message["content"] = [
                made[block["type"]].model_validate(block) if block["type"] in made else block
                for block in message["content"]
            ]


def instructions_first(pair: Pair) -> None:
    """Instructions in the list itself come, change, or go."""
    first = pair.listed[0]
    if isinstance(first, dict) and first["role"] == "system" and len(pair.listed) > 1:
        del pair.listed[0]
    else:
        text = {"type": "text", "text": pair.lists.word(), "cache_control": {"type": "ephemeral"}}
        pair.listed.insert(0, {"role": "system", "content": pair.rng.choice((text["text"], [text]))})


def set_system(pair: Pair) -> None:
    pair.request["system"] = pair.rng.choice((None, pair.lists.word(), "be brief"))


def tool(wire: str, name: str) -> dict[str, Any]:
    return {
        "anthropic": {"name": name, "input_schema": SCHEMA},
        "openai-chat": {"type": "function", "function": {"name": name, "parameters": SCHEMA}},
        "openai-responses": {"type": "function", "name": name, "parameters": SCHEMA},
    }[wire]


def set_tools(pair: Pair) -> None:
    names = pair.rng.sample(("bash", "read_file", "ask"), pair.rng.randint(0, 3))
    pair.request["tools"] = pair.rng.choice((None, [tool(pair.listing, name) for name in names]))


def refused(pair: Pair) -> None:
    """Lists and tools that are no such things: refused, and then mended."""
    place = pair.rng.randint(0, len(pair.listed))
    bad = pair.rng.choice(({"role": "nobody", "content": "x"}, 7, {"role": "user", "content": [{"type": 5}]}))
    go_on(pair)
    pair.listed.insert(place, bad)
    pair.sync()
    pair.listed.remove(bad)
    request = pair.request
    pair.request = {**request, "tools": [tool(pair.listing, "x")] * 2}
    pair.sync()
    pair.request = request


def say(pair: Pair) -> None:
    text = pair.lists.word()
    pair.both(lambda session: session.say(text))
    if pair.rng.random() < 0.7:
        pair.listed.append({"role": "user", "content": text})


def answer(pair: Pair) -> None:
    """The loop records the answer itself, and lists it afterwards, with the result first told to the session."""
    text, id_ = pair.lists.word(), f"own_{pair.lists.number}"
    call = ToolCall(id=id_, name="bash", arguments="{}")
    message = Message(role="assistant", blocks=(Text(text=text), call))
    pair.both(lambda session: session.answered(message))
    if pair.rng.random() < 0.6:
        pair.both(lambda session: session.returned(id_, "done", exit_code=0))
    if pair.wire == "anthropic":
        use = {"type": "tool_use", "id": id_, "name": "bash", "input": {}}
        result = {"type": "tool_result", "tool_use_id": id_, "content": "done"}
        both = [
            {"role": "assistant", "content": [{"type": "text", "text": text}, use]},
            {"role": "user", "content": [result]},
        ]
    else:
        asked = [{"id": id_, "type": "function", "function": {"name": "bash", "arguments": "{}"}}]
        both = [
            {"role": "assistant", "content": text, "tool_calls": asked},
            {"role": "tool", "tool_call_id": id_, "content": "done"},
        ]
    pair.listed += both[: pair.rng.choice((1, 2, 2, 2))]


def late(pair: Pair) -> None:
    """A result comes for a call that was answered, or for none; the list may have it, too."""
    calls = [
        block.id
        for event in pair.one.events
        if isinstance(event.body, Answered)
        for block in event.body.message.blocks
        if isinstance(block, ToolCall)
    ]
    id_ = pair.rng.choice(calls or ["nobody"])
    pair.both(lambda session: session.returned(id_, "and the rest"))
    if pair.rng.random() < 0.5:
        block = {"type": "tool_result", "tool_use_id": id_, "content": "and the rest"}
        chat = {"role": "tool", "tool_call_id": id_, "content": "and the rest"}
        pair.listed.append({"role": "user", "content": [block]} if pair.wire == "anthropic" else chat)


def erase(pair: Pair) -> None:
    """Something that was said is erased; the caller takes it out of the list, or doesn't."""
    said = [
        e.seq
        for e in pair.one.events
        if e.body is not None and e.kind in ("said", "answered", "tool_returned")
    ]
    if said:
        gone = pair.rng.choice(said)
        pair.both(lambda session: session.erase([gone], "asked to"))
    if pair.rng.random() < 0.4 and len(pair.listed) > 1:
        del pair.listed[pair.rng.randrange(len(pair.listed))]


def pin(pair: Pair) -> None:
    text = pair.lists.word()
    pair.both(lambda session: session.pin(text))


def repeat_an_id(pair: Pair) -> None:
    """A call whose id stood before: its results answer it, and its name in the request is another."""
    made = pair.lists.batch(1)
    text = pair.lists.word()
    if pair.wire == "anthropic":
        made[0]["content"][-1]["id"] = made[1]["content"][0]["tool_use_id"] = "same"
    else:
        made[0]["tool_calls"][0]["id"] = made[1]["tool_call_id"] = "same"
    pair.listed += [*made, {"role": "user", "content": text}]


def leave_open(pair: Pair) -> None:
    """A call gets no result, and the person speaks; it may come much later, or never."""
    made = pair.lists.batch(1)
    pair.listed += [made[0], pair.lists.user()]
    pair.missing += made[1:]


def bring_late(pair: Pair) -> None:
    """The result of an older call comes at the end."""
    if pair.missing:
        pair.listed.append(pair.missing.pop(pair.rng.randrange(len(pair.missing))))


def switch(pair: Pair) -> None:
    """Another model, on another wire where the list has the form that it takes."""
    wire, model = OTHER[pair.listing]
    pair.target = target_of(wire, model=model) if pair.rng.random() < 0.6 else target_of(pair.listing)
    pair.one.target = pair.other.target = pair.target


def compact(pair: Pair) -> None:
    """The provider compacts: its block comes with an answer, and then the list begins with it."""
    if pair.wire != "anthropic":
        return
    block = {"type": "compaction", "content": pair.lists.word()}
    pair.listed += [{"role": "assistant", "content": [block]}, pair.lists.user()]
    pair.sync()
    if pair.rng.random() < 0.7:
        del pair.listed[:-2]


def elsewhere(pair: Pair) -> None:
    """Another process works on the same log."""
    if pair.stores[0] is None:
        return
    text, listed = pair.lists.word(), [*copy.deepcopy(pair.listed), pair.lists.user()]
    how = pair.rng.choice(("say", "sync", "erase"))
    sizes = [e.seq for e in pair.one.events if e.kind == "said" and e.body is not None]
    gone = pair.rng.choice(sizes or [0])
    for store, session in zip(pair.stores, (pair.one, pair.other), strict=True):
        session.flush()
        found = Session.open(store, session.id, target=pair.target, policy=TIGHT, clock=counting_clock())
        if how == "say":
            found.say(text)
        elif how == "sync":
            outcome(found, listed if pair.listing == pair.wire else as_items(listed), pair.request)
            found.flush()
        elif sizes:
            found.erase([gone], "asked to")
    if how == "sync" and pair.rng.random() < 0.8:
        pair.listed.append(listed[-1])
    elif how == "say" and pair.rng.random() < 0.8:
        pair.listed.append({"role": "user", "content": text})


def restart(pair: Pair) -> None:
    """The process ends and is started again: it opens the session that it began with, and makes no other log."""
    if pair.stores[0] is None:
        return
    pair.sync()
    settled = not isinstance(pair.told, str)
    pair.both(Session.flush)
    before = [len(store.sessions()) for store in pair.stores if store is not None]
    pair.one, pair.other = (
        Session.open(store, "twin", target=pair.target, policy=TIGHT, clock=counting_clock())
        for store in pair.stores
    )
    pair.sync()
    after = [len(store.sessions()) for store in pair.stores if store is not None]
    assert not settled or before[0] > LOOKED or after == before
    pair.counted["went back"] += pair.one.id != "twin"


def nothing(pair: Pair) -> None:
    """The same list again."""


GROWTH = (go_on, go_on, answer_and_ask, answer_and_ask, answer_and_ask)
STEPS = (
    *GROWTH, *GROWTH, *GROWTH, *GROWTH, mark_the_end, mark_the_end, as_objects, change_form, remind, nothing,
    edit_and_undo, set_system, set_tools, shorten_one, answer, answer, say, late, pin, repeat_an_id, repeat_an_id,
    switch, refused, elsewhere, instructions_first, carelessly, erase, compact, mutate, edit, drop_last, cut,
    refused, restart, restart, leave_open, leave_open, bring_late,
)  # fmt: skip


@pytest.mark.no_cover  # many examples; others measure these lines
@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("wire", WIRES)
def test_what_is_remembered_changes_nothing(wire: str, stored: bool, tmp_path: Path) -> None:
    """Whatever happens to a list and its log: the same requests, forks, counts and events, and it is used."""
    counted: Counter[str] = Counter()
    for seed in range(examples(2, 500) if stored else examples(6, 3_000)):
        pair = Pair(wire, f"{wire} {seed}", tmp_path / str(seed) if stored else None)
        for _ in range(25):
            for step in pair.rng.choices(STEPS, k=pair.rng.choice((1, 1, 2))):
                pair.counted[step.__name__] += 1
                step(pair)
            pair.sync()
        pair.close()
        counted += pair.counted
    assert counted["shortcuts"] > counted["went on"] // 4
    assert counted["forked"] > 0
    assert counted["refused"] > 0
    assert not stored or counted["went back"] > 0


def slide(pair: Pair) -> None:
    """Clear what is older than the newest results, as loops do that keep their lists short."""
    for result in results_of(pair.listed)[:-4]:
        result["content"] = "[Old tool result content cleared]"


def forget_the_first(pair: Pair) -> None:
    """The very first call never gets its result."""
    if len(pair.listed) < 5:
        leave_open(pair)


@pytest.mark.parametrize("habit", [nothing, mark_the_end, as_objects, slide, forget_the_first])
@pytest.mark.parametrize("wire", WIRES)
def test_a_step_reads_what_is_new(wire: str, habit: Callable[[Pair], None]) -> None:
    """However long the list is: it is read from a place a few steps before its end, also where clients change that."""
    pair = Pair(wire, f"{wire} steps", None)
    read: list[int] = []
    for _ in range(30):
        pair.listed += pair.lists.batch(1)
        habit(pair)
        listed = pair.listed if pair.listing == pair.wire else as_items(pair.listed)
        settled = pair.one.last_list.settled(type(pair.one.codec), prints_of(listed))
        read.append(len(listed) - settled.items)
        assert pair.one.sync(listed).forked_at is None
    assert max(read[3:]) <= 14
