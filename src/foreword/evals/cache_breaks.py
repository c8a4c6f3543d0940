"""Why a recorded call read less than the call before had sent: a table of detectors over what happened between.

Each looks at recorded facts only and gives its evidence in words. *Shown*: the file holds a fact that breaks this
cache by the provider's rules. *Likely*: the figures fit, and nothing recorded speaks for another cause.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Literal

from foreword.core.cache_model import CacheRules, Life
from foreword.core.catalog import ModelSpec
from foreword.core.event import Why
from foreword.evals.calls import Call, idle

Certainty = Literal["shown", "likely", "unknown"]
CLEARING = "microcompact_boundary"
RESUMED = "No response requested."
REACH = 500
"""Calls that are looked back over, so that the time of an explanation grows with the file and no faster."""
STEP = 128
"""Tokens by which a read may differ from the entry that was read, where the cache's step is not known."""


class Between:
    """Two calls that follow each other, with all calls of the session around them.

    ``base``: what remains readable when only messages change, as earlier breaks show it; 0: not known.
    ``longest``: the longest pause, in seconds, after which the session still read its cache.
    """

    def __init__(
        self,
        calls: Sequence[Call],
        index: int,
        *,
        rules: CacheRules | None,
        spec: ModelSpec | None,
        base: int,
        longest: float,
    ) -> None:
        self.calls = calls
        self.index = index
        self.before = calls[index - 1]
        self.after = calls[index]
        self.read = self.after.read or 0
        self.rules = rules
        self.spec = spec
        self.base = base
        self.longest = longest

    @cached_property
    def pause(self) -> float | None:
        """Seconds from the end of the answer before to this request."""
        return idle(self.before, self.after)

    @property
    def step(self) -> int:
        """Tokens by which a read may fall short of the entry that was read."""
        return self.rules.step if self.rules else STEP

    @cached_property
    def life(self) -> Life:
        """The life of what was lost: the long one where more than half of the prompt was written for it."""
        kept = self.before.prompt
        for call in (self.before, *self.earlier):
            long = call.usage.cache_write_long or 0
            kept = min(kept, (call.read or 0) + long)
            if long:
                return "long" if self.read < kept and kept * 2 >= self.before.prompt else "short"
        return "short"

    def noted(self, code: str) -> list[str]:
        """Return the places and texts of the original tool's notes of one kind."""
        return [f"{note.text or note.code} ({note.where})" for note in self.after.notes if note.code == code]

    def happened(self, name: str) -> list[str]:
        """Return the events of one name, with their places."""
        return [f"{event.text} (line {event.line})" for event in self.after.events if event.name == name]

    def changed(self, *names: str) -> list[str]:
        """Return the changes of settings, with their places."""
        return [
            f"{name} {old or 'unset'} → {new} (line {line})"
            for name, (old, new, line) in self.after.changes.items()
            if name in names
        ]

    @cached_property
    def last_turn(self) -> list[Call]:
        """The calls of the turn before this one, newest first."""
        turn = [self.before]
        for call in () if self.before.turn else self.earlier:
            turn.append(call)
            if call.turn:
                break
        return turn

    @property
    def earlier(self) -> Iterator[Call]:
        """The calls before the one before, newest first, as many as are looked at."""
        return (self.calls[at] for at in range(self.index - 2, max(-1, self.index - 2 - REACH), -1))


Evidence = tuple[Certainty, str]
Detector = Callable[[Between], Evidence | None]


def _short(gap: Between) -> Evidence | None:
    least = gap.spec.min_cacheable_tokens if gap.spec is not None else None
    if least is None or gap.before.prompt >= least or gap.read:
        return None
    return (
        "shown",
        f"the prompt before had {gap.before.prompt:,} tokens; {gap.after.model} caches from {least:,} on",
    )


def _epoch(gap: Between) -> Evidence | None:
    if not gap.after.epochs:
        return None
    why = ", ".join(f"{epoch.why} ({EPOCHS[epoch.why]})" for epoch in gap.after.epochs)
    same, of = gap.after.repeated or (None, 0)
    units = "" if same is None else f"; of the {of} units sent before, the first {same} stand unchanged"
    return "shown", f"the log starts an epoch here: {why}{units}"


def _model(gap: Between) -> Evidence | None:
    old, new = gap.before.model, gap.after.model
    return ("shown", f"answered by {new}, before by {old}") if old and new and old != new else None


def _compaction(gap: Between) -> Evidence | None:
    notes = [note for note in gap.noted("compaction") if CLEARING not in note]
    if not notes:
        return None
    sizes = f"the prompt went from {gap.before.prompt:,} to {gap.after.prompt:,} tokens"
    return "shown", f"{notes[0]}; {sizes}"


def _clearing(gap: Between) -> Evidence | None:
    notes = [note for note in gap.noted("compaction") if CLEARING in note]
    return ("shown", f"old results were cleared: {notes[0]}") if notes else None


def _expired(gap: Between) -> Evidence | None:
    if gap.pause is None or gap.rules is None:
        return None
    seconds = gap.rules.life(gap.life)
    idle_text = f"{gap.pause:,.0f} s without a request since the end of the answer at {gap.before.where}"
    if seconds is not None and gap.pause > seconds:
        return "shown", f"{idle_text}; an entry lives {seconds:,} s after its last use"
    short = gap.rules.short
    if gap.life == "long" and short is not None and gap.pause > short and gap.pause > gap.longest:
        told = f"longer than the short life of {short:,} s; the writes were billed for the long one, yet this session"
        return "likely", f"{idle_text}: {told} never read anything after more than {gap.longest:,.0f} s"
    shared = max(gap.base, gap.calls[0].read or 0)
    if seconds is None and gap.read <= shared and gap.rules.idle is not None and gap.pause >= gap.rules.idle:
        return (
            "likely",
            f"{idle_text}; this cache promises no life and drops what is idle for {gap.rules.idle:,} s",
        )
    return None


def _thinking(gap: Between) -> Evidence | None:
    changes = gap.changed("thinking", "effort")
    return ("shown", "; ".join(changes)) if changes else None


def _tools(gap: Between) -> Evidence | None:
    events = gap.happened("tools")
    return ("shown", "; ".join(events)) if events else None


def _system(gap: Between) -> Evidence | None:
    changes = gap.changed("personality", "base instructions", "client version")
    return ("shown", "; ".join(changes)) if changes else None


def _restart(gap: Between) -> Evidence | None:
    events = [*gap.happened("restart"), *(note for note in gap.noted("api_error") if RESUMED in note)]
    return ("shown", "the client was started again: " + "; ".join(events)) if events else None


def _reasoning_of(gap: Between) -> str:
    """Say that a new turn stands behind one with reasoning, which clients and providers leave out then; "": no."""
    reasoned = [call for call in gap.last_turn if call.reasoned]
    if not gap.after.turn or not reasoned:
        return ""
    count = f"{len(reasoned)} answers" if len(reasoned) > 1 else "an answer"
    return f"a new turn began, and {count} of the turn before held reasoning"


def _opening(gap: Between) -> Evidence | None:
    """What stood before the reasoning is still read: what opened a turn, or the history after a compaction."""
    about = _reasoning_of(gap)
    if not about or gap.after.prompt > gap.before.prompt:
        return None
    for call in gap.earlier:
        opens = call.turn or call.step == 1 or any(note.code == "compaction" for note in call.notes)
        if opens and abs(call.prompt - gap.read) <= 2 * gap.step:
            sizes = f"the prompt shrank from {gap.before.prompt:,} to {gap.after.prompt:,}"
            return (
                "shown",
                f"{about}; {sizes}, and read was what step {call.step} had opened with ({call.prompt:,})",
            )
    return None


def _reasoning(gap: Between) -> Evidence | None:
    """A mark finds nothing behind the changed block within its look-back, so the whole conversation goes."""
    about = _reasoning_of(gap)
    if not about or gap.rules is None or gap.rules.look_back is None:
        return None
    if gap.after.prompt <= gap.before.prompt:
        shrunk = gap.before.prompt - gap.after.prompt
        return (
            "shown",
            f"{about}; the prompt did not grow by the answer and the new message but shrank by {shrunk:,}",
        )
    if gap.base and gap.read == gap.base:
        kept = f"read was {gap.base:,}, what other breaks left of this session's tools and system text"
        return "likely", f"{about}; {kept}: so only messages changed"
    return None


def _aborted(gap: Between) -> Evidence | None:
    events = [*gap.happened("aborted"), *gap.noted("aborted")]
    return ("likely", "a request before was broken off: " + "; ".join(events)) if events else None


def _edited(gap: Between) -> Evidence | None:
    events = gap.happened("skill")
    if not events or gap.read == 0:
        return None
    return (
        "likely",
        f"{'; '.join(events)}; {gap.read:,} tokens before the messages were read, nothing of the messages",
    )


def _two_clients(gap: Between) -> Evidence | None:
    if gap.after.asked or gap.pause is None:
        return None
    return (
        "shown",
        f"nothing was said or returned since {gap.before.where}: another client writes this session too",
    )


def _look_back(gap: Between) -> Evidence | None:
    reach = gap.rules.look_back if gap.rules else None
    if reach is None or gap.after.blocks <= reach:
        return None
    return "likely", f"{gap.after.blocks} content blocks were added, and a mark looks back over {reach}"


def _left(gap: Between) -> Evidence | None:
    """An older entry was read: the newest one was not found."""
    for call in gap.earlier:
        if abs(call.prompt - gap.read) <= gap.step:
            older = f"read was what step {call.step} had sent ({call.prompt:,}), not what step {gap.before.step} had"
            return "likely", f"{older}: the newest entry was not found, though nothing recorded changed"
    return None


def _repeated(gap: Between) -> Evidence | None:
    """The log of a session of ours says what was sent: all of the request before, so the miss is not of our making."""
    same, of = gap.after.repeated or (0, None)
    if same != of:
        return None
    pause = "" if gap.pause is None else f", {gap.pause:,.0f} s after the answer before"
    return (
        "likely",
        f"this request began with all {of} units of the one before{pause}: nothing that was sent changed",
    )


def _not_written(gap: Between) -> Evidence | None:
    """Where only marks cache, a call that wrote nothing and read nothing left nothing to be read.

    A file that tells of reads and of no write leaves writes out, which says nothing.
    """
    marks = gap.rules is not None and gap.rules.kind == "marks" and _repeated(gap) is None
    if not marks or gap.read or gap.before.read != 0 or gap.before.usage.written != 0:
        return None
    wrote = any(call.usage.written for call in gap.earlier)
    if not wrote and any(call.read for call in gap.earlier):
        return None
    fact = f"the call at {gap.before.where} neither read nor wrote any of its {gap.before.prompt:,} tokens"
    return ("shown", fact) if wrote else ("likely", f"{fact}, nor did any call before it")


def _whole(gap: Between) -> Evidence | None:
    promises = gap.rules is not None and gap.rules.short is not None
    if not promises or not gap.after.turn or gap.read > gap.base or _repeated(gap) is not None:
        return None
    left = "nothing" if gap.read == 0 else f"only {gap.read:,} tokens"
    pause = "" if gap.pause is None else f" {gap.pause:,.0f} s after the last answer, within every life"
    return (
        "likely",
        f"{left} was read at a person's turn{pause}: the first bytes changed, as when a client starts again",
    )


def _provider(gap: Between) -> Evidence | None:
    """The cache promises nothing, and no recorded fact explains what it did not give."""
    if gap.rules is None or gap.rules.short is not None:
        return None
    where = "at a person's turn" if gap.after.turn else "in the middle of a turn"
    pause = "" if gap.pause is None else f", {gap.pause:,.0f} s after the answer before"
    sizes = f"the prompt went from {gap.before.prompt:,} to {gap.after.prompt:,}"
    return "likely", f"{where}{pause}; {sizes}, no recorded fact explains it, and this cache is best effort"


DETECTORS: tuple[tuple[str, Detector], ...] = (
    ("too_short", _short),
    ("epoch", _epoch),
    ("model_switch", _model),
    ("compaction", _compaction),
    ("clearing", _clearing),
    ("reasoning_dropped", _opening),
    ("ttl_passed", _expired),
    ("two_clients", _two_clients),
    ("thinking_changed", _thinking),
    ("tools_changed", _tools),
    ("restart", _restart),
    ("system_text", _system),
    ("reasoning_dropped", _reasoning),
    ("not_written", _not_written),
    ("aborted", _aborted),
    ("message_edited", _edited),
    ("restart", _whole),
    ("look_back", _look_back),
    ("provider_miss", _repeated),
    ("entry_missed", _left),
    ("provider_miss", _provider),
)
"""Cause -> who finds it, the strongest evidence first; the first that holds is the cause."""

EPOCHS: dict[Why, str] = {
    "start": "the first one",
    "arrival": "a result was over its limit",
    "hard": "the request would not have fitted its budget",
    "permission": "a text was revoked or erased",
    "instructions": "the system text changed",
    "tools": "the tools offered changed",
    "manual": "request keys, effort, reader or budget changed, or the provider compacted; in an older log also tools "
    "or system text",
    "switch": "another model or wire",
    "upgrade": "this release encodes otherwise what was sent",
    "price": "less was expected to cost less",
    "cold": "the cache had expired, so that less cost less",
    "stage": "a stage was closed",
    "quality": "the model works better with less",
}
"""Why an epoch began -> what happened, in words."""

FIXES = {
    "too_short": "nothing to mend: from that size on it is kept",
    "epoch": "planned: keep what its reason names as it is, or allow for the break",
    "model_switch": "switch models where the context is short, or between sessions",
    "compaction": "compact later and deeper, or leave out less often: each time pays for all that is kept",
    "clearing": "clear in one batch of tens of thousands of tokens, or not at all",
    "ttl_passed": "answer sooner, write with the long life before a pause, or rewrite first and send then",
    "thinking_changed": "keep thinking and effort for a session, or change them by a message where the wire has one",
    "tools_changed": "offer all tools from the start, or add them by a message where the wire has one",
    "restart": "keep dates, ids and lists out of the system text, so that a new start sends the same bytes",
    "system_text": "set the text once for a session; say what changes in a message",
    "reasoning_dropped": "keep reasoning where it was sent, or drop it at an epoch, not at each turn",
    "not_written": "have the provider cache the prompt: set cache marks, at its end above all",
    "aborted": "let the response begin before it is broken off: only then is what was sent kept",
    "message_edited": "add what is new behind what was sent, never before it",
    "two_clients": "give each client a session of its own: fork it",
    "look_back": "set a mark in between when many blocks are added at once",
    "entry_missed": "nothing to mend in what is recorded; with the request bodies `foreword diff` can tell more",
    "provider_miss": "nothing to mend: allow for it in a gate, or use explicit breakpoints where there are any",
    "unknown": "keep the request bodies of such sessions: `--bodies DIR --provider P` shows where two part",
}
"""Cause -> what would have kept the cache."""


def cause_of(gap: Between) -> tuple[str, Certainty, str]:
    """Return cause, certainty and evidence of a break."""
    for cause, detect in DETECTORS:
        found = detect(gap)
        if found is not None:
            return cause, *found
    pause = (
        "the pause is not recorded" if gap.pause is None else f"{gap.pause:,.0f} s after the answer before"
    )
    rules = "" if gap.rules else f"; the catalog does not say how the cache of {gap.after.model} works"
    return "unknown", "unknown", f"{pause}, and no recorded fact explains it{rules}"
