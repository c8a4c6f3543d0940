"""sync: a caller's own message list against the log, piece by piece.

Clients resend what they hold, not what they were given: SDK defaults added, null members, keys in another order,
cache marks moved, reasoning dropped, old results shortened. Those match. Anything else that differs is an edit,
and an edit is a fork: the past is never changed and never silently extended.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from foreword.compiler.compile import Compiled
from foreword.core.block import Block, Image, Message, Opaque, Text, Thinking, ToolCall, ToolResult, ToolSpec
from foreword.core.canonical import canonical
from foreword.core.event import Answered, Draft, Event, Said, ToolReturned
from foreword.core.view import Interaction

if TYPE_CHECKING:
    from foreword.engine.session import Session


class Synced(Struct, frozen=True, kw_only=True):
    """What ``sync`` did. ``appended``: events added from the list. ``forked_at``: last event shared with the log
    before, None: no fork. ``shortened``: calls whose results the caller cut; the log keeps the whole ones."""

    request: Compiled
    appended: int
    forked_at: int | None
    shortened: tuple[str, ...]

    @property
    def body(self) -> dict[str, Any]:
        """The request as keyword arguments for the official client."""
        return msgspec.json.decode(self.request.body)


class _Piece(Struct, frozen=True, kw_only=True):
    """What is compared of one block. ``source``: event seq of the log, or index into the caller's list."""

    key: bytes
    source: int
    call: str | None = None
    text: str = ""


def synchronise(
    session: Session, messages: Sequence[Any], *, system: Any = None, tools: Sequence[Any] | None = None
) -> Synced:
    """See ``Session.sync``."""
    codec = session._target().codec  # noqa: SLF001 - the session hands itself over
    listed: list[Message] = codec.decode_messages(messages)  # type: ignore[attr-defined]
    leading = _leading_system(listed)
    if system is not None or leading:
        texts = _system_texts(system) + [text for message in leading for text in _texts(message)]
        session.instruct(*texts)
    if tools is not None:
        session.offer(_declared(session, codec, tools))
    listed = listed[len(leading) :]
    recorded = list(_recorded(session))
    given = list(_given(listed))
    common, shortened = _common(recorded, given)
    forked_at: int | None = None
    start = common
    if common < len(recorded):
        first = recorded[common].source
        while start and recorded[start - 1].source == first:
            start -= 1
        forked_at = _before(session, first)
        session.become(session.fork(forked_at))
    if start < len(given):
        first_new = given[start].source
        known = [piece for piece in given[:start] if piece.source == first_new]
        drafts = list(_drafts(listed[first_new:], skip=len(known), request=session.unanswered))
        session.append(*drafts)
        appended = len(drafts)
    else:
        appended = 0
    return Synced(
        request=session.compile(), appended=appended, forked_at=forked_at, shortened=tuple(shortened)
    )


def _leading_system(listed: Sequence[Message]) -> list[Message]:
    leading: list[Message] = []
    for message in listed:
        if message.role not in ("system", "developer"):
            break
        leading.append(message)
    return leading


def _texts(message: Message) -> list[str]:
    return [block.text for block in message.blocks if isinstance(block, Text)]


def _system_texts(system: Any) -> list[str]:
    if system is None:
        return []
    if isinstance(system, str):
        return [system]
    return [str(block["text"] if isinstance(block, dict) else block.text) for block in system]


def _declared(session: Session, codec: Any, tools: Sequence[Any]) -> tuple[ToolSpec, ...]:
    """Decode tools; where the same tool stands already, the recorded form (and its key order) is kept."""
    given = codec.decode_tools(tools)
    recorded = {tool.name: tool for tool in session.view.fold.tools[1]}
    kept = tuple(
        recorded[tool.name] if tool.name in recorded and _same_tool(recorded[tool.name], tool) else tool
        for tool in given
    )
    return kept


def _same_tool(one: ToolSpec, other: ToolSpec) -> bool:
    return canonical(msgspec.to_builtins(one)) == canonical(msgspec.to_builtins(other))


def _recorded(session: Session) -> Iterator[_Piece]:
    """Yield what the caller is expected to hold, in the order in which it would list it."""
    fold = session.view.fold
    for item in fold.items:
        body = fold.events[item.seq].body
        if isinstance(body, Said):
            yield from _pieces(body.message, item.seq)
        elif isinstance(body, Answered) and isinstance(item, Interaction):
            yield from _pieces(body.message, item.seq)
            returned = sorted(seq for seq in item.result_seqs if seq is not None)
            yield from _sorted_results(
                _piece_of_result(event.result, seq)
                for seq in returned
                if isinstance(event := fold.events[seq].body, ToolReturned)
            )


def _given(listed: Sequence[Message]) -> Iterator[_Piece]:
    """Yield the caller's pieces; a run of results is ordered by call id, since callers order them freely."""
    waiting: list[_Piece] = []
    for index, message in enumerate(listed):
        for piece in _pieces(message, index):
            if piece.call is not None:
                waiting.append(piece)
                continue
            yield from _sorted_results(waiting)
            waiting = []
            yield piece
    yield from _sorted_results(waiting)


def _sorted_results(pieces: Any) -> Iterator[_Piece]:
    yield from sorted(pieces, key=lambda piece: str(piece.call))


def _pieces(message: Message, source: int) -> Iterator[_Piece]:
    role = "system" if message.role == "developer" else message.role
    for block in message.blocks:
        match block:
            case Thinking():
                continue
            case Text():
                if block.text.strip():
                    yield _Piece(key=canonical([role, "text", block.text]), source=source, text=block.text)
            case ToolCall():
                key = canonical([role, "call", block.id, block.name, _value(block.arguments)])
                yield _Piece(key=key, source=source)
            case ToolResult():
                yield _piece_of_result(block, source)
            case Image() | Opaque():
                yield _Piece(key=canonical([role, _plain(block)]), source=source)


def _piece_of_result(result: ToolResult, source: int) -> _Piece:
    blocks = [_plain(block) for block in result.content if not (isinstance(block, Text) and not block.text)]
    text = "\n".join(block.text for block in result.content if isinstance(block, Text))
    key = canonical(["result", result.call_id, blocks])
    return _Piece(key=key, source=source, call=result.call_id, text=text)


def _plain(block: Block) -> Any:
    """The block's members without those that carry nothing: nulls, empty collections and extras."""
    value = msgspec.to_builtins(block)
    if isinstance(block, Opaque):
        return [value["form"], _value(block.raw)]
    return {name: member for name, member in value.items() if name != "extra" and member not in (None, [], {})}


def _value(text: str) -> Any:
    try:
        return msgspec.json.decode(text.encode())
    except (msgspec.DecodeError, UnicodeEncodeError):
        return text


def _common(recorded: Sequence[_Piece], given: Sequence[_Piece]) -> tuple[int, list[str]]:
    """Return how many leading pieces agree, and the calls whose results the caller had shortened."""
    shortened: list[str] = []
    for index, (one, other) in enumerate(zip(recorded, given, strict=False)):
        if one.key == other.key:
            continue
        if one.call is None or one.call != other.call or not is_shortened(one.text, other.text):
            return index, shortened
        shortened.append(one.call)
    return min(len(recorded), len(given)), shortened


def is_shortened(whole: str, short: str) -> bool:
    """Whether ``short`` is ``whole`` cut by its holder rather than edited.

    It must be shorter, and but for one note of at most 200 characters it must be the head and the tail of the
    whole text; a bare bracketed placeholder counts too.

    >>> is_shortened("line 1\\nline 2\\nline 3", "line 1\\n[cut]\\nline 3"), is_shortened("exit 1", "exit 0")
    (True, False)
    """
    if len(short) >= len(whole):
        return False
    bare = short.strip()
    if not bare or (len(bare) <= 200 and bare[0] in "[<(" and bare[-1] in "])>"):
        return True
    head = _shared(whole, short)
    tail = _shared(whole[head:][::-1], short[head:][::-1])
    note = len(short) - head - tail
    return note <= 200 and head + tail >= note and (head + tail) * 2 >= len(short)


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


def _before(session: Session, seq: int) -> int:
    """Return the last event before ``seq`` that a fork may share: what only prepared that event stays behind."""
    return max(0, seq - 1)


def _drafts(listed: Sequence[Message], *, skip: int, request: int | None) -> Iterator[Draft]:
    """Yield the facts of new messages. ``skip``: comparable pieces of the first one that are recorded already.

    ``request``: the request that the first assistant message answers, None: none of ours.
    """
    for message in listed:
        plain: list[Block] = []
        for block in message.blocks:
            counts = not isinstance(block, Thinking) and not (isinstance(block, Text) and not block.text.strip())
            if skip and counts:
                skip -= 1
                continue
            if isinstance(block, ToolResult):
                yield Draft(body=ToolReturned(result=block), trust="tool", actor="tool", origin="sync")
            else:
                plain.append(block)
        if not plain:
            continue
        rest = msgspec.structs.replace(message, blocks=tuple(plain))
        if message.role == "assistant":
            yield Draft(body=Answered(message=rest, request=request), trust="model", actor="model", origin="sync")
            request = None
        else:
            person = message.role == "user"
            trust = "person" if person else "operator"
            yield Draft(body=Said(message=rest, person=person), trust=trust, actor="user", origin="sync")

