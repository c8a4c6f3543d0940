"""Coming back under the budget: when it is done, what it leaves alone, and that it is worth its price."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from foreword.compiler import summary
from foreword.compiler.budget import budget_of
from foreword.compiler.compile import Compiled
from foreword.compiler.passes import reduce
from foreword.compiler.passes.externalize import rewrite_draft
from foreword.compiler.pipeline import epoch_draft
from foreword.core.block import ToolSpec
from foreword.core.event import Draft, EpochStarted, Rewritten, UnseenPrefix
from foreword.core.fold import Reported
from foreword.core.item import Interaction, Item
from foreword.core.target import Target
from foreword.core.view import View
from foreword.engine.session import Session
from foreword.errors import OverBudget
from tests.engine.sessions import session, step
from tests.histories import TIGHT, check_manifest, referee_for, target_of

WIRES = ("anthropic", "openai-chat")
OUTPUT = "\n".join(f"{n}: some words of output that weigh a little" for n in range(12))


def long_run(wire: str, steps: int, window: int = 8_000, **policy: object) -> tuple[Session, list[Compiled]]:
    """Run so many steps of the shell; return every request."""
    made = session(target_of(wire, window))
    made.policy = msgspec.structs.replace(TIGHT, **policy)
    made.say("Keep this sentence.")
    referee = referee_for(target_of(wire, window), seed=1)
    requests = []
    for number in range(steps):
        compiled = made.compile()
        verdict = referee.judge(compiled.body)
        assert verdict.violations == ()
        requests.append(compiled)
        step(made, number, OUTPUT, is_error=number % 3 == 0)
    return made, requests


@pytest.mark.parametrize("wire", WIRES)
def test_a_long_run_stays_under_its_limit(wire: str) -> None:
    """Every request of a long run is legal for the window; what a person said stands in each, byte for byte."""
    made, requests = long_run(wire, 80)
    assert [e for e in made.events if isinstance(e.body, Rewritten) and e.body.epoch]
    for compiled in requests:
        assert compiled.predicted <= compiled.budget.limit
        assert b"Keep this sentence." in compiled.body
    check_manifest(made, made.compile())


@pytest.mark.parametrize("wire", WIRES)
def test_epochs_are_rare_and_worth_it(wire: str) -> None:
    """An epoch for room frees at least the least gain, and several requests lie between two of them."""
    made, requests = long_run(wire, 80)
    epochs = [e for e in made.events if isinstance(e.body, EpochStarted) and e.body.why == "hard"]
    assert 1 <= len(epochs) <= len(requests) // 4
    by_epoch: dict[int, list[Compiled]] = {}
    for compiled in requests:
        by_epoch.setdefault(compiled.epoch.number, []).append(compiled)
    for number in sorted(by_epoch)[1:]:
        first = by_epoch[number][0]
        before = first.epoch.body.tokens_before
        room = first.budget.counted(first.budget.available - first.budget.unseen)
        over = first.budget.predict(before, grown=False) > first.budget.limit
        assert over or before - first.counted >= TIGHT.min_gain * room * 0.9


@pytest.mark.parametrize("wire", WIRES)
def test_the_newest_interactions_are_left_alone(wire: str) -> None:
    """While there is another way, the newest interactions stand as they were."""
    made, _ = long_run(wire, 60)
    for event in made.events:
        if not isinstance(event.body, Rewritten) or not event.body.epoch:
            continue
        items = [i for i in View.of(made.events[: event.seq]).fold.items if isinstance(i, Interaction)]
        newest = {seq for item in items[-1:] for seq in item.events}
        replaced = {seq for replacement in event.body.replacements for seq in replacement.events}
        assert not newest & replaced


def test_what_is_told_as_shortly_as_can_be_is_not_told_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """An epoch costs what is told differently in it, not one more summary for each stage that there ever was."""
    told: list[tuple[int, ...]] = []

    def summarize(view: View, items: Sequence[Item], limit: int, target: Target) -> str:
        told.append(items[0].events)
        return summary.summarize(view, items, limit, target)

    monkeypatch.setattr(reduce, "summarize", summarize)
    made, _ = long_run("anthropic", 400)
    epochs = [event.seq for event in made.events if isinstance(event.body, EpochStarted)]
    assert len(epochs) > 30
    assert len(told) <= 8 * len(epochs)


def test_an_agent_without_a_reader_keeps_its_results_whole() -> None:
    """Where nothing reads back, no result is moved out or cleared, whatever its size."""
    made = session(target_of("anthropic", 30_000, reader="none"))
    made.say("go")
    step(made, 1, OUTPUT * 20)
    body = made.compile().body
    assert OUTPUT.split("\n")[5].encode() in body
    assert not [e for e in made.events if isinstance(e.body, Rewritten)]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("window", [1_200, 1_600, 2_500, 4_000])
def test_no_replacement_is_larger_than_what_it_replaces(wire: str, window: int) -> None:
    """In windows of any size an excerpt, a note or a summary is smaller than the text it stands for."""
    made = session(target_of(wire, window))
    made.say("go")
    try:
        for number in range(12):
            made.compile()
            step(made, number, "ok" if number % 2 else OUTPUT)
    except OverBudget:
        pass
    fold = made.view.fold
    assert made.target is not None
    for event in made.events:
        if not isinstance(event.body, Rewritten):
            continue
        for replacement in event.body.replacements:
            assert replacement.tokens_removed > 0
            if len(replacement.events) == 1 and made.events[replacement.events[0]].kind == "tool_returned":
                content = fold.events[replacement.events[0]].body.result.content  # pyright: ignore
                whole = made.target.counter.count(content[0].text)
                assert made.target.counter.count(replacement.text) < whole


@pytest.mark.parametrize("wire", WIRES)
def test_usage_corrects_the_count(wire: str) -> None:
    """Once a provider's usage is known the prediction meets it: never far under, never twice over."""
    made = session(target_of(wire, 60_000))
    made.say("go")
    for seed in range(4):
        referee = referee_for(target_of(wire, 60_000), seed=seed)
        for number in range(8):
            compiled = made.compile()
            actual = referee.judge(compiled.body).input_tokens
            if number > 3:
                assert actual <= compiled.predicted * 1.02
                assert compiled.predicted <= actual * 1.6
            step(made, seed * 10 + number, OUTPUT * (number % 3))
            sent = made.view.fold.sent[-1].seq
            answered = next(e for e in reversed(made.events) if e.kind == "answered")
            assert answered.seq > sent
            report = Reported(sent=sent, estimated=compiled.counted, actual=actual)
            made.view.fold.reports.setdefault((wire, made.target.params.model), []).append(report)


def test_the_unseen_prefix_counts() -> None:
    """A prefix that the record lacks takes its part of budget and prediction, and nothing of the body."""
    made = session(target_of("anthropic", 20_000))
    made.say("go")
    plain = made.compile()
    made.append(Draft(body=UnseenPrefix(tokens=5_000, basis="test")))
    compiled = made.compile()
    assert compiled.predicted == plain.predicted + 5_000
    assert compiled.units == plain.units
    assert budget_of(made.view, made.policy, compiled.target).unseen == 5_000
    assert check_manifest(made, compiled)["tokens"]["by_category"]["unseen"] == 5_000


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("window", [700, 1_200])
def test_the_smallest_window_named_is_enough(wire: str, window: int) -> None:
    """What rewrites leave behind counts too, not only what none may touch: the named window needs no second try."""
    made = session(target_of(wire, 200_000, reserve_output=100))
    made.offer([ToolSpec(name="bash", description="Run a command. " * (window // 6))])
    made.say("Keep this sentence.")
    for number in range(12):
        made.compile()
        step(made, number, OUTPUT)
    made.target = target_of(wire, window, reserve_output=100)
    with pytest.raises(OverBudget) as refused:
        made.compile()
    made.target = target_of(wire, refused.value.smallest_window, reserve_output=100)
    assert refused.value.smallest_window > window
    made.compile()


def test_a_placeholder_tells_the_size_of_what_reads_back() -> None:
    """Also where an excerpt stood for it: the model reads that number before it asks for all of it."""
    made = session(target_of("anthropic", 6_000))
    made.say("go")
    text = "\n".join(f"{n}: some words of output that weigh a little" for n in range(400))
    whole = target_of("anthropic").counter.count(text)
    for number in range(30):
        made.compile()
        step(made, number, text if number % 2 == 0 else OUTPUT)
    told = [
        int(one.text.split("[")[1].split()[0])
        for event in made.events
        if isinstance(event.body, Rewritten) and event.body.how == "cleared"
        for one in event.body.replacements
        if "cleared;" in one.text and made.read(str(one.ref)).lines == 400
    ]
    assert told
    assert all(abs(tokens - whole) < 40 for tokens in told)


def test_what_is_excerpted_twice_frees_no_more_than_is_said() -> None:
    """The size after a rewrite is what it told before, and the same again promises nothing more."""
    made = session()
    made.say("Keep this sentence.")
    step(made, 0, "\n".join([OUTPUT] * 4))
    for room in (-200, -200, -60, 0, 0):
        compiled = made.compile()
        shrunk = reduce._shrink_newest(compiled, reduce.sizes_of(compiled), room)
        if shrunk:
            drafts = [rewrite_draft("cleared", "hard", shrunk, epoch=True)]
            made.append(*drafts, epoch_draft(made.view, compiled.target, made.policy, "hard", 0))
            assert made.compile().counted <= compiled.counted - shrunk[0].tokens_removed
    assert not shrunk
