"""A file read again: what of it is recorded already, and what is new.

Facts are compared piece by piece, an answer by its blocks: a file read while an answer was being written
holds a part of it, and the rest must not look like another past.
"""

import hashlib
from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from foreword.core.event import Answered, Called, Draft, Event, ToolsSet, UnseenPrefix
from foreword.importers.imported import import_key


class Growth(Struct, frozen=True, kw_only=True):
    """How a reading continues a recording.

    `shared`: how many of the recorded facts the reading repeats, from the first; `added`: what to append
    after them. `forked`: the recording goes on in another way after `shared`.
    """

    shared: int
    added: tuple[Draft, ...]
    forked: bool


class _Piece(Struct, frozen=True):
    fact: int
    block: int
    key: bytes


def growth(recorded: Sequence[Draft | Event], read: Sequence[Draft]) -> Growth:
    """Compare what was imported before, in log order and without the engine's own events, with a new reading.

    Inferred facts are not compared; those that the recording lacks are added before all else. A reading that
    ends earlier (an older copy) adds nothing and is no fork. The rest of an answer that was recorded in part
    comes as an answer of its own with the same `response_id`, without usage.
    """
    old, new = _pieces(recorded), _pieces(read)
    pairs, end = _matched(old, new)
    forked = end < len(old) and len(pairs) < len(new)
    shared = old[end].fact if forked else len(recorded)
    known = {theirs for ours, theirs in pairs if old[ours].fact < shared}
    begun = {new[theirs].fact: recorded[old[ours].fact] for ours, theirs in pairs if theirs in known}
    added = _made_of(read, [piece for index, piece in enumerate(new) if index not in known], begun)
    inferred = _missing(recorded[:shared], read) if added else ()
    return Growth(shared=shared, added=inferred + added, forked=forked)


def _missing(recorded: Sequence[Draft | Event], read: Sequence[Draft]) -> tuple[Draft, ...]:
    """Return the inferred facts that the recording lacks: a size of the prefix, stubs of further tools."""
    sized = any(isinstance(fact.body, UnseenPrefix) for fact in recorded)
    known = _stub_names(recorded)
    missing: list[Draft] = []
    for draft in read:
        is_prefix = isinstance(draft.body, UnseenPrefix) and not sized
        if is_prefix or (import_key(draft) is None and _stub_names([draft]) - known):
            missing.append(draft)
    return tuple(missing)


def _matched(old: Sequence[_Piece], new: Sequence[_Piece]) -> tuple[list[tuple[int, int]], int]:
    """Pair equal pieces in order, and return how far the old ones were matched.

    A later block of an answer, or a call left behind, may be missing in the old, or stand further on there: a result
    can arrive, and be read, before the last call of its answer is written.
    """
    pairs: list[tuple[int, int]] = []
    late: dict[bytes, int] = {}
    ours = theirs = 0
    while ours < len(old):
        if theirs < len(new) and old[ours].key == new[theirs].key:
            pairs.append((ours, theirs))
            ours, theirs = ours + 1, theirs + 1
        elif old[ours].key in late:
            pairs.append((ours, late.pop(old[ours].key)))
            ours += 1
        elif theirs < len(new) and new[theirs].block and new[theirs].key not in late:
            late[new[theirs].key] = theirs
            theirs += 1
        else:
            break
    return pairs, ours


def _pieces(facts: Sequence[Draft | Event]) -> list[_Piece]:
    pieces: list[_Piece] = []
    for index, fact in enumerate(facts):
        key, body = import_key(fact), fact.body
        if key is None:
            continue
        if not isinstance(body, Answered):
            # A call left behind is no part of the past that was told: a recording may lack it.
            pieces.append(_Piece(index, 1 if isinstance(body, Called) else 0, key))
            continue
        # What else an answer holds doesn't count, also of an empty one: later versions read more of the same file.
        for block, value in enumerate(body.message.blocks or ((),)):
            data = msgspec.json.encode((body.response_id, body.model, value), order="deterministic")
            pieces.append(_Piece(index, block, hashlib.blake2b(data, digest_size=16).digest()))
    return pieces


def _made_of(
    read: Sequence[Draft], pieces: Sequence[_Piece], begun: Mapping[int, Draft | Event]
) -> tuple[Draft, ...]:
    """Return the drafts that pieces make up; an answer without its first block holds the given ones only."""
    blocks: dict[int, list[int]] = {}
    for piece in pieces:
        blocks.setdefault(piece.fact, []).append(piece.block)
    return tuple(
        read[fact] if 0 in taken else _rest(read[fact], taken, begun.get(fact))
        for fact, taken in blocks.items()
    )


def _rest(draft: Draft, taken: Sequence[int], begun: Draft | Event | None) -> Draft:
    body = draft.body
    if not isinstance(body, Answered):
        return draft
    message = replace(body.message, blocks=tuple(body.message.blocks[index] for index in taken))
    before = begun.body if begun is not None and isinstance(begun.body, Answered) else body
    # What names a call may be told with its last row only; the part that is recorded has its name.
    return replace(draft, body=replace(body, message=message, usage=None, call=before.call))


def _stub_names(facts: Sequence[Draft | Event]) -> set[str]:
    bodies = [fact.body for fact in facts]
    tools = [tool for body in bodies if isinstance(body, ToolsSet) for tool in body.tools]
    return {tool.name for tool in tools if tool.inferred}
