"""sync: a caller's own message list against the log.

Clients resend what they hold, not what they were given: SDK defaults added, null members, keys in another order,
cache marks moved, reasoning dropped, old results shortened. Those match. Anything else that differs is an edit,
and an edit is a fork: the past is never changed and never silently extended.

Both sides are folded by the same rules (pairing, order of results), so what is compared is what they mean, not
how they were listed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from foreword.codecs.held import server_held
from foreword.compiler.compile import Compiled
from foreword.core.block import Block, Message, Opaque, Text, Thinking, ToolCall, ToolResult, ToolSpec
from foreword.core.canonical import canonical
from foreword.core.event import GENESIS, Answered, Draft, Event, MarksSet, Said, ToolReturned, seal
from foreword.core.view import Fold, Interaction, Item, Turn
from foreword.engine.caller_marks import markings

if TYPE_CHECKING:
    from foreword.engine.session import Session

_NOTE = 200
"""Characters that a caller's own note about a cut may have."""

_CUT_WORDS = (
    "cleared",
    "removed",
    "truncated",
    "omitted",
    "elided",
    "hidden",
    "pruned",
    "trimmed",
    "shortened",
)
"""What a placeholder says when its holder cut the content."""


class Synced(Struct, frozen=True, kw_only=True):
    """What ``sync`` did, and the request to send.

    ``appended``: events added from the list. ``forked_at``: last event shared with the log as it was, None: no
    fork. ``shortened``: ids of calls whose results the caller cut; the log keeps the whole ones.
    """

    request: Compiled
    appended: int
    forked_at: int | None
    shortened: tuple[str, ...]

    @property
    def body(self) -> dict[str, Any]:
        """The request as keyword arguments for the official client."""
        return msgspec.json.decode(self.request.body)


class Held(Struct, frozen=True, kw_only=True):
    """A request whose history only the provider holds: it is to be sent as it is, and nothing was recorded.

    ``body``: the request as given, unchanged. ``member``: what in it names the history (``previous_response_id``,
    ``conversation``, ``thread``, ``previous_interaction_id``, ``item_reference``, a cached prefix).
    """

    body: Mapping[str, Any]
    member: str


def held(request: Mapping[str, Any] | None) -> Held | None:
    """Recognise a request whose history only the provider holds; None: all of it is here, or none was given."""
    member = server_held(request) if request is not None else None
    return None if request is None or member is None else Held(body=request, member=member)


class Compared(Struct, kw_only=True):
    """``known``: given facts that the log holds, index to event. ``differs``: first event of the log that the list

    contradicts or lacks, None: it only adds. ``shortened``: ids of calls whose results the caller cut.
    """

    known: dict[int, int]
    differs: int | None
    shortened: list[str]


def synchronise(
    session: Session, messages: Sequence[Any], *, system: Any = None, tools: Sequence[Any] | None = None
) -> Synced:
    """See ``Session.sync``."""
    codec = session.codec
    listed = codec.decode_messages(messages)
    leading = 0
    while leading < len(listed) and listed[leading].role in ("system", "developer"):
        leading += 1
    drafts = [draft for message in listed[leading:] for draft in _drafts(message)]
    given = _fold(drafts)
    compared = compare(_caller_facts(session), given)
    forked_at: int | None = None
    if compared.differs is not None:
        forked_at = compared.differs - 1
        shortened = compared.shortened
        session.become(session.fork(forked_at))
        compared = compare(_caller_facts(session), given)
        compared.shortened = shortened
    if system is not None or leading:
        texts = _system_texts(system) + [text for message in listed[:leading] for text in _texts(message)]
        session.instruct(*texts)
    declared = () if tools is None else _declared(session, codec.decode_tools(tools))
    if tools is not None:
        session.offer(declared)
    fresh = [index for index in range(len(drafts)) if index not in compared.known]
    if fresh:
        session.append(*_linked([drafts[index] for index in fresh], session.unanswered))
    marks = codec.decode_marks(messages, system, tools)
    if marks or session.view.fold.marks:
        first = session.view.position - len(fresh)
        seqs = {**compared.known, **{index: first + place for place, index in enumerate(fresh)}}
        unchanged = {"tool": tools is None, "system": system is None, "message": False}
        wanted = (
            *markings(marks, messages=listed, leading=leading, tools=declared, seqs=seqs),
            *(mark for mark in session.view.fold.marks if unchanged[mark.section]),
        )
        if wanted != session.view.fold.marks:
            session.append(Draft(body=MarksSet(marks=wanted), origin="sync"))
    return Synced(
        request=session.compile(),
        appended=len(fresh),
        forked_at=forked_at,
        shortened=tuple(compared.shortened),
    )


def _linked(drafts: Sequence[Draft], request: int | None) -> Iterator[Draft]:
    """Say of the first assistant message which request of ours it answers, if one waits for an answer."""
    for draft in drafts:
        if isinstance(draft.body, Answered) and request is not None:
            draft = msgspec.structs.replace(draft, body=msgspec.structs.replace(draft.body, request=request))
            request = None
        yield draft


def _texts(message: Message) -> list[str]:
    return [block.text for block in message.blocks if isinstance(block, Text)]


def _system_texts(system: Any) -> list[str]:
    if system is None:
        return []
    if isinstance(system, str):
        return [system]
    return [str(block["text"] if isinstance(block, dict) else block.text) for block in system]


def _declared(session: Session, given: Sequence[ToolSpec]) -> tuple[ToolSpec, ...]:
    """Keep the recorded form, and its key order, of every tool that stands already."""
    recorded = {tool.name: tool for tool in session.view.fold.tools[1]}
    return tuple(
        known
        if (known := recorded.get(tool.name)) is not None and _members(known) == _members(tool)
        else tool
        for tool in given
    )


def _members(tool: ToolSpec) -> bytes:
    return canonical(msgspec.to_builtins(tool))


def _drafts(message: Message) -> Iterator[Draft]:
    """Yield the facts in one listed message: its results first, as every wire renders them, then the rest."""
    for block in message.blocks:
        if isinstance(block, ToolResult):
            yield Draft(body=ToolReturned(result=block), trust="tool", actor="tool", origin="sync")
    plain = tuple(block for block in message.blocks if not isinstance(block, ToolResult))
    if not any(_counts(block) for block in plain):
        return
    rest = msgspec.structs.replace(message, blocks=plain)
    if message.role == "assistant":
        yield Draft(body=Answered(message=rest), trust="model", actor="model", origin="sync")
    else:
        person = message.role == "user"
        trust = "person" if person else "operator"
        yield Draft(body=Said(message=rest, person=person), trust=trust, actor="user", origin="sync")


def _fold(drafts: Sequence[Draft]) -> Fold:
    """Fold facts that are in no log; the seq of each is its index."""
    return Fold(
        seal(draft, seq=index, at=0, tenant="", previous=GENESIS, nonce=b"")
        for index, draft in enumerate(drafts)
    )


def _caller_facts(session: Session) -> Fold:
    """Fold what a caller's list can hold, without the engine's own repairs; seqs are those of the log."""
    return Fold(event for event in session.events if _is_fact(event))


def _is_fact(event: Event) -> bool:
    return event.kind in ("said", "answered", "tool_returned", "erased")


class _Gone(Struct, frozen=True):
    """The place of a message whose payload was erased: a caller may still hold it, or have taken it out."""

    seq: int


def _with_gone(recorded: Fold, items: list[Item]) -> list[Item | _Gone]:
    """Put the places of erased messages among the items that are left."""
    placed: list[Item | _Gone] = list(items)
    for event in recorded.events:
        if event.body is None and event.kind in ("said", "answered"):
            at = next((n for n, item in enumerate(placed) if item.seq > event.seq), len(placed))
            placed.insert(at, _Gone(event.seq))
    return placed


def compare(recorded: Fold, given: Fold) -> Compared:
    """Match item by item, result by result."""
    compared = Compared(known={}, differs=None, shortened=[])
    old = [item for item in recorded.items if _keys(item)]
    new = [item for item in given.items if _keys(item)]
    old = _unsummarised(recorded, old, new)
    _compare_orphans(recorded, given, compared)
    entries = _with_gone(recorded, old)
    at = 0
    for position, item in enumerate(entries):
        other = new[at] if at < len(new) else None
        if isinstance(item, _Gone):
            following = entries[position + 1] if position + 1 < len(entries) else None
            held = other is not None and (
                isinstance(following, _Gone | None) or _keys(following) != _keys(other)
            )
            if held and other is not None:
                _take_whole(compared, item.seq, other)
                at += 1
            continue
        if other is None or _keys(item) != _keys(other):
            _contradict(compared, item.seq)
            break
        at += 1
        compared.known[other.seq] = item.seq
        if isinstance(item, Interaction) and isinstance(other, Interaction):
            _compare_results(item, other, compared, recorded.erased)
    return compared


def _unsummarised(recorded: Fold, old: list[Item], new: list[Item]) -> list[Item]:
    """Leave out what a list lacks because it begins with the block that the provider gave for it."""
    for block in reversed(recorded.compactions):
        if new and _keys(new[0]) == _keys(block):
            return [block, *(item for item in old[old.index(block) :] if item is not block)]
    return old


def _contradict(compared: Compared, seq: int) -> None:
    compared.differs = seq if compared.differs is None else min(compared.differs, seq)


def _take_whole(compared: Compared, seq: int, other: Item) -> None:
    """Hold a message that the log erased for known, with its results: it is not recorded again."""
    compared.known[other.seq] = seq
    if isinstance(other, Interaction):
        compared.known.update({place: seq for place in other.result_seqs if place is not None})


def _compare_results(
    item: Interaction, other: Interaction, compared: Compared, erased: Mapping[int, str]
) -> None:
    for position, result in enumerate(item.results):
        seq, place = item.result_seqs[position], other.result_seqs[position]
        if result is None or seq is None:
            continue
        if seq in erased:
            if place is not None:
                compared.known[place] = seq
            continue
        twin = other.results[position]
        if twin is None or place is None:
            _contradict(compared, seq)
        elif _result_key(result) == _result_key(twin):
            compared.known[place] = seq
        elif result.is_error == twin.is_error and is_shortened(_result_text(result), _result_text(twin)):
            compared.known[place] = seq
            compared.shortened.append(result.call_id)
        else:
            _contradict(compared, seq)


def _compare_orphans(recorded: Fold, given: Fold, compared: Compared) -> None:
    """Results without a call: those recorded must come first among those given, in order."""
    for position, seq in enumerate(recorded.orphans):
        place = given.orphans[position] if position < len(given.orphans) else None
        if place is None or _body_key(recorded, seq) != _body_key(given, place):
            _contradict(compared, seq)
            return
        compared.known[place] = seq


def _body_key(fold: Fold, seq: int) -> bytes:
    event = next(event for event in fold.events if event.seq == seq)
    if not isinstance(event.body, ToolReturned):
        return b""
    return event.body.result.call_id.encode() + _result_key(event.body.result)


def _keys(item: Any) -> bytes:
    """What an item is compared by; empty for one that shows nothing."""
    if not isinstance(item, Turn | Interaction):
        return b""
    message = item.recorded if isinstance(item, Interaction) else item.message
    role = "system" if message.role == "developer" else message.role
    keys = [_block_key(block) for block in message.blocks if _counts(block)]
    return canonical([role, keys]) if keys else b""


def _counts(block: Block) -> bool:
    """Reasoning may be dropped by its holder, and blank text is never sent."""
    return not isinstance(block, Thinking) and not (isinstance(block, Text) and not block.text.strip())


def _block_key(block: Block) -> Any:
    match block:
        case Text():
            return ["text", block.text]
        case ToolCall():
            return ["call", block.id, block.name, _value(block.arguments)]
        case Opaque():
            return [block.form, _bare(_value(block.raw))]
        case _:
            return _bare(
                {name: value for name, value in msgspec.to_builtins(block).items() if name != "extra"}
            )


def _result_key(result: ToolResult) -> bytes:
    blocks = [_block_key(block) for block in result.content if _counts(block)]
    return canonical([result.is_error, blocks])


def _result_text(result: ToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, Text))


def _bare(value: Any) -> Any:
    """Drop members that carry nothing, at every depth: SDKs add them as defaults."""
    if isinstance(value, dict):
        return {name: _bare(member) for name, member in value.items() if member not in (None, [], {})}
    return [_bare(member) for member in value] if isinstance(value, list) else value


def _value(text: str) -> Any:
    try:
        return msgspec.json.decode(text.encode())
    except (msgspec.DecodeError, UnicodeEncodeError):
        return text


def is_shortened(whole: str, short: str) -> bool:
    """Whether ``short`` is ``whole`` cut by its holder rather than edited.

    It must be shorter, and but for one note of at most 200 characters it must be the head and the tail of the
    whole text. A bare bracketed placeholder counts too; one that says what was done, at any length.

    >>> is_shortened("line 1\\nline 2\\nline 3", "line 1\\n[cut]\\nline 3"), is_shortened("exit 1", "exit 0")
    (True, False)
    """
    bare = short.strip()
    placeholder = 0 < len(bare) <= _NOTE and bare[0] in "[<(" and bare[-1] in "])>"
    if placeholder and any(word in bare.lower() for word in _CUT_WORDS):
        return True
    if len(short) >= len(whole):
        return False
    if placeholder or not bare:
        return True
    head = _shared(whole, short)
    tail = _shared(whole[head:][::-1], short[head:][::-1])
    note = short[head : len(short) - tail]
    says_so = any(word in note.lower() for word in _CUT_WORDS)
    return len(note) <= _NOTE and (says_so or head + tail >= len(note)) and head + tail > 0


def _shared(one: str, other: str) -> int:
    """Length of the common beginning."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low
