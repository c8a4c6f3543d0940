"""Where cache marks stand: at the end of what is stable, and where the next request will look.

Changes no bytes of a unit. Source: provider rules as catalog fields (``max_marks``, ``lookback_blocks``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from foreword.compiler.compile import Compiled

_SAFE_STEP = 15


def place_breakpoints(compiled: Compiled) -> dict[int, str | None]:
    """Return unit index -> TTL for at most ``max_marks`` marks.

    Order of need: the newest unit (the next request reads it), the end of the request before when it is too far
    back for the look-back, the end of the system layer, the end of its first block, which sessions may share.
    None stands where the prefix is under the model's minimum, by the higher of its estimates: there it does nothing.
    """
    room = compiled.target.spec.max_marks or 0
    if room == 0 or compiled.size == 0:
        return {}
    wanted: list[int] = []

    def markable(index: int) -> int | None:
        while index >= 0:
            unit = compiled.unit(index)
            if unit.markable and unit.section != "key":
                return index
            index -= 1
        return None

    newest = markable(compiled.size - 1)
    if newest is not None:
        wanted.append(newest)
    if compiled.frozen and compiled.size - compiled.frozen > _SAFE_STEP:
        end = markable(compiled.frozen - 1)
        if end is not None:
            wanted.append(end)
        middle = markable(compiled.frozen + (compiled.size - compiled.frozen) // 2)
        if middle is not None and len(wanted) < room - 1:
            wanted.append(middle)
    head = markable(compiled.head - 1)
    if head is not None and len(set(wanted)) < room:
        wanted.append(head)
    shared = next((i for i in range(compiled.head) if compiled.unit(i).section == "system"), None)
    if shared is not None and compiled.unit(shared).markable and len(set(wanted)) < room:
        wanted.append(shared)
    least = _least(compiled)
    return dict.fromkeys(index for index in sorted(set(wanted)) if index >= least)


def _least(compiled: Compiled) -> int:
    """Return the first unit whose prefix reaches the model's minimum; one behind the last when none does."""
    minimum = compiled.target.spec.min_cacheable_tokens or 0
    tokens = 0
    for index in range(compiled.size):
        tokens += compiled.unit(index).tokens
        if compiled.budget.predict(tokens, grown=False) >= minimum:
            return index
    return compiled.size
