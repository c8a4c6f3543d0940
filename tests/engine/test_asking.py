"""Ask over real HTTP: loops that record what came, cuts kept as partial, and prompts over the endpoint's window."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from foreword.codecs.parts import lettered_name, tool_name
from foreword.core.block import Message, Text, ToolCall, ToolSpec
from foreword.core.endpoint import Endpoint, endpoint
from foreword.core.event import Answered, Called, ForeignNoted, Rewritten
from foreword.engine.asking import Asked, ask, ask_now
from foreword.engine.session import Session
from foreword.engine.transport import Retries, Timeouts, Transport
from foreword.errors import (
    ConnectionFailed,
    ContextOverflow,
    InvalidArgument,
    InvalidCall,
    OverBudget,
    Overloaded,
    Rejected,
)
from foreword.store import Store
from foreword.testing.anthropic_referee import AnthropicReferee
from foreword.testing.facts import CLAUDE
from foreword.testing.script import Answer, Call, Failure, Scripted, Stream
from foreword.testing.server import RefereeServer
from tests.engine.faulty_server import FaultyServer, hangs, says
from tests.engine.sending import BEGUN
from tests.histories import target_of

KEYS = {"ANTHROPIC_API_KEY": "k"}
OVER = {"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long"}}


def transport() -> Transport:
    """Return one that hurries."""
    return Transport(environ=KEYS, retries=Retries(first=0.001), timeouts=Timeouts(idle=5, first_byte=5))


def at(url: str) -> Endpoint:
    """Return the Anthropic endpoint at a server of the test."""
    return endpoint("anthropic", base_url=url)


def referee(*script: Scripted, window: int = 1_000_000) -> RefereeServer:
    """Serve a script in a window of so many tokens."""
    facts = msgspec.structs.replace(CLAUDE, window=window)
    return RefereeServer(anthropic=AnthropicReferee(facts=facts, script=script))


def asked(session: Session, url: str) -> Asked:
    """Ask once."""
    return ask_now(session, at(url), transport=transport)


def opened(store: Store | None = None, **target: Any) -> Session:
    """Open a session in which a person asked something."""
    session = Session.open(store, "s", target=target_of("anthropic", **target))
    if session.unanswered is None and len(session.events) == 1:
        session.say("Mend the pipe.")
    return session


def bodies(session: Session, kind: type) -> list[Any]:
    """Return what was recorded of a kind."""
    return [event.body for event in session.events if isinstance(event.body, kind)]


def test_an_agent_loop_runs_on_ask_alone(tmp_path: Path) -> None:
    """Compile, send, record, run the tool, ask again; another process finds the same log."""
    script = (
        Answer(text="I look.", calls=(Call(name="look", input={"at": "pipe"}),)),
        Answer(text="Mended."),
    )
    with Store.open(tmp_path / "store") as store, referee(*script) as running:
        session = opened(store)
        first = asked(session, running.base_url)
        assert first.sent.response is not None
        (call,) = [block for block in first.sent.response.message.blocks if isinstance(block, ToolCall)]
        session.returned(call.id, "it drips")
        second = asked(session, running.base_url)
        assert second.seq == len(session.events) - 1
        answers = bodies(session, Answered)
        again = bodies(opened(store), Answered)
    assert [answer.partial for answer in answers] == [False, False]
    assert all(answer.request is not None and answer.usage.total_input for answer in answers)
    assert answers == again


def test_a_cut_answer_is_recorded_as_partial_and_the_talk_goes_on() -> None:
    """The text so far stands in the log and in the next request, which the referee accepts."""
    cut = Answer(text="The pipe is " * 40, stream=Stream(fault="cut", after=10))
    with referee(cut, Answer(text="Done.")) as running:
        session = opened()
        first = asked(session, running.base_url)
        assert (first.sent.state, first.seq) == ("incomplete", len(session.events) - 1)
        session.say("Go on.")
        assert asked(session, running.base_url).sent.state == "complete"
    partial, whole = bodies(session, Answered)
    assert (partial.partial, whole.partial) == (True, False)
    assert partial.message.blocks[0].text.startswith("The pipe is The")


def test_a_call_that_was_cut_is_no_call() -> None:
    """Its beginning is kept as a note; neither the log nor the next request holds a call to answer."""
    cut = Answer(
        text="I look.",
        calls=(Call(name="look", input={"at": "x" * 900}),),
        stream=Stream(fault="cut", after=20),
    )
    with referee(cut, Answer(text="Sorry.")) as running:
        session = opened()
        asked(session, running.base_url)
        session.say("Well?")
        asked(session, running.base_url)
    partial = bodies(session, Answered)[0]
    assert [type(block) for block in partial.message.blocks] == [Text]
    (note,) = bodies(session, ForeignNoted)
    assert (note.code, note.where) == ("cut_call", "look")
    assert note.raw.startswith('{"at":"xx')


def test_an_answer_of_nothing_but_a_cut_call_is_a_failure() -> None:
    """What came of the call is kept as a note; there is no answer to record."""
    cut = Answer(calls=(Call(name="look", input={"at": "x" * 900}),), stream=Stream(fault="cut", after=6))
    with referee(cut) as running:
        session = opened()
        with pytest.raises(ConnectionFailed):
            asked(session, running.base_url)
    assert bodies(session, Answered) == []
    assert [note.code for note in bodies(session, ForeignNoted)] == ["cut_call"]


@pytest.mark.parametrize("given, spelled", [("look.up", tool_name), ("3d", lettered_name)])
def test_calls_are_recorded_by_the_names_that_were_offered(given: str, spelled: Any) -> None:
    """Where a wire takes no such name, the answer's is turned back, in a cut answer too."""
    name = spelled(given)
    assert name != given
    called = (Call(name=name, input={}), Call(name=name, input={"at": "x" * 900}))
    with referee(Answer(text="I look.", calls=called, stream=Stream(fault="cut", after=15))) as running:
        session = opened()
        session.offer([ToolSpec(name=given, description="Look.", schema={"type": "object"})])
        asked(session, running.base_url)
    (answer,) = bodies(session, Answered)
    calls = [block for block in answer.message.blocks if isinstance(block, ToolCall)]
    assert [call.name for call in calls] == [given]
    assert answer.partial


def test_an_overflow_told_in_the_stream_is_mended_too() -> None:
    """Some endpoints begin with status 200 and then say that the prompt is too long."""
    error = {"type": "invalid_request_error", "message": "prompt is too long: 9000 tokens > 8000 maximum"}
    event = b"event: error\ndata: " + msgspec.json.encode({"type": "error", "error": error}) + b"\n\n"
    with FaultyServer([says(200, event), says(200, BEGUN)]) as running:
        session = opened(reserve_output=1_000)
        filled(session, 20)
        assert asked(session, running.url).recovered
    assert session.target is not None
    assert session.target.window == 8_000


def test_a_failure_before_an_answer_records_none() -> None:
    """An overloaded endpoint raises; the request stands, and asking again sends the same bytes."""
    with referee(*[Failure(status=529)] * 4, Answer(text="Now.")) as running:
        session = opened()
        with pytest.raises(Overloaded):
            asked(session, running.base_url)
        assert bodies(session, Answered) == []
        assert asked(session, running.base_url).seq is not None
    assert bodies(session, Answered)[0].message.blocks == (Text(text="Now."),)
    first, *again = session.view.fold.sent
    assert first.body.added
    assert [sent.body.added for sent in again] in ([], [()])


def filled(session: Session, steps: int) -> None:
    """Record steps whose results fill the context."""
    for number in range(steps):
        call = ToolCall(id=f"c{number}", name="bash", arguments="{}")
        session.answered(Message(role="assistant", blocks=(Text(text=f"step {number}"), call)))
        session.returned(f"c{number}", f"line of pipe {number}: pressure rising\n" * 60)


def test_a_prompt_over_the_endpoint_s_window_is_mended_once() -> None:
    """The limit is read from the refusal and recorded, the request made smaller, and the answer calibrates."""
    with referee(Answer(text="Fits."), Answer(text="Still."), window=9_000) as running:
        session = opened(window=200_000, reserve_output=1_000)
        filled(session, 30)
        before = session.compile().predicted
        found = asked(session, running.base_url)
        assert found.recovered
        assert found.sent.state == "complete"
        session.say("And now?")
        assert not asked(session, running.base_url).recovered
    (note,) = bodies(session, ForeignNoted)
    told = msgspec.json.decode(note.raw)
    assert (note.code, told["limit"]) == ("overflow", 9_000)
    assert told["tokens"] > 9_000
    assert told["predicted"] == before
    assert session.target is not None
    assert session.target.window == 9_000
    assert bodies(session, Rewritten)


def test_an_overflow_that_tells_no_sizes_is_mended_too() -> None:
    """Then the request is brought well under what it was."""
    with FaultyServer([says(400, OVER), says(200, BEGUN)]) as running:
        session = opened(reserve_output=1_000)
        filled(session, 30)
        found = asked(session, running.url)
        first, second = (len(heard.body) for heard in running.heard)
    assert found.recovered
    assert second < 0.8 * first
    assert session.target is not None
    assert session.target.window == 200_000


def test_a_second_overflow_is_raised() -> None:
    """There is one recovery, not a loop."""
    with FaultyServer([says(400, OVER)]) as running:
        session = opened(reserve_output=1_000)
        filled(session, 30)
        with pytest.raises(ContextOverflow):
            asked(session, running.url)
        assert len(running.heard) == 2


def test_what_can_t_be_made_smaller_says_so() -> None:
    """A window smaller than what must be sent lists what is required."""
    with referee(Answer(text="no"), window=1_000) as running:
        session = opened(reserve_output=100)
        session.say("long words of a person " * 400)
        with pytest.raises(OverBudget) as raised:
            asked(session, running.base_url)
    assert isinstance(raised.value.__cause__, ContextOverflow)


def test_a_cancelled_answer_is_recorded() -> None:
    """A person who stops the model finds what it had said."""

    async def stopped(session: Session, url: str) -> None:
        seen = asyncio.Event()
        async with transport() as opened_:
            task = asyncio.create_task(
                ask(session, at(url), opened_, on_delta=lambda delta: seen.set() if delta.text else None)
            )
            await asyncio.wait_for(seen.wait(), 10)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    with FaultyServer([hangs(BEGUN)]) as running:
        session = opened()
        asyncio.run(stopped(session, running.url))
        assert running.hung_up.wait(5)
    (answer,) = bodies(session, Answered)
    assert (answer.partial, answer.message.blocks) == (True, (Text(text="Half a"),))


def test_a_silent_overflow_is_told() -> None:
    """An endpoint that took more than the window says so only in its usage."""
    usage = {"input_tokens": 200_001, "output_tokens": 1}
    answer = {"id": "m", "type": "message", "role": "assistant", "model": "c", "stop_reason": "end_turn",
              "content": [{"type": "text", "text": "Hm."}]}  # fmt: skip
    plays = [
        says(200, {**answer, "usage": {**usage, "input_tokens": 9}}),
        says(200, {**answer, "usage": usage}),
    ]
    with FaultyServer(plays) as running:
        session = opened()
        assert not asked(session, running.url).overflowed
        session.say("More.")
        assert asked(session, running.url).overflowed


def test_a_fall_of_the_cache_is_told_of_our_own_calls(caplog: pytest.LogCaptureFixture) -> None:
    """The second request finds nothing in the cache, where the first had put its whole prompt."""
    session = opened()
    session.say("pipe " * 20_000)
    with referee(Answer(text="Mended.")) as first, referee(Answer(text="Mended.")) as second:
        asked(session, first.base_url)
        session.say("And the next one.")
        with caplog.at_level(logging.WARNING, "foreword.cache"):
            asked(session, second.base_url)
    assert ["0 tokens read from the cache" in record.getMessage() for record in caplog.records] == [True]


def test_a_failure_is_recorded_off_the_event_loop() -> None:
    """Writing waits for the disk, and for other writers for seconds; the loop goes on meanwhile."""
    threads: set[int] = set()

    def clock() -> int:
        threads.add(threading.get_ident())
        return 0

    with referee(Failure(status=400)) as running:
        session = Session.open(None, "s", target=target_of("anthropic"), clock=clock)
        session.say("Mend the pipe.")
        threads.clear()
        with pytest.raises(Rejected):
            asked(session, running.base_url)
    assert [body.why for body in bodies(session, Called)] == ["Rejected"]
    assert threading.get_ident() not in threads


def test_cancelled_while_the_answer_is_recorded() -> None:
    """The answer stands once, and nothing else tells of its call; the session is free when the error comes."""
    begun, slow = threading.Event(), threading.Event()

    def clock() -> int:
        if slow.is_set():
            begun.set()
            time.sleep(0.3)
        return 0

    async def leave(session: Session, url: str) -> None:
        async with transport() as opened_:
            task = asyncio.create_task(ask(session, at(url), opened_, on_delta=lambda _: slow.set()))
            await asyncio.to_thread(begun.wait, 10)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    with referee(Answer(text="Mended.")) as running:
        session = Session.open(None, "s", target=target_of("anthropic"), clock=clock)
        session.say("Mend the pipe.")
        asyncio.run(leave(session, running.base_url))
        slow.clear()
    assert [event.kind for event in session.events[-2:]] == ["request_sent", "answered"]


def test_a_running_loop_is_told_what_to_await() -> None:
    """Nothing is compiled, and no coroutine is left behind."""
    made = Session.open(None, "s", target=target_of("anthropic"))
    made.say("hi")

    async def inside() -> None:
        ask_now(made, at("http://127.0.0.1:9"))

    size = len(made.events)
    with pytest.raises(InvalidCall, match=r"an event loop runs .*await ask\(\.\.\.\)"):
        asyncio.run(inside())
    assert len(made.events) == size


def test_a_name_is_no_endpoint() -> None:
    """The refusal says what makes one."""
    made = Session.open(None, "s", target=target_of("anthropic"))
    name: Any = "anthropic"
    with pytest.raises(InvalidArgument, match="endpoint is 'anthropic'; give what foreword"):
        ask_now(made, name)


def test_a_script_that_ran_out_says_so() -> None:
    """It is a fault of the test, so nothing says that the provider is busy or asks to wait."""
    with RefereeServer(anthropic=AnthropicReferee(script=[])) as server:
        made = Session.open(None, "s", target=target_of("anthropic"))
        made.say("hi")
        with pytest.raises(Rejected, match="the script has 0 answers") as caught:
            ask_now(made, at(server.base_url), transport=transport)
    assert caught.value.attempts == 1
