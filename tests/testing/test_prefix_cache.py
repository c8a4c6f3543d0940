"""What a server has read before."""

import pytest

from foreword.testing.prefix_cache import (
    LOOK_BACK,
    AutomaticCache,
    BreakpointCache,
    CacheUse,
    CompleteUnitCache,
    MarkedCache,
    Unit,
)


def units(count: int, *, marks: dict[int, str] | None = None, tokens: int = 100) -> list[Unit]:
    """Make different units of equal size, some of them marked."""
    marks = marks or {}
    return [Unit(digest=bytes([at]), tokens=tokens, mark=marks.get(at)) for at in range(count)]


def test_a_mark_reads_an_entry_that_is_at_most_20_blocks_back() -> None:
    """The twentieth block back is still found, the one before is not; parameters do not count."""
    for gap, read in ((LOOK_BACK, 300), (LOOK_BACK + 1, 0)):
        cache = MarkedCache(minimum=0)
        cache.use(units(3, marks={2: "5m"}))
        longer = units(3 + gap, marks={2 + gap: "5m"})
        assert cache.use(longer).read == read
    cache = MarkedCache(minimum=0)
    key = Unit(digest=b"key", tokens=0, key=True)
    cache.use([*units(3, marks={2: "5m"}), key])
    longer = units(3 + LOOK_BACK, marks={2 + LOOK_BACK: "5m"})
    assert cache.use([*longer[:3], key, *longer[3:]]).read == 300


def test_an_earlier_mark_in_the_request_looks_back_too() -> None:
    """Two marks see further than one: the reason for marks in between."""
    cache = MarkedCache(minimum=0)
    cache.use(units(3, marks={2: "5m"}))
    assert cache.use(units(43, marks={22: "5m", 42: "5m"})).read == 300


def test_prefixes_under_the_minimum_are_neither_written_nor_read() -> None:
    """Both counters stay at zero, silently."""
    cache = MarkedCache(minimum=301)
    for _ in range(2):
        assert cache.use(units(3, marks={2: "5m"})) == CacheUse(uncached=300)
    assert cache.use(units(4, marks={3: "5m"})) == CacheUse(write_5m=400)


def test_writes_are_split_by_the_life_of_their_mark() -> None:
    """Each mark writes from the one before it; what follows the last mark is plain input."""
    cache = MarkedCache(minimum=0)
    use = cache.use(units(5, marks={1: "1h", 3: "5m"}))
    assert use == CacheUse(write_1h=200, write_5m=200, uncached=100)
    assert cache.use(units(5, marks={1: "1h", 3: "5m"})) == CacheUse(read=400, uncached=100)


def test_without_marks_nothing_is_read_or_written() -> None:
    """An entry helps only a request that marks."""
    cache = MarkedCache(minimum=0)
    cache.use(units(3, marks={2: "5m"}))
    assert cache.use(units(3)) == CacheUse(uncached=300)
    assert cache.use([]) == CacheUse()


@pytest.mark.parametrize("count, read", [(20, 0), (21, 1024), (22, 1024), (23, 1152)])
def test_the_automatic_cache_reads_in_steps_of_128_from_the_minimum_on(count: int, read: int) -> None:
    """Units of 50 tokens: 1,000 is too short, 1,050 and 1,100 give eight steps, 1,150 too, 1,152 nine."""
    cache = AutomaticCache(minimum=1024)
    cache.use(units(count, tokens=50 if count < 23 else 51))
    again = units(count, tokens=50 if count < 23 else 51)
    assert cache.use([*again, Unit(digest=b"new", tokens=7)]).read == read


def test_breakpoints_are_read_exactly_and_four_are_written() -> None:
    """The newest four marks of a request; an entry is found however far back it is."""
    cache = BreakpointCache(minimum=0)
    marks = dict.fromkeys(range(5), "5m")
    assert cache.use(units(6, marks=marks)) == CacheUse(write_5m=500, uncached=100)
    assert cache.use(units(60, marks={59: "1h"})) == CacheUse(read=500, write_1h=5_500)
    first_only = [*units(1), Unit(digest=b"other", tokens=100, mark="5m")]
    assert cache.use(first_only) == CacheUse(write_5m=200)


def test_without_a_breakpoint_nothing_is_cached() -> None:
    """Neither read nor written."""
    cache = BreakpointCache(minimum=0)
    cache.use(units(3, marks={2: "5m"}))
    assert cache.use(units(3)) == CacheUse(uncached=300)


def test_breakpoints_under_the_minimum_write_nothing() -> None:
    """The next one over it writes all."""
    cache = BreakpointCache(minimum=201)
    assert cache.use(units(2, marks={1: "5m"})) == CacheUse(uncached=200)
    assert cache.use(units(3, marks={1: "5m", 2: "5m"})) == CacheUse(write_5m=300)


def test_complete_units_end_at_requests_answers_and_common_prefixes() -> None:
    """A prefix that no request and no answer ended at is read only once two requests parted there."""
    cache = CompleteUnitCache()
    assert cache.use(units(4)).read == 0
    cache.answered(units(5))
    assert cache.use(units(6)).read == 500
    parted = [*units(2), Unit(digest=b"b", tokens=100)]
    assert cache.use(parted).read == 0
    assert cache.use([*units(2), Unit(digest=b"c", tokens=100)]).read == 200


def test_an_automatic_cache_reads_in_its_steps() -> None:
    """128 tokens for OpenAI before GPT-5.6, single tokens for Gemini."""
    for step, read in ((128, 256), (1, 300)):
        cache = AutomaticCache(minimum=0, step=step)
        cache.use(units(3))
        assert cache.use(units(4)).read == read
