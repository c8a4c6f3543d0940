"""The view: a fold that says what there is to send, the same whether it grew or was folded anew."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from foreword.core.block import Message, Text, ToolCall, ToolResult
from foreword.core.event import Answered, Body, Draft, Event, Repaired, RequestSent, Said, ToolReturned
from foreword.core.fold import Fold
from foreword.core.item import Change, Interaction, Notice, Turn
from foreword.core.sealing import GENESIS, seal
from foreword.core.view import View
from foreword.engine.session import Session
from tests.compiler.test_incremental import SLOW
from tests.histories import AT, OPERATIONS, TIGHT, Walk, counting_clock, target_of


def log(*bodies: Body) -> list[Event]:
    """Seal bodies to a log."""
    events: list[Event] = []
    previous = GENESIS
    for seq, body in enumerate(bodies):
        event = seal(Draft(body=body), seq=seq, at=AT, tenant="t", previous=previous, nonce=bytes(16))
        events.append(event)
        previous = event.link
    return events


def said(text: str) -> Said:
    return Said(message=Message(role="user", blocks=(Text(text=text),)))


def asked(*ids: str) -> Answered:
    calls = tuple(ToolCall(id=id_, name="f", arguments="{}") for id_ in ids)
    return Answered(message=Message(role="assistant", blocks=calls))


def returned(id_: str, text: str) -> ToolReturned:
    return ToolReturned(result=ToolResult(call_id=id_, content=(Text(text=text),)))


def told(item: object) -> object:
    """Say what an item is, by value."""
    match item:
        case Turn():
            return ("turn", item.seq, item.message, item.person)
        case Interaction():
            return (
                "interaction",
                item.seq,
                item.message,
                item.calls,
                tuple(item.results),
                tuple(item.result_seqs),
                set(item.started),
                {position: tuple(seqs) for position, seqs in item.printed.items()},
                dict(item.ends),
            )
        case Notice():
            return ("notice", item.seq, item.topic, item.text, item.kept)
        case Change():
            return ("change", item.seq, item.body)
    return item


def state(fold: Fold) -> object:
    """Return everything that a compile reads of a fold, by value."""
    return (
        [told(item) for item in fold.items], fold.instructions, fold.tools, list(fold.sent), list(fold.epochs),
        {asked: list(each) for asked, each in fold.reports.items()}, dict(fold.revoked), dict(fold.described),
        dict(fold.erased), list(fold.orphans), set(fold.late), set(fold.mended),
        fold.rebuild, list(fold.repairs), list(fold.rewrites),
        list(fold.mangled), set(fold.opaque), set(fold.parted),
        fold.deferred, fold.findable, dict(fold.defined), list(fold.loaded), fold.detected, fold.language,
        fold.offered, set(fold.used), fold.effort, fold.budget, fold.spent, fold.told,
        [item.seq for item in fold.compactions], [told(item) for item in fold.open],
        {seq: [(at, replacement) for at, _, replacement in found] for seq, found in fold.replacements.items()},
    )  # fmt: skip


def outputs(view: View) -> list[list[str]]:
    """Return the texts of each interaction's results, in call order."""
    return [
        ["" if r is None else "".join(b.text for b in r.content if isinstance(b, Text)) for r in item.results]
        for item in view.fold.items
        if isinstance(item, Interaction)
    ]


@SLOW
@given(names=st.lists(st.sampled_from(OPERATIONS), max_size=25), rng=st.randoms(use_true_random=False))
def test_growing_is_folding(names: list[str], rng: random.Random) -> None:
    """A view grown event by event is the view of the whole log; an older one stays what it was."""
    made = Session.open(None, "h", target=target_of("anthropic"), policy=TIGHT, clock=counting_clock())
    Walk(rng, made, check=False).run(["say", *names])
    events = list(made.events)
    view = View.of(events[:1])
    kept: list[tuple[View, object]] = []
    at = 1
    while at < len(events):
        step = rng.randint(1, 3)
        if rng.random() < 0.3:
            kept.append((view, state(view.fold)))
        later = view.extend(events[at : at + step])
        assert view.is_prefix_of(later) or any(e.kind == "erased" for e in events)
        view = later
        at += step
    assert state(view.fold) == state(Fold(events))
    if not any(event.kind == "erased" for event in events):
        for older, before in kept:
            assert state(older.fold) == before


def test_a_result_answers_the_oldest_open_call_of_its_id() -> None:
    """Ids that repeat are told apart: results go to open calls, oldest first, and keep call order."""
    view = View.of(
        log(
            said("go"),
            asked("a", "b"),
            returned("b", "B1"),
            returned("a", "A1"),
            asked("a"),
            returned("a", "A2"),
        )
    )
    assert outputs(view) == [["A1", "B1"], ["A2"]]
    items = [item for item in view.fold.items if isinstance(item, Interaction)]
    assert items[0].calls[0].id == "a"
    assert items[1].calls[0].id != "a"
    assert [result.call_id for item in items for result in item.results if result] == [
        call.id for item in items for call in item.calls
    ]


def test_one_id_twice_in_a_message() -> None:
    """Two calls of one id in one message get two ids and two results."""
    view = View.of(log(said("go"), asked("a", "a"), returned("a", "first"), returned("a", "second")))
    [item] = [item for item in view.fold.items if isinstance(item, Interaction)]
    assert len({call.id for call in item.calls}) == 2
    assert outputs(view) == [["first", "second"]]


def test_made_ids_are_new() -> None:
    """An id made for a repeated one is no id that the record uses elsewhere."""
    view = View.of(log(said("go"), asked("a", "a", "a_1", "a_1", ""), asked("a", "a_2", "")))
    ids = [call.id for item in view.fold.items if isinstance(item, Interaction) for call in item.calls]
    assert len(set(ids)) == len(ids)
    assert all(ids)


def test_what_has_no_call_is_an_orphan() -> None:
    """Results without an open call stand aside and no interaction."""
    view = View.of(log(said("go"), returned("x", "r"), asked("a"), returned("a", "1"), returned("a", "2")))
    assert view.fold.orphans == [1, 4]
    assert outputs(view) == [["1"]]


def test_a_repair_closes_its_call_only() -> None:
    """An unknown outcome closes one call; another of the same id still waits for its result."""
    repair = Repaired(fault="open_call", event=1, call=0, text="unknown")
    view = View.of(log(said("go"), asked("a", "a"), repair, returned("a", "mine")))
    assert outputs(view) == [["unknown", "mine"]]
    assert view.fold.open == []


def test_prefixes_know_their_log() -> None:
    """A view is a prefix of a longer one of the same log, not of another log, and not of a shorter one."""
    events = log(said("a"), said("b"), said("c"))
    other = log(said("a"), said("x"), said("c"))
    short, long = View.of(events[:2]), View.of(events)
    assert short.is_prefix_of(long)
    assert not long.is_prefix_of(short)
    assert not short.is_prefix_of(View.of(other))
    assert View.of([]).is_prefix_of(long)


def test_growth_counts_requests_that_grew() -> None:
    """A request smaller than the one before begins anew, the first has none before it."""
    sizes = (1_000, 2_000, 4_000, 500, 1_500, 2_500)
    sent = (RequestSent(wire="w", model="m", units=1, items=0, added=(), tokens=size) for size in sizes)
    assert View.of(log(*sent)).fold.growth == (5_000, 4)
