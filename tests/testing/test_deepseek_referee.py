"""The DeepSeek referee: reasoning in its answers, usage, and a cache of complete units."""

from typing import Any

import msgspec

from foreword.testing.deepseek_referee import DeepSeekReferee
from foreword.testing.script import Answer, Call
from tests.testing.deepseek_pairs import OFF
from tests.testing.openai_chat_pairs import ASK, body, result, said

LONG = "The harbour lies in the north of the town. " * 200
CALLING = Answer(thinking="Hm. " * 40, calls=(Call(name="look", input={"at": "sea"}),))


def judged(referee: DeepSeekReferee, request: dict[str, Any]) -> Any:
    """Judge a request given as values."""
    return referee.judge(msgspec.json.encode(request))


def message(referee: DeepSeekReferee, request: dict[str, Any]) -> dict[str, Any]:
    """The message of an answer to a legal request."""
    status, answer = referee.respond(msgspec.json.encode(request))
    assert status == 200, answer
    return answer["choices"][0]["message"]


def hit(verdict: Any) -> int:
    """Tokens read from the cache; hits and misses are the prompt."""
    usage = verdict.usage_body
    assert usage["prompt_cache_hit_tokens"] + usage["prompt_cache_miss_tokens"] == usage["prompt_tokens"]
    return usage["prompt_cache_hit_tokens"]


def test_reasoning_comes_with_thinking_on_and_only_then() -> None:
    """On by default; an answer without thought has an empty one, so that it can be sent back."""
    referee = DeepSeekReferee(script=[CALLING, Answer(calls=CALLING.calls), CALLING])
    assert message(referee, body())["reasoning_content"] == CALLING.thinking
    empty = message(referee, body())
    assert empty["reasoning_content"] == ""
    called = empty["tool_calls"][0]["id"]
    assert judged(referee, body(ASK, empty, result(called))).violations == ()
    assert "reasoning_content" not in message(referee, body(thinking=OFF))


def test_reasoning_counts_only_before_calls() -> None:
    """Sent back without calls it is ignored, and costs nothing."""
    referee = DeepSeekReferee()
    plain = judged(referee, body(ASK, said("assistant", "a"), ASK))
    ignored = {**said("assistant", "a"), "reasoning_content": LONG}
    assert judged(referee, body(ASK, ignored, ASK)).input_tokens == plain.input_tokens


def test_an_answer_sent_back_is_read_with_its_request() -> None:
    """The unit ends after the model's output, whether or not ignored reasoning comes back."""
    referee = DeepSeekReferee(script=[Answer(thinking="Hm.", text=LONG)])
    said_back = message(referee, body())
    first = judged(referee, body())
    whole = judged(referee, body(ASK, said_back, ASK))
    assert hit(whole) > first.input_tokens + 1_000
    del said_back["reasoning_content"]
    assert hit(judged(referee, body(ASK, said_back, said("user", "When?")))) == hit(whole)


def test_only_complete_units_are_read() -> None:
    """A+B, then A+C: a miss. What they have in common is read from the third request on."""
    referee = DeepSeekReferee()
    start = said("system", LONG)
    assert hit(judged(referee, body(start, said("user", "Where?")))) == 0
    assert hit(judged(referee, body(start, said("user", "When?")))) == 0
    third = hit(judged(referee, body(start, said("user", "Why?"))))
    assert third > 1_000
    edited = said("system", "x" + LONG)
    assert hit(judged(referee, body(edited, said("user", "Why?")))) < 20


def test_an_appended_history_is_read_up_to_the_last_request() -> None:
    """The end of the user's input ends a unit."""
    referee = DeepSeekReferee()
    first = judged(referee, body(said("user", LONG)))
    second = judged(referee, body(said("user", LONG), said("assistant", "a"), ASK))
    assert hit(second) == first.input_tokens
