"""Tokens: how many a text holds. An estimate with the standard library alone; exact with an extra.

Counts are in o200k tokens, the vocabulary of OpenAI's models since GPT-4o. For other models they are a base
that a factor per model corrects (`ModelSpec.token_factor_start`, then what was learned from usage).
A special-token string such as `<|endoftext|>` counts as the plain text it is, and nothing is normalised. Half a
character (a lone surrogate) counts as the U+FFFD that is sent in its place: counting a text never fails.
"""

from collections.abc import Sequence
from importlib import import_module
from typing import Any, Literal, Protocol

from foreword.core.canonical import utf8
from foreword.core.estimate import estimate
from foreword.core.surrogates import mended_text
from foreword.errors import InvalidArgument, MissingExtra


class Counter(Protocol):
    """Count the tokens of texts. Linear in the text; never raises for one."""

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
        return estimate(_sent(text))

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Estimate each text, in order."""
        return [estimate(_sent(text)) for text in texts]


class O200kCounter:
    """Count with the o200k vocabulary, exactly. Needs the extra `tokens`; raises MissingExtra without it.

    Where the library under it breaks (a panic of compiled code), texts are estimated, and `exact` is False from then
    on. `encoding`: that library's object, the bundled one by default.
    """

    name = "o200k"

    def __init__(self, encoding: Any = None) -> None:
        self._encoding: Any = _o200k() if encoding is None else encoding
        self.exact = True

    def count(self, text: str) -> int:
        """Count one text."""
        try:
            return int(self._encoding.count(text))
        except UnicodeEncodeError:
            return self.count(mended_text(text))
        except BaseException as error:
            if not _is_panic(error):
                raise
            return self._estimated([text])[0]

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Count each text, in order; several at once are counted on all cores."""
        try:
            return list(self._encoding.count_batch(texts))
        except UnicodeEncodeError:
            return self.count_many([mended_text(text) for text in texts])
        except BaseException as error:
            if not _is_panic(error):
                raise
            return self._estimated(texts)

    def _estimated(self, texts: Sequence[str]) -> list[int]:
        self.exact = False
        return EstimateCounter().count_many(texts)

    def pieces(self, text: str) -> list[str]:
        """Split a text into its tokens, for people to look at; bytes of a cut character show as `\\xNN`."""
        data = utf8(text)
        spans: list[tuple[int, int]] = self._encoding.encode_with_offsets(text)[1]
        return [data[start:end].decode("utf-8", "backslashreplace") for start, end in spans]


def counter(name: Literal["auto", "estimate", "o200k"] = "auto") -> Counter:
    """Return a counter by name; "auto" is exact when the extra `tokens` is installed, else the estimate.

    Raises MissingExtra when "o200k" is asked for without the extra, InvalidArgument for another name.
    """
    if name == "estimate":
        return EstimateCounter()
    if name == "o200k":
        return O200kCounter()
    if name != "auto":
        raise InvalidArgument("counter", "count", name, "auto, estimate or o200k")
    try:
        return O200kCounter()
    except MissingExtra:
        return EstimateCounter()


def pieces(text: str) -> list[str]:
    """Split a text into its o200k tokens. Raises: MissingExtra without the extra `tokens`, InvalidText."""
    return O200kCounter().pieces(text)


def _o200k() -> Any:
    # The public functions start threads for every call (0.1 ms); the encoding behind them does not, and alone
    # gives token boundaries. Hence the pinned minor version.
    try:
        return import_module("toktok")._encoding("o200k_base")
    except ImportError as error:
        raise MissingExtra("exact token counting", "tokens") from error


def _is_panic(error: BaseException) -> bool:
    """Whether compiled code broke: that is no Exception, but neither are the signals to stop."""
    return not isinstance(error, Exception | KeyboardInterrupt | SystemExit | GeneratorExit)


def _sent(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        return mended_text(text).encode()
