"""Units and the codec's interface: what a request is made of, in render order.

A *unit* is the smallest piece whose bytes count for a provider's cache: a key that invalidates a layer, a
tool, a system block, a message block (docs/decisions/0002-units-and-layer-keys.md). Its bytes never carry a
cache mark. A request is the list of its units; the codec joins them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol

from msgspec import Struct

from foreword.core.block import Message, Opaque, Text, ToolResult, ToolSpec

Layer = Literal["tools", "system", "messages"]
LAYERS: tuple[Layer, ...] = ("tools", "system", "messages")
"""In render order."""
Section = Literal["key", "tool", "system", "message"]
Category = Literal[
    "envelope", "tools", "instructions", "pins", "preload", "skills", "memory", "summary", "history", "recent",
    "notice", "state", "unseen",
]  # fmt: skip
CATEGORIES: tuple[str, ...] = (
    "envelope", "tools", "instructions", "pins", "preload", "skills", "memory", "summary", "history", "recent",
    "notice", "state", "unseen",
)  # fmt: skip


Place = Literal["first", "anywhere", "nowhere"]


class Compaction(Struct, frozen=True, kw_only=True):
    """A provider's compaction block. ``place``: where it may stand; "nowhere": it failed and stands for nothing.

    ``tools``: it repeats the changes of tools in what it stands for. ``whole``: what stands before it in its own
    response is a part of it; else it stands for that, too.
    """

    place: Place
    tools: bool = False
    whole: bool = False


class Link(Struct, frozen=True, kw_only=True):
    """A block that asks for another one, or answers one that asked, by an id and of its own kind.

    ``answers``: it is the answer. ``kind``: what the two have in common, such as the call that an output is of.
    ``by``: who gives it, whichever of the two this is. The provider goes on by itself with what it has under way; a
    client's answer is missed at once; a person's may take its time.
    """

    id: str
    kind: str
    answers: bool
    by: Literal["provider", "client", "person"]

    @property
    def pair(self) -> tuple[str, str]:
        """What both halves have in common, and no other pair."""
        return self.kind, self.id


class Piece(Struct, frozen=True, kw_only=True, gc=False):
    """What a codec makes of a value: bytes of one unit, and what is countable in it.

    ``role``: role of the wire message it stands in ("" outside messages). ``text``: all text a tokenizer would
    see; ``media_tokens``: what images and documents add; ``source``: index into the values that were given.
    ``lost``: what the wire can't say, in words (empty: nothing). ``betas``: names of beta headers that it needs.
    """

    section: Section
    layer: Layer
    role: str
    kind: str
    data: bytes
    text: str
    media_tokens: int = 0
    markable: bool = True
    source: int = 0
    lost: tuple[str, ...] = ()
    betas: tuple[str, ...] = ()


class Unit(Struct, frozen=True, kw_only=True, gc=False):
    """A piece placed in a request, with its provenance.

    ``digest`` covers layer, role and bytes. ``events``: seqs it came from. ``tokens``: by the counter, message
    overhead included. ``by`` and ``why``: the pass that put it there and its reason. ``lost``: what the wire can't
    say of it, in words. ``betas``: names of beta headers that it needs.
    """

    section: Section
    layer: Layer
    role: str
    kind: str
    data: bytes
    digest: bytes
    tokens: int
    exact: bool
    markable: bool
    category: Category
    events: tuple[int, ...]
    by: str
    why: str
    lost: tuple[str, ...] = ()
    betas: tuple[str, ...] = ()


class Params(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Request parameters.

    ``max_output``: tokens; 0 asks Anthropic for none and the Chat wire for no limit. ``keys``: further members
    in the wire's own form and order; those that invalidate a layer become key units of that layer, the others
    stand in the envelope.
    """

    model: str
    max_output: int
    keys: dict[str, Any] = {}


class Codec(Protocol):
    """One wire: values to pieces, units to bytes. Pure; never sends, never reads a clock.

    The body is written in render order, so that joining is one pass: keys, tools, keys, system, keys, messages,
    then members that no cache looks at. ``between`` gives the bytes before a unit, ``close`` those after the
    last; ``mark`` puts a cache mark on a unit's bytes (a wire without marks returns them unchanged).

    ``thinking``: this message's reasoning was given by the model that is asked, so it may be sent back.
    ``params``: those of the request, since a wire may want something in its place only while the model thinks;
    None: the provider's defaults. ``asked``: the message whose calls the results answer, for wires on which a
    result names its function or its kind; None: unknown.
    """

    wire: str
    version: int
    marks_end: bool
    """Whether the provider itself marks the end of a request for its cache."""
    system_anywhere: bool
    """Whether a system message may stand between any two messages."""
    turns: Literal["", "alternate"]
    """How turns must follow each other: "alternate" where a server refuses two neighbours of one role; "": as the
    wire has it."""
    exact: bool
    """Whether the server refuses members that the wire's API doesn't have, where others of the wire take them."""
    message_tokens: int
    """Tokens a message costs beyond its text, by the provider's public rule."""
    tools_tokens: int
    """Tokens that a request with tools costs beyond their definitions."""
    reasoning_blocks: bool
    """Whether reasoning stands in a history as blocks of its own."""
    refuses_moved: bool
    """Whether reasoning that a model binds to its prefix is refused under another one. Elsewhere it is only not read,

    while what it led to is refused without it."""
    call_path: tuple[str, ...]
    """Path of the id in a unit that makes a call; see ``Piece.kind``. A list on the way stands for all its items."""
    result_path: tuple[str, ...]
    """The same in a unit that answers one."""
    least_output: int
    """The fewest tokens of output that a request may ask for."""
    id_limit: int
    """The longest id of a call, in characters."""
    late: frozenset[str]
    """The forms, by the names that the catalog uses, in which a history can say that what is asked for changed."""
    effort: tuple[str, ...]
    """Path in ``Params.keys`` of the effort; (): the wire has none."""
    task_budget: tuple[str, ...]
    """Path in ``Params.keys`` of the task budget; (): the wire has none."""

    def name(self, tool: str) -> str:
        """Return a tool's name as the wire takes it."""
        ...

    def knows(self, block: Opaque, *, own: bool = False) -> bool:
        """Whether the server takes a block of this wire in a history, by its type and those of tools in it.

        ``own``: it came first-hand, so a type that nobody knows is taken for one that is newer than the tables.
        """
        ...

    def searches(self, tool: ToolSpec) -> bool:
        """Whether this is the provider's own tool that finds deferred ones."""
        ...

    def keys(self, params: Params) -> list[Piece]: ...
    def tool(self, tool: ToolSpec) -> Piece: ...
    def system(self, block: Text) -> Piece: ...
    def message(self, message: Message, *, thinking: bool, params: Params | None = None) -> list[Piece]: ...
    def results(self, results: Sequence[ToolResult], asked: Message | None = None) -> list[Piece]: ...
    def late_tools(self, added: Sequence[ToolSpec], removed: Sequence[str]) -> list[Piece]:
        """Say that tools are offered, or no more, from here on; [] when the wire can't say it so."""
        ...

    def late_effort(self, effort: str) -> list[Piece]:
        """Say that this effort is asked for from here on; [] when the wire can't say it so."""
        ...

    def compaction(self, block: Opaque) -> Compaction | None:
        """Say where a compaction block may stand; None: it is none."""
        ...

    def link(self, block: Opaque) -> Link | None:
        """Say what a block of this wire asks for or answers; None: neither, or it isn't of this wire."""
        ...

    def reasoning_member(self, params: Params) -> str:
        """Return the member that the first call of a message can't stand without, and that gives the reasoning

        which led to it; "": none. Where calls share a unit it is the unit's member.
        """
        ...

    def thinks_first(self, params: Params) -> bool:
        """Whether the parameters ask for reasoning with which a turn that is not over must begin."""
        ...

    def wants_json(self, params: Params) -> bool:
        """Whether the parameters ask for an answer that is refused unless a message holds the word JSON."""
        ...

    def betas(self, params: Params) -> tuple[str, ...]:
        """Return the names of beta headers that the parameters need."""
        ...

    def opens(self, before: Unit | Piece | None, piece: Unit | Piece) -> bool:
        """Whether a piece begins a message of its own behind ``before`` (None: it is the first)."""
        ...

    def between(self, before: Unit | None, unit: Unit) -> bytes: ...
    def close(self, last: Unit | None, params: Params) -> bytes: ...
    def mark(self, data: bytes, ttl: str | None) -> bytes: ...


def unit_digest_input(piece: Piece | Unit) -> bytes:
    """Return the bytes that a unit's digest covers."""
    return f"{piece.layer}\0{piece.role}\0".encode() + piece.data
