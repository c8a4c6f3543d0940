"""Every rule of Anthropic Messages refuses what it should, lets the nearest pass, and hides no other."""

from typing import Any

import pytest

from foreword.testing.anthropic_referee import AnthropicReferee
from foreword.testing.anthropic_rules import RULES
from tests.testing.anthropic_pairs import PAIRS
from tests.testing.cases import Pair, named, written


@pytest.mark.parametrize("pair", PAIRS, ids=named(PAIRS))
def test_the_illegal_request_is_refused_by_this_rule_alone(pair: Pair) -> None:
    """Exactly this rule is broken, in the provider's error form; without the rule, the request passes."""
    referee = AnthropicReferee(**pair.options)
    verdict = referee.judge(written(pair.illegal, referee), pair.headers)
    assert {violation.code for violation in verdict.violations} == {pair.code}
    assert verdict.status == verdict.violations[0].status >= 400
    error: dict[str, Any] = verdict.error_body or {}
    assert error["type"] == "error"
    assert error["error"]["message"] == verdict.violations[0].text

    lenient = AnthropicReferee(**pair.options, rules=tuple(rule for rule in RULES if rule.code != pair.code))
    assert lenient.judge(written(pair.illegal, lenient), pair.headers).status == 200


@pytest.mark.parametrize("pair", PAIRS, ids=named(PAIRS))
def test_the_nearest_legal_request_passes(pair: Pair) -> None:
    """The rule is no stricter than what it says."""
    referee = AnthropicReferee(**pair.options)
    verdict = referee.judge(written(pair.legal, referee), pair.legal_headers)
    assert verdict.violations == ()
    assert verdict.status == 200
    assert verdict.error_body is None


def test_every_rule_has_a_pair_and_a_source() -> None:
    """No rule is untested, no pair is for a rule that is gone, codes are unique, sources are given."""
    codes = [rule.code for rule in RULES]
    assert len(set(codes)) == len(codes)
    assert {pair.code for pair in PAIRS} == set(codes)
    assert all(rule.section and rule.as_of for rule in RULES)
