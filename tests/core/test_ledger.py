"""The ledger: one row a call, whatever became of it, and money that adds up to the picodollar."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from foreword.core.block import Message, Text
from foreword.core.catalog import ModelSpec
from foreword.core.event import (
    Answered,
    Body,
    Called,
    Draft,
    EpochStarted,
    Event,
    ForeignNoted,
    Replacement,
    RequestSent,
    Rewritten,
    Said,
    SessionOpened,
    UnseenPrefix,
)
from foreword.core.ledger import Ledger, Row, grouped, once, rewrites, rows, total
from foreword.core.price import PICODOLLARS, Cost, cost, usd
from foreword.core.prices import Prices
from foreword.core.sealing import GENESIS, decode_body, encode_body, seal
from foreword.core.tokens import counter
from foreword.core.usage import NOTHING, Usage

SONNET = "claude-sonnet-4-5"
PRICES = Prices()
DAY = 86_400_000_000


def usage(uncached: int = 0, read: int = 0, short: int = 0, long: int = 0, output: int = 0) -> Usage:
    """Return usage with every bucket known."""
    return Usage(
        uncached=uncached, cache_read=read, cache_write_short=short, cache_write_long=long, output=output
    )


def answered(used: Usage | None = None, **more: Any) -> Answered:
    """Return an answer of Sonnet 4.5."""
    message = Message(role="assistant", blocks=(Text(text="Done."),))
    return Answered(message=message, usage=used, **{"model": SONNET, **more})


def said(text: str = "Go on.") -> Said:
    """Return a person's message."""
    return Said(message=Message(role="user", blocks=(Text(text=text),)))


def ledger(*bodies: Body, at: int | None = 0, prices: Prices = PRICES, **more: Any) -> list[Row]:
    """Return the rows of drafts with these bodies."""
    return rows([Draft(body=body, at=at) for body in bodies], session="s", prices=prices, **more)


def events(*bodies: Body, start: int = 0, previous: bytes = GENESIS) -> list[Event]:
    """Seal bodies as a log does."""
    made: list[Event] = []
    for seq, body in enumerate(bodies, start):
        link = made[-1].link if made else previous
        made.append(seal(Draft(body=body), seq=seq, at=seq, tenant="t", previous=link, nonce=bytes(16)))
    return made


def test_a_row_says_what_a_call_cost_and_where_it_stands() -> None:
    """Step, turn, buckets, money, tier and phase of two calls in one turn and one in the next."""
    made = ledger(
        said(),
        answered(usage(3, 0, 1_000, 0, 50), recorded_cost_usd="0.004509"),
        answered(usage(5, 1_000, 0, 0, 7)),
        said(),
        said("And this."),
        answered(usage(1, 1_005, 0, 0, 1)),
    )
    assert [(row.step, row.turn, row.phase) for row in made] == [
        (1, 1, "cold"),
        (2, 1, "warm"),
        (3, 2, "warm"),
    ]
    assert [usd(row.cost.picodollars or 0) for row in made] == ["0.004509", "0.00042", "0.0003195"]
    assert (made[0].recorded, made[0].mismatch) == (4_509_000_000, False)
    assert (made[0].tier, made[0].peak, made[0].status, made[0].input) == (0, None, "ok", 1_003)


def test_a_recorded_cost_agrees_up_to_a_billionth_of_a_dollar() -> None:
    """The noise of added floats is no mismatch; a picodollar beyond 1e-9 USD is one."""
    right = cost(usage(1_000), PRICES.spec(SONNET))
    assert right.picodollars == 3_000_000_000
    stated = (
        "0.003",
        "0.0030000000000000005",
        "0.003000001",
        "0.002999999",
        "0.003000001001",
        "0.002998998",
        "0",
    )
    found = [ledger(answered(usage(1_000), recorded_cost_usd=text))[0].mismatch for text in stated]
    assert found == [False, False, False, False, True, True, True]


@pytest.mark.parametrize("text", ["", "free", "NaN", "Infinity", "1e99999999", "9" * 5_000, "-1e-99999999"])
def test_a_recorded_cost_that_is_no_sum_of_money_is_unknown(text: str) -> None:
    """It is neither 0 nor a mismatch, and takes no time however many digits it claims."""
    (row,) = ledger(answered(usage(1_000), recorded_cost_usd=text))
    assert (row.recorded, row.mismatch) == (None, False)


def test_unknown_is_counted_and_named() -> None:
    """No usage, no such model and no price are unknown costs, never 0, and in no sum."""
    made = ledger(
        answered(),
        answered(usage(1), model="of-our-own"),
        answered(usage(1), model=None),
        answered(usage(1_000)),
    )
    sums = total(made)
    assert (sums.calls, sums.unknown, sums.counted, usd(sums.cost)) == (4, 3, 3, "0.003")
    assert sums.unknown_names == ("usage", "model.of-our-own", "model.")


def test_every_call_that_came_to_nothing_has_a_row() -> None:
    """Failed, cancelled, raced and retried calls; a refusal is free, an unanswered one unknown."""
    made = ledger(
        answered(usage(10), attempts=3),
        Called(status="failed", model=SONNET, usage=NOTHING, why="Overloaded", attempts=2),
        Called(status="raced", model=SONNET, usage=usage(20)),
        Called(status="cancelled", model=SONNET),
        ForeignNoted(code="api_error", where="line 4"),
        ForeignNoted(code="aborted", where="line 5"),
        answered(usage(10), partial=True),
        answered(usage(10), partial=True, stop_reason="aborted"),
        answered(usage(10), partial=True, stop_reason="error"),
    )
    assert [(row.step, row.status) for row in made] == [
        (1, "retried"), (1, "retried"), (1, "ok"), (2, "retried"), (2, "failed"), (2, "raced"), (2, "cancelled"),
        (2, "failed"), (2, "cancelled"), (2, "cut"), (3, "cancelled"), (4, "failed"),
    ]  # fmt: skip
    sums = total(made)
    assert (usd(sums.cost), sums.unknown, sums.calls) == ("0.00018", 1, 12)


def test_an_answer_to_an_older_request_is_estimated_by_that_request() -> None:
    """A race: the newest request is another one, of another size and model."""
    sent = [
        RequestSent(wire="anthropic", model=SONNET, units=1, items=1, added=(), tokens=size)
        for size in (500, 90_000)
    ]
    first, second = rows(events(*sent, answered(request=0), Called(request=1)), session="s", prices=PRICES)
    spec = PRICES.spec(SONNET)
    assert spec is not None
    factor = spec.token_factor_start
    estimated = [row.estimate.usage.total_input for row in (first, second) if row.estimate is not None]
    assert estimated == [round(500 * factor), round(90_000 * factor)]
    assert (second.model, second.asked, second.began) == (SONNET, SONNET, 1)


def test_what_a_call_brings_with_it_is_of_its_request() -> None:
    """Attempts and the provider's own summary; of the attempts those that were lost have no known cost."""
    sent = RequestSent(wire="anthropic", model=SONNET, units=1, items=1, added=(), tokens=5)
    body = answered(usage(5), request=0, attempts=3, lost=1, compactions=(usage(1),))
    made = rows(events(sent, body), session="s", prices=PRICES)
    assert [(row.status, row.kind, row.request, row.began) for row in made] == [
        ("retried", "call", 0, None), ("retried", "call", 0, None), ("ok", "compaction", 0, None), ("ok", "call", 0, 0),
    ]  # fmt: skip
    assert [row.cost.picodollars is None for row in made] == [True, False, False, False]


def test_the_largest_prompt_of_none_that_is_known_is_not_0() -> None:
    """Neither of no calls at all."""
    assert total(()).peak_input is total(ledger(answered())).peak_input is None
    assert total(ledger(answered(), answered(usage(7)))).peak_input == 7


def test_calls_beside_the_history_are_billed_under_their_kind() -> None:
    """A compaction, an embedding, a sub-context, and the provider's own summary within a call."""
    made = ledger(
        answered(usage(10)),
        Called(kind="compaction", status="ok", model=SONNET, usage=usage(100, output=10)),
        Called(kind="embedding", status="ok", model="of-our-own", usage=usage(5)),
        answered(usage(10), compactions=(usage(200, output=20),)),
    )
    assert [(row.kind, row.step) for row in made] == [
        ("call", 1), ("compaction", 1), ("embedding", 1), ("compaction", 2), ("call", 2),
    ]  # fmt: skip
    kinds = grouped(made, lambda row: row.kind)
    assert usd(kinds["compaction"].cost) == "0.00135"
    assert kinds["embedding"].unknown == 1
    assert kinds["call"].peak_input == 10
    assert {row.kind for row in ledger(answered(usage(1)), kind="sub_context")} == {"sub_context"}


@pytest.mark.parametrize(
    "format_, name, kind",
    [("claude-code", "s/a7f", "sub_context"), ("claude-code", "s", "call"), ("foreword", "s/a7f", "call")],
)
def test_an_old_import_of_a_sub_agent_is_one_by_its_id(format_: str, name: str, kind: str) -> None:
    """Its log was written before the first event said so; only the importer of Claude Code named it that way."""
    opened = SessionOpened(session=name, alias="222222", format=format_)
    assert {row.kind for row in ledger(opened, answered(usage(1)))} == {kind}


def test_the_rest_of_an_answer_is_no_second_call() -> None:
    """A file read while an answer was written gives its rest later, under the same id and without usage."""
    made = ledger(
        answered(usage(10), response_id="msg"), answered(response_id="msg"), answered(response_id="other")
    )
    assert [(row.step, row.usage is None) for row in made] == [(1, False), (2, True)]


def test_a_call_in_two_logs_counts_once() -> None:
    """A fork shares its parent's calls, and a resumed session repeats them in a new file; nothing else merges."""
    shared = events(said(), answered(usage(10)))
    fork = [*shared, *events(answered(usage(20)), start=2, previous=shared[-1].link)]
    own = [*shared, *events(answered(usage(30)), start=2, previous=shared[-1].link)]
    listed = [
        row for name, log in (("a", own), ("b", fork)) for row in rows(log, session=name, prices=PRICES)
    ]
    assert [row.input for row in once(listed)] == [10, 30, 20]

    copy = answered(usage(10), response_id="msg")
    files = [
        row for name in ("x", "y") for row in rows([Draft(body=copy, at=5)], session=name, prices=PRICES)
    ]
    assert len(list(once(files))) == 1
    later = rows([Draft(body=copy, at=6)], session="z", prices=PRICES)
    assert len(list(once([*files, *later]))) == 2
    alike = ledger(answered(usage(10)), answered(usage(10)))
    assert len(list(once([*alike, *alike]))) == 2


def test_an_erased_answer_keeps_its_row() -> None:
    """What it cost is gone with it: unknown, not free."""
    log = events(said(), answered(usage(10)))
    gone = Event(
        **{name: getattr(log[1], name) for name in Event.__struct_fields__} | {"body": None, "nonce": None}
    )
    (row,) = rows([log[0], gone], session="s", prices=PRICES)
    assert (row.step, row.usage, row.cost.unknown) == (1, None, ("usage",))


def test_the_first_call_after_a_rewrite_has_a_phase_of_its_own() -> None:
    """Latency after an epoch is neither cold nor warm; the first epoch of all is no rewrite."""
    started = EpochStarted(why="start", wire="anthropic", model=SONNET, reader="tool")
    made = ledger(
        started, answered(usage(9)), started, answered(usage(1, 5)), answered(usage(1, 5)),
        ForeignNoted(code="compaction", where="line 1"), answered(usage(5)), answered(Usage(uncached=1)),
    )  # fmt: skip
    assert [row.phase for row in made] == ["cold", "epoch", "warm", "epoch", None]


def test_rewrites_are_counted_by_kind() -> None:
    """Epochs, each kind of rewrite, and those of the original tool, whose boundary and summary are one."""
    put = Replacement(events=(1,), text="")
    compaction = ForeignNoted(code="compaction", where="line 1")
    facts = [
        EpochStarted(why="start", wire="w", model="m", reader="tool"),
        Rewritten(how="cleared", why="hard", replacements=(put,)),
        Rewritten(how="cleared", why="hard", replacements=(put,)),
        Rewritten(how="summarized", why="stage", replacements=(put,)),
        compaction, compaction, said(), compaction,
    ]  # fmt: skip
    assert rewrites([Draft(body=body) for body in facts]) == {
        "cleared": 2, "epochs": 1, "foreign": 2, "summarized": 1,
    }  # fmt: skip


def test_prices_are_those_of_the_day_the_hour_and_the_terms() -> None:
    """A price that changed, peak hours, a long-context tier and what multiplies the bill, on each row."""
    change = 1_791_331_200_000_000  # 2026-10-07 00:00 UTC
    before, after = (
        ledger(answered(usage(read=1_000_000), model="claude-sonnet-5-5"), at=at)[0]
        for at in (change - 1, change)
    )
    assert [usd(row.cost.picodollars or 0) for row in (before, after)] == ["0.2", "0.1"]
    (unknown,) = ledger(answered(usage(read=1), model="claude-sonnet-5-5"), at=None)
    assert unknown.cost.unknown == ("price.date",)

    monday = 4 * DAY
    peak, quiet = (
        ledger(answered(usage(1_000_000), model="deepseek-flash"), at=at)[0]
        for at in (monday + DAY // 12, monday)
    )
    assert [(row.peak, usd(row.cost.picodollars or 0)) for row in (peak, quiet)] == [
        (True, "0.3"),
        (False, "0.15"),
    ]

    (large,) = ledger(answered(usage(read=100_001), model="claude-haiku-5-5"))
    assert large.tier == 100_000
    (batch,) = ledger(answered(usage(1_000), terms=("batch",)))
    assert usd(batch.cost.picodollars or 0) == "0.0015"
    (strange,) = ledger(answered(usage(1_000), terms=("moonlight",)))
    assert strange.cost.unknown == ("multiplier.moonlight",)


def tokens_of(text: str) -> int:
    """Return what the ledger should estimate for a text of Sonnet 4.5."""
    return round(counter().count(text) * spec().token_factor_start)


def spec() -> ModelSpec:
    found = PRICES.spec(SONNET)
    assert found is not None
    return found


def test_a_call_without_usage_has_an_estimate_apart() -> None:
    """Its prompt is the last one known and what came since, and no sum of known figures holds it."""
    question = "Why does the valve in the cellar leak? " * 20
    known, unknown = ledger(said(), answered(usage(9_000, output=2)), said(question), answered())
    assert known.estimate is None
    assert (unknown.usage, unknown.cost.picodollars) == (None, None)
    assert unknown.estimate is not None
    likely = unknown.estimate.usage
    assert likely.total_input == 9_000 + round(
        (counter().count(question) + counter().count("Done.")) * spec().token_factor_start
    )
    assert (likely.cache_read, likely.output) == (0, tokens_of("Done."))
    assert unknown.estimate.cost == cost(likely, spec())
    sums = total([known, unknown])
    assert (sums.calls, sums.counted, sums.unknown, sums.estimated) == (2, 1, 1, 1)
    assert (sums.cost, sums.estimated_cost) == (known.cost.picodollars, unknown.estimate.cost.picodollars)
    assert sums.usage == known.usage


def test_an_estimate_takes_what_was_counted_and_says_what_it_cannot_price() -> None:
    """A request of ours was counted when it was made; before any recorded prompt the unseen prefix counts."""
    sent = RequestSent(wire="anthropic", model=SONNET, units=1, items=1, added=(), tokens=1_000)
    unseen = UnseenPrefix(tokens=500, basis="given")
    ours, foreign, strange, lost = ledger(
        unseen, said("Go."), sent, answered(request=2), answered(), answered(model="of-our-own"),
        Called(status="cancelled", model=SONNET, request=2),
    )  # fmt: skip
    assert [row.estimate is not None for row in (ours, foreign, strange, lost)] == [True] * 4
    inputs = [row.estimate.usage.total_input for row in (ours, foreign, lost) if row.estimate is not None]
    factor = spec().token_factor_start
    seen = counter().count("Go.") + counter().count("Done.")
    assert inputs == [round(1_000 * factor), 500 + round(seen * factor), round(1_000 * factor)]
    assert strange.estimate is not None
    assert strange.estimate.cost == Cost(picodollars=None, unknown=("model.of-our-own",))
    assert lost.estimate is not None
    assert lost.estimate.usage.output == 0
    sums = total([ours, foreign, strange, lost])
    assert (sums.calls - sums.counted, sums.estimated) == (4, 3)


def test_an_answer_that_was_cut_before_its_output_was_counted() -> None:
    """The prompt is known, the output is not: no cost, an estimate of the rest, and totals of what is known."""
    used = Usage(uncached=40, cache_read=9_000, cache_write_short=0, cache_write_long=0)
    whole, cut = ledger(said(), answered(usage(100, output=7)), answered(used, partial=True))
    assert (cut.usage, cut.input, cut.cost) == (
        used,
        9_040,
        Cost(picodollars=None, unknown=("tokens.output",)),
    )
    assert cut.estimate is not None
    assert cut.estimate.usage == replace(used, output=tokens_of("Done."))
    assert cut.estimate.cost == cost(cut.estimate.usage, spec())
    sums = total([whole, cut])
    assert (sums.usage.total_input, sums.usage.output, sums.counted, sums.unknown) == (9_140, 7, 2, 1)
    assert sums.lacking == {"output": 1, "reasoning": 2}
    assert sums.hit_rate == 9_000 / 9_140
    assert (sums.estimated, sums.estimated_cost) == (1, cut.estimate.cost.picodollars)
    assert total([cut]).usage.output is None
    (unreadable,) = ledger(answered(Usage(), doubts=("usage_unreadable",)))
    assert unreadable.estimate is not None
    assert unreadable.estimate.usage.total_input == 0


def test_a_call_beside_the_history_and_an_erased_one_have_no_estimate() -> None:
    """Nothing tells what was sent for them."""
    log = events(said(), answered())
    gone = Event(
        **{name: getattr(log[1], name) for name in Event.__struct_fields__} | {"body": None, "nonce": None}
    )
    (erased,) = rows([log[0], gone], session="s", prices=PRICES)
    (compaction,) = ledger(Called(kind="compaction", status="ok", model=SONNET))
    assert (erased.estimate, compaction.estimate) == (None, None)
    assert total([erased, compaction]).estimated == 0


def test_usage_that_does_not_add_up_is_flagged_and_counted() -> None:
    """On the row of its call alone, not on those of its attempts and of the provider's own summary."""
    made = ledger(
        answered(usage(5), doubts=("cache_split_mismatch",), attempts=2, compactions=(usage(1),)),
        Called(status="ok", model=SONNET, usage=usage(5), doubts=("cached_over_prompt",)),
        answered(usage(5)),
    )
    assert [row.doubts for row in made] == [
        (), (), ("cache_split_mismatch",), ("cached_over_prompt",), (),
    ]  # fmt: skip
    assert total(made).doubts == {"cache_split_mismatch": 1, "cached_over_prompt": 1}


def test_a_recorded_cost_of_a_call_that_came_to_nothing_is_compared() -> None:
    """0 agrees with no token; another sum is a mismatch."""
    free, dear = ledger(
        ForeignNoted(code="aborted", where="line 4", model=SONNET, recorded_cost_usd="0"),
        ForeignNoted(code="api_error", where="line 5", model=SONNET, recorded_cost_usd="0.5"),
    )
    assert (free.model, free.recorded, free.mismatch) == (SONNET, 0, False)
    assert (dear.recorded, dear.mismatch) == (PICODOLLARS // 2, True)


def test_the_project_is_that_of_the_log() -> None:
    """What the log names goes before what the caller does; a fork that names none stays in its parent's."""
    opened = SessionOpened(session="s", alias="222222", project="pipes")
    fork = SessionOpened(session="t", alias="333333", parent=("s", 1))
    made = ledger(opened, answered(usage(1)), fork, answered(usage(1)), project="given")
    assert [row.project for row in made] == ["pipes", "pipes"]
    assert ledger(answered(usage(1)), project="given")[0].project == "given"


def test_figures_come_from_the_totals() -> None:
    """The hit rate is that of all tokens, not the mean of rates; the peak is the largest prompt."""
    sums = total(ledger(answered(usage(100)), answered(usage(0, 9_900)), answered()))
    assert (sums.hit_rate, sums.peak_input, sums.usage.total_input) == (0.99, 9_900, 10_000)
    assert total([]).hit_rate is None
    assert total(ledger(answered(Usage(uncached=5, output=1)))).hit_rate is None


FACTS = st.sampled_from(
    [
        said(), answered(usage(3, 2, 1, 0, 9)), answered(usage(7), response_id="a"),
        answered(response_id="a"), answered(),
        Called(model=SONNET, usage=usage(2)), Called(kind="compaction", usage=NOTHING),
        Called(model=SONNET, request=0), RequestSent(
            wire="anthropic", model=SONNET, units=1, items=1, added=(), tokens=50
        ),
        ForeignNoted(code="api_error", where="x"), answered(usage(1), attempts=2, compactions=(usage(5),)),
    ]
)  # fmt: skip


@given(st.lists(FACTS, max_size=30), st.integers(0, 30))
def test_a_log_that_grows_gives_the_same_rows(bodies: list[Body], at: int) -> None:
    """Rows of a log read in two parts are those of the log read whole, and groups add up to the total."""
    facts = [Draft(body=body, at=index) for index, body in enumerate(bodies)]
    grown = Ledger("s", prices=PRICES)
    grown.add(facts[:at])
    grown.add(facts[at:])
    whole = rows(facts, session="s", prices=PRICES)
    assert grown.rows == whole
    parts = grouped(whole, lambda row: row.status).values()
    assert sum(part.cost for part in parts) == total(whole).cost
    assert sum(part.calls for part in parts) == len(whole) == len(list(once(whole)))


def test_events_written_before_the_ledger_are_read() -> None:
    """The members that it added have defaults, and take no byte where they are not used."""
    old = b'{"type":"answered","message":{"role":"assistant","blocks":[]},"model":"m"}'
    read = decode_body("answered", 1, old)
    assert isinstance(read, Answered)
    assert (read.attempts, read.first_token_ms, read.terms, read.compactions) == (1, None, (), ())
    assert b"attempts" not in encode_body(read)
