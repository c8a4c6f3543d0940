"""The thought signatures that a Gemini server issued, and the parts it issued them for."""

from __future__ import annotations

import base64
import binascii
import hmac
from collections.abc import Iterator

from foreword.testing.gemini_reader import said_digest
from foreword.testing.gemini_request import Content, GeminiRequest, Part, Stray

# Takes the place of a signature in a history that comes from elsewhere; it is sent plain or as base64.
PLACEHOLDER = "skip_thought_signature_validator"
PLACEHOLDERS = frozenset({PLACEHOLDER, base64.b64encode(PLACEHOLDER.encode()).decode().rstrip("=")})


class SignatureBook:
    """Signs parts with a secret of its own, and knows them again."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._said: dict[str, frozenset[bytes]] = {}

    def sign(self, part: Part, *context: bytes) -> str:
        """Issue a signature (base64) for a part.

        A streamed text comes in several parts, the last one empty and signed: it may come back like that.
        """
        stamp = hmac.digest(self._secret, b"\0".join((part.said, *context)), "sha256")
        signature = base64.b64encode(stamp).decode()
        self.remember(signature, part)
        return signature

    def remember(self, signature: str, part: Part) -> None:
        """Note a signature, made here or in a recorded answer, for a part. One made up may stand on several."""
        streamed = {said_digest({"text": ""})} if part.kind == "text" else set[bytes]()
        known = self._said.get(bare(signature), frozenset[bytes]())
        self._said[bare(signature)] = known | {part.said, *streamed}

    def strays(self, request: GeminiRequest, *, accept_foreign: bool) -> Iterator[Stray]:
        """Yield the signatures of the current turn that do not belong where they are."""
        for at in range(request.turn, len(request.contents)):
            for index, part in enumerate(request.contents[at].parts):
                if part.signature is None or part.signature.rstrip("=") in PLACEHOLDERS:
                    continue
                issued = self._said.get(bare(part.signature))
                path = f"contents[{at}].parts[{index}]"
                if issued is None and not (accept_foreign and _is_base64(part.signature)):
                    yield Stray(path, moved=False)
                elif issued is not None and part.said not in issued:
                    yield Stray(path, moved=True)


def first_call(content: Content) -> int | None:
    """Return the index of the first function call of a content: the one that must be signed."""
    return next((at for at, part in enumerate(content.parts) if part.kind == "functionCall"), None)


def bare(signature: str) -> str:
    """Return a signature without padding, in one of the two alphabets of base64: clients use either."""
    return signature.translate(str.maketrans("-_", "+/")).rstrip("=") if _is_base64(signature) else signature


def _is_base64(text: str) -> bool:
    standard = text.translate(str.maketrans("-_", "+/")).rstrip("=")
    try:
        base64.b64decode(standard + "=" * (-len(standard) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False
    return bool(standard)
