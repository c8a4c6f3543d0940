"""Budget: how much a request may hold, in the model's own tokens."""

from __future__ import annotations

import math

from msgspec import Struct

from foreword.compiler.policy import Policy
from foreword.core.target import Target
from foreword.core.view import View

_MARGIN = 1.03
_SLACK = 64
_CLOSE_MARGIN = 1.005
_CLOSE_SLACK = 16
_REACH = 2
"""A report tells the factor of requests up to so many times its size: most of a longer one is text never measured."""


class Budget(Struct, frozen=True, kw_only=True):
    """Sizes in tokens of the model. ``limit``: never above it. ``available``: rewrite when above it.

    ``factor``: model tokens per counted token, learned from usage, or the policy's safe start. It holds up to
    ``measured`` counted tokens; one beyond is worth ``factor_beyond``, the larger of ``factor`` and the safe start.
    ``calibrated``: whether any usage was seen. ``unseen``: the prefix that the record doesn't hold.
    """

    window: int
    working_limit: int
    reserve_output: int
    reserve_tool_result: int
    unseen: int
    limit: int
    available: int
    factor: float
    measured: int
    factor_beyond: float
    calibrated: bool
    anchor_counted: int
    anchor_actual: int

    def predict(self, counted: int, *, grown: bool) -> int:
        """Predict the model's count of a request of ``counted`` tokens, the unseen prefix included.

        ``grown``: it only adds to the request whose usage is the anchor, so only the growth is uncertain.
        """
        plain = self._worth(counted) * (_MARGIN if self.calibrated else 1.0) + (
            _SLACK if self.calibrated else 0
        )
        if grown and self.anchor_actual and counted >= self.anchor_counted:
            growth = self._worth(counted) - self._worth(self.anchor_counted)
            plain = self.anchor_actual + growth * 1.1 + _SLACK
        return math.ceil(plain) + self.unseen

    def least(self, counted: int, *, grown: bool) -> int:
        """Predict without a margin, for the last decision: whether to refuse what must be sent."""
        if not self.calibrated:
            return self.predict(counted, grown=grown)
        close = math.ceil(self._worth(counted) * _CLOSE_MARGIN) + _CLOSE_SLACK + self.unseen
        return min(close, self.predict(counted, grown=grown))

    def counted(self, tokens: int) -> int:
        """Return how many counted tokens surely fit into ``tokens`` of the model (unseen not subtracted)."""
        worth = (tokens - _SLACK) / _MARGIN
        beyond = (worth - self.measured * self.factor) / self.factor_beyond
        return max(0, math.floor(min(worth / self.factor, self.measured + beyond)))

    def _worth(self, counted: int) -> float:
        beyond = max(0, counted - self.measured)
        return (counted - beyond) * self.factor + beyond * self.factor_beyond


def budget_of(view: View, policy: Policy, target: Target) -> Budget:
    """Work out the budget from the target, the policy and what usage has taught so far.

    Of this model's last reports the highest ratio counts: the mix of content changes from step to step, and another
    model, or the same on another wire, counts otherwise. The largest of them says how far that ratio reaches.
    """
    fold = view.fold
    reports = fold.reports.get((target.codec.wire, target.params.model), [])[-4:]
    ratios = [report.actual / report.estimated for report in reports if report.estimated > 0]
    factor = min(3.0, max(0.5, max(ratios))) if ratios else policy.uncalibrated_factor
    window = min(target.window, target.spec.working_limit or target.window)
    limit = target.largest_input
    reserve_result = int(window * policy.reserve_tool_result)
    anchor = reports[-1] if reports else None
    in_epoch = anchor is not None and bool(fold.epochs) and anchor.sent > fold.epochs[-1].seq
    return Budget(
        window=target.window,
        working_limit=window,
        reserve_output=target.reserve_output,
        reserve_tool_result=reserve_result,
        unseen=fold.unseen,
        limit=limit,
        available=max(0, min(limit, window - target.reserve_output) - reserve_result),
        factor=factor,
        measured=_REACH * max((report.estimated for report in reports), default=0),
        factor_beyond=max(factor, policy.uncalibrated_factor),
        calibrated=bool(ratios),
        anchor_counted=anchor.estimated if anchor is not None and in_epoch else 0,
        anchor_actual=anchor.actual if anchor is not None and in_epoch else 0,
    )
