"""Runs of tools: what a session records of the calls that its model asked for.

What names a call that isn't open is recorded as it was told, and said to the logger `foreword.calls`, at the level of
a warning: it is a mistake of the loop's, and no reason to lose what a tool did.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping

from msgspec import UNSET, UnsetType

from foreword.core.block import Image, Opaque, Text, ToolResult
from foreword.core.event import Draft, Run, ToolPrinted, ToolReturned, ToolStarted
from foreword.core.outcome import CallOutcome, outcomes
from foreword.engine.recording import Recording
from foreword.errors import InvalidArgument

log = logging.getLogger("foreword").getChild("calls")


class ToolRuns(Recording):
    """The part of a session that whoever runs the tools speaks to."""

    __slots__ = ()

    def started(self, call_id: str) -> int:
        """Append that the oldest unfinished call of that id begins, before anything happens. Return its seq."""
        seq = self.append(Draft(body=ToolStarted(call_id=call_id)))
        return self._expected(seq, call_id, "the start", self.view.fold.unfinished(call_id))

    def printed(self, call_id: str, text: str) -> int:
        """Append output of a tool that runs. Return its seq.

        The model doesn't see it: the result says all of it again. What a run in the background prints, which may never
        return, is told by `returned` with ``run="running"``, as often as there is something to tell.
        """
        body = ToolPrinted(call_id=call_id, text=text)
        seq = self.append(Draft(body=body, trust="tool", actor="tool"))
        return self._expected(seq, call_id, "output", self.view.fold.unfinished(call_id))

    def returned(
        self,
        call_id: str,
        content: str | Iterable[Text | Image | Opaque],
        *,
        is_error: bool = False,
        exit_code: int | UnsetType | None = UNSET,
        run: Run = "ended",
    ) -> int:
        """Append a tool's result. It answers the oldest open call of that id. Return its seq.

        ``exit_code``: of a command; None: it ended and nobody knows with which, so its outcome is unknown; not given:
        no command. ``run``: ``running`` in the background, so another result follows, or ``cancelled``.
        Raises: InvalidArgument for a result of another form; InvalidValue for what its blocks can't hold.
        """
        if isinstance(content, Mapping | bytes) or not isinstance(content, Iterable):
            takes = "a text (json.dumps makes one of a value), or a list of Text, Image and Opaque blocks"
            raise InvalidArgument("Session.returned", "content", content, takes)
        blocks = (Text(text=content),) if isinstance(content, str) else tuple(content)
        result = ToolResult(call_id=call_id, content=blocks, is_error=is_error)
        body = ToolReturned(result=result, run=run, exit_code=exit_code)
        seq = self.append(Draft(body=body, trust="tool", actor="tool"))
        fold = self.view.fold
        return self._expected(seq, call_id, "a result", seq not in fold.orphans[-1:] or seq in fold.late)

    def _expected(self, seq: int, call_id: str, what: str, awaited: bool) -> int:
        """Warn of what no call waits for. Return its seq."""
        if not awaited:
            ids = ", ".join(map(repr, self._open_ids())) or "none"
            said = "session %s, event %d: %s of call %r, which is not open (open: %s): recorded, and counts for none"
            log.warning(said, self.id, seq, what, call_id, ids)
        return seq

    def _open_ids(self) -> list[str]:
        """Return the ids of the calls without a result, as recorded, oldest first."""
        return [
            call_id
            for item in self.view.fold.open
            for call_id, result in zip(item.recorded_ids, item.results, strict=True)
            if result is None
        ]

    def outcomes(self, at: int | None = None) -> list[CallOutcome]:
        """Return what the log knows of each call, as it knew it ``at`` a time (microseconds since 1970; None: now)."""
        self.catch_up()
        return outcomes(self.view, at=at)
