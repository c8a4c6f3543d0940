"""Task budgets: stated where the provider counts them down, carried on over an epoch, told by notices elsewhere."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from foreword.compiler.policy import Policy
from foreword.core.event import Noticed
from foreword.core.target import Target
from foreword.core.tokens import counter
from foreword.core.usage import Usage
from foreword.engine.session import Session
from foreword.errors import InvalidValue
from foreword.testing.script import Answer
from tests.compiler.test_provider_layout import Loop
from tests.engine.sessions import answer_message, plain
from tests.histories import TIGHT, counting_clock, digests, referee_for, target_of

COUNTING = msgspec.structs.replace(TIGHT, name="counting", countdown=0.25)


def opened(target: Target, policy: Policy = TIGHT) -> Session:
    return Session.open(None, "made", target=target, policy=policy, clock=counting_clock())


@pytest.mark.parametrize("total, fault", [(-5, "Expected `int` >= 0, got -5"), (1.5, "got `float`")])
def test_what_is_no_count_of_tokens_is_refused(total: Any, fault: str) -> None:
    """And nothing is recorded of it."""
    made = opened(target_of("anthropic"))
    before = len(made.events)
    with pytest.raises(InvalidValue, match=fault) as caught:
        made.task_budget(total)
    assert (caught.value.kind, caught.value.field) == ("task_budget_set", "total")
    assert len(made.events) == before


def spend(made: Session, output: int) -> None:
    """Ask, answer with so many tokens of output, and say something."""
    made.compile()
    made.answered(answer_message("done"), usage=Usage(uncached=500, output=output))
    made.say("more")


def test_an_answer_without_usage_is_not_free() -> None:
    """It counts by its text, and the notice says that it is no exact figure."""
    made = opened(target_of("openai-chat"), COUNTING)
    made.task_budget(1_000)
    made.say("go")
    made.compile()
    made.answered(answer_message("word " * 300))
    made.say("more")
    made.compile()
    made.task_budget(2_000)
    made.compile()
    told = [event.body.text for event in made.events if isinstance(event.body, Noticed)]
    count = counter().count("word " * 300)
    assert 200 < count < 500
    assert told == [
        "1000 of 1000 output tokens are left for this task.",
        f"About {1_000 - count} of 1000 output tokens are left for this task.",
        "2000 of 2000 output tokens are left for this task.",
    ]


def budget(made: Session) -> Any:
    return plain(made.compile().body).get("output_config", {}).get("task_budget")


def test_a_budget_is_stated_and_carried_on_over_an_epoch() -> None:
    """Within an epoch its bytes stay; after one the request says what is left."""
    made = opened(target_of("anthropic"))
    made.task_budget(64_000)
    made.say("go")
    first = made.compile()
    assert budget(made) == {"type": "tokens", "total": 64_000}
    assert first.betas == ("task-budgets-2026-03-13",)
    head = {"anthropic-beta": ",".join(first.betas)}
    assert referee_for(target_of("anthropic")).judge(first.body, head).violations == ()
    spend(made, 10_000)
    spend(made, 5_000)
    grown = made.compile()
    assert digests(grown)[: first.size] == digests(first)
    assert budget(made) == {"type": "tokens", "total": 64_000}
    made.instruct("new rules")
    assert budget(made) == {"type": "tokens", "total": 64_000, "remaining": 49_000}
    spend(made, 60_000)
    made.instruct("other rules")
    assert budget(made)["remaining"] == 0


def test_a_budget_is_carried_on_over_a_compaction() -> None:
    """A base that a provider's block opens says what is left, too."""
    loop = Loop(target_of("anthropic"))
    loop.made.task_budget(64_000)
    loop.made.say("go")
    loop.ask(Answer(text="words", output_tokens=1_000))
    loop.made.say("more")
    loop.ask(Answer(text="the summary", output_tokens=500), compaction={"type": "summarize"})
    compiled = loop.judged()
    assert compiled.betas == ("compact-2026-09-04", "task-budgets-2026-03-13")
    assert plain(compiled.body)["output_config"]["task_budget"]["remaining"] == 62_500


def test_another_budget_and_none() -> None:
    """A new one counts from where it was set; 0 takes it away; the same again appends nothing."""
    made = opened(target_of("anthropic"))
    made.task_budget(64_000)
    made.say("go")
    spend(made, 10_000)
    size = len(made.events)
    made.task_budget(64_000)
    assert len(made.events) == size
    made.task_budget(90_000)
    assert budget(made) == {"type": "tokens", "total": 90_000}
    made.task_budget(0)
    assert budget(made) is None


def test_it_stands_beside_an_effort() -> None:
    """Both are members of one key."""
    keys = {"output_config": {"effort": "low"}}
    made = opened(target_of("anthropic", keys=keys))
    made.task_budget(64_000)
    made.say("go")
    assert plain(made.compile().body)["output_config"] == {
        "effort": "low",
        "task_budget": {"type": "tokens", "total": 64_000},
    }


@pytest.mark.parametrize(
    "wire, model",
    [
        ("anthropic", "claude-sonnet-4-6"),
        ("openai-responses", "gpt-6.1-sol"),
        ("deepseek", "deepseek-v4-pro"),
    ],
)
def test_elsewhere_a_notice_counts_down(wire: str, model: str) -> None:
    """At the start and each time a quarter was spent, when the policy asks for it; the request has no such key."""
    target = target_of(wire, model=model)
    made = opened(target, COUNTING)
    made.task_budget(1_000)
    made.say("go")
    for _ in range(5):
        spend(made, 100)
    body = made.compile().body
    assert b"task_budget" not in body
    told = [word for word in ("1000 of", "700 of", "400 of") if word.encode() + b" 1000 output" in body]
    assert told == ["1000 of", "700 of"]
    assert referee_for(target).judge(body).violations == ()


def test_nothing_is_told_unasked() -> None:
    """The default policy tells nothing, and the provider's own countdown is enough."""
    for target, policy in (
        (target_of("deepseek", model="deepseek-v4-pro"), TIGHT),
        (target_of("anthropic"), COUNTING),
    ):
        made = opened(target, policy)
        made.task_budget(64_000)
        made.say("go")
        assert b"tokens are left" not in made.compile().body
