"""Every rule of Chat Completions refuses what it should, lets the nearest pass, and hides no other."""

from typing import Any

import pytest

from foreword.testing.openai_chat_referee import OpenAIChatReferee
from foreword.testing.openai_chat_rules import RULES
from tests.testing.cases import Pair, named, written
from tests.testing.openai_chat_pairs import PAIRS


@pytest.mark.parametrize("pair", PAIRS, ids=named(PAIRS))
def test_the_illegal_request_is_refused_by_this_rule_alone(pair: Pair) -> None:
    """Exactly this rule is broken, in the provider's error form; without the rule, the request passes."""
    referee = OpenAIChatReferee(**pair.options)
    verdict = referee.judge(written(pair.illegal, referee))
    assert {violation.code for violation in verdict.violations} == {pair.code}
    assert verdict.status == 400
    error: dict[str, Any] = (verdict.error_body or {})["error"]
    assert error["message"] == verdict.violations[0].text
    assert error["type"] == "invalid_request_error"
    assert error["code"] == next(rule.error_code for rule in RULES if rule.code == pair.code)

    lenient = OpenAIChatReferee(**pair.options, rules=tuple(rule for rule in RULES if rule.code != pair.code))
    assert lenient.judge(written(pair.illegal, lenient)).status == 200


@pytest.mark.parametrize("pair", PAIRS, ids=named(PAIRS))
def test_the_nearest_legal_request_passes(pair: Pair) -> None:
    """The rule is no stricter than what it says."""
    referee = OpenAIChatReferee(**pair.options)
    verdict = referee.judge(written(pair.legal, referee))
    assert verdict.violations == ()
    assert verdict.status == 200


def test_every_rule_has_a_pair_and_a_source() -> None:
    """No rule is untested, no pair is for a rule that is gone, codes are unique, sources are given."""
    codes = [rule.code for rule in RULES]
    assert len(set(codes)) == len(codes)
    assert {pair.code for pair in PAIRS} == set(codes)
    assert all(rule.section and rule.as_of for rule in RULES)
