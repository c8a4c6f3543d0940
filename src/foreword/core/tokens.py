"""Tokens: how many a text holds. An estimate with the standard library alone; exact with an extra.

Counts are in o200k tokens, the vocabulary of OpenAI's models since GPT-4o. For other models they are a base
that a factor per model corrects (`ModelSpec.token_factor_start`, then what was learned from usage).
A special-token string such as `<|endoftext|>` counts as the plain text it is, and nothing is normalised.
"""

from collections.abc import Sequence
from importlib import import_module
from typing import Any, Literal, Protocol

import msgspec

from foreword.core.estimate import estimate
from foreword.core.image import image_size, image_tokens
from foreword.errors import InvalidText, MissingExtra

__all__ = [
    "Count",
    "Counter",
    "EstimateCounter",
    "O200kCounter",
    "counter",
    "image_size",
    "image_tokens",
    "pieces",
]


class Count(msgspec.Struct, frozen=True):
    """Hold a number of tokens, and whether it is exact or an estimate."""

    tokens: int
    exact: bool


class Counter(Protocol):
    """Count the tokens of texts. Linear in the text; raises InvalidText for a lone surrogate."""

    @property
    def name(self) -> str:
        """Name the way of counting, for records: what was counted with another name cannot be compared."""
        ...

    @property
    def exact(self) -> bool:
        """Say whether counts are those of the vocabulary itself."""
        ...

    def count(self, text: str) -> int:
        """Count one text."""
        ...

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Count each text, in order."""
        ...


class EstimateCounter:
    """Estimate o200k counts from character classes; see `estimate` for its error."""

    name = "estimate-1"
    exact = False

    def count(self, text: str) -> int:
        """Estimate one text; at least 1 unless it is empty."""
        return estimate(_utf8(text))

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Estimate each text, in order."""
        return [estimate(_utf8(text)) for text in texts]


class O200kCounter:
    """Count with the o200k vocabulary, exactly. Needs the extra `tokens`; raises MissingExtra without it."""

    name = "o200k"
    exact = True

    def __init__(self) -> None:
        self._encoding = _o200k()

    def count(self, text: str) -> int:
        """Count one text."""
        try:
            return int(self._encoding.count(text))
        except UnicodeEncodeError as error:
            raise InvalidText(error.object, error.start) from error

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Count each text, in order; several at once are counted on all cores."""
        try:
            return list(self._encoding.count_batch(texts))
        except UnicodeEncodeError as error:
            raise InvalidText(error.object, error.start) from error

    def pieces(self, text: str) -> list[str]:
        """Split a text into its tokens, for people to look at; bytes of a cut character show as `\\xNN`."""
        data = _utf8(text)
        spans: list[tuple[int, int]] = self._encoding.encode_with_offsets(text)[1]
        return [data[start:end].decode("utf-8", "backslashreplace") for start, end in spans]


def counter(name: Literal["auto", "estimate", "o200k"] = "auto") -> Counter:
    """Return a counter by name; "auto" is exact when the extra `tokens` is installed, else the estimate.

    Raises MissingExtra when "o200k" is asked for without the extra, ValueError for another name.
    """
    if name == "estimate":
        return EstimateCounter()
    if name == "o200k":
        return O200kCounter()
    if name != "auto":
        raise ValueError(f"unknown counter {name!r}: use auto, estimate or o200k")
    try:
        return O200kCounter()
    except MissingExtra:
        return EstimateCounter()


def pieces(text: str) -> list[str]:
    """Split a text into its o200k tokens; raise MissingExtra without the extra `tokens`."""
    return O200kCounter().pieces(text)


def _o200k() -> Any:
    # The public functions start threads for every call (0.1 ms); the encoding behind them does not, and alone
    # gives token boundaries. Hence the pinned minor version.
    try:
        return import_module("toktok")._encoding("o200k_base")
    except ImportError as error:
        raise MissingExtra("exact token counting", "tokens") from error


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InvalidText(error.object, error.start) from error
