"""Excerpts: head, tail, and a note that says what lies between, in the reader's own line numbers."""

from hypothesis import given, settings
from hypothesis import strategies as st

from foreword.compiler.excerpt import excerpt_lines, excerpt_tokens
from foreword.core.tokens import EstimateCounter
from tests.engine.sessions import session
from tests.histories import examples

texts = st.text(st.sampled_from("ab\n\n\r\x0b\x0c\x1c\x85\u2028\u2029é "), max_size=200)
COUNTER = EstimateCounter()


@settings(max_examples=examples(200, 5_000), deadline=None)
@given(text=texts, head=st.integers(0, 8), tail=st.integers(0, 8))
def test_shown_and_hidden_are_the_text(text: str, head: int, tail: int) -> None:
    """Head, hidden and tail lines are all lines, in the numbering of the reader."""
    excerpt = excerpt_lines(text, head=head, tail=tail)
    lines = text.removesuffix("\n").split("\n") if text else []
    assert excerpt.total_lines == len(lines)
    assert len(excerpt.head) + excerpt.hidden_lines + len(excerpt.tail) == len(lines)
    assert list(excerpt.head) == lines[: len(excerpt.head)]
    assert list(excerpt.tail) == lines[len(lines) - len(excerpt.tail) :]
    if excerpt.hidden_lines:
        assert excerpt.first_hidden == head + 1
        assert excerpt.text.count(f"{excerpt.hidden_lines} of {len(lines)} lines hidden") == 1
    else:
        assert excerpt.text == "\n".join(lines)


@settings(max_examples=examples(100, 2_000), deadline=None)
@given(text=texts, head=st.integers(1, 8), tail=st.integers(1, 8))
def test_the_hidden_range_reads_back(text: str, head: int, tail: int) -> None:
    """Reading the range that the note names gives exactly what is not shown."""
    excerpt = excerpt_lines(text, head=head, tail=tail)
    if not excerpt.hidden_lines:
        return
    made = session()
    seq = made.say(text)
    page = made.read(f"{made.alias}#{seq}", offset=excerpt.first_hidden, limit=excerpt.hidden_lines)
    lines = text.split("\n")
    assert page.text == "\n".join(lines[head : head + excerpt.hidden_lines]) + "\n"


@settings(max_examples=examples(100, 2_000), deadline=None)
@given(
    text=st.lists(st.text("ab é", max_size=900), max_size=60).map("\n".join),
    limit=st.integers(10, 2_000),
)
def test_an_excerpt_stays_near_its_limit(text: str, limit: int) -> None:
    """An excerpt has at most its tokens and a note; what fits is shown whole but for over-long lines."""
    shown = excerpt_tokens(text, limit, COUNTER)
    assert COUNTER.count(shown) <= limit + 60
    if COUNTER.count(text) * 2 < limit and all(len(line) < 300 for line in text.split("\n")):
        assert shown == text.removesuffix("\n")


def test_the_end_of_a_long_text_is_shown() -> None:
    """Errors stand at the end, so the tail gets the larger part."""
    shown = excerpt_tokens("\n".join(f"line {n}" for n in range(1_000)), 200, COUNTER).split("\n")
    note = next(index for index, line in enumerate(shown) if "hidden" in line)
    assert shown[0] == "line 0"
    assert shown[-1] == "line 999"
    assert len(shown) - note - 1 > note > 0


def test_a_giant_line_is_cut_in_its_middle() -> None:
    """One line of a million characters shows its two ends and how much lies between."""
    shown = excerpt_tokens("start " + "x" * 1_000_000 + " end", 400, COUNTER)
    assert shown.startswith("start ")
    assert shown.endswith(" end")
    assert "characters hidden" in shown
    assert len(shown) < 1_000
