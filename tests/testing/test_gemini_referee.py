"""The Gemini referee: answers, signatures, usage and its implicit cache."""

from typing import Any

import msgspec
import pytest

from foreword.testing.facts import GEMINI
from foreword.testing.gemini_referee import GeminiReferee
from foreword.testing.script import Answer, Call, Failure
from tests.testing.gemini_pairs import (
    ASK,
    SAID,
    TOOLS,
    body,
    call,
    generating,
    model,
    response,
    unsigned,
    user,
)

LONG = {"text": "The harbour lies in the north of the town. " * 600}
CALLING = Answer(thinking="Hm. " * 40, text="Look.", calls=(Call(name="look", input={"at": "sea"}),))


def judged(referee: GeminiReferee, request: dict[str, Any]) -> Any:
    """Judge a request given as values."""
    return referee.judge(msgspec.json.encode(request))


def answered(referee: GeminiReferee, request: dict[str, Any]) -> dict[str, Any]:
    """What the referee answers to a legal request."""
    status, answer = referee.respond(msgspec.json.encode(request))
    assert status == 200, answer
    return answer


def test_a_scripted_answer_has_the_full_form_of_the_wire() -> None:
    """Parts of a model, a signature on the first call, usage that sums; thoughts only if asked for."""
    script = [CALLING, CALLING]
    referee = GeminiReferee(script=script)
    answer = answered(referee, body(tools=TOOLS))
    content = answer["candidates"][0]["content"]
    assert content["role"] == "model"
    text, called = content["parts"]
    assert text == {"text": "Look."}
    assert called["functionCall"]["args"] == {"at": "sea"}
    assert called["thoughtSignature"]
    usage = answer["usageMetadata"]
    written = usage["candidatesTokenCount"] + usage["thoughtsTokenCount"]
    assert usage["totalTokenCount"] == usage["promptTokenCount"] + written
    assert usage["thoughtsTokenCount"] > 20
    shown = answered(referee, generating(thinkingConfig={"includeThoughts": True}))
    assert shown["candidates"][0]["content"]["parts"][0] == {"text": CALLING.thinking, "thought": True}


def test_a_model_before_gemini_3_neither_signs_nor_asks_for_signatures() -> None:
    """Its facts say so."""
    facts = msgspec.structs.replace(GEMINI, signs_calls=False)
    referee = GeminiReferee(facts=facts, script=[CALLING])
    parts = answered(referee, body())["candidates"][0]["content"]["parts"]
    assert all("thoughtSignature" not in part for part in parts)
    assert judged(referee, body(ASK, model(unsigned()), user(response()))).violations == ()


def test_the_signature_of_a_text_may_come_back_on_it_or_on_the_empty_end_of_a_stream() -> None:
    """It is on the last part; the text under it must be what was said."""
    referee = GeminiReferee(script=[Answer(text="In the north.")])
    (part,) = answered(referee, body())["candidates"][0]["content"]["parts"]
    signature = part["thoughtSignature"]
    step = [model(call()), user(response())]

    def back(*parts: dict[str, Any]) -> Any:
        picture = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
        return judged(referee, body(ASK, model(*parts), user(picture), *step))

    assert back(part).violations == ()
    assert (
        back({"text": "In the "}, {"text": "north."}, {"text": "", "thoughtSignature": signature}).status
        == 200
    )
    assert (
        back({"text": "In the south.", "thoughtSignature": signature}).violations[0].code == "signature_moved"
    )
    # A later question begins another turn: what is before it is not validated.
    assert judged(referee, body(ASK, model({"text": "x", "thoughtSignature": "AAAA"}), ASK)).violations == ()


def test_recorded_answers_sign_like_own_ones() -> None:
    """Noted before: the signature passes where it was, in either alphabet, and nowhere else."""
    signed = {"functionCall": {"name": "look", "args": {"a": 1, "b": 2}}, "thoughtSignature": "ab+/cd=="}
    referee = GeminiReferee()
    referee.answered(model(signed))
    again = {
        "functionCall": {"id": "x", "name": "look", "args": {"b": 2, "a": 1}},
        "thoughtSignature": "ab-_cd==",
    }
    assert judged(referee, body(ASK, model(again), user(response()))).violations == ()
    other = {"functionCall": {"name": "listen", "args": {}}, "thoughtSignature": "ab+/cd=="}
    moved = judged(referee, body(ASK, model(other), user(response("listen"))))
    assert moved.violations[0].code == "signature_moved"
    referee.answered(model(other))
    assert judged(referee, body(ASK, model(again), user(response()))).violations == ()


@pytest.mark.parametrize(
    "status, name", [(429, "RESOURCE_EXHAUSTED"), (500, "INTERNAL"), (503, "UNAVAILABLE"), (404, "NOT_FOUND")]
)
def test_a_scripted_failure_has_the_name_of_its_status(status: int, name: str) -> None:
    """The code, the text and the name that clients match."""
    referee = GeminiReferee(script=[Failure(status=status, text="no")])
    reply = referee.reply(b"{}")
    assert reply.status == status
    assert reply.body == {"error": {"code": status, "message": "no", "status": name}}


def test_the_implicit_cache_reads_known_prefixes_from_4096_tokens() -> None:
    """The longest known prefix of parts; a change of instructions or tools is a miss."""
    referee = GeminiReferee()
    first = judged(referee, body(user(LONG)))
    assert "cachedContentTokenCount" not in first.usage_body
    second = judged(referee, body(user(LONG), SAID, ASK))
    assert second.usage_body["cachedContentTokenCount"] == first.input_tokens > 4_096
    short = [judged(referee, body(ASK)), judged(referee, body(ASK, SAID, ASK))]
    assert all("cachedContentTokenCount" not in verdict.usage_body for verdict in short)
    changed = judged(referee, body(user(LONG), SAID, ASK, tools=TOOLS))
    assert "cachedContentTokenCount" not in changed.usage_body


def test_a_count_takes_both_forms_and_knows_no_window() -> None:
    """Contents alone, or a whole request with its instructions and tools."""
    facts = msgspec.structs.replace(GEMINI, window=100)
    referee = GeminiReferee(facts=facts)
    request = body(user(LONG), tools=TOOLS)
    verdict = judged(referee, request)
    assert verdict.error_body["error"]["message"] == (
        f"The input token count ({verdict.input_tokens}) exceeds the maximum number of tokens allowed (100)."
    )
    counted = referee.count(msgspec.json.encode({"generateContentRequest": {"model": "models/m", **request}}))
    assert counted == (200, {"totalTokens": verdict.input_tokens})
    fewer = referee.count(msgspec.json.encode(body(user(LONG))))[1]["totalTokens"]
    assert 4_096 < fewer < verdict.input_tokens
    assert referee.count(msgspec.json.encode({"contents": []}))[0] == 400
    assert referee.count(b"{")[0] == 400


def test_names_in_snake_case_are_the_same_request() -> None:
    """The server takes both, also inside parts and tools."""
    referee = GeminiReferee()
    camel = body(
        ASK,
        model(call()),
        user(response()),
        systemInstruction={"parts": [{"text": "Be brief."}]},
        tools=TOOLS,
        generationConfig={"thinkingConfig": {"thinkingLevel": "LOW"}},
    )
    snake = {
        "contents": [
            ASK,
            model(
                {
                    "function_call": {"name": "look", "args": {}},
                    "thought_signature": "skip_thought_signature_validator",
                }
            ),
            user({"function_response": {"name": "look", "response": {"output": "seen"}}}),
        ],
        "system_instruction": {"parts": [{"text": "Be brief."}]},
        "tools": [
            {
                "function_declarations": [
                    {"name": "look", "description": "Look.", "parameters_json_schema": {"type": "object"}}
                ]
            }
        ],
        "generation_config": {"thinking_config": {"thinking_level": "LOW"}},
    }
    one, other = judged(referee, camel), judged(referee, snake)
    assert one.violations == other.violations == ()
    assert one.input_tokens == other.input_tokens
