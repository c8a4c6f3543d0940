"""The Chat Completions referee: answers, usage and its automatic cache."""

from typing import Any

import msgspec

from foreword.testing.facts import ModelFacts
from foreword.testing.openai_chat_referee import OpenAIChatReferee
from foreword.testing.script import Answer, Call, Failure
from tests.testing.openai_chat_pairs import ASK, IMAGE, TOOL, body, result, said, text

LONG = "The harbour lies in the north of the town. " * 400


def judged(referee: OpenAIChatReferee, request: dict[str, Any]) -> Any:
    """Judge a request given as values."""
    return referee.judge(msgspec.json.encode(request))


def test_a_scripted_answer_has_the_full_form_of_the_wire() -> None:
    """Calls with string arguments, a finish reason, usage that sums; the next request may use its ids."""
    script = [Answer(thinking="Hm.", calls=(Call(name="look", input={"at": "sea"}),))]
    referee = OpenAIChatReferee(script=script)
    status, answer = referee.respond(msgspec.json.encode(body(tools=[TOOL])))
    assert status == 200
    choice, usage = answer["choices"][0], answer["usage"]
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"]["tool_calls"][0]["function"]["arguments"] == '{"at":"sea"}'
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    assert usage["completion_tokens"] > usage["completion_tokens_details"]["reasoning_tokens"] > 0
    called = choice["message"]["tool_calls"][0]["id"]
    assert judged(referee, body(ASK, choice["message"], result(called), tools=[TOOL])).status == 200


def test_a_scripted_failure_comes_before_any_judgment() -> None:
    """A busy server says so even to an illegal request, with its waiting time."""
    referee = OpenAIChatReferee(
        script=[Failure(status=429, text="Slow down", retry_after=2), Answer(text="a")]
    )
    reply = referee.reply(b"{}")
    assert (reply.status, reply.headers) == (429, {"retry-after": "2"})
    assert reply.body["error"] == {
        "message": "Slow down",
        "type": "rate_limit_error",
        "param": None,
        "code": None,
    }
    assert referee.reply(b"{}").status == 400
    assert referee.reply(msgspec.json.encode(body())).status == 200


def test_usage_reads_the_longest_known_prefix_in_steps_of_128() -> None:
    """Nothing marks it: whole messages of any earlier request are read; an edited first one is a miss."""
    referee = OpenAIChatReferee()
    opening = [said("system", LONG), ASK]
    first = judged(referee, body(*opening))
    assert first.usage_body["prompt_tokens_details"]["cached_tokens"] == 0
    second = judged(referee, body(*opening, said("assistant", LONG), ASK))
    cached = second.usage_body["prompt_tokens_details"]["cached_tokens"]
    assert cached == first.input_tokens // 128 * 128 > 1024
    changed = judged(referee, body(said("system", "Now. " + LONG), ASK))
    assert changed.usage_body["prompt_tokens_details"]["cached_tokens"] == 0
    other_key = judged(referee, body(*opening, prompt_cache_key="other"))
    assert other_key.usage_body["prompt_tokens_details"]["cached_tokens"] == 0


def test_a_short_prompt_is_never_read_from_cache() -> None:
    """Under 1,024 tokens nothing is cached."""
    referee = OpenAIChatReferee()
    for _ in range(2):
        assert judged(referee, body()).usage_body["prompt_tokens_details"]["cached_tokens"] == 0


def test_overflow_is_told_in_the_words_that_clients_match() -> None:
    """The text names the window, the prompt and the completion; the code is the wire's own."""
    referee = OpenAIChatReferee(facts=ModelFacts(window=100))
    verdict = judged(referee, body(said("user", LONG), max_completion_tokens=10))
    error = verdict.error_body["error"]
    assert error["code"] == "context_length_exceeded"
    assert error["message"].startswith("This model's maximum context length is 100 tokens.")
    assert f"{verdict.input_tokens} in the messages, 10 in the completion" in error["message"]


def test_an_image_counts_by_its_size_and_detail() -> None:
    """Patches of 32 pixels times 1.2, capped for high detail; a remote picture costs a flat sum."""
    data = msgspec.json.encode(b"GIF89a" + (3200).to_bytes(2, "little") * 2).decode().strip('"')
    referee = OpenAIChatReferee()

    def tokens(part: dict[str, Any]) -> int:
        plain = judged(referee, body(said("user", [text("Look.")]))).input_tokens
        return judged(referee, body(said("user", [text("Look."), part]))).input_tokens - plain

    url = f"data:image/gif;base64,{data}"
    assert tokens({"type": "image_url", "image_url": {"url": url}}) == 12_000
    assert tokens({"type": "image_url", "image_url": {"url": url, "detail": "high"}}) == 2_940
    assert tokens(IMAGE) == 1500
