"""Events: the immutable facts of a session, and the bodies that say what happened.

An event is a header (who, when, trust, audience, causes), a body, and two hashes that ``sealing`` makes
(docs/decisions/0001-event-and-commitment.md).
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType

from foreword.core.block import Message, Text, ToolResult, ToolSpec
from foreword.core.usage import Usage

Trust = Literal["person", "operator", "engine", "model", "tool", "foreign"]
Why = Literal[
    "start",
    "arrival",
    "hard",
    "permission",
    "stage",
    "price",
    "cold",
    "quality",
    "instructions",
    "tools",
    "manual",
    "upgrade",
    "switch",
]
Run = Literal["ended", "running", "cancelled"]
How = Literal["externalized", "deduplicated", "cleared", "summarized", "reset"]

OWN_ORIGINS = ("library", "sync")
"""Origins of facts that reached us first-hand; anything else was recorded by another tool."""


class SessionOpened(Struct, frozen=True, kw_only=True, tag="session_opened", omit_defaults=True):
    """The first event. ``alias`` is short, unique in the store, and stands in every reference.

    A fork has ``parent`` = (session id, last shared seq): its log is the parent's up to there, then its own.
    ``project``: what the work belongs to, by which bills are added up; None: not said, or as in the parent.
    ``sub_context``: another agent began it, and its calls are billed as such.
    """

    session: str
    alias: str
    format: str = "foreword"
    source: str | None = None
    parent: tuple[str, int] | None = None
    project: str | None = None
    sub_context: bool = False

    @property
    def by_agent(self) -> bool:
        """Whether another agent began it; imports of Claude Code from before ``sub_context`` tell it by their id."""
        return self.sub_context or (self.format == "claude-code" and "/" in self.session)


class InstructionsSet(Struct, frozen=True, kw_only=True, tag="instructions_set", omit_defaults=True):
    """The system text, whole; replaces what was set before, from the next epoch on."""

    blocks: tuple[Text, ...]


class ToolsSet(Struct, frozen=True, kw_only=True, tag="tools_set", omit_defaults=True):
    """The tools offered, whole and in order; replaces what was set before, from the next epoch on.

    Deferred ones stand in no prefix: another list of them changes no bytes that were sent. ``cause``: why it differs
    from what was offered before; "": nothing was, or nobody said.
    """

    tools: tuple[ToolSpec, ...]
    cause: str = ""


class Marking(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A cache mark that a caller had set: on a tool by ``name``, on the ``place``-th system block, or in a message.

    There it stands on what ``event`` says, so many blocks before its last (``behind``). ``ttl`` None: the default.
    """

    section: Literal["tool", "system", "message"]
    name: str = ""
    place: int = 0
    event: int = -1
    behind: int = 0
    ttl: str | None = None


class MarksSet(Struct, frozen=True, kw_only=True, tag="marks_set", omit_defaults=True):
    """The cache marks that the caller wants, all of them; replaces what was set before. Changes no bytes of a unit."""

    marks: tuple[Marking, ...] = ()


class UnseenPrefix(Struct, frozen=True, kw_only=True, tag="unseen_prefix", omit_defaults=True):
    """A prefix that the record doesn't hold (system prompt and tools of a foreign agent).

    ``tokens``: its inferred size in the provider's tokens; counted in budget and cost, never sent.
    """

    tokens: int
    basis: str


class Said(Struct, frozen=True, kw_only=True, tag="said", omit_defaults=True):
    """A message that the model did not write. ``person``: a human wrote it, so it stays verbatim."""

    message: Message
    person: bool = True


class Answered(Struct, frozen=True, kw_only=True, tag="answered", omit_defaults=True):
    """A model's response.

    ``request`` is the seq of the ``RequestSent`` it answers; None: the request was not ours (imported).
    ``usage`` None: not reported. ``partial``: the stream was cut. ``edits``: what the provider says it did to the
    context before the model read it, in the wire's members; its usage is then not that of what was sent.
    ``first_token_ms``: from the start of the last of ``attempts`` to the first token, ``total_ms``: to the end;
    None: not measured. ``lost``: of the attempts before the last, those that may have been billed and don't say so.
    ``terms``: what multiplies the bill, by the catalog's names (batch, fast, us).
    ``compactions``: tokens that the provider spent on summaries of its own in this call, billed beside ``usage``.
    ``doubts``: what in the usage as it was reported does not add up, by name (``cache_split_mismatch``).
    ``start_marks``: each of its calls gets a ``ToolStarted`` before it runs, so one without it never began.
    ``call``: what the file that it was read from calls it, in every copy; None: it says nothing, or the call is ours.
    ``copy_of``: link (hex) of the answer in another log that a caller's list repeated here; None: it is no copy.
    """

    message: Message
    model: str | None = None
    stop_reason: str | None = None
    response_id: str | None = None
    call: str | None = None
    copy_of: str | None = None
    usage: Usage | None = None
    recorded_cost_usd: str | None = None
    request: int | None = None
    partial: bool = False
    edits: dict[str, Any] | None = None
    first_token_ms: int | None = None
    total_ms: int | None = None
    attempts: int = 1
    lost: int = 0
    terms: tuple[str, ...] = ()
    compactions: tuple[Usage, ...] = ()
    doubts: tuple[str, ...] = ()
    start_marks: bool = False


class Called(Struct, frozen=True, kw_only=True, tag="called", omit_defaults=True):
    """A model call whose answer is no part of the history: it came to nothing, was left behind by a rewind, or served
    the engine.

    ``status``: ``failed``, ``cancelled`` by the caller, ``raced`` (another answer was taken) or ``ok``. ``usage``
    None: unknown, which is not 0. ``request``: seq of its ``RequestSent``; None: it had none. ``why``: the name of
    the error; no text of the provider. The rest as in ``Answered``.
    """

    kind: Literal["call", "compaction", "sub_context", "embedding"] = "call"
    status: Literal["ok", "failed", "cancelled", "raced"] = "failed"
    model: str | None = None
    response_id: str | None = None
    call: str | None = None
    usage: Usage | None = None
    recorded_cost_usd: str | None = None
    request: int | None = None
    why: str = ""
    first_token_ms: int | None = None
    total_ms: int | None = None
    attempts: int = 1
    lost: int = 0
    terms: tuple[str, ...] = ()
    compactions: tuple[Usage, ...] = ()
    doubts: tuple[str, ...] = ()


class ToolStarted(Struct, frozen=True, kw_only=True, tag="tool_started", omit_defaults=True):
    """The tool begins: written before it can have any effect. Of the oldest unfinished call of that id."""

    call_id: str


class ToolPrinted(Struct, frozen=True, kw_only=True, tag="tool_printed", omit_defaults=True):
    """Output while the tool runs. Its result says the whole again; without one, this is all that is known."""

    call_id: str
    text: str


class ToolReturned(Struct, frozen=True, kw_only=True, tag="tool_returned", omit_defaults=True):
    """A tool's result. It answers the oldest open call of that id; log order is arrival.

    ``run``: ``running`` goes on in the background, and another result of that id says how it ended; ``cancelled``
    was stopped from outside. ``exit_code``: of a command, as the system gives it (negative: by a signal); None: it
    ended and the code is not known, which is never 0; UNSET: not a command, or nothing was said of a code.
    """

    result: ToolResult
    run: Run = "ended"
    exit_code: int | UnsetType | None = UNSET


class Replacement(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The exact text that stands for ``events`` from now on, where the first of them stood.

    One tool result: the text replaces its content. Several events: a summary, and the events are left out.
    ``ref`` reads the original back; None: no reader of this agent can. ``tokens_removed``: by the counter.
    """

    events: tuple[int, ...]
    text: str
    ref: str | None = None
    tokens_removed: int = 0


class Rewritten(Struct, frozen=True, kw_only=True, tag="rewritten", omit_defaults=True):
    """A rewrite with its result. ``epoch``: it changes bytes already sent and waits for the next epoch.

    ``suffix_rewritten``: tokens by the counter behind the first change, which the next request writes again;
    ``price_delta_usd``: what it was expected to change the bill by until the next epoch, below 0 is saved. Both
    stand at the first rewrite of an epoch. None: not worked out.
    """

    how: How
    why: Why
    replacements: tuple[Replacement, ...]
    epoch: bool = False
    suffix_rewritten: int | None = None
    price_delta_usd: str | None = None


class Repaired(Struct, frozen=True, kw_only=True, tag="repaired", omit_defaults=True):
    """A fault of the history that no wire accepts, and what is sent instead.

    ``fault``: ``open_call`` (``text`` answers the call ``call_id`` of event ``event``; its outcome is
    unknown), ``orphan_result`` (event ``event`` has no call and is left out), ``no_user_turn`` (``text`` is
    said where the wire wants a user's word), ``lone_surrogate`` (text of event ``event`` is sent with U+FFFD in its
    place), ``unpaired`` (block ``call`` of event ``event``, half of a pair that only its own wire understands, is left
    out; ``text`` says so where its outcome is unknown).
    """

    fault: Literal["open_call", "orphan_result", "no_user_turn", "lone_surrogate", "unpaired"]
    event: int
    call: int = 0
    text: str = ""


class Noticed(Struct, frozen=True, kw_only=True, tag="noticed", omit_defaults=True):
    """A notice of the engine, kept where it happened: a late result, an amended or revoked constraint."""

    topic: str
    text: str
    about: tuple[int, ...] = ()


class Described(Struct, frozen=True, kw_only=True, tag="described", omit_defaults=True):
    """What a picture shows, for models that read none. ``picture``: its ``Image.digest``. The first counts."""

    picture: str
    text: str


class LanguageDetected(Struct, frozen=True, kw_only=True, tag="language_detected", omit_defaults=True):
    """The person's message ``event`` is written in ``language``: an ISO 639 code. The newest counts.

    Recorded where it differs from the one before, and only where the text leaves no doubt.
    """

    language: str
    event: int


class Changed(Struct, frozen=True, kw_only=True, tag="changed", omit_defaults=True):
    """What a request asks for changed after it was sent, and the history says so: in the wire's own form, or where

    there is none by a notice (``findable``, ``unfindable``, ``language``). ``added``: tools; ``removed``: names of
    tools; ``effort``: None when it stays. ``findable`` and ``unfindable``: names of deferred tools. ``language``: in
    which to answer, "" in none that is named, None when it stays. It holds until the next epoch, whose base says it.
    """

    added: tuple[ToolSpec, ...] = ()
    removed: tuple[str, ...] = ()
    effort: str | None = None
    findable: tuple[str, ...] = ()
    unfindable: tuple[str, ...] = ()
    language: str | None = None


class TaskBudgetSet(Struct, frozen=True, kw_only=True, tag="task_budget_set", omit_defaults=True):
    """The model may spend ``total`` tokens of output from here on, which it is told; 0: no budget any more."""

    total: int


class Pinned(Struct, frozen=True, kw_only=True, tag="pinned", omit_defaults=True):
    """A standing text set by the API; it is said at once as a notice and stands in every later base."""

    text: str


class Revoked(Struct, frozen=True, kw_only=True, tag="revoked", omit_defaults=True):
    """Event ``target`` (a pin or a person's message) no longer holds. ``text`` is the notice that says so."""

    target: int
    text: str


class EpochStarted(Struct, frozen=True, kw_only=True, tag="epoch_started", omit_defaults=True):
    """The base is rebuilt here. ``reader`` is the reader named in it; sizes are by the counter.

    ``head``: digest of wire, request keys and reader; another one asks for another epoch. ``effort``: as the keys
    say it. ``block``: seq of the response whose compaction block opens the base, in place of all it stands for;
    ``tools_kept``: that block repeats the changes of tools, so the base offers the same tools as the one before.
    ``remaining``: what was left of the task budget, None: all of it, or there is none. ``findable``: names of deferred
    tools that the base tells; ``language``: in which it says to answer, "": none.
    """

    why: Why
    wire: str
    model: str
    reader: str
    read_tool: str | None = None
    head: str = ""
    policy: str = ""
    tokens_before: int = 0
    effort: str | None = None
    block: int | None = None
    tools_kept: bool = False
    remaining: int | None = None
    findable: tuple[str, ...] = ()
    language: str = ""


class RequestSent(Struct, frozen=True, kw_only=True, tag="request_sent", omit_defaults=True):
    """A request was handed out. ``added``: digests of the units it adds to the one before in this epoch.

    ``units``: number of units in all. ``items``: number of items of the view that it shows. ``tokens``: size by
    the counter, without the unseen prefix.
    """

    wire: str
    model: str
    units: int
    items: int
    added: tuple[bytes, ...]
    tokens: int
    codec: int = 1


class InputCounted(Struct, frozen=True, kw_only=True, tag="input_counted", omit_defaults=True):
    """The provider counted the input of a request before it was sent; calibrates the budget as usage does.

    ``request``: seq of its ``RequestSent``; None: it is none that this log holds, and calibrates nothing.
    """

    tokens: int
    request: int | None = None


class Erased(Struct, frozen=True, kw_only=True, tag="erased", omit_defaults=True):
    """The payloads of ``targets`` and of all that was derived from them are gone, and why.

    ``answers``: (target, answered event, call position) of each erased tool result, so that its call keeps an
    answer.
    """

    targets: tuple[int, ...]
    reason: str
    answers: tuple[tuple[int, int, int], ...] = ()


class ForeignNoted(Struct, frozen=True, kw_only=True, tag="foreign_noted", omit_defaults=True):
    """A foreign record that is not history: a compaction of the original tool, a record we can't read.

    ``where`` is its place in the source; ``raw`` its JSON text (None: named, not kept). Of a call that came to
    nothing, ``model`` and ``recorded_cost_usd`` as in ``Answered``.
    """

    code: str
    where: str
    text: str = ""
    raw: str | None = None
    model: str | None = None
    recorded_cost_usd: str | None = None


Body = (
    SessionOpened
    | InstructionsSet
    | ToolsSet
    | MarksSet
    | UnseenPrefix
    | Said
    | Answered
    | Called
    | ToolStarted
    | ToolPrinted
    | ToolReturned
    | Rewritten
    | Repaired
    | Noticed
    | Described
    | LanguageDetected
    | Changed
    | TaskBudgetSet
    | Pinned
    | Revoked
    | EpochStarted
    | RequestSent
    | InputCounted
    | Erased
    | ForeignNoted
)


class Draft(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A fact not yet appended: a body and the parts of the header that its writer knows.

    ``at``: microseconds since 1970 UTC; None: the session's clock fills it in.
    """

    body: Body
    at: int | None = None
    actor: str = "caller"
    origin: str = "library"
    trust: Trust = "operator"
    subject: str | None = None
    audience: tuple[str, ...] = ()
    causes: tuple[int, ...] = ()


def by_engine(body: Body, *causes: int, at: int | None = None, subject: str | None = None) -> Draft:
    """Return a fact that the engine itself states; ``causes``: the events that it comes from."""
    return Draft(
        body=body, at=at, actor="engine", origin="engine", trust="engine", subject=subject, causes=causes
    )


class Event(Struct, frozen=True, kw_only=True, gc=False):
    """An appended fact.

    ``seq`` counts from 0 in one session. ``at``: microseconds since 1970 UTC. ``audience``: who may see it,
    empty = everyone of the tenant. ``body`` and ``nonce`` None: erased. ``schema``: version of the body's form.
    ``original``: the body as it was appended, where that holds lone surrogates; None: it is ``body``.
    """

    seq: int
    kind: str
    schema: int
    at: int
    actor: str
    origin: str
    trust: Trust
    tenant: str
    subject: str | None
    audience: tuple[str, ...]
    causes: tuple[int, ...]
    commit: bytes
    link: bytes
    nonce: bytes | None
    body: Body | None
    original: Body | None = None


def kind_of(body: Body) -> str:
    """Return the body's tag, which is the event's kind."""
    return str(body.__struct_config__.tag)
