"""What a request says of how a call's run ended, where its output does not show it."""

from __future__ import annotations

from msgspec import UNSET
from msgspec.structs import replace

from foreword.core.block import Text, ToolResult, plain_text
from foreword.core.event import OWN_ORIGINS, Event, Run, ToolReturned
from foreword.core.frame import frame

_RUNS: dict[Run, tuple[str, ...]] = {
    "ended": (),
    "running": ("still running in the background",),
    "cancelled": ("cancelled before it ended",),
}


def run_words(body: ToolReturned) -> tuple[str, ...]:
    """Return what is to be said of a run, in words; empty: its output says enough.

    An exit code of 0 beside output is what a reader expects, so that it is not said.
    """
    code = body.exit_code
    expected = code == 0 and not body.result.is_error and plain_text(body.result.content).strip()
    if code is UNSET or expected or body.run == "running":
        return _RUNS[body.run]
    return (*_RUNS[body.run], f"exit code {'unknown' if code is None else code}")


def with_run(result: ToolResult, event: Event) -> ToolResult:
    """Return a result as it is shown, with a note on its run behind it in one text, whatever the wire.

    What another tool recorded told its model of the run in words of its own.
    """
    body = event.body
    if not isinstance(body, ToolReturned) or event.origin not in OWN_ORIGINS:
        return result
    words = run_words(body)
    if not words:
        return result
    note = frame("run", ", ".join(words))
    *before, last = result.content or (Text(text=""),)
    if not isinstance(last, Text):
        return replace(result, content=(*before, last, Text(text=note)))
    joint = "\n" if last.text.strip() and not last.text.endswith("\n") else ""
    text = f"{last.text}{joint}{note}" if last.text.strip() else note
    return replace(result, content=(*before, replace(last, text=text)))
