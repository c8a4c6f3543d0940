"""The budget: how much a request may hold, before and after usage has taught something."""

from __future__ import annotations

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.compiler.budget import Budget, budget_of
from foreword.compiler.policy import DEFAULT
from foreword.core.usage import Usage
from foreword.engine.session import Session
from tests.engine.sessions import answer_message, session
from tests.histories import target_of


def taught(*ratios: float) -> Session:
    """Return a session whose provider counted so many tokens per counted token, request by request."""
    made = session(target_of("anthropic", 50_000, reserve_output=2_000))
    made.say("go " * 400)
    for number, ratio in enumerate(ratios):
        counted = made.compile().counted
        made.answered(answer_message("ok"), usage=used(math.ceil(counted * ratio)))
        made.say(f"more {number}")
    return made


def used(tokens: int) -> Usage:
    """Return the usage of a call whose prompt had so many tokens, none of them cached."""
    return Usage(uncached=tokens, cache_read=0, cache_write_short=0, cache_write_long=0, output=1)


def budget(made: Session) -> Budget:
    assert made.target is not None
    return budget_of(made.view, DEFAULT, made.target)


def test_unknown_models_are_counted_on_the_safe_side() -> None:
    """Before any usage the policy's factor stands, and nothing is called calibrated."""
    found = budget(taught())
    assert not found.calibrated
    assert found.predict(1_000, grown=False) >= 1_000 * DEFAULT.uncalibrated_factor


@pytest.mark.parametrize("ratio", [0.7, 1.0, 1.4, 2.5])
def test_usage_sets_the_factor(ratio: float) -> None:
    """One report is enough: the prediction is over what the provider would count, by little."""
    made = taught(ratio, ratio)
    found = budget(made)
    assert found.calibrated
    actual = made.compile().counted * ratio
    assert actual <= found.predict(made.compile().counted, grown=False) <= actual * 1.1 + 100


def test_the_highest_recent_ratio_counts() -> None:
    """Of the last reports the one that needs most room counts, and old ones are forgotten."""
    assert budget(taught(1.0, 1.8, 1.0)).factor == pytest.approx(1.8, rel=0.01)
    assert budget(taught(1.8, 1.0, 1.0, 1.0, 1.0)).factor == pytest.approx(1.0, rel=0.02)


def test_a_small_report_teaches_little_of_a_large_request() -> None:
    """Text beyond twice what was measured counts by the safe start, or the factor where that is higher."""
    made = taught(1.0)
    found, counted = budget(made), made.compile().counted
    assert found.predict(2 * counted - 40, grown=False) < 2 * counted * 1.1 + 70
    assert found.least(20 * counted, grown=False) >= 20 * counted * 1.5
    assert found.predict(20 * counted, grown=True) >= 20 * counted * 1.5
    assert budget(taught(2.0)).factor_beyond == pytest.approx(2.0, rel=0.01)
    made.say("more " * 20 * counted)
    large = made.compile().counted
    made.answered(answer_message("ok"), usage=used(large))
    assert budget(made).predict(20 * counted, grown=False) < 20 * counted * 1.1 + 70


def test_each_model_is_calibrated_by_its_own_usage() -> None:
    """After a switch nothing is known of the other model; back again, what was learned still holds."""
    made = taught(1.3)
    first = made.target
    assert budget(made).factor == pytest.approx(1.3, rel=0.01)
    made.target = target_of("openai-chat", 50_000)
    assert not budget(made).calibrated
    made.answered(answer_message("ok"), usage=used(math.ceil(made.compile().counted * 2.1)))
    assert budget(made).factor == pytest.approx(2.1, rel=0.01)
    made.target = first
    assert budget(made).factor == pytest.approx(1.3, rel=0.01)


def test_a_mad_report_moves_the_factor_only_so_far() -> None:
    """A provider that bills nothing, or a thousand times too much, breaks no budget."""
    assert budget(taught(1_000.0)).factor <= 3.0
    assert budget(taught(0.0001)).factor >= 0.5


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.booleans())
def test_more_is_never_predicted_as_less(one: int, other: int, grown: bool) -> None:
    """A prediction rises with the count, and what `counted` lets in is predicted to fit."""
    found = FOUND
    low, high = sorted((one, other))
    assert found.predict(low, grown=grown) <= found.predict(high, grown=grown)
    if one > 200:
        assert found.predict(found.counted(one), grown=False) <= one + 2


FOUND = budget(taught(1.3, 1.2))


def test_reserves_add_up() -> None:
    """The input limit leaves the output reserve; what is available leaves room for a result too."""
    target = target_of("anthropic", 50_000, reserve_output=2_000)
    found = budget(taught())
    assert found.limit == target.largest_input == 48_000
    assert found.available == 48_000 - found.reserve_tool_result
    narrow = msgspec.structs.replace(target, spec=msgspec.structs.replace(target.spec, working_limit=20_000))
    found = budget_of(taught().view, DEFAULT, narrow)
    assert (found.window, found.working_limit) == (50_000, 20_000)
    assert found.available == 18_000 - found.reserve_tool_result
    assert found.limit == 48_000
    tiny = msgspec.structs.replace(target, window=1_000)
    assert budget_of(taught().view, DEFAULT, tiny).available == 0
