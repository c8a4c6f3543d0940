"""Record what the view mends by itself: texts with lone surrogates."""

from __future__ import annotations

from foreword.core.event import Draft, Repaired, by_engine
from foreword.core.view import View


def repair_text(view: View) -> list[Draft]:
    """Propose the record of each event whose text is sent otherwise than it came; the log keeps the original."""
    fold = view.fold
    if not fold.mangled:
        return []
    told = {repair.event for _, repair in fold.repairs if repair.fault == "lone_surrogate"}
    return [
        by_engine(Repaired(fault="lone_surrogate", event=seq), seq)
        for seq in fold.mangled
        if seq not in told and fold.events[seq].body is not None
    ]
