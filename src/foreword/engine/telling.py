"""Telling: what a session learns from its caller: words, instructions, tools, pins, and what no longer holds."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, tzinfo

from foreword.core.block import Message, Text, ToolSpec
from foreword.core.canonical import lossless
from foreword.core.event import (
    Draft,
    InstructionsSet,
    Noticed,
    Pinned,
    Revoked,
    Said,
    TaskBudgetSet,
    ToolsSet,
    by_engine,
    kind_of,
)
from foreword.core.stamp import TIME, instant, stamped
from foreword.core.surrogates import mended
from foreword.core.tools_change import tools_change
from foreword.engine.recording import Recording
from foreword.engine.tool_check import check_tools
from foreword.errors import InvalidValue


class Telling(Recording):
    """The part of a session that its caller speaks to; whoever runs the tools speaks to ``ToolRuns``."""

    __slots__ = ()

    def instruct(self, *texts: str, origin: str = "library") -> None:
        """Set the system text, one block a text; nothing is appended when it is what stands already.

        ``origin``: "sync" for a text that stands in a caller's list, so that taking it out there takes it away.
        """
        self.append_missing(lambda: self.instructing(texts, origin))

    def offer(self, tools: Sequence[ToolSpec], *, cause: str = "") -> None:
        """Set the tools. Those that stand keep place and form, new ones come last; the same change nothing.

        One that is ``deferred`` costs no tokens and breaks no prefix until it is loaded: by the provider's search, or
        by being offered again without. ``cause``: why they changed, for the log; "": it says how.
        Raises: InvalidValue for what is no tool, for a name that stands twice, or a schema that is no object's;
        InvalidArgument for no list.
        """
        self.append_missing(lambda: self.offering(tools, cause))

    def say(self, text: str, *, person: bool = True, stamp: tzinfo | None = None) -> int:
        """Append a user message. ``person``: a human wrote it, so it stays verbatim. Return its seq.

        ``stamp``: a time zone; the message then begins with the time at which it was recorded, for good.
        """
        message = Message(role="user", blocks=(Text(text=text),))
        at: int | None = None
        if stamp is not None:
            at = self._clock()
            message = stamped(message, at, stamp)
        trust = "person" if person else "operator"
        return self.append(Draft(body=Said(message=message, person=person), at=at, trust=trust, actor="user"))

    def tell_time(self, zone: tzinfo = UTC) -> int:
        """Read the clock and say the time in a notice, here and once. Return its seq."""
        at = self._clock()
        body = Noticed(topic=TIME, text=f"It is {instant(at, zone)}.")
        return self.append(by_engine(body, at=at))

    def task_budget(self, total: int) -> None:
        """Give the model ``total`` tokens of output from here on; 0 takes the budget away.

        Where the provider counts it down itself and the target has ``betas``, requests state it, and after an epoch
        what is left of it; elsewhere the policy's ``countdown`` says how often a notice tells. It is advice: nothing
        stops the model.
        Raises: InvalidValue for less than 0.
        """
        body = TaskBudgetSet(total=total)
        if isinstance(total, int) and total < 0:
            raise InvalidValue(
                kind_of(body), "total", f"Expected `int` >= 0, got {total}", "give tokens, 0 for no budget"
            )
        self.append_missing(lambda: [Draft(body=body)] if self.view.fold.budget[1] != total else [])

    def pin(self, text: str) -> int:
        """Set a standing text: a notice now, and part of every later base. Return its seq."""
        return self.append(Draft(body=Pinned(text=text)))

    def revoke(self, seq: int, text: str) -> int:
        """Say that a pin or a person's message no longer holds; an epoch follows and drops its text.

        Raises: UnknownEvent.
        """
        self.event(seq)
        return self.append(Draft(body=Revoked(target=seq, text=text), causes=(seq,)))

    def instructing(self, texts: Sequence[str], origin: str) -> list[Draft]:
        """Return what ``instruct`` would append; empty: it stands already."""
        blocks = tuple(Text(text=text) for text in texts)
        if self.view.fold.instructions[1] == tuple(mended(block, lossless(block)) for block in blocks):
            return []
        return [Draft(body=InstructionsSet(blocks=blocks), origin=origin)]

    def offering(self, tools: Sequence[ToolSpec], cause: str = "") -> list[Draft]:
        """Return what ``offer`` would append; empty: they stand already. Raises: InvalidValue."""
        check_tools(tools)
        standing = self._tools
        places = {tool.name: place for place, tool in enumerate(standing)}
        shown = [(tool, mended(tool, lossless(tool))) for tool in tools]
        shown.sort(key=lambda pair: places.get(pair[1].name, len(places)))
        offered = tuple(tool for _, tool in shown)
        if offered == standing:
            return []
        ordered = tuple(tool for tool, _ in shown)
        return [Draft(body=ToolsSet(tools=ordered, cause=cause or tools_change(standing, offered)))]

    @property
    def _tools(self) -> tuple[ToolSpec, ...]:
        """All that is offered, deferred tools last."""
        return (*self.view.fold.tools[1], *self.view.fold.deferred[1])
