"""Referees with a clock and a bill: lives, look-back, minimum, parallel requests, money."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from foreword.core.catalog import Catalog
from foreword.core.price import usd
from foreword.testing.anthropic_referee import AnthropicReferee
from foreword.testing.deepseek_referee import DeepSeekReferee
from foreword.testing.openai_chat_referee import OpenAIChatReferee
from foreword.testing.script import Answer
from foreword.testing.timed_cache import TimedCache
from tests.testing.anthropic_parts import HOUR, MARK, body, text, user

LONG = "The harbour lies in the north, behind the long wall. " * 300
SECOND = 1_000_000


class Clock:
    """A clock that is set by hand; microseconds since 1970 UTC."""

    def __init__(self) -> None:
        self.now = 1_764_500_000 * SECOND

    def __call__(self) -> int:
        return self.now

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.now += round(seconds * SECOND)


@pytest.fixture
def clock() -> Clock:
    """A clock of the test's own."""
    return Clock()


def timed(clock: Callable[[], int], model: str = "claude-opus-4-8", **more: int) -> TimedCache:
    """The cache of a model of the catalog."""
    return TimedCache(Catalog.load().model(model), clock, **more)


def read_of(referee: AnthropicReferee, request: dict[str, Any]) -> int:
    """Judge a request; return the tokens that it read."""
    verdict = referee.judge(msgspec.json.encode(request))
    assert verdict.violations == ()
    return verdict.usage_body["cache_read_input_tokens"]


@pytest.mark.parametrize("mark, lives", [(MARK, 300), (HOUR, 3_600)])
def test_what_was_written_lives_as_long_as_its_mark_says(clock: Clock, mark: Any, lives: int) -> None:
    """Read at the end of its life it lives on; a second later than its life it is gone."""
    referee = AnthropicReferee(cache=timed(clock))
    request = body(user(text(LONG, cache_control=mark)))
    whole = referee.judge(msgspec.json.encode(request)).input_tokens
    for pause, read in ((lives, whole), (lives, whole), (lives + 1, 0)):
        clock.wait(pause)
        assert read_of(referee, request) == read


def test_what_was_sent_before_a_response_begins_reads_nothing(clock: Clock) -> None:
    """The second of two parallel requests writes again what the first writes."""
    referee = AnthropicReferee(cache=timed(clock, begins=5 * SECOND, ends=20 * SECOND))
    request = body(user(text(LONG, cache_control=MARK)))
    reads: list[bool] = []
    for pause in (0, 4.9, 0.1):
        clock.wait(pause)
        reads.append(read_of(referee, request) > 0)
    assert reads == [False, False, True]


def test_the_look_back_and_the_minimum_are_the_catalogs(clock: Clock) -> None:
    """21 blocks hide an entry; under 1,024 tokens (Opus 4.8) there is none, of Opus 4.6 none under 4,096."""
    referee = AnthropicReferee(cache=timed(clock))
    blocks = [text(f"{number}. {LONG}") for number in range(1, 25)]
    assert read_of(referee, body(user(*blocks[:2], {**blocks[2], "cache_control": MARK}))) == 0
    assert read_of(referee, body(user(*blocks[:23], {**blocks[23], "cache_control": MARK}))) == 0
    assert read_of(referee, body(user(*blocks[:4], {**blocks[4], "cache_control": MARK}))) > 0
    for model, read in (("claude-opus-4-8", True), ("claude-opus-4-6", False)):
        fresh = AnthropicReferee(cache=timed(clock, model))
        request = body(user(text(LONG[:8_000], cache_control=MARK)))
        assert 1_024 < fresh.judge(msgspec.json.encode(request)).input_tokens < 4_096
        assert (read_of(fresh, request) > 0) == read


def test_the_bill_adds_up(clock: Clock) -> None:
    """A write at 6.25 USD a million, then a read at 0.5, by the tokens that the verdicts report."""
    cache = timed(clock)
    referee = AnthropicReferee(cache=cache)
    request = body(user(text(LONG, cache_control=MARK)))
    tokens = referee.judge(msgspec.json.encode(request)).input_tokens
    assert read_of(referee, request) == tokens
    assert cache.bill.picodollars == tokens * 6_250_000 + tokens * 500_000
    assert usd(cache.bill.picodollars).startswith("0.0")
    assert [outcome.why for outcome in cache.outcomes] == ["first", ""]


def test_other_wires_take_it_too(clock: Clock) -> None:
    """The automatic cache reads in steps of 128; DeepSeek's is told of answers, so a continued talk is read whole."""
    talk = [{"role": "user", "content": LONG}]
    chat = OpenAIChatReferee(cache=timed(clock, "gpt-5.2"))
    whole = chat.judge(msgspec.json.encode({"model": "m", "messages": talk})).input_tokens
    again = chat.judge(
        msgspec.json.encode({"model": "m", "messages": [*talk, {"role": "user", "content": "Go on."}]})
    )
    assert again.usage_body["prompt_tokens_details"]["cached_tokens"] == whole // 128 * 128
    deep = DeepSeekReferee(cache=timed(clock, "deepseek-flash"), script=[Answer(text="In the north.")])
    _, answer = deep.respond(msgspec.json.encode({"model": "m", "messages": talk}))
    said = answer["choices"][0]["message"]["content"]
    longer = [*talk, {"role": "assistant", "content": said}, {"role": "user", "content": "Go on."}]
    read = deep.judge(msgspec.json.encode({"model": "m", "messages": longer})).usage_body[
        "prompt_cache_hit_tokens"
    ]
    assert read > answer["usage"]["prompt_tokens"]


def test_a_model_of_unknown_cache_is_refused(clock: Clock) -> None:
    """No guess stands in for what the catalog does not say."""
    with pytest.raises(ValueError, match="kimi-k3"):
        timed(clock, "kimi-k3")
