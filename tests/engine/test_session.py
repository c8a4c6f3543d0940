"""A session: two writers on one log, forks, and requests that are refused before they are sent."""

from __future__ import annotations

import random
import weakref
from pathlib import Path

import msgspec
import pytest

from foreword.core.block import Message, Text, Thinking, ToolSpec
from foreword.core.event import Answered, Called, Draft, Event, RequestSent, Said, ToolsSet
from foreword.core.ledger import rows
from foreword.core.prices import Prices
from foreword.core.usage import Usage
from foreword.engine.calls import note_failed
from foreword.engine.session import Session
from foreword.errors import CompileError, ConnectionFailed, InvalidArgument, OverBudget, UnknownEvent
from foreword.store import Store
from foreword.testing.script import Answer, Call
from tests.engine.sessions import answer, answer_message, call, judged, plain, reopened, session, step
from tests.histories import BOUND, Script, examples, referee_for, target_of

WIRES = ("anthropic", "openai-chat")


@pytest.mark.parametrize("wire", WIRES)
def test_two_writers_lose_no_fact(wire: str, tmp_path: Path) -> None:
    """Facts of two objects that write one log in turns all survive; the chain verifies; requests stay legal."""
    with Store.open(tmp_path) as store:
        one = session(target_of(wire), store)
        one.say("fact 0 of one")
        other = session(target_of(wire), store)
        for number in range(1, 6):
            one.compile()
            other.say(f"fact {number} of other")
            answer(one, f"fact {number} of one", call(f"one_{number}"))
            other.compile()
            one.returned(f"one_{number}", f"result {number} of one")
            answer(other, f"answer {number} of other", call(f"other_{number}"))
            other.returned(f"other_{number}", f"result {number} of other")
            assert judged(one).violations == ()
            assert judged(other).violations == ()
        body = reopened(store, one).compile().body.decode()
        for number in range(1, 6):
            for fact in ("fact {} of other", "fact {} of one", "result {} of one", "answer {} of other"):
                assert fact.format(number) in body
        assert store.verify() == []


def test_a_lost_race_reads_only_what_the_winner_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long the log, one who was not first reads the new events alone, and so gets its turn."""
    with Store.open(tmp_path) as store:
        one = session(store=store)
        for number in range(30):
            one.say(f"early {number}")
        other = session(store=store)
        load, read = store.load, list[int]()

        def counted(name: str, *, since: int = 0) -> list[Event]:
            events = load(name, since=since)
            read.append(len(events))
            return events

        monkeypatch.setattr(store, "load", counted)
        one.compile()
        for number in range(3):
            other.say(f"late {number}")
            one.say(f"mine {number}")
        assert 0 < max(read) <= 3
        assert one.events == load(one.id)


def test_the_same_tools_in_another_order_change_nothing() -> None:
    """Tools keep the order in which they were first given; new ones come last."""
    made = session()
    yank, bolt, mint = (ToolSpec(name=name, description=name) for name in ("yank", "bolt", "mint"))
    made.offer([yank, bolt])
    made.say("hello")
    before = made.compile()
    made.offer([bolt, yank])
    assert made.compile() is before
    made.offer([mint, bolt, yank])
    assert made.view.fold.tools[1] == (yank, bolt, mint)


def test_a_change_of_the_tools_is_recorded_with_its_cause(tmp_path: Path) -> None:
    """What the caller says, or which tools differ; the first offer is no change, and the log keeps it."""
    yank, bolt, mint = (ToolSpec(name=name, description=name) for name in ("yank", "bolt", "mint"))
    with Store.open(tmp_path) as store:
        made = session(store=store)
        made.offer([yank, bolt])
        made.offer([bolt, msgspec.structs.replace(yank, description="pull"), mint])
        made.offer([mint], cause="the workshop closed")
        made.offer([])
        kept = reopened(store, made).events
    causes = [event.body.cause for event in kept if isinstance(event.body, ToolsSet)]
    assert causes == ["", "added mint; changed yank", "the workshop closed", "removed mint"]


def test_a_failed_call_never_names_another_writers_event(tmp_path: Path) -> None:
    """After a lost race its end names the request as it was put behind the other's fact; a written one it keeps."""
    with Store.open(tmp_path) as store:
        one = session(store=store)
        one.say("hello")
        other = session(store=store)
        one.compile()
        other.say("something else")
        note_failed(one, ConnectionFailed("nobody"))
        called = one.events[-1].body
        assert isinstance(called, Called)
        assert isinstance(one.events[called.request or 0].body, RequestSent)
        one.compile()
        one.flush()
        written = one.events[-1].seq
        other.refresh()
        other.say("once more")
        other.compile()
        other.flush()
        note_failed(one, ConnectionFailed("nobody"))
        called = one.events[-1].body
        assert isinstance(called, Called)
        assert called.request == written


def test_a_session_can_be_referred_to_weakly(tmp_path: Path) -> None:
    """A cache of sessions keeps none alive; a session that goes on as its fork stays the same object."""
    with Store.open(tmp_path) as store:
        made = session(store=store)
        made.say("hello")
        held = weakref.ref(made)
        made.become(made.fork(made.events[-1].seq))
        assert held() is made


def test_an_answer_never_names_another_writers_event(tmp_path: Path) -> None:
    """After a lost race the request an answer belongs to is one of this log's requests, or none."""
    with Store.open(tmp_path) as store:
        one = session(store=store)
        one.say("hello")
        other = session(store=store)
        one.compile()
        other.say("something else")
        seq = one.answered(answer_message("hi"), usage=Usage(uncached=10, output=1))
        body = one.events[seq].body
        assert isinstance(body, Answered)
        assert body.request is None or isinstance(one.events[body.request].body, RequestSent)


@pytest.mark.parametrize("action", ["fork", "erase", "flush", "sync"])
def test_a_lost_request_stops_nothing(action: str, tmp_path: Path) -> None:
    """A request that another writer overtook is dropped; what was asked for happens all the same."""
    with Store.open(tmp_path) as store:
        one = session(store=store)
        first = one.say("hello")
        other = session(store=store)
        one.compile()
        other.say("overtaken")
        match action:
            case "fork":
                assert one.fork(first).events[first].body == one.events[first].body
            case "erase":
                assert one.erase([first], "asked") == (first,)
            case "flush":
                one.flush()
            case _:
                one.sync([{"role": "user", "content": "hello"}, {"role": "user", "content": "overtaken"}])
        assert b"overtaken" in reopened(store, one).compile().body or action == "fork"
        assert store.verify() == []


def test_bound_thinking_of_two_writers_stays_legal(tmp_path: Path) -> None:
    """Two writers that both asked: reasoning is sent only where the prefix it is bound to still stands."""
    with Store.open(tmp_path) as store:
        target = target_of("anthropic", model=BOUND)
        script = Script()
        script.answer = Answer(thinking="hm", text="said")
        referee = referee_for(target, script)
        one, other = session(target, store), None
        one.say("hello")
        other = session(target, store)
        for made in (one, other):
            status, body = referee.respond(made.compile().body)
            assert status == 200
            made.record(body)
        one.say("and now?")
        assert referee.judge(one.compile().body).violations == ()


def test_a_fork_shares_the_past_and_nothing_else(tmp_path: Path) -> None:
    """A fork holds the parent's events up to its point, both go on alone, and both verify."""
    with Store.open(tmp_path) as store:
        parent = session(store=store)
        parent.say("shared")
        parent.compile()
        at = answer(parent, "also shared")
        parent.say("only the parent's")
        child = parent.fork(at)
        child.say("only the child's")
        assert child.id != parent.id
        assert child.alias != parent.alias
        assert list(child.events[: at + 1]) == list(parent.events[: at + 1])
        assert b"only the parent's" not in child.compile().body
        assert b"only the child's" not in parent.compile().body
        assert judged(child).violations == judged(parent).violations == ()
        grown = plain(child.compile().body)["messages"]
        assert [message["role"] for message in grown] == ["user", "assistant", "user"]
        with pytest.raises(UnknownEvent):
            parent.fork(10_000)
        assert store.verify() == []


def test_nothing_said_is_refused() -> None:
    """A session in which nothing can be sent yet gives no request, and says so."""
    made = session()
    made.instruct("Be brief.")
    with pytest.raises(CompileError):
        made.compile()
    made.say("  ")
    with pytest.raises(CompileError):
        made.compile()
    made.say("now")
    assert judged(made).violations == ()


def test_over_budget_names_what_would_do() -> None:
    """A person's words that can't fit are refused with a window that would do, and no rewrite is appended."""
    text = "many words of a person " * 2_000
    made = session(target_of("anthropic", 6_000))
    made.say(text)
    with pytest.raises(OverBudget) as refused:
        made.compile()
    assert not [event for event in made.events if event.kind == "rewritten"]
    assert any("person" in name for name, _, _ in refused.value.required)
    larger = session(
        target_of("anthropic", refused.value.smallest_window, reserve_output=refused.value.reserve_output)
    )
    larger.say(text)
    larger.compile()
    smaller = session(target_of("anthropic", refused.value.smallest_window // 2, reserve_output=100))
    smaller.say(text)
    with pytest.raises(OverBudget):
        smaller.compile()


def test_other_keys_after_opening_again_start_an_epoch(tmp_path: Path) -> None:
    """A session opened with other request keys sends them, and says why its prefix changed."""
    with Store.open(tmp_path) as store:
        made = session(store=store)
        made.say("hello")
        made.compile()
        made.flush()
        keyed = session(target_of("anthropic", keys={"thinking": {"type": "adaptive"}}), store)
        assert b'"adaptive"' in keyed.compile().body
        assert [event.kind for event in keyed.events].count("epoch_started") == 2


def test_the_first_word_is_a_users() -> None:
    """Revoked, empty or erased openings leave no request that begins with the model's words."""
    for opening in ("revoked", "empty", "erased", "none"):
        made = session()
        if opening != "none":
            first = made.say("" if opening == "empty" else "opening")
        answer(made, "the model's words")
        made.say("go on")
        if opening == "revoked":
            made.revoke(first, "no longer")
        if opening == "erased":
            made.erase([first], "asked")
        assert judged(made).violations == (), opening


def test_the_last_word_is_a_users() -> None:
    """Nothing sendable after the model's words: the request still ends with a user's."""
    made = session()
    made.say("hi")
    answer(made, "hello ")
    made.say("")
    assert judged(made).violations == ()


def test_a_late_result_is_told_also_for_a_repeated_id() -> None:
    """A result that comes after its call was answered as unknown is told, whatever its id was before."""
    made = session()
    made.say("go")
    answer(made, call("x"))
    made.returned("x", "first")
    answer(made, call("x"))
    made.say("and?")
    assert b"outcome unknown" in made.compile().body
    made.returned("x", "LATE WORDS")
    assert b"LATE WORDS" in made.compile().body
    assert judged(made).violations == ()


@pytest.mark.parametrize("wire", WIRES)
def test_system_words_in_mid_conversation_are_legal(wire: str) -> None:
    """A system message may come anywhere; the request holds its words where the wire takes them."""

    def system(text: str) -> Draft:
        return Draft(body=Said(message=Message(role="system", blocks=(Text(text=text),)), person=False))

    made = session(target_of(wire))
    made.say("a")
    made.append(system("rule one"))
    made.say("b")
    assert judged(made).violations == ()
    answer(made, "ok")
    made.append(system("rule two"))
    assert judged(made).violations == ()
    made.append(system("rule three"))
    answer(made, "fine", call("c1"))
    made.append(system("rule four"))
    made.returned("c1", "done")
    body = made.compile().body
    assert all(f"rule {n}".encode() in body for n in ("one", "two", "three", "four"))
    assert judged(made).violations == ()


def test_two_answers_in_a_row_are_legal() -> None:
    """Imported records hold answers one after the other; unsigned reasoning between them is left out."""
    for wire in WIRES:
        made = session(target_of(wire))
        made.say("a")
        answer(made, "one")
        answer(made, Thinking(text="t"), "two", call("c"))
        made.returned("c", "r")
        answer(made, Thinking(text="only thoughts"))
        step(made, 7, "out")
        made.say("x")
        assert judged(made).violations == ()


@pytest.mark.parametrize("name", ["anthropic", "openai-chat", "thinking", "bound thinking"])
@pytest.mark.parametrize("seed", range(examples(4, 300)))
def test_writers_in_any_order_lose_no_fact(name: str, seed: int, tmp_path: Path) -> None:
    """Three objects on one log, in any order: every fact is there at the end, and every request was legal."""
    rng = random.Random(f"{name} {seed}")
    model = BOUND if name == "bound thinking" else None
    target = target_of(name if name == "openai-chat" else "anthropic", model=model)
    script = Script()
    referee = referee_for(target, script)
    facts: list[str] = []
    with Store.open(tmp_path) as store:
        writers = [session(target, store) for _ in range(3)]
        for number in range(40):
            made = rng.choice(writers)
            fact = f"fact {number} of {seed}."
            action = rng.choice(("say", "ask", "ask", "answer", "result", "pin", "late answer"))
            if action == "say" or not facts:
                made.say(fact)
                facts.append(fact)
            elif action == "pin":
                made.pin(fact)
                facts.append(fact)
            elif action == "result":
                waiting = [c.id for item in made.view.fold.open for c in item.calls]
                if waiting:
                    made.returned(rng.choice(waiting), fact)
                    facts.append(fact)
            else:
                made.reload()  # who never looked can't know what was said
                compiled = made.compile()
                calls = (Call(name="bash", id=f"c{number}"),) if rng.random() < 0.5 else ()
                script.answer = Answer(thinking="hm" if "thinking" in name else None, text=fact, calls=calls)
                status, body = referee.respond(compiled.body)
                assert status == 200, body
                if action == "late answer":
                    rng.choice(writers).say(f"between {number}")
                if action != "ask":
                    made.record(body)
                    facts.append(fact)
        last = reopened(store, rng.choice(writers))
        body = last.compile().body.decode()
        assert [fact for fact in facts if fact not in body] == []
        assert referee.judge(last.compile().body).violations == ()
        assert store.verify() == []


def test_a_response_that_is_recorded_twice_is_taken_once() -> None:
    """A retried `record` bills and says nothing again; the same answer to another request is another answer."""
    made = session()
    made.say("go")
    made.compile()
    response = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-4-8",
        "content": [{"type": "tool_use", "id": "k1", "name": "bash", "input": {}}],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 5, "output_tokens": 4},
    }
    seq = made.record(response)
    made.returned("k1", "fine")
    size = len(made.events)
    assert (made.record(response), len(made.events)) == (seq, size)
    assert made.record({**response, "id": "msg_2"}) == size
    made.compile()
    assert made.record({**response, "id": "msg_2"}) == len(made.events) - 1 > size


def test_the_user_and_the_project_are_kept_with_the_log(tmp_path: Path) -> None:
    """A restart moves no call to nobody; whoever is named anew is whom calls are made for from then on."""
    with Store.open(tmp_path) as store:
        Session.open(store, "s", user="ada", project="pipes")
    with Store.open(tmp_path) as store:
        made = Session.open(store, "s", target=target_of("anthropic"))
        assert made.user == "ada"
        made.user = "bob"
        made.say("hi")
        made.compile()
        answer(made, "done")
        assert Session.open(store, "s", project="pipes").user == "bob"
        assert Session.open(store, "s", user="eve").user == "eve"
        assert Session.open(store, "s").user == "bob"
        fork = made.fork(len(made.events) - 1)
        assert (fork.user, Session.open(store, fork.id).user) == ("bob", "bob")
        assert [row.user for row in rows(made.events, session="s", prices=Prices())] == ["bob"]


@pytest.mark.parametrize("recorded", ["pipes", None])
def test_another_project_than_the_recorded_one_is_refused(recorded: str | None, tmp_path: Path) -> None:
    """Its calls would go on being billed to the first, without a word."""
    with Store.open(tmp_path) as store:
        size = len(Session.open(store, "s", project=recorded).events)
        with pytest.raises(InvalidArgument, match=f"project is 'roofs'; give {recorded!r}") as caught:
            Session.open(store, "s", project="roofs")
        assert caught.value.name == "project"
        assert len(Session.open(store, "s", project=recorded).events) == size
