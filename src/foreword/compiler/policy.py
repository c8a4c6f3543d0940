"""Policy: the numbers of every pass, each with its unit and the meaning of 0."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class Policy(Struct, frozen=True, kw_only=True):
    """How a context is kept within its budget. Shares are of the available budget, 0 to 1."""

    name: str = "default"
    result_tokens: int = 8_000
    """Externalise a tool result over this many tokens on arrival; 0: only the share below counts."""
    result_share: float = 0.2
    """Externalise a tool result over this share of the available budget."""
    batch_share: float = 0.4
    """All results of one interaction together may take this share; 0: no limit for a batch."""
    excerpt_tokens: int = 1_200
    """Size an excerpt aims at."""
    excerpt_share: float = 0.04
    """Size an excerpt aims at, as a share; the smaller of the two counts."""
    keep_interactions: int = 6
    """Newest interactions that clearing and summarising leave alone while they can."""
    low_water: float = 0.5
    """A rewrite brings the request down to this share, so that the next one is far."""
    clear_over: int = 100
    """Clear only results over this many tokens."""
    summary_ratio: float = 0.10
    """Size of a stage's summary as a share of what it replaces."""
    summary_share: float = 0.15
    """All summaries together stay under this share."""
    stage_tokens: int = 30_000
    """A stage is at most this long; 0: only a person's turn ends it."""
    min_gain: float = 0.08
    """An epoch that frees less than this share isn't worth its cache break, unless nothing else fits."""
    price_trigger: bool = False
    """Clear old results when that makes the bill smaller until the next epoch, though all would still fit."""
    reserve_tool_result: float = 0.06
    """Room kept for the next result, as a share of the window."""
    layout: Literal["own", "provider"] = "own"
    """Who says what no longer fits: the summaries made here, or a compaction block that the provider gave."""
    countdown: float = 0.0
    """Tell what is left of a task budget each time this part of it was spent, where the provider doesn't; 0: never."""
    language_directive: bool = False
    """Say in which language to answer: that of the newest message of a person; needs the extra ``language``."""
    uncalibrated_factor: float = 1.6
    """Tokens per counted token assumed until a provider's usage says better; the safe side."""


DEFAULT = Policy()
