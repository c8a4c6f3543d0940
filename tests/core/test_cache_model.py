"""The cache model: what is read and written, what is missed, and why."""

import random

import pytest
from msgspec.structs import replace

from foreword.core.cache_model import (
    SECOND,
    Cache,
    CacheRules,
    CacheUnit,
    Life,
    Moment,
    Outcome,
    rules_of,
    simulate,
)
from foreword.core.catalog import Catalog
from foreword.testing.prefix_cache import (
    AutomaticCache,
    BreakpointCache,
    CachePolicy,
    CompleteUnitCache,
    MarkedCache,
    Unit,
)

MARKS = CacheRules(kind="marks", look_back=20, short=300, long=3_600)
START = 1_764_500_000 * SECOND


def units(
    count: int, *, mark: Life | None = "short", tokens: int = 100, at: int | None = None
) -> list[CacheUnit]:
    """Make different units of equal size, with a mark on the last one, or on unit `at`."""
    made = [CacheUnit(digest=b"%d" % number, tokens=tokens) for number in range(count)]
    place = count - 1 if at is None else at
    made[place] = replace(made[place], mark=mark)
    return made


def seconds(*values: float) -> list[Moment]:
    """Make moments of requests that are answered at once."""
    return [Moment.at(START + round(value * SECOND)) for value in values]


def other(request: list[CacheUnit], index: int) -> list[CacheUnit]:
    """Change one unit."""
    return [*request[:index], replace(request[index], digest=b"other"), *request[index + 1 :]]


def test_a_growing_conversation_reads_all_of_the_request_before() -> None:
    """Each request writes what it adds; read, writes and the rest sum to it."""
    outcomes = simulate([units(5), units(7), units(12)], seconds(0, 1, 2), MARKS)
    assert [outcome.read for outcome in outcomes] == [0, 500, 700]
    assert [outcome.written_short for outcome in outcomes] == [500, 200, 500]
    assert [outcome.total for outcome in outcomes] == [500, 700, 1_200]
    assert [outcome.why for outcome in outcomes] == ["first", "", ""]


@pytest.mark.parametrize("life, lives", [("short", 300), ("long", 3_600)])
def test_an_entry_lives_from_the_end_of_the_response(life: Life, lives: int) -> None:
    """A response of 100 s: the entry is there at the last second of its life, counted from the response's end."""
    slow = Moment(sent=START, began=START + SECOND, ended=START + 100 * SECOND)
    for late, read in ((0, 500), (1, 0)):
        then = Moment.at(slow.ended + lives * SECOND + late)
        outcome = simulate([units(5, mark=life), units(6, mark=life)], [slow, then], MARKS)[1]
        assert (outcome.read, outcome.missed, outcome.why) == (read, 500 - read, "expired" if late else "")


def test_reading_starts_the_life_again() -> None:
    """Requests 299 s apart keep an entry alive for ever; without refreshing it ends after 300 s."""
    times = seconds(0, 299, 598)
    requests = [units(5), units(5), units(5)]
    assert simulate(requests, times, MARKS)[2].read == 500
    kept = simulate(requests, times, replace(MARKS, refresh=False))
    assert [outcome.read for outcome in kept] == [0, 500, 0]


def test_a_mark_of_a_longer_life_on_what_is_read_prolongs_nothing() -> None:
    """No write of the long life was billed; one that is written beside it lives as long as was paid for."""
    requests = [units(5, mark="short"), units(5, mark="long"), units(5, mark="long")]
    outcomes = simulate(requests, seconds(0, 10, 1_000), MARKS)
    assert [(outcome.read, outcome.written_long) for outcome in outcomes] == [(0, 0), (500, 0), (0, 500)]
    slow = Moment(sent=START, began=START + 5 * SECOND, ended=START + 9 * SECOND)
    times = [slow, replace(slow, sent=START + SECOND), *seconds(3_000, 6_500)]
    outcomes = simulate([*requests, units(5, mark="short")], times, MARKS)
    assert [(outcome.read, outcome.written_long) for outcome in outcomes] == [
        (0, 0),
        (0, 500),
        (500, 0),
        (500, 0),
    ]


def test_an_entry_is_readable_once_its_response_begins() -> None:
    """Two requests sent together both write; the third, sent after the first began to be answered, reads."""
    begins = [Moment(sent=START + at, began=START + 5 * SECOND, ended=START + 9 * SECOND) for at in (0, 1)]
    outcomes = simulate([units(5)] * 3, [*begins, Moment.at(START + 5 * SECOND)], MARKS)
    assert [outcome.read for outcome in outcomes] == [0, 0, 500]
    assert outcomes[1].why == "not_ready"


@pytest.mark.parametrize("added, read, why", [(20, 500, ""), (21, 0, "look_back")])
def test_a_mark_looks_back_over_so_many_blocks(added: int, read: int, why: str) -> None:
    """Keys are no blocks."""
    key = CacheUnit(digest=b"key", tokens=0, key=True)
    longer = [*units(5), key, *(CacheUnit(digest=b"n%d" % at, tokens=1) for at in range(added))]
    longer[-1] = replace(longer[-1], mark="short")
    longer[4] = replace(longer[4], mark=None)
    outcome = simulate([units(5), longer], seconds(0, 1), MARKS)[1]
    assert (outcome.read, outcome.why) == (read, why)


def test_why_tokens_are_missed() -> None:
    """Every reason has a request that shows it, with the tokens that could have been read."""
    grown = units(9)
    cases: list[tuple[CacheRules, list[list[CacheUnit]], str, int]] = [
        (MARKS, [units(5), other(grown, 1)], "changed", 500),
        (MARKS, [units(5), units(9, mark=None)], "unmarked", 500),
        (replace(MARKS, minimum=600), [units(5), grown], "too_short", 500),
        (MARKS, [units(5, at=1), grown], "not_written", 300),
        (CacheRules(kind="prefix", step=128), [units(5), grown], "step", 116),
        (CacheRules(kind="units"), [units(5), other(units(5), 4)], "changed", 500),
    ]
    for rules, requests, why, missed in cases:
        outcome = simulate(requests, seconds(0, 1), rules)[1]
        assert (outcome.why, outcome.missed) == (why, missed)
    assert simulate([units(5), other(grown, 1)], seconds(0, 1), MARKS)[1].changed == 1


def test_complete_units_are_read_from_the_third_request_on() -> None:
    """A+B, then A+C misses, then A+D reads A; an answer ends an entry too."""
    first, second, third = ([*units(3), CacheUnit(digest=name, tokens=7)] for name in (b"B", b"C", b"D"))
    outcomes = simulate([first, second, third], seconds(0, 1, 2), CacheRules(kind="units"))
    assert [outcome.read for outcome in outcomes] == [0, 0, 300]
    cache = Cache(CacheRules(kind="units"))
    cache.send(units(3), Moment.at(START))
    cache.answered(units(4), Moment.at(START))
    assert cache.send(units(6), Moment.at(START)).read == 400


def test_breakpoints_beyond_the_newest_are_not_looked_up() -> None:
    """With room for two, the entry at the oldest of three breakpoints is not found."""
    rules = CacheRules(kind="breakpoints", read_marks=2, written_marks=4)
    again = units(9, at=2)
    again[5], again[8] = replace(again[5], mark="short"), replace(again[8], mark="short")
    assert simulate([units(3), again], seconds(0, 1), rules)[1].read == 0
    assert simulate([units(3), again], seconds(0, 1), replace(rules, read_marks=3))[1].read == 300


def test_times_must_match_requests() -> None:
    """One moment a request."""
    with pytest.raises(ValueError, match="shorter"):
        simulate([units(2)], [], MARKS)


def test_the_bill_follows_the_catalog() -> None:
    """Opus 4.8: 0.5 USD a million read, 6.25 and 10 for short and long writes, 5 for the rest."""
    outcome = Outcome(read=1_000_000, written_short=1_000_000, written_long=1_000_000, uncached=1_000_000)
    bill = outcome.cost(Catalog.load().model("claude-opus-4-8"), START)
    assert bill.picodollars == 21_750_000_000_000


@pytest.mark.parametrize("name", Catalog.load().names)
def test_every_row_of_a_provider_that_is_modelled_has_rules(name: str) -> None:
    """Anthropic, OpenAI, DeepSeek and Gemini; what is known of the others stays unknown."""
    spec = Catalog.load().model(name)
    rules = rules_of(spec)
    assert (rules is not None) == (spec.provider in ("anthropic", "openai", "deepseek", "gemini"))
    if rules is not None and spec.provider == "openai":
        assert rules.kind == ("breakpoints" if spec.cache_ttl_short else "prefix")
        assert rules.step == (1 if spec.cache_ttl_short else 128)


def test_the_least_prefix_of_opus_4_8_is_that_of_the_rulebook() -> None:
    """1,024 tokens: a prefix of 1,100 is cached (docs/decisions/0009-cache-model.md)."""
    rules = rules_of(Catalog.load().model("claude-opus-4-8"))
    assert rules is not None
    assert rules.minimum == 1_024
    assert simulate([units(11), units(12)], seconds(0, 1), rules)[1].read == 1_100
    assert simulate([units(10), units(10)], seconds(0, 1), rules)[1].read == 0


SAME: list[tuple[CacheRules, CachePolicy]] = [
    (CacheRules(kind="marks", minimum=250, look_back=20), MarkedCache(250)),
    (CacheRules(kind="prefix", minimum=250, step=128), AutomaticCache(250)),
    (CacheRules(kind="breakpoints", minimum=250, written_marks=4), BreakpointCache(250)),
    (CacheRules(kind="units"), CompleteUnitCache()),
]


@pytest.mark.parametrize("rules, referee", SAME, ids=[rules.kind for rules, _ in SAME])
def test_without_time_the_model_and_the_referees_caches_agree(
    rules: CacheRules, referee: CachePolicy
) -> None:
    """Written apart, the same over 400 random requests that grow, change, are cut and are marked anywhere."""
    chance = random.Random(7)
    cache = Cache(rules)
    request: list[CacheUnit] = []
    for number in range(400):
        if chance.random() < 0.2 and request:
            request = request[: chance.randrange(len(request))]
        request = [*request, *(_random_unit(chance, number) for _ in range(chance.choice((1, 2, 5, 24))))]
        if len(request) > 90:
            request = request[: chance.randrange(40)]
        marked = _marked(chance, request)
        outcome = cache.send(marked, Moment.at(START))
        use = referee.use([_unit(unit) for unit in marked])
        assert (outcome.read, outcome.written_short, outcome.written_long, outcome.uncached) == (
            use.read, use.write_5m, use.write_1h, use.uncached,
        )  # fmt: skip


def _random_unit(chance: random.Random, number: int) -> CacheUnit:
    digest = b"%d.%d" % (number // 3, chance.randrange(1_000))
    return CacheUnit(digest=digest, tokens=chance.randrange(1, 90), key=chance.random() < 0.1)


def _marked(chance: random.Random, request: list[CacheUnit]) -> list[CacheUnit]:
    places = set(chance.sample(range(len(request)), min(len(request), chance.randrange(5))))
    lives: tuple[Life, Life] = ("short", "long")
    return [
        replace(unit, mark=chance.choice(lives)) if at in places and not unit.key else unit
        for at, unit in enumerate(request)
    ]


def _unit(unit: CacheUnit) -> Unit:
    mark = {None: None, "short": "5m", "long": "1h"}[unit.mark]
    return Unit(digest=unit.digest, tokens=unit.tokens, key=unit.key, mark=mark)
