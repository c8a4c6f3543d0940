"""The token counts of a Codex rollout: rows that repeat, and totals that say what no row said."""

from typing import Any

from msgspec import Struct

from foreword.core.usage import Usage
from foreword.importers.decode import Unreadable

COUNTS = ("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens")


class Tokens(Struct, frozen=True):
    """Counts as Codex writes them: `input` with `cached`, `output` with `reasoning`. None: not written."""

    input: int | None = 0
    cached: int | None = 0
    output: int | None = 0
    reasoning: int | None = 0

    def __sub__(self, other: "Tokens") -> "Tokens":
        return Tokens(
            _less(self.input, other.input),
            _less(self.cached, other.cached),
            _less(self.output, other.output),
            _less(self.reasoning, other.reasoning),
        )

    @property
    def usage(self) -> Usage:
        """The same by disjoint buckets. Codex counts no cache writes."""
        return Usage(
            uncached=_less(self.input, self.cached),
            cache_read=self.cached,
            cache_write_short=0,
            cache_write_long=0,
            output=self.output,
            reasoning=self.reasoning,
        )


NOTHING = Tokens()


class Billed(Struct, frozen=True, kw_only=True):
    """What a row adds: the `last` call's tokens, and the `rest` that earlier calls without a row had.

    `total`: of the thread by then, with what it was forked from.
    """

    last: Tokens
    rest: Tokens
    total: Tokens


class Meter:
    """Reads the rows of a file in order. Most are written twice, so the total alone says what is new."""

    def __init__(self) -> None:
        self._total: Tokens | None = None

    def read(self, payload: dict[str, Any]) -> Billed | None:
        """Return what a row adds; None: it holds no counts, or those of the row before.

        Raises Unreadable.
        """
        info = payload.get("info")
        if not isinstance(info, dict):
            return None
        total, last = _tokens(info.get("total_token_usage")), _tokens(info.get("last_token_usage"))
        before, self._total = self._total, total
        if total == before:
            return None
        # The first row of a thread that goes on from another holds a total of calls that are not in the file.
        rest = NOTHING if before is None else total - before - last
        told = [
            count for count in (rest.input, rest.cached, rest.output, rest.reasoning) if count is not None
        ]
        right = all(count >= 0 for count in told) and (_less(rest.input, rest.cached) or 0) >= 0
        return Billed(last=last, rest=rest if right and any(told) else NOTHING, total=total)


def _tokens(value: object) -> Tokens:
    if not isinstance(value, dict):
        raise Unreadable("token_count without total and last usage")
    counts = [value.get(name) for name in COUNTS]
    if not all(count is None or (type(count) is int and count >= 0) for count in counts):
        raise Unreadable("token_count: expected counts")
    tokens = Tokens(*counts)
    if (_less(tokens.input, tokens.cached) or 0) < 0:
        raise Unreadable(f"token_count: {tokens.cached} cached of {tokens.input} input tokens")
    return tokens


def _less(left: int | None, right: int | None) -> int | None:
    return None if left is None or right is None else left - right
