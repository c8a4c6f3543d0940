"""Sync a list that grows by one step: what does the agent loop wait for, by how long the list is?

Each step adds an answer with a call and its result, as a loop does before every model call. Lists are Chat's
(``objects``: the model's messages are the SDK's), and Anthropic's (``marks``: a cache mark moves along to the newest
message). ``opened``: the first sync of a session that was opened again, which compares everything.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

from openai.types.chat import ChatCompletionMessage

from foreword.compiler.policy import Policy
from foreword.engine.session import Session
from foreword.engine.target import target_for

SIZES = (1_000, 5_000, 10_000)
STEPS = 15
MODELS = {"anthropic": "claude-opus-4-8", "openai-chat": "gpt-6.1-sol"}
WHOLE = Policy(name="bench", result_tokens=0, result_share=1.0, batch_share=0.0, reserve_tool_result=0.0)
"""Nothing is made smaller: what is measured is the way from a list to a request."""
TEXT = "configure build link target library header archive test passed failed " * 2


def chat(number: int) -> list[Any]:
    """One step of a list of Chat."""
    function = {"name": "bash", "arguments": json.dumps({"command": f"make {number}"})}
    call = {"id": f"call_{number}", "type": "function", "function": function}
    return [
        {"role": "assistant", "content": f"{TEXT}{number}", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call["id"], "content": f"{TEXT}{number}"},
    ]


def objects(number: int) -> list[Any]:
    """The same with the model's message as the SDK gives it."""
    said, result = chat(number)
    return [ChatCompletionMessage.model_validate(said), result]


def anthropic(number: int) -> list[Any]:
    """One step of a list of Anthropic."""
    call = {
        "type": "tool_use",
        "id": f"call_{number}",
        "name": "bash",
        "input": {"command": f"make {number}"},
    }
    result = {"type": "tool_result", "tool_use_id": call["id"], "content": f"{TEXT}{number}"}
    said = {"type": "text", "text": f"{TEXT}{number}"}
    return [{"role": "assistant", "content": [said, call]}, {"role": "user", "content": [result]}]


def marked(listed: list[Any]) -> None:
    """Move the cache mark to the newest message."""
    for message in listed[-3:]:
        for block in message["content"] if isinstance(message["content"], list) else ():
            block.pop("cache_control", None)
    listed[-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}


KINDS: dict[str, tuple[str, Callable[[int], list[Any]], Callable[[list[Any]], None]]] = {
    "chat": ("openai-chat", chat, lambda listed: None),
    "objects": ("openai-chat", objects, lambda listed: None),
    "anthropic": ("anthropic", anthropic, lambda listed: None),
    "marks": ("anthropic", anthropic, marked),
}


def timed(session: Session, listed: list[Any]) -> float:
    """Return the milliseconds of the processor's time that one sync takes: nothing here waits."""
    start = time.process_time()
    session.sync(listed)
    return (time.process_time() - start) * 1000


def steps(kind: str, size: int) -> Iterator[float]:
    """Yield the milliseconds of each step behind ``size`` messages; last those of a session opened again."""
    wire, step, mark = KINDS[kind]
    target = target_for(wire, MODELS[wire], window=1_000_000, reserve_output=8_000)
    session = Session.open(None, "bench", target=target, policy=WHOLE)
    listed: list[Any] = [{"role": "user", "content": "Build the project and mend what breaks."}]
    number = 0
    while number < size // 2 + STEPS + 3:
        listed += step(number)
        number += 1
        if number >= size // 2:
            mark(listed)
            spent = timed(session, listed)
            if number >= size // 2 + 3:  # the first compare everything
                yield spent
    opened = Session(session.events, store=None, target=target, policy=WHOLE)
    yield timed(opened, listed)


def main() -> None:
    for kind in KINDS:
        for size in SIZES:
            *spent, opened = steps(kind, size)
            print(
                f"{kind:10} {size:6} messages: {statistics.median(spent):7.1f} ms a step, opened {opened:7.0f} ms"
            )


if __name__ == "__main__":
    main()
