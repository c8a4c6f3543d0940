"""The bill of a replay: what is unknown of a step is unknown of the whole."""

from __future__ import annotations

import pytest

from foreword.core.catalog import Catalog
from foreword.core.usage import Usage
from foreword.evals.replay_bill import costs, tokens, with_unseen

SPEC = Catalog.load().model("claude-sonnet-4-5")
KNOWN = Usage(uncached=5, cache_read=10, cache_write_short=20, cache_write_long=0, output=1, reasoning=0)


def test_unknown_parts_stay_unknown() -> None:
    """Writes as well as reads, and with them what was sent and what it cost."""
    assert tokens([KNOWN, Usage(uncached=5, output=1)]) == {
        "sent": None, "cache_read": None, "cache_write": None, "uncached": 10, "output": 2,
    }  # fmt: skip
    assert tokens([KNOWN])["cache_write"] == 20
    assert costs([Usage(uncached=5, output=1)], SPEC) == {"total": None, "input": None, "output": None}


@pytest.mark.parametrize("first", [True, False])
def test_the_unseen_prefix_does_not_tell_what_is_unknown(first: bool) -> None:
    """It is added to a count that is known; one that isn't is no smaller for it."""
    assert with_unseen(Usage(uncached=5), 1_000, SPEC, first=first) == Usage(uncached=5)
    whole = with_unseen(KNOWN, 1_000, SPEC, first=first)
    assert (whole.cache_read, whole.cache_write_short) == ((10, 1_020) if first else (1_010, 20))
    long = Usage(uncached=0, cache_read=0, cache_write_short=0, cache_write_long=7)
    assert with_unseen(long, 1_000, SPEC, first=True).cache_write_long == 1_007
