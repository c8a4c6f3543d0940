"""The Anthropic referee: answers, signed thinking, usage and counting."""

from typing import Any

import msgspec
import pytest

from foreword.testing.anthropic_referee import AnthropicReferee
from foreword.testing.facts import ModelFacts
from foreword.testing.script import Answer, Call, Failure, ScriptExhausted
from tests.testing.anthropic_parts import (
    ASK,
    HOUR,
    MARK,
    TOOL,
    assistant,
    body,
    call,
    result,
    spoken,
    system,
    text,
    user,
)

BINDING = {"anthropic-beta": "thinking-binding-controls-2026-08-01"}
DROP = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
LONG = "The harbour lies in the north of the town. " * 200


def judged(referee: AnthropicReferee, request: dict[str, Any], headers: dict[str, str] | None = None) -> Any:
    """Judge a request given as values."""
    return referee.judge(msgspec.json.encode(request), headers)


def answered(referee: AnthropicReferee, request: dict[str, Any]) -> dict[str, Any]:
    """Get the answer to a legal request."""
    status, answer = referee.respond(msgspec.json.encode(request))
    assert status == 200, answer
    return answer


def thinker(**options: Any) -> AnthropicReferee:
    """A referee that thinks before each of its answers."""
    script = [Answer(thinking=f"Thought {turn}.", text=f"Answer {turn}.") for turn in range(9)]
    return AnthropicReferee(script=script, **options)


def test_a_scripted_answer_has_the_full_form_of_the_wire() -> None:
    """Thinking, text and calls in order, a stop reason, usage, and ids that the next request may use."""
    referee = AnthropicReferee(script=[Answer(thinking="Hm.", text="Look.", calls=(Call(name="look"),) * 2)])
    answer = answered(referee, body(tools=[TOOL]))
    assert [block["type"] for block in answer["content"]] == ["thinking", "text", "tool_use", "tool_use"]
    assert answer["stop_reason"] == "tool_use"
    assert answer["usage"]["output_tokens"] > answer["usage"]["output_tokens_details"]["thinking_tokens"] > 0
    ids = [block["id"] for block in answer["content"][2:]]
    said = assistant(*answer["content"])
    assert judged(referee, body(ASK, said, user(*map(result, ids)), tools=[TOOL])).status == 200


def test_a_callable_answers_from_the_parsed_request() -> None:
    """A scripted callable sees the messages as plain values and may also fail."""
    seen: list[Any] = []

    def answer(request: dict[str, Any]) -> Answer | Failure:
        seen.append(request["messages"])
        return Answer(text="Yes.") if len(seen) == 1 else Failure(status=529, text="Overloaded")

    referee = AnthropicReferee(script=[answer, answer])
    assert answered(referee, body())["content"] == [{"type": "text", "text": "Yes."}]
    assert seen == [[ASK]]
    status, error = referee.respond(msgspec.json.encode(body()))
    assert (status, error["error"]["type"]) == (529, "overloaded_error")


def test_a_refusal_takes_nothing_from_the_script() -> None:
    """An illegal request is answered by its error, and the script goes on with the next legal one."""
    referee = AnthropicReferee(script=[Answer(text="Yes.")])
    assert referee.respond(b'{"model": 1}')[0] == 400
    assert answered(referee, body())["content"][0]["text"] == "Yes."
    with pytest.raises(ScriptExhausted, match="the script has 1 answers"):
        referee.respond(msgspec.json.encode(body()))


DEEP = b'{"content": [' * 800 + b"]}" * 800


@pytest.mark.parametrize(
    "raw",
    [b"", b"[]", b"null", b"{", b"\xff", b'{"a": NaN}', b"[" * 20_000]
    + [b'{"messages": [%b]}' % message for message in (b'"\xff"', b'"\\ud800"', b"{", DEEP)],
)
def test_a_body_that_is_no_json_object_is_refused(raw: bytes) -> None:
    """What can't be read is a 400 with one violation, not a crash."""
    verdict = AnthropicReferee().judge(raw)
    assert (verdict.status, [v.code for v in verdict.violations]) == (400, ["unreadable"])


def test_the_provider_names_the_place_of_a_thought_bound_elsewhere() -> None:
    """The error carries the text that clients match on."""
    referee = thinker()
    messages = spoken(referee, ASK)
    verdict = judged(referee, body(user(text("Changed.")), *messages[1:], ASK))
    assert verdict.error_body["error"]["message"].startswith(
        "messages.1.content.0: Invalid `signature` in `thinking` block. "
        "The block is bound to a different conversation."
    )


@pytest.mark.parametrize(
    "members",
    [{"system": "Be brief."}, {"tools": [TOOL]}],
    ids=["system", "tools"],
)
def test_a_thought_is_bound_to_system_and_tools(members: dict[str, Any]) -> None:
    """Adding a system prompt or a tool after the thought was signed is refused; the same again is not."""
    referee = thinker()
    messages = spoken(referee, ASK)
    assert judged(referee, body(*messages, ASK)).status == 200
    assert [v.code for v in judged(referee, body(*messages, ASK, **members)).violations] == ["bound_prefix"]


def test_a_deferred_tool_and_a_later_system_message_bind_nothing() -> None:
    """The two safe ways to add a tool and an instruction later."""
    referee = thinker()
    messages = spoken(referee, ASK, tools=[TOOL])
    later = {**TOOL, "name": "later", "defer_loading": True}
    deferred = body(*messages, ASK, system("Be brief."), tools=[TOOL, later])
    assert judged(referee, deferred).status == 200


def test_moved_marks_and_the_form_of_a_text_are_no_other_conversation() -> None:
    """A string and its one text block, with or without a mark, are the same prefix for thinking."""
    referee = thinker()
    messages = spoken(referee, user(text(ASK["content"], cache_control=MARK)))
    assert judged(referee, body(ASK, *messages[1:], ASK)).status == 200


def test_a_model_that_does_not_bind_takes_another_prefix_but_no_changed_thought() -> None:
    """The signature is checked on every model, the prefix only where thinking is bound."""
    referee = thinker(facts=ModelFacts(binds_thinking=False))
    messages = spoken(referee, ASK)
    assert judged(referee, body(user(text("Changed.")), *messages[1:], ASK)).status == 200
    first, *rest = messages[1]["content"]
    changed = assistant({**first, "thinking": "Other."}, *rest)
    assert [v.code for v in judged(referee, body(ASK, changed, ASK)).violations] == ["signature"]


def test_drop_block_drops_from_the_first_mismatch_on_and_says_so() -> None:
    """Asked to drop, the server reports the thoughts it left out, and they cost no tokens."""
    script = [Answer(thinking=LONG, text="a"), Answer(thinking=LONG, text="b"), Answer(text="c")]
    referee = AnthropicReferee(script=script)
    messages = spoken(referee, ASK, ASK)
    changed = body(user(text("Changed.")), *messages[1:], ASK, thinking=DROP)
    verdict = judged(referee, changed, BINDING)
    assert verdict.dropped == ("messages.1.content.0", "messages.3.content.0")
    full = judged(referee, body(*messages, ASK))
    assert verdict.input_tokens < full.input_tokens / 10
    _, answer = referee.respond(msgspec.json.encode(changed), BINDING)
    assert [entry["path"] for entry in answer["input_transformations"]] == list(verdict.dropped)


def test_unsigned_thinking_of_a_recorded_answer_is_not_asked_for() -> None:
    """No service gave it, and none takes it: the call that it led to stands alone."""
    referee = AnthropicReferee()
    called = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}
    back = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "sea"}
    for thought, code in (
        ({"type": "thinking", "thinking": "Hm."}, []),
        ({"type": "thinking", "thinking": "Hm.", "signature": "S"}, ["turn_thinking"]),
    ):
        assert judged(referee, body(ASK, tools=[TOOL])).status == 200
        referee.answered([thought, called])
        verdict = judged(referee, body(ASK, assistant(called), user(back), tools=[TOOL]))
        assert [v.code for v in verdict.violations] == code


def test_a_recorded_answer_is_bound_like_an_own_one() -> None:
    """A foreign thought passes where foreign signatures do; once noted as an answer, its prefix binds it."""
    referee = AnthropicReferee(accept_foreign_signatures=True)
    said = [{"type": "thinking", "thinking": "", "signature": "recorded"}, text("North.")]
    other = body(user(text("Changed.")), assistant(*said), ASK)
    assert judged(referee, body()).status == 200
    referee.answered(said)
    assert judged(referee, body(ASK, assistant(*said), ASK)).status == 200
    assert [v.code for v in judged(referee, other).violations] == ["bound_prefix"]
    assert judged(AnthropicReferee(accept_foreign_signatures=True), other).status == 200
    with pytest.raises(LookupError, match="judge the request first"):
        AnthropicReferee().answered(said)


def test_a_signature_that_a_record_made_up_may_stand_on_several_texts() -> None:
    """Each text is known again; one that was changed is not."""
    referee = AnthropicReferee()
    first, second = (
        {"type": "thinking", "thinking": words, "signature": "made up"} for words in ("Hm.", "So.")
    )
    asked = [ASK, assistant(first, text("North.")), ASK]
    assert judged(referee, body()).status == 200
    referee.answered(asked[1]["content"])
    assert judged(referee, body(*asked)).status == 200
    referee.answered([second, text("South.")])
    assert judged(referee, body(*asked, assistant(second, text("South.")), ASK)).status == 200
    changed = {**first, "thinking": "Changed."}
    assert judged(referee, body(ASK, assistant(changed, text("North.")), ASK)).status == 400


def test_thoughts_kept_after_a_compaction_block_stay_bound() -> None:
    """The block stands for exactly what it summarised: kept turns after it are valid, moved ones are not."""
    referee = thinker()
    messages = spoken(referee, ASK, ASK)
    summary = answered(referee, body(*messages[:2], ASK, compaction={"type": "summarize"}))
    assert summary["stop_reason"] == "compaction"
    folded = assistant(*summary["content"])
    assert judged(referee, body(folded, messages[3], ASK)).status == 200
    assert [v.code for v in judged(referee, body(folded, ASK, messages[3], ASK)).violations] == [
        "bound_prefix"
    ]


def test_usage_reads_what_an_earlier_request_marked() -> None:
    """First written, then read up to the mark; the three counters sum to the prompt."""
    referee = AnthropicReferee()
    first = judged(referee, body(user(text(LONG, cache_control=MARK))))
    usage = first.usage_body
    assert usage["cache_creation_input_tokens"] == first.input_tokens
    assert usage["cache_read_input_tokens"] == usage["input_tokens"] == 0
    second = judged(referee, body(user(text(LONG)), ASK, user(text("Go on.", cache_control=HOUR))))
    usage = second.usage_body
    assert usage["cache_read_input_tokens"] == first.input_tokens
    assert usage["cache_creation"]["ephemeral_1h_input_tokens"] == second.input_tokens - first.input_tokens
    third = judged(referee, body(user(text(LONG)), ASK, user(text("Go on.")))).usage_body
    assert (third["cache_read_input_tokens"], third["cache_creation_input_tokens"]) == (0, 0)


@pytest.mark.parametrize(
    "members",
    [{"tools": [TOOL]}, {"system": "Be brief."}, {"thinking": {"type": "adaptive"}}, {"model": "other"}],
    ids=["tools", "system", "thinking", "model"],
)
def test_what_comes_before_a_message_breaks_its_cache(members: dict[str, Any]) -> None:
    """Tools, system, model and thinking parameters come before the messages in the prefix."""
    referee = AnthropicReferee()
    request = body(user(text(LONG, cache_control=MARK)))
    judged(referee, request)
    assert judged(referee, request).usage_body["cache_read_input_tokens"] > 0
    assert judged(referee, {**request, **members}).usage_body["cache_read_input_tokens"] == 0


def test_a_top_level_mark_caches_the_whole_conversation() -> None:
    """The automatic mark moves along with the last block."""
    referee = AnthropicReferee(script=[Answer(text="North.")] * 2)
    first = answered(referee, body(user(text(LONG)), cache_control=MARK))["usage"]
    talk = [user(text(LONG)), assistant(text("North.")), ASK]
    second = answered(referee, body(*talk, cache_control=MARK))["usage"]
    assert second["cache_read_input_tokens"] == first["cache_creation_input_tokens"] > 0


def test_an_image_counts_by_its_size() -> None:
    """A larger picture costs more; one that can't be read costs a flat sum."""
    head = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
    sizes = {edge: head + edge.to_bytes(4, "big") * 2 for edge in (280, 560)}
    referee = AnthropicReferee()

    def tokens(data: bytes) -> int:
        source = {"type": "base64", "media_type": "image/png", "data": data}
        image = {"type": "image", "source": source}
        plain = judged(referee, body(user(text("Look.")))).input_tokens
        return judged(referee, body(user(text("Look."), image))).input_tokens - plain

    def in_result(*parts: dict[str, Any]) -> int:
        request = body(ASK, assistant(call("t1")), user(result("t1", content=[text("seen"), *parts])))
        return judged(referee, request).input_tokens

    picture = {"type": "base64", "media_type": "image/png", "data": sizes[560]}
    assert in_result({"type": "image", "source": picture}) - in_result() == 400
    assert tokens(sizes[280]) == 100
    assert tokens(sizes[560]) == 400
    assert tokens(b"?") == 1500


def test_a_text_document_counts_by_its_text() -> None:
    """A document of plain text costs what its text costs; a PDF a flat sum."""
    referee = AnthropicReferee()

    def tokens(source: dict[str, Any]) -> int:
        return judged(referee, body(user({"type": "document", "source": source}))).input_tokens

    plain = {"type": "text", "media_type": "text/plain", "data": LONG}
    assert tokens(plain) == judged(referee, body(user(text(LONG)))).input_tokens
    assert tokens({"type": "url", "url": "https://example.com/a.pdf"}) == 1500 + 4


def test_prewarming_writes_and_says_nothing() -> None:
    """With no tokens to write, the answer is empty and the prefix is cached for the next request."""
    referee = AnthropicReferee(script=[Answer(text="unheard"), Answer(text="North.")])
    request = body(user(text(LONG, cache_control=MARK)))
    warm = answered(referee, {**request, "max_tokens": 0})
    assert (warm["content"], warm["stop_reason"], warm["usage"]["output_tokens"]) == ([], "max_tokens", 0)
    assert answered(referee, request)["usage"]["cache_read_input_tokens"] > 0


def test_counting_needs_no_max_tokens_and_agrees_with_judging() -> None:
    """A count is the judged size, is refused by the same rules, and knows no window."""
    referee = AnthropicReferee(facts=ModelFacts(window=10))
    request = body(user(text(LONG)))
    counted = {name: value for name, value in request.items() if name != "max_tokens"}
    status, count = referee.count(msgspec.json.encode(counted))
    verdict = judged(referee, request)
    assert (status, count["input_tokens"]) == (200, verdict.input_tokens)
    assert [violation.code for violation in verdict.violations] == ["window_input"]
    assert verdict.violations[0].text == f"prompt is too long: {verdict.input_tokens} tokens > 10 maximum"
    assert referee.count(msgspec.json.encode(body(assistant(call("t1")), ASK)))[0] == 400
    assert referee.count(b"[")[0] == 400


def test_what_a_search_found_costs_its_definition() -> None:
    """A deferred tool costs nothing in the list; where a reference to it stands, its definition is billed."""
    large = {**TOOL, "name": "later", "description": "word " * 200, "defer_loading": True}
    found = {"type": "tool_result", "tool_use_id": "t1", "content": "seen"}
    loads = {**found, "content": [{"type": "tool_reference", "tool_name": "later"}]}

    def size(result: dict[str, Any], *tools: dict[str, Any]) -> int:
        referee = AnthropicReferee()
        asked = body(ASK, assistant(call("t1")), user(result), tools=[TOOL, *tools])
        return judged(referee, asked).input_tokens

    assert size(found, large) == size(found)
    assert size(loads, large) > size(found) + 150
