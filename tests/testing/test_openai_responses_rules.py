"""Every rule of Responses refuses what it should, lets the nearest pass, and hides no other."""

from typing import Any

import pytest

from foreword.testing.openai_responses_referee import OpenAIResponsesReferee
from foreword.testing.openai_responses_rules import RULES
from tests.testing.cases import Pair, named, written
from tests.testing.openai_responses_pairs import PAIRS

RULE = {rule.code: rule for rule in RULES}


@pytest.mark.parametrize("pair", PAIRS, ids=named(PAIRS))
def test_the_illegal_request_is_refused_by_this_rule_alone(pair: Pair) -> None:
    """Exactly this rule is broken, in the provider's error form; without the rule, the request passes."""
    referee = OpenAIResponsesReferee(**pair.options)
    verdict = referee.judge(written(pair.illegal, referee))
    assert {violation.code for violation in verdict.violations} == {pair.code}
    assert verdict.status == RULE[pair.code].status
    error: dict[str, Any] = (verdict.error_body or {})["error"]
    assert error["message"] == verdict.violations[0].text
    assert error["type"] == "invalid_request_error"
    assert error["code"] == RULE[pair.code].error_code
    assert error["param"] == verdict.violations[0].path

    rules = tuple(rule for rule in RULES if rule.code != pair.code)
    lenient = OpenAIResponsesReferee(**pair.options, rules=rules)
    assert lenient.judge(written(pair.illegal, lenient)).status == 200


@pytest.mark.parametrize("pair", PAIRS, ids=named(PAIRS))
def test_the_nearest_legal_request_passes(pair: Pair) -> None:
    """The rule is no stricter than what it says."""
    referee = OpenAIResponsesReferee(**pair.options)
    verdict = referee.judge(written(pair.legal, referee))
    assert verdict.violations == ()
    assert verdict.status == 200


def test_every_rule_has_a_pair_and_a_source() -> None:
    """No rule is untested, no pair is for a rule that is gone, codes are unique, sources are given."""
    assert len(RULE) == len(RULES)
    assert {pair.code for pair in PAIRS} == set(RULE)
    assert all(rule.section and rule.as_of for rule in RULES)
