"""The token counts of a Codex rollout: rows that repeat, and totals that say what no row said."""

from typing import Any

from msgspec import Struct

from foreword.core.usage import Usage
from foreword.importers.decode import Unreadable

COUNTS = ("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens")


class Tokens(Struct, frozen=True):
    """Counts as Codex writes them: `input` with `cached`, `output` with `reasoning`."""

    input: int = 0
    cached: int = 0
    output: int = 0
    reasoning: int = 0

    def __sub__(self, other: "Tokens") -> "Tokens":
        return Tokens(
            self.input - other.input,
            self.cached - other.cached,
            self.output - other.output,
            self.reasoning - other.reasoning,
        )

    @property
    def usage(self) -> Usage:
        """The same by disjoint buckets. Codex counts no cache writes."""
        return Usage(
            uncached=self.input - self.cached,
            cache_read=self.cached,
            cache_write_short=0,
            cache_write_long=0,
            output=self.output,
            reasoning=self.reasoning,
        )


NOTHING = Tokens()


class Billed(Struct, frozen=True, kw_only=True):
    """What a row adds: the `last` call's tokens, and the `rest` that earlier calls without a row had."""

    last: Tokens
    rest: Tokens


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
        known = min(rest.input, rest.cached, rest.output, rest.reasoning) >= 0 and rest.cached <= rest.input
        return Billed(last=last, rest=rest if known else NOTHING)


def _tokens(value: object) -> Tokens:
    if not isinstance(value, dict):
        raise Unreadable("token_count without total and last usage")
    counts = [value.get(name, 0) for name in COUNTS]
    if any(isinstance(count, bool) or not isinstance(count, int) or count < 0 for count in counts):
        raise Unreadable("token_count: expected counts")
    tokens = Tokens(*counts)
    if tokens.cached > tokens.input:
        raise Unreadable(f"token_count: {tokens.cached} cached of {tokens.input} input tokens")
    return tokens
