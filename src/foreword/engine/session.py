"""Session: append what was said and done, compile the next request, record the response.

The one place where the pure engine meets a store, a clock and chance. ``recording`` is its half that writes; what
it is told comes in by ``telling`` and ``tool_runs``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import UnionType
from typing import TYPE_CHECKING, Any, cast

import msgspec

from foreword.codecs.billing import NO_MORE, Billing
from foreword.codecs.decoded import Response, WireCodec
from foreword.codecs.parts import lettered_name, tool_name
from foreword.compiler.compile import Compiled
from foreword.compiler.invariants.check import broken
from foreword.compiler.pipeline import MAX_ROUNDS, propose
from foreword.compiler.policy import DEFAULT, Policy
from foreword.compiler.read_tool import read_tool_name
from foreword.compiler.string_lengths import check_strings
from foreword.core.block import Message, ToolCall
from foreword.core.event import (
    Answered,
    Draft,
    EpochStarted,
    Erased,
    Event,
    RequestSent,
    SessionOpened,
    by_engine,
)
from foreword.core.reference import alias_of
from foreword.core.request import Unit
from foreword.core.target import Target
from foreword.core.usage import Usage
from foreword.engine.cache_watch import warn_of_fall
from foreword.engine.calls import answer_of
from foreword.engine.clock import Clock, Nonces, random_nonce, system_clock
from foreword.engine.describing import Describe, describe_pictures
from foreword.engine.erasing import erase
from foreword.engine.language import detect_language
from foreword.engine.last_list import LastList
from foreword.engine.opening import check_place, check_project, last_user, named_target
from foreword.engine.reading import Page, read_page, run_read_tool
from foreword.engine.recording import RETRIES, Recording
from foreword.engine.repeated import repeated
from foreword.engine.spend import Spend
from foreword.engine.sync import Synced, synchronise
from foreword.engine.sync_forks import free_name
from foreword.engine.telling import Telling
from foreword.engine.tool_check import check_tool_use
from foreword.engine.tool_runs import ToolRuns
from foreword.errors import AppendConflict, CompileError, InvalidArgument, InvariantBroken
from foreword.store.store import Store

_ASSIGNED: dict[str, tuple[type | UnionType, str]] = {
    "target": (Target | None, "what target_for returns, or None"),
    "policy": (Policy, "a Policy"),
    "user": (str | None, "a text, or None"),
    "spend": (Spend | None, "Spend([Limit(...), ...]), or None"),
}
"""What a caller may set: the types, and how they are called."""


class Session(Telling, ToolRuns):
    """One log and the requests compiled from it. Not for use from several threads at once."""

    __slots__ = {
        "_looked": "Events before this one were looked through for pictures.",
        "_read": "Events before this one were looked through for the language.",
        "describe": "Function of an ``Image`` to words for a model that reads none. None: a note says one stood there.",
        "last_list": "What ``sync`` need not compare again. An empty one only costs time.",
        "policy": "The ``Policy`` by which requests are made smaller.",
        "spend": "A ``Spend``: what may be spent. None: no limit. Not in the log: set it after each ``open``.",
        "target": "A ``Target``: whom requests are for. None: nothing can be compiled. Another model starts an epoch.",
        "user": "Whom the calls are made for: the subject of their events, by which the ledger adds up. None: nobody.",
    }
    """A dict, so that ``help`` says what each is."""

    def __init__(
        self,
        events: Sequence[Event],
        *,
        store: Store | None,
        target: Target | None,
        policy: Policy = DEFAULT,
        clock: Clock = system_clock,
        nonces: Nonces = random_nonce,
        sent_units: Mapping[int, Sequence[Unit]] | None = None,
    ) -> None:
        super().__init__(events, store=store, clock=clock, nonces=nonces, sent_units=sent_units)
        self.target = target
        self.policy = policy
        self.user: str | None = last_user(events)
        self.spend: Spend | None = None
        self.describe: Describe | None = None
        self.last_list = LastList()
        self._looked = 0
        self._read = 0

    if not TYPE_CHECKING:  # a checker that saw it would take every name

        def __setattr__(self, name: str, value: object) -> None:
            """Raises: InvalidArgument for a value that no request could use; AttributeError for another name."""
            takes = _ASSIGNED.get(name)
            if takes is not None and not isinstance(value, takes[0]):
                raise InvalidArgument("Session", name, value, takes[1])
            super().__setattr__(name, value)

    @classmethod
    def open(
        cls,
        store: Store | None,
        name: str,
        *,
        provider: str | None = None,
        model: str | None = None,
        target: Target | None = None,
        policy: Policy = DEFAULT,
        format: str = "foreword",
        source: str | None = None,
        parent: tuple[str, int] | None = None,
        project: str | None = None,
        user: str | None = None,
        sub_context: bool = False,
        clock: Clock = system_clock,
        nonces: Nonces = random_nonce,
    ) -> Session:
        """Open the session of this id, or begin it.

        ``store`` None: it lives in memory only. ``provider`` and ``model`` (or a ``target``) say whom requests are
        for; without them the session can be written and read, not compiled. ``parent``: (session id, last shared
        seq) of the session that a new one forks from. ``project``: what a new session is billed to. ``user``: whom its
        calls are made for; None: of a session that there is, that of its newest call. ``sub_context``: another agent
        began a new one, and its calls are billed as such.
        Raises: InvalidArgument, also for another project than the recorded one; UnknownModel; StoreError, also for a
        mere place; InvalidText for half a character in ``name``.
        """
        check_place(store, name)
        named = named_target(provider, model)
        if named is not None and target is not None:
            raise InvalidArgument(
                "Session.open", "provider", provider, "either a target, or a provider and a model"
            )
        target = target or named
        if store is not None and store.holds(name):
            units = store.sent_units(name)
            known = cls(
                store.load(name),
                store=store,
                target=target,
                policy=policy,
                clock=clock,
                nonces=nonces,
                sent_units=units,
            )
            check_project((body for _, body in known.view.fold.openings), project)
            known.user = user or known.user
            return known
        base = store.load(parent[0])[: parent[1] + 1] if store is not None and parent is not None else []
        session = cls(base, store=store, target=target, policy=policy, clock=clock, nonces=nonces)
        session.user = user or session.user
        return session._begin(
            SessionOpened(
                session=name,
                alias="",
                format=format,
                source=source,
                parent=parent,
                project=project,
                sub_context=sub_context,
            )
        )

    def _begin(self, opened: SessionOpened, origin: str = "engine") -> Session:
        """Append the first event of its own, with an alias that is free; return the session that stands then."""
        name, store = opened.session, self.store
        for _ in range(RETRIES):
            alias = store.alias_for(name) if store is not None else alias_of(name)
            body = msgspec.structs.replace(opened, alias=alias)
            draft = msgspec.structs.replace(by_engine(body, subject=self.user), origin=origin)
            try:
                self._append([draft], name=name)
                return self
            except AppendConflict:
                if store is not None and store.holds(name):
                    return self._open(name)
        raise CompileError(f"no free alias for session {name!r} after {RETRIES} tries")

    # -- responses -----------------------------------------------------------------------------------------

    def record(
        self,
        response: Any,
        *,
        cost_usd: str | None = None,
        first_token_ms: int | None = None,
        total_ms: int | None = None,
        attempts: int = 1,
    ) -> int:
        """Append the response to the request compiled last. Return its seq.

        ``response``: the wire's JSON, bytes, or the SDK's object. The newest again is taken once: see `repeated`.
        Times and ``attempts`` as in ``Answered``.
        Raises: MalformedResponse.
        """
        decoded = response if isinstance(response, Response) else self.codec.decode_response(response)
        body = answer_of(self.codec.wire, decoded)
        message = self.named(decoded.message)
        known = repeated(self.events, message, decoded.response_id)
        if known is not None:
            return known
        body = msgspec.structs.replace(
            body,
            message=message,
            recorded_cost_usd=cost_usd,
            first_token_ms=first_token_ms,
            total_ms=total_ms,
            attempts=attempts,
        )
        return self.append_answer(body)

    def named(self, message: Message) -> Message:
        """Give calls the names the tools were offered under, where a wire needed others."""
        names = {spell(tool.name): tool.name for spell in (lettered_name, tool_name) for tool in self._tools}
        blocks = tuple(
            msgspec.structs.replace(block, name=names.get(block.name, block.name))
            if isinstance(block, ToolCall)
            else block
            for block in message.blocks
        )
        return msgspec.structs.replace(message, blocks=blocks)

    def answered(
        self,
        message: Message,
        *,
        model: str | None = None,
        stop_reason: str | None = None,
        response_id: str | None = None,
        usage: Usage | None = None,
        cost_usd: str | None = None,
        billing: Billing = NO_MORE,
        first_token_ms: int | None = None,
        edits: dict[str, Any] | None = None,
    ) -> int:
        """Append a model's message as the response to the request compiled last. Return its seq.

        ``edits``: what the provider says it did to the context, in the wire's members (see ``Answered``).
        """
        body = Answered(
            message=message,
            model=model,
            stop_reason=stop_reason,
            response_id=response_id,
            usage=usage,
            recorded_cost_usd=cost_usd,
            edits=edits,
            first_token_ms=first_token_ms,
            terms=billing.terms,
            compactions=billing.compactions,
            doubts=billing.doubts,
        )
        return self.append_answer(body)

    def append_answer(self, body: Answered, *notes: Draft) -> int:
        """Append the response to the request compiled last, behind ``notes`` on it; warn of a fall. Return its seq."""
        body = msgspec.structs.replace(body, request=self.unanswered, start_marks=self.start_marks)
        seq = self.append(*notes, Draft(body=body, trust="model", actor="model", subject=self.user))
        warn_of_fall(self.id, self.events, self.target, self.store.name if self.store else None)
        return seq

    @property
    def unanswered(self) -> int | None:
        """Seq of the request that no response was recorded for yet; None: there is none."""
        sent = self.view.fold.sent
        if not sent or any(isinstance(event.body, Answered) for event in self.events[sent[-1].seq :]):
            return None
        return sent[-1].seq

    # -- requests ------------------------------------------------------------------------------------------

    def compile(self) -> Compiled:
        """Return the next request, after appending the repairs and rewrites it needs.

        Raises: OverBudget (no rewrite is appended then); EmptyRequest; SpendLimitReached; SpendUnknown;
        InvariantBroken, which is a fault of ours; CompileError without a target; DescribingFailed; MissingExtra when
        the policy asks for the language and its detector is not installed; InvalidArgument for more tools than the
        model takes, and for keys about tools that are not offered.
        """
        target = self._target()
        self.refresh()
        last = self._compiled
        stands = last is not None and last.target == target and self._stands(last)
        if last is not None and stands and self._affordable(last) and self._reserved(last):
            return last
        if self.describe is not None and target.spec.vision is False:
            describe_pictures(self, self.describe, self._looked)
            self._looked = len(self.events)
        if self.policy.language_directive:
            detect_language(self, self._read)
            self._read = len(self.events)
        for _ in range(MAX_ROUNDS):
            step = propose(self.view, self.policy, target, self._compiled, self._sent_units)
            if step.compiled is not None:
                if not self._affordable(step.compiled):
                    continue
                check_strings(step.compiled)
                check_tool_use(step.compiled)
                for fault in broken(step.compiled, start=step.compiled.frozen):
                    raise InvariantBroken(self.id, fault.rule, fault.events, fault.fault)
                self._compiled = step.compiled
                self._send(step.compiled)
                if self._reserved(step.compiled):
                    return step.compiled
                continue
            try:
                self._append(step.drafts, facts=False)
            except AppendConflict:
                continue  # another writer was first: its facts count, our rewrite is planned anew
            if any(isinstance(draft.body, EpochStarted) for draft in step.drafts):
                self._sent_units = None
        raise CompileError(f"session {self.id}: no stable request after {MAX_ROUNDS} rounds of rewrites")

    def sync(
        self,
        messages: Sequence[Any],
        *,
        system: str | Sequence[Any] | None = None,
        tools: Sequence[Any] | None = None,
    ) -> Synced:
        """Take a caller's own message list, append what is new, and return the request to send.

        An edited or rewound list forks the session at the last event that still agrees, or goes on in the fork that
        was made for it before; this object then follows the fork. ``system`` and ``tools`` in the wire's form; None:
        unchanged.
        A request whose history only the provider holds is none for this: see ``engine.sync.held``.
        Raises: MalformedRequest, EmptyRequest and InvalidValue, which change nothing; OverBudget.
        """
        return synchronise(self, messages, system=system, tools=tools)

    def fork(self, at: int, name: str | None = None, *, origin: str = "engine") -> Session:
        """Return a new session that shares events 0 to ``at`` with this one.

        ``origin``: of its opening event; ``sync`` goes on only in forks that it made itself.
        Raises: UnknownEvent.
        """
        self.event(at)
        self.flush()
        child = self._alike(self._begin_fork(at, name, origin))
        fresh = len(child.events) == at + 2  # else another process was first with this name
        since = self.events[at + 1 :] if fresh else ()
        for event in since:  # what was erased is gone from the shared part too
            if isinstance(event.body, Erased) and min(event.body.targets) <= at:
                shared = tuple(seq for seq in event.body.targets if seq <= at)
                answers = tuple(answer for answer in event.body.answers if answer[0] <= at)
                body = Erased(targets=shared, reason=event.body.reason, answers=answers)
                child.append(Draft(body=body, causes=()))
        return child

    def _begin_fork(self, at: int, name: str | None, origin: str) -> Session:
        store = self.store
        if store is not None and name is not None and store.holds(name):
            return self._open(name)
        child = Session(
            (self.events if store is None else store.load(self.id))[: at + 1],
            store=store,
            target=self.target,
            policy=self.policy,
            clock=self._clock,
            nonces=self._nonces,
        )
        child.user = self.user
        fork = name or (f"{self.id}~{at}" if store is None else free_name(store, self.id))
        # Of the log that holds the event itself: a fork of a fork of a fork would be read through all of them.
        above = (opened.session for seq, opened in reversed(self.view.fold.openings) if seq <= at)
        parent = next(above, self.id)
        return child._begin(SessionOpened(session=fork, alias="", parent=(parent, at)), origin)

    def become(self, other: Session) -> None:
        """Follow another session (a fork of this one) from now on."""
        self.flush()
        if self.spend is not None:
            self.spend.leave(self)
        for name in {*Recording.__slots__, *Session.__slots__} - {"__weakref__"}:
            setattr(self, name, getattr(other, name))

    # -- reading and erasing -------------------------------------------------------------------------------

    def read(self, ref: str, **page: Any) -> Page:
        """Read back what a reference names: see ``engine.reading.read_page`` for the paging arguments."""
        return read_page(self, ref, **page)

    @property
    def read_tool(self) -> str | None:
        """Name of the tool that reads back: another than ``read`` beside a tool of that name; None: there is none."""
        return read_tool_name(self.view) if self.target is not None and self.target.reader == "tool" else None

    def run_read_tool(self, arguments: str | Mapping[str, Any]) -> str:
        """Execute the ``read`` tool that requests offer; return the text of its result, faults included."""
        return run_read_tool(self, arguments)

    def erase(self, targets: Iterable[int], reason: str) -> tuple[int, ...]:
        """Erase the payloads of events and of all that was derived from them. Return the seqs erased here.

        It holds in this session, in those that it was forked from and in every fork that shares them.
        Raises: UnknownEvent; NotErasable for an event without content; ErasureIncomplete when the log says so but
        another reader still holds old pages of the file.
        """
        if not isinstance(targets, Iterable):
            raise InvalidArgument(
                "Session.erase", "targets", targets, "a list of events' numbers, such as [5]"
            )
        return erase(self, set(targets), reason)

    def relative(self, name: str) -> Session:
        """Open another session of the same store in the same way: a parent or a fork."""
        return self._alike(self._open(name))

    # -- inside --------------------------------------------------------------------------------------------

    def _open(self, name: str) -> Session:
        return Session.open(
            self.store,
            name,
            target=self.target,
            policy=self.policy,
            user=self.user,
            clock=self._clock,
            nonces=self._nonces,
        )

    def _alike(self, other: Session) -> Session:
        """Give another session what this one was given beside its log."""
        other.user, other.spend, other.describe = self.user, self.spend, self.describe
        other.start_marks = self.start_marks
        if self.telemetry is not None:
            self.telemetry.watch(other)
        return other

    @property
    def codec(self) -> WireCodec:
        """The codec of the session's wire."""
        return cast(WireCodec, self._target().codec)

    def _target(self) -> Target:
        if self.target is None:
            raise CompileError("this session has no target: open it with a provider and a model")
        return self.target

    def _stands(self, compiled: Compiled) -> bool:
        """Whether nothing happened since this request was compiled and handed out."""
        return (
            self.view.position == compiled.view.position + 1
            and isinstance(self.events[-1].body, RequestSent)
            and compiled.policy == self.policy
        )

    def _affordable(self, compiled: Compiled) -> bool:
        """Whether a request is within the soft limits that were not told of; else a notice is appended, which it lacks.

        Raises: SpendLimitReached; SpendUnknown.
        """
        notices = self.spend.check(self, compiled, self._clock()) if self.spend is not None else []
        if notices:
            self._append(notices)
        return not notices

    def _reserved(self, compiled: Compiled) -> bool:
        """Whether the request just sealed may be handed out; False: another writer was first, and it is dropped."""
        return self.spend is None or self.spend.reserve(self, compiled, self._clock())

    def _send(self, compiled: Compiled) -> None:
        event = self._seal([by_engine(compiled.sent(), subject=self.user)])[0]
        self._pending.append(event)
        self._pending_units[event.seq] = compiled.tail
        self.view = self.view.extend([event])
