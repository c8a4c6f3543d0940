"""The Responses referee: answers, reasoning that is bound to its prefix, compaction, usage and its cache."""

from typing import Any

import msgspec
import pytest

from foreword.testing.facts import ModelFacts
from foreword.testing.openai_responses_referee import OpenAIResponsesReferee
from foreword.testing.script import Answer, Call
from tests.testing.openai_responses_pairs import ASK, SAID, TOOL, body, output, said, text, without

LONG = "The harbour lies in the north of the town. " * 400
CALLING = Answer(thinking="Hm. " * 50, text="Look.", calls=(Call(name="look", input={"at": "sea"}),))


def judged(referee: OpenAIResponsesReferee, request: dict[str, Any]) -> Any:
    """Judge a request given as values."""
    return referee.judge(msgspec.json.encode(request))


def answered(referee: OpenAIResponsesReferee, request: dict[str, Any]) -> dict[str, Any]:
    """What the referee answers to a legal request."""
    status, answer = referee.respond(msgspec.json.encode(request))
    assert status == 200, answer
    return answer


def loop(referee: OpenAIResponsesReferee, **members: Any) -> list[Any]:
    """The items of a first question, its answer with reasoning and a call, and the call's output."""
    made = answered(referee, body(**members))["output"]
    return [ASK, *made, output(made[-1]["call_id"])]


def cached(verdict: Any) -> tuple[int, int]:
    """Tokens read and written."""
    details = verdict.usage_body["input_tokens_details"]
    return details["cached_tokens"], details["cache_write_tokens"]


def test_a_scripted_answer_has_the_full_form_of_the_wire() -> None:
    """Reasoning with a summary and sealed content, a message, a call with string arguments, usage that sums."""
    answer = answered(OpenAIResponsesReferee(script=[CALLING]), body(tools=[TOOL]))
    reasoning, message, called = answer["output"]
    assert reasoning["summary"][0]["text"] == CALLING.thinking
    assert reasoning["encrypted_content"]
    assert message["content"][0]["text"] == "Look."
    assert called["arguments"] == '{"at":"sea"}'
    usage = answer["usage"]
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]
    assert usage["output_tokens"] > usage["output_tokens_details"]["reasoning_tokens"] > 0
    assert (answer["status"], answer["incomplete_details"]) == ("completed", None)


def test_a_scripted_reason_leaves_the_answer_incomplete() -> None:
    """The wire's reasons are those of an answer that broke off."""
    answer = answered(
        OpenAIResponsesReferee(script=[Answer(text="a", stop_reason="max_output_tokens")]), body()
    )
    assert (answer["status"], answer["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})


def test_reasoning_without_text_or_call_can_be_sent_back() -> None:
    """Reasoning is never the last item of an answer: the server would refuse its own words."""
    referee = OpenAIResponsesReferee(script=[Answer(thinking="Hm.")])
    made = answered(referee, body())["output"]
    assert [item["type"] for item in made] == ["reasoning", "message"]
    assert judged(referee, body(ASK, *made, ASK)).violations == ()


def test_a_message_recorded_without_its_id_claims_no_other_message() -> None:
    """Reasoning that led to it is asked for by nothing that has no id either."""
    referee = OpenAIResponsesReferee()
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2VhbGVk"}
    assert judged(referee, body(ASK)).violations == ()
    referee.answered([thought, said("assistant", "In the north.", type="message")])
    assert judged(referee, body(ASK, said("assistant", "In the north."), ASK)).violations == ()


@pytest.mark.parametrize(
    "change",
    [
        {"instructions": "Be brief."},
        {"tools": [TOOL]},
        {"input": [said("user", "Where else?")]},
        {"input": [said("developer", "Now."), ASK]},
    ],
    ids=["instructions", "tools", "edited", "inserted"],
)
def test_reasoning_whose_prefix_changed_is_left_out_without_an_error(change: dict[str, Any]) -> None:
    """The verdict and the answer tell it; nothing is refused, and its tokens are not counted."""
    referee = OpenAIResponsesReferee(script=[CALLING, Answer(text="A ship.")])
    items = loop(referee)
    kept = judged(referee, body(*items))
    assert (kept.dropped, kept.drop_reasons) == ((), ())
    opening = change.get("input", [ASK])
    request = {**body(*opening, *items[1:]), **{k: v for k, v in change.items() if k != "input"}}
    lost = judged(referee, request)
    assert lost.violations == ()
    assert lost.dropped == (f"input[{len(opening)}]",)
    assert lost.drop_reasons == ("prefix_mismatch",)
    reported = answered(referee, request)["input_transformations"]
    assert [(each["reason"], each["item_id"]) for each in reported] == [("prefix_mismatch", items[1]["id"])]
    unedited = judged(referee, {**request, "input": [*opening, *without_reasoning(items[1:])]})
    assert unedited.violations[0].code == "reasoning_missing"


def without_reasoning(items: list[Any]) -> list[Any]:
    """The items that are no reasoning."""
    return [item for item in items if item.get("type") != "reasoning"]


def test_reasoning_is_left_out_for_another_model_and_by_its_own_context() -> None:
    """Each has the wire's word for it."""
    referee = OpenAIResponsesReferee(script=[CALLING])
    items = loop(referee)
    other = judged(referee, {**body(*items), "model": "other"})
    assert other.drop_reasons == ("model_mismatch",)
    here = judged(referee, body(*items, reasoning={"context": "current_turn"}))
    assert here.dropped == ()
    later = judged(referee, body(*items, SAID, ASK, reasoning={"context": "current_turn"}))
    assert (later.dropped, later.drop_reasons) == (("input[1]",), ("turn_boundary",))
    assert later.input_tokens < judged(referee, body(*items, SAID, ASK)).input_tokens - 20


def test_ids_status_and_the_form_of_a_text_are_no_part_of_the_prefix() -> None:
    """The same history in a client's own form keeps its reasoning."""
    referee = OpenAIResponsesReferee(script=[CALLING, CALLING])
    items = loop(referee)
    later = loop_on(referee, items)
    plain = [
        said("user", [text("Where is the harbour?")], type="message"),
        without(items[1], "id"),
        said("assistant", "Look."),
        without(items[3], "id", "status"),
        {**items[4], "status": "completed"},
        *later[len(items) :],
    ]
    verdict = judged(referee, body(*plain))
    assert (verdict.violations, verdict.dropped) == ((), ())


def loop_on(referee: OpenAIResponsesReferee, items: list[Any]) -> list[Any]:
    """One more answer with a call, answered."""
    made = answered(referee, body(*items))["output"]
    return [*items, *made, output(made[-1]["call_id"])]


def test_a_response_id_stands_for_the_whole_history() -> None:
    """Its tokens count, its reasoning holds, and its pending call takes the output."""
    referee = OpenAIResponsesReferee(script=[CALLING])
    answer = answered(referee, body())
    found = output(answer["output"][-1]["call_id"])
    chained = judged(referee, body(found, previous_response_id=answer["id"]))
    whole = judged(referee, body(ASK, *answer["output"], found))
    assert chained.violations == whole.violations == ()
    assert chained.input_tokens == whole.input_tokens


def test_stored_reasoning_is_held_to_be_unchanged() -> None:
    """Instructions are not inherited by id: other ones cost nothing there. Its turn still ends."""
    referee = OpenAIResponsesReferee(script=[CALLING])
    answer = answered(referee, body(instructions="Be brief."))
    found = output(answer["output"][-1]["call_id"])
    assert judged(referee, body(found, previous_response_id=answer["id"])).dropped == ()
    later = body(found, ASK, previous_response_id=answer["id"], reasoning={"context": "current_turn"})
    verdict = judged(referee, later)
    assert (verdict.dropped, verdict.drop_reasons) == ((answer["id"],), ("turn_boundary",))


def test_recorded_answers_bind_like_own_ones() -> None:
    """Noted after their request: the same content passes, another one does not."""
    recorded = [
        {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "abc"},
        {"id": "fc_1", "type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
    ]
    referee = OpenAIResponsesReferee()
    with pytest.raises(LookupError, match="no legal request yet"):
        referee.answered(recorded)
    assert judged(referee, body()).status == 200
    referee.answered(recorded, "resp_1")
    assert judged(referee, body(ASK, *recorded, output())).dropped == ()
    changed = {**recorded[0], "encrypted_content": "abd"}
    assert judged(referee, body(ASK, changed, recorded[1], output())).violations[0].code == "sealed_forged"
    assert judged(referee, body(ASK, recorded[1], output())).violations[0].code == "reasoning_missing"
    assert judged(referee, body(output(), previous_response_id="resp_1")).status == 200


@pytest.mark.parametrize("ids", [("", ""), ("k", "k")])
def test_a_call_is_known_by_its_own_id_where_its_call_id_is_given_anew(ids: tuple[str, str]) -> None:
    """A recorded call id may be empty or stand twice, and no request may send it so."""
    referee = OpenAIResponsesReferee(accept_foreign_signatures=True)
    items: list[Any] = [ASK]
    for number, id_ in enumerate(ids):
        thought = {
            "type": "reasoning",
            "id": f"rs_{number}",
            "summary": [],
            "encrypted_content": f"E{number}",
        }
        called = {"type": "function_call", "id": f"fc_{number}", "name": "look", "arguments": "{}"}
        assert judged(referee, body(*items)).violations == ()
        referee.answered([thought, {**called, "call_id": id_}])
        items += [thought, {**called, "call_id": f"c{number}"}, output(f"c{number}")]
    assert judged(referee, body(*items)).violations == ()
    without_first = body(ASK, *items[2:])
    assert [v.code for v in judged(referee, without_first).violations] == ["reasoning_missing"]


def test_reasoning_that_is_only_stored_is_looked_for_by_the_items_id() -> None:
    """A call that comes without its item id asks for none; with it, the id leads to the reasoning."""
    referee = OpenAIResponsesReferee(accept_foreign_signatures=True)
    called = {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "look", "arguments": "{}"}
    assert judged(referee, body(ASK)).violations == ()
    referee.answered([{"type": "reasoning", "id": "rs_1", "summary": []}, called])
    assert judged(referee, body(ASK, without(called, "id"), output("c"))).violations == ()
    codes = [v.code for v in judged(referee, body(ASK, called, output("c"))).violations]
    assert codes == ["reasoning_missing"]


def test_reasoning_that_can_not_come_back_is_not_asked_for() -> None:
    """Neither sealed nor stored, it may not be sent; what it led to stands without it."""
    thought = {"id": "rs_1", "type": "reasoning", "summary": [{"type": "summary_text", "text": "so"}]}
    called = {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"}
    referee = OpenAIResponsesReferee()
    assert judged(referee, body(ASK, store=False)).violations == ()
    referee.answered([thought, called], "resp_1")
    assert judged(referee, body(ASK, called, output(), store=False)).violations == ()
    assert [
        each.code for each in judged(referee, body(ASK, thought, called, output(), store=False)).violations
    ] == ["item_unknown"]


def test_a_compaction_item_stands_for_what_came_before() -> None:
    """With or without the history before it: the same prompt, small, and later reasoning holds."""
    script = [Answer(text="They asked for the harbour."), CALLING]
    referee = OpenAIResponsesReferee(script=script)
    history = [said("user", LONG), SAID]
    item = answered(referee, body(*history, {"type": "compaction_trigger"}))["output"]
    assert [each["type"] for each in item] == ["compaction"]
    made = answered(referee, body(*history, *item, ASK))["output"]
    rest = [*item, ASK, *made, output(made[-1]["call_id"])]
    whole, short = judged(referee, body(*history, *rest)), judged(referee, body(*rest))
    assert whole.violations == short.violations == ()
    assert whole.dropped == short.dropped == ()
    assert whole.input_tokens == short.input_tokens < 500


def test_a_context_over_its_threshold_is_compacted_first() -> None:
    """The item comes before the answer, which goes on after it."""
    referee = OpenAIResponsesReferee(script=[CALLING, CALLING])
    edits = [{"type": "compaction", "compact_threshold": 1_000}]
    small = answered(referee, body(context_management=edits))["output"]
    assert small[0]["type"] == "reasoning"
    made = answered(referee, body(said("user", LONG), context_management=edits))["output"]
    assert [item["type"] for item in made] == ["compaction", "reasoning", "message", "function_call"]
    verdict = judged(referee, body(*made, output(made[-1]["call_id"])))
    assert (verdict.violations, verdict.dropped) == ((), ())


def test_the_end_of_a_request_is_a_breakpoint_read_exactly() -> None:
    """An appended history reads all of the last request and writes the rest; an edit reads nothing."""
    referee = OpenAIResponsesReferee()
    opening = [said("developer", LONG), ASK]
    first = judged(referee, body(*opening))
    assert cached(first) == (0, first.input_tokens)
    second = judged(referee, body(*opening, SAID, ASK))
    assert cached(second) == (first.input_tokens, second.input_tokens - first.input_tokens)
    assert cached(judged(referee, body(said("developer", "x" + LONG), ASK)))[0] == 0
    assert cached(judged(referee, body(*opening, SAID, ASK, reasoning={"effort": "low"})))[0] == 0
    assert cached(judged(referee, body(*opening, SAID, ASK, prompt_cache_key="k")))[0] == 0


def test_explicit_breakpoints_are_the_only_ones_if_asked() -> None:
    """What comes after the mark is neither read nor written; the ttl decides the bucket."""
    referee = OpenAIResponsesReferee()

    def asked(question: str, **mark: str) -> dict[str, Any]:
        parts = [text(LONG, prompt_cache_breakpoint={"mode": "explicit", **mark}), text(question)]
        return body(said("user", parts), prompt_cache_options={"mode": "explicit"})

    first = judged(referee, asked("Where?", ttl="12h"))
    read, written = cached(first)
    assert read == 0
    assert first.input_tokens > written > 1024
    ttl = first.usage_body["input_tokens_details"]["cache_write_tokens_details"]
    assert ttl == {"ttl_30m_tokens": 0, "ttl_12h_tokens": written}
    assert cached(judged(referee, asked("When?"))) == (written, 0)
    unmarked = body(said("user", [text(LONG), text("When?")]), prompt_cache_options={"mode": "explicit"})
    assert cached(judged(referee, unmarked)) == (0, 0)


def test_truncation_makes_room_by_dropping_the_oldest_items() -> None:
    """Then nothing is refused for its size."""
    referee = OpenAIResponsesReferee(facts=ModelFacts(window=1_000, max_output=None))
    full = body(*[said("user", "word " * 300)] * 5)
    refused = judged(referee, full)
    assert refused.violations[0].code == "window"
    assert refused.error_body["error"]["code"] == "context_length_exceeded"
    kept = judged(referee, {**full, "truncation": "auto"})
    assert kept.status == 200
    assert 300 < kept.input_tokens <= 1_000


def test_a_count_is_the_prompt_and_knows_no_window() -> None:
    """The same tokens as the request; form is judged all the same."""
    referee = OpenAIResponsesReferee(facts=ModelFacts(window=100, max_output=None))
    status, counted = referee.count(msgspec.json.encode(body(said("user", LONG))))
    assert (status, counted["object"]) == (200, "response.input_tokens")
    assert counted["input_tokens"] == judged(referee, body(said("user", LONG))).input_tokens > 1_000
    assert referee.count(msgspec.json.encode(body(said("tool", "a"))))[0] == 400
    assert referee.count(b"[")[0] == 400
