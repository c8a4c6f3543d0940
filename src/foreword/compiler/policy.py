"""Policy: the numbers of every pass, each with its unit and the meaning of 0."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Literal

from msgspec import Meta, Struct, ValidationError, convert
from msgspec.structs import fields

from foreword.errors import InvalidArgument

Count = Annotated[int, Meta(ge=0)]
Share = Annotated[float, Meta(ge=0, le=1)]
Factor = Annotated[float, Meta(gt=0, le=1_000)]
Layout = Literal["own", "provider"]
_fields = cache(fields)
_TAKES = {
    Count: "a whole number, 0 or more",
    Share: "a share, 0 to 1",
    Factor: "a number over 0, up to 1,000",
    Layout: "own or provider",
    bool: "true or false",
    str: "a text",
}


class Policy(Struct, frozen=True, kw_only=True):
    """How a context is kept within its budget. Shares are of the available budget, 0 to 1.

    Raises: InvalidArgument for a field that can't hold its value.
    """

    name: str = "default"
    result_tokens: Count = 8_000
    """Externalise a tool result over this many tokens on arrival; 0: only the share below counts."""
    result_share: Share = 0.2
    """Externalise a tool result over this share of the available budget."""
    batch_share: Share = 0.4
    """All results of one interaction together may take this share; 0: no limit for a batch."""
    excerpt_tokens: Count = 1_200
    """Size an excerpt aims at."""
    excerpt_share: Share = 0.04
    """Size an excerpt aims at, as a share; the smaller of the two counts."""
    keep_interactions: Count = 6
    """Newest interactions that clearing and summarising leave alone while they can."""
    low_water: Share = 0.5
    """A rewrite brings the request down to this share, so that the next one is far."""
    clear_over: Count = 100
    """Clear only results over this many tokens."""
    summary_ratio: Share = 0.10
    """Size of a stage's summary as a share of what it replaces."""
    summary_share: Share = 0.15
    """All summaries together stay under this share."""
    stage_tokens: Count = 30_000
    """A stage is at most this long; 0: only a person's turn ends it."""
    min_gain: Share = 0.08
    """An epoch that frees less than this share isn't worth its cache break, unless nothing else fits."""
    price_trigger: bool = False
    """Clear old results when that makes the bill smaller until the next epoch, though all would still fit."""
    reserve_tool_result: Share = 0.06
    """Room kept for the next result, as a share of the window."""
    layout: Layout = "own"
    """Who says what no longer fits: the summaries made here, or a compaction block that the provider gave."""
    plan_marks: bool = True
    """Place cache marks where the prefix will be read again; False: only those that the caller set."""
    countdown: Share = 0.0
    """Tell what is left of a task budget each time this part of it was spent, where the provider doesn't; 0: never."""
    language_directive: bool = False
    """Say in which language to answer: that of the newest message of a person; needs the extra ``language``."""
    uncalibrated_factor: Factor = 1.6
    """Tokens per counted token assumed until a provider's usage says better; the safe side."""

    def __post_init__(self) -> None:
        """Check every field where it is given: a file's, Python's, or one that is laid over another policy."""
        for field in _fields(type(self)):
            value = getattr(self, field.name)
            try:
                convert(value, field.type)
            except ValidationError as error:
                raise InvalidArgument("Policy", field.name, value, _TAKES[field.type]) from error


DEFAULT = Policy()
