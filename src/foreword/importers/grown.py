"""A file read again: what of it is recorded already, and what is new."""

from collections.abc import Sequence

from msgspec import Struct

from foreword.core.event import Draft, Event, ToolsSet
from foreword.importers.imported import import_key


class Growth(Struct, frozen=True, kw_only=True):
    """How a reading continues a recording.

    `shared`: how many of the recorded facts the reading repeats, from the first; `added`: what to append
    after them. `forked`: the recording goes on in another way after `shared`.
    """

    shared: int
    added: tuple[Draft, ...]
    forked: bool


def growth(recorded: Sequence[Draft | Event], read: Sequence[Draft]) -> Growth:
    """Compare what was imported before, in log order and without the engine's own events, with a new reading.

    Inferred facts are not compared; stubs of tools that the recording lacks are added before all else.
    """
    old = [(index, key) for index, fact in enumerate(recorded) if (key := import_key(fact)) is not None]
    new = [(index, key) for index, draft in enumerate(read) if (key := import_key(draft)) is not None]
    same = next((n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a[1] != b[1]), None)
    same = min(len(old), len(new)) if same is None else same
    shared = old[same][0] if same < len(old) else len(recorded)
    added = tuple(read[index] for index, _ in new[same:])
    known = _stub_names(recorded[:shared])
    stubs = tuple(draft for draft in read if isinstance(draft.body, ToolsSet) and import_key(draft) is None)
    news = stubs if added and not _stub_names(stubs) <= known else ()
    return Growth(shared=shared, added=news + added, forked=same < len(old))


def _stub_names(facts: Sequence[Draft | Event]) -> set[str]:
    return {
        tool.name
        for fact in facts
        if isinstance(body := fact.body, ToolsSet)
        for tool in body.tools
        if tool.inferred
    }
