"""What a Responses server remembers: the reasoning it sealed, the items and responses it stored."""

from __future__ import annotations

import base64
import hmac

import msgspec

from foreword.testing.openai_responses_request import Item, Placed
from foreword.testing.thinking_book import State


class Sealed(msgspec.Struct, frozen=True, kw_only=True):
    """One reasoning item as issued: what came before it, the names of what came right after, and whether it is kept."""

    id: str
    encrypted: str
    model: str
    prefix: State
    follower: tuple[str, ...]
    tokens: int
    stored: bool


class Summarised(msgspec.Struct, frozen=True, kw_only=True):
    """One compaction item as issued: the prefix it stands for, and the size of its summary."""

    prefix: State
    tokens: int


class ResponsesBook:
    """Seals reasoning and summaries with a secret of its own, and keeps what it was asked to store."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._sealed: dict[str, Sealed] = {}
        self._thought_of: dict[tuple[str, str], str] = {}
        self._summaries: dict[str, Summarised] = {}
        self._items: dict[str, Item] = {}
        self._responses: dict[str, tuple[Placed, ...]] = {}

    def seal(self, *parts: bytes) -> str:
        """Return encrypted content (base64) that only this server can make."""
        message = b"".join(len(part).to_bytes(8, "big") + part for part in parts)
        return "gAAAAA" + base64.urlsafe_b64encode(hmac.digest(self._secret, message, "sha256")).decode()

    def thought(self, sealed: Sealed) -> None:
        """Note a reasoning item, by its id and by its encrypted content."""
        self._sealed[sealed.id] = self._sealed[sealed.encrypted] = sealed

    def led_to(self, reasoning: Item, item: Item) -> None:
        """Note a call or a message as made after a reasoning item; what is only stored is looked for by item ids."""
        for name in names_of(item) if reasoning.sealed else filter(None, (item.id,)):
            self._thought_of[item.kind, name] = reasoning.id

    def find(self, item: Item) -> Sealed | None:
        """Return the reasoning item issued under this id or encrypted content, or None."""
        return self._sealed.get(item.id) or self._sealed.get(item.sealed)

    def issued(self, identity: str) -> bool:
        """Say whether a reasoning item of this id is ours."""
        return identity in self._sealed

    def thought_before(self, item: Item) -> str | None:
        """Return the id of the reasoning that led to an item; None if there was none."""
        known = (self._thought_of.get((item.kind, name)) for name in names_of(item))
        return next((reasoning for reasoning in known if reasoning is not None), None)

    def summarise(self, encrypted: str, prefix: State, tokens: int) -> None:
        """Note a compaction item."""
        self._summaries[encrypted] = Summarised(prefix=prefix, tokens=tokens)

    def summary(self, encrypted: str) -> Summarised | None:
        """Return what a compaction item stands for; None if it is not ours or was changed."""
        return self._summaries.get(encrypted)

    def keep(self, response: str, context: tuple[Placed, ...], made: tuple[Item, ...]) -> None:
        """Store a response: everything it was made from, and its output."""
        self._responses[response] = (*context, *(Placed(response, item) for item in made))
        self._items |= {item.id: item for item in made}

    def response(self, identity: str) -> tuple[Placed, ...] | None:
        """Return the whole context of a stored response, its output included; None if it is unknown."""
        return self._responses.get(identity)

    def stored(self, identity: str) -> Item | None:
        """Return a stored item, or None."""
        return self._items.get(identity)


def names_of(item: Item) -> tuple[str, ...]:
    """Return what a made item may be known by when it comes back: its own id, then that of its call.

    Clients may drop the first. They may give the second anew, where it was empty or stood twice.
    """
    return tuple(name for name in (item.id, item.call) if name)
