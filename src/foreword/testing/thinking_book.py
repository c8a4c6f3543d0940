"""What a server remembers of the thinking it signed: its text, the prefix before it, the block before it."""

from __future__ import annotations

import base64
import hmac
from hashlib import blake2b

import msgspec

State = bytes


class Signed(msgspec.Struct, frozen=True, kw_only=True):
    """One thinking block as issued: text, digest of everything before it, signature of its predecessor.

    ``parted``: a `fallback` block stood between the two in its answer.
    """

    text: str
    prefix: State
    predecessor: str | None
    parted: bool


class ThinkingBook:
    """Signs thinking blocks with a secret of its own and knows them again."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._signed: dict[tuple[str, str | None], Signed] = {}
        self._compacted: dict[str, State] = {}
        self._thought_of: dict[str, str] = {}

    def sign(self, text: str, prefix: State, predecessor: str | None) -> str:
        """Return the signature (base64) of a block to be issued after `prefix`."""
        return self._stamp(text.encode(), prefix, (predecessor or "").encode())

    def remember(
        self, signature: str, text: str, prefix: State, predecessor: str | None, *, parted: bool
    ) -> None:
        """Note a block, signed here or in a recorded answer, as issued after `prefix`.

        A signature that a record made up may stand on several texts.
        """
        signed = Signed(text=text, prefix=prefix, predecessor=predecessor, parted=parted)
        self._signed[signature, text] = self._signed[signature, None] = signed

    def called(self, call: str, signature: str) -> None:
        """Note a tool call as made after the thinking with this signature, in the same answer."""
        self._thought_of[call] = signature

    def thought_of(self, call: str) -> str | None:
        """Return the signature of the thinking that led to a tool call; None if there was none."""
        return self._thought_of.get(call)

    def find(self, signature: str, text: str) -> Signed | None:
        """Return the block issued under this signature, of this text if there is one; None: there is none."""
        return self._signed.get((signature, text)) or self._signed.get((signature, None))

    def compact(self, summary: str, prefix: State) -> str:
        """Issue a compaction block that stands for everything in `prefix`; returns its signature."""
        signature = self._stamp(b"compaction", summary.encode(), prefix)
        self._compacted[signature] = prefix
        return signature

    def resume(self, signature: str, summary: str) -> State | None:
        """Return the prefix that a compaction block stands for; None if it is not ours or was changed."""
        prefix = self._compacted.get(signature)
        known = prefix is not None and signature == self._stamp(b"compaction", summary.encode(), prefix)
        return prefix if known else None

    def _stamp(self, *parts: bytes) -> str:
        message = b"".join(len(part).to_bytes(8, "big") + part for part in parts)
        return base64.b64encode(hmac.digest(self._secret, message, "sha256")).decode()


def grown(state: State, *parts: bytes) -> State:
    """Chain parts onto a prefix digest."""
    return blake2b(b"".join((state, *parts)), digest_size=16).digest()
