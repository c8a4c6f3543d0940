"""An answer in JSON is refused where no message says the word: a note says it, as long as nothing else does."""

from __future__ import annotations

from typing import Any

import pytest

from foreword.compiler.compile import Compiled
from foreword.engine.session import Session
from foreword.errors import EmptyRequest
from tests.engine.sessions import answer, call, session, step
from tests.histories import from_scratch, referee_for, target_of

JSON: dict[str, dict[str, Any]] = {
    "openai-chat": {"response_format": {"type": "json_object"}},
    "deepseek": {"response_format": {"type": "json_object"}},
    "openai-responses": {"text": {"format": {"type": "json_object"}}},
}
NOTE = b"The answer is wanted as one JSON object."


def judged(made: Session) -> Compiled:
    """Compile the next request, which the referee takes, and which is the same from the log alone."""
    sent = made.compile()
    assert made.target is not None
    assert referee_for(made.target).judge(sent.body).violations == ()
    assert from_scratch(made, sent).body == sent.body
    return sent


@pytest.mark.parametrize("wire", JSON)
def test_a_request_without_the_word_says_it(wire: str) -> None:
    """Once, before all that is said; later requests only grow."""
    made = session(target_of(wire, keys=JSON[wire]))
    made.say("go")
    first = judged(made)
    assert first.body.count(NOTE) == 1
    answer(made, call("c", "write_json", '{"to":"json"}'))
    made.returned("c", "json")
    assert judged(made).body.count(NOTE) == 1


@pytest.mark.parametrize("wire", JSON)
def test_where_the_word_is_said_nothing_is_added(wire: str) -> None:
    """By a person; by the instructions only where these are a message."""
    made = session(target_of(wire, keys=JSON[wire]))
    made.say("Give me Json.")
    assert NOTE not in judged(made).body
    told = session(target_of(wire, keys=JSON[wire]))
    told.instruct("Answer in JSON.")
    told.say("go")
    assert (NOTE in judged(told).body) == (wire == "openai-responses")


@pytest.mark.parametrize("keys", [{}, {"response_format": {"type": "text"}}])
def test_nobody_asks_for_it_unasked(keys: dict[str, Any]) -> None:
    """Neither does an answer by a schema need the word."""
    made = session(target_of("openai-chat", keys=keys))
    made.say("go")
    assert NOTE not in judged(made).body


@pytest.mark.parametrize("wire", JSON)
def test_a_rewrite_that_takes_the_word_away_brings_the_note(wire: str) -> None:
    """What held it was summarised: the new base is looked at afresh."""
    made = session(target_of(wire, 6_000, keys=JSON[wire], reader="none"))
    made.say("go", person=False)
    made.say("json", person=False)
    for number in range(40):
        step(made, number, "\n".join(f"{n} words of output" for n in range(20)))
        judged(made)
    sent = judged(made)
    assert b'"json"' not in sent.body.replace(b"json_object", b"")
    assert NOTE in sent.body


@pytest.mark.parametrize("wire", JSON)
def test_a_note_alone_is_no_request(wire: str) -> None:
    """Nothing was said."""
    made = session(target_of(wire, keys=JSON[wire]))
    made.instruct("You help.")
    with pytest.raises(EmptyRequest):
        made.compile()
