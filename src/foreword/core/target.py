"""Target: whom a request is compiled for, and with what."""

from __future__ import annotations

from msgspec import Struct

from foreword.core.canonical import compact, digest
from foreword.core.catalog import ModelSpec
from foreword.core.request import Codec, Params
from foreword.core.tokens import Counter


class Target(Struct, frozen=True, kw_only=True):
    """A model on a wire: its catalog row, codec, counter and the request's parameters.

    ``window`` and ``reserve_output`` are tokens. ``reader``: how this agent reads left-out content back:
    ``tool``, ``shell``, ``path:ROOT`` or ``none``.
    """

    spec: ModelSpec
    codec: Codec
    counter: Counter
    params: Params
    window: int
    reserve_output: int
    reader: str = "tool"

    @property
    def largest_input(self) -> int:
        """Largest prompt in tokens that leaves the output reserve."""
        room = max(0, self.window - self.reserve_output)
        return room if self.spec.max_input is None else min(room, self.spec.max_input)

    @property
    def head_digest(self) -> str:
        """Digest of what stands before tools and messages beside the record: keys, wire, reader."""
        return digest(compact([self.codec.wire, self.params.keys, self.reader])).hex()

    def same_bytes(self, other: Target) -> bool:
        """Whether units made for ``other`` are units for this target too."""
        return (
            self.codec.wire == other.codec.wire
            and self.codec.version == other.codec.version
            and self.params == other.params
            and self.reader == other.reader
            and self.counter.name == other.counter.name
        )
