"""A Responses request as its server sees it: input items with parts, calls, digests and sizes."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from foreword.testing.facts import ModelFacts
from foreword.testing.form import Misform, Misplaced
from foreword.testing.prefix_cache import Unit
from foreword.testing.wire import mapping, objects, text_of


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """One input item. `kind` is "" for something that is no known item.

    `call`: the call it makes or answers, "" if none. `digest`: what the model reads of it, without ids and
    status. Paths of faults are relative to the item.
    """

    kind: str
    role: str
    data: dict[str, Any]
    call: str
    digest: bytes
    units: tuple[Unit, ...]
    misforms: tuple[Misform, ...]
    misplaced: tuple[Misplaced, ...]

    @property
    def id(self) -> str:
        """The item's own id, "" if none."""
        return text_of(self.data.get("id"))

    @property
    def sealed(self) -> str:
        """Its encrypted content, "" if none."""
        return text_of(self.data.get("encrypted_content"))


class Placed(NamedTuple):
    """An item with its place: `input[3]`, or the id of the response that brought it."""

    path: str
    item: Item


class Lost(NamedTuple):
    """A reasoning item that the server leaves out, and why; `at` is its index in the context."""

    at: int
    path: str
    id: str
    reason: str


class Torn(NamedTuple):
    """An item without the other one that it was issued with: `needs` is the missing reasoning's id."""

    path: str
    kind: str
    id: str
    needs: str


class ResponsesRequest(msgspec.Struct, kw_only=True):
    """Everything the rules look at.

    `items` are the input's own; `context` also holds what `previous_response_id` and item references bring.
    The members from `lost` on are found in what the server remembers.
    """

    body: dict[str, Any]
    facts: ModelFacts
    items: tuple[Item, ...]
    misforms: tuple[Misform, ...]
    opening: tuple[Unit, ...]
    context: tuple[Placed, ...] = ()
    unknown_previous: bool = False
    unknown_conversation: bool = False
    unknown_items: tuple[Torn, ...] = ()
    lost: tuple[Lost, ...] = ()
    alone: tuple[Torn, ...] = ()
    bare: tuple[Torn, ...] = ()
    forged: tuple[Torn, ...] = ()
    prefix: bytes = b""
    units: tuple[Unit, ...] = ()

    @property
    def input_tokens(self) -> int:
        """The whole prompt in the server's measure."""
        return sum(unit.tokens for unit in self.units)

    @property
    def input_limit(self) -> int:
        """Most input tokens that the model takes with the output asked for."""
        asked = self.integer("max_output_tokens") or 0
        return min(self.facts.window - asked, self.facts.max_input or self.facts.window)

    @property
    def tools(self) -> list[dict[str, Any]]:
        """The tool definitions that are objects."""
        return objects(self.body.get("tools"))

    @property
    def reasoning(self) -> dict[str, Any]:
        """The reasoning options, {} if none."""
        return mapping(self.body.get("reasoning"))

    @property
    def stored(self) -> bool:
        """Whether the server keeps the answer: the default."""
        return self.body.get("store") is not False

    @property
    def triggers_compaction(self) -> bool:
        """Whether the input ends in the wish to compact."""
        return bool(self.items) and self.items[-1].kind == "compaction_trigger"

    def integer(self, name: str) -> int | None:
        """Return a whole-number member of the body, None for anything else."""
        value = self.body.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else None
