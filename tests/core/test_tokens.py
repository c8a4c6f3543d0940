"""Token counts: exact ones against known figures, estimates against exact ones, linear time."""

import importlib.util
import sys
import time
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.core.tokens import Counter, EstimateCounter, O200kCounter, counter, pieces
from foreword.errors import InvalidArgument, InvalidText, MissingExtra

needs_extra = pytest.mark.skipif(importlib.util.find_spec("toktok") is None, reason="needs the extra: tokens")
COUNTERS = [
    pytest.param(EstimateCounter, id="estimate"),
    pytest.param(O200kCounter, id="o200k", marks=needs_extra),
]
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=200)


@needs_extra
@pytest.mark.parametrize(
    "text,tokens",
    [
        ("Could NOT find ZLIB (missing: ZLIB_LIBRARY ZLIB_INCLUDE_DIR)", 16),
        ("交叉编译时找不到目标平台的 zlib 库", 14),
        ("/opt/homebrew/Cellar/abseil/20240722.0/include/absl/base/config.h", 24),
        ('{"path": "CMakeLists.txt", "offset": 101}', 15),
        ("<|endoftext|>", 7),
        ("", 0),
    ],
)
def test_golden_o200k_counts(text: str, tokens: int) -> None:
    """Counts that other implementations of the vocabulary give; a special token is plain text."""
    assert counter("o200k").count(text) == tokens
    assert counter("o200k").count_many([text, text]) == [tokens, tokens]


@needs_extra
def test_text_is_not_normalised() -> None:
    """Two spellings of one character are two texts, and their pieces give back each one unchanged."""
    composed, decomposed = "é" * 50, unicodedata.normalize("NFD", "é" * 50)
    assert counter("o200k").count(composed) != counter("o200k").count(decomposed)
    assert "".join(pieces(decomposed)) == decomposed


@needs_extra
@given(TEXTS)
def test_pieces_tile_the_text(text: str) -> None:
    """There are as many pieces as tokens, and their bytes are the text."""
    found = pieces(text)
    exact = counter("o200k")
    assert len(found) == exact.count(text) == exact.count_many([text])[0]
    if "\\x" not in "".join(found):
        assert "".join(found) == text


@needs_extra
def test_pieces_show_cut_characters_as_escapes() -> None:
    """A character in three tokens shows its bytes."""
    assert pieces("🧠 hi") == ["\\xf0\\x9f", "\\xa7", "\\xa0", " hi"]


@needs_extra
def test_private_path_equals_the_public_function() -> None:
    """The encoding that is used for speed counts as the documented function of its package does."""
    import toktok

    texts = [path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("*.py")]
    assert counter("o200k").count_many(texts) == toktok.batch_count(texts, "o200k_base")
    assert [counter("o200k").count(text) for text in texts] == toktok.batch_count(texts, "o200k_base")


@pytest.mark.parametrize("kind", COUNTERS)
def test_half_a_character_counts_as_what_is_sent_for_it(kind: type[Counter]) -> None:
    """Alone and in a batch; halves that belong together are one character."""
    count = kind()
    assert count.count("ab\ud800") == count.count("ab\ufffd")
    assert count.count_many(["fine", "ab\ud800"]) == count.count_many(["fine", "ab\ufffd"])
    assert count.count("\ud83d\ude80") == count.count("🚀")


@needs_extra
def test_lone_surrogate_has_no_pieces() -> None:
    """Pieces refuse it too."""
    with pytest.raises(InvalidText):
        pieces("\udfff")


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exact counts asked for by name fail with the install command; the automatic choice estimates."""
    monkeypatch.setitem(sys.modules, "toktok", None)
    with pytest.raises(MissingExtra, match=r"foreword\[tokens\]"):
        counter("o200k")
    with pytest.raises(MissingExtra):
        pieces("x")
    chosen = counter()
    assert (chosen.name, chosen.exact) == ("estimate-1", False)


@needs_extra
def test_automatic_choice_is_exact_with_the_extra() -> None:
    """The better counter is taken when it is there."""
    assert (counter().name, counter().exact) == ("o200k", True)


def test_unknown_counter_is_refused() -> None:
    """A misspelt name is not silently another counter."""
    with pytest.raises(InvalidArgument, match="cl100k"):
        counter("cl100k")


@given(TEXTS)
def test_estimate_is_positive_for_any_text(text: str) -> None:
    """Only the empty text is estimated at nothing, and batches count as single texts do."""
    estimate = EstimateCounter()
    assert (estimate.count(text) == 0) == (text == "")
    assert estimate.count_many([text, "x"]) == [estimate.count(text), estimate.count("x")]


def _corpus() -> dict[str, str]:
    code = "".join(
        sorted(p.read_text(encoding="utf-8") for p in Path(__file__).parents[2].glob("src/**/*.py"))
    )
    log = "\n".join(
        f"2026-11-{n % 30 + 1:02d} {n % 24:02d}:{n % 60:02d}:07 installed lib{n * 7919 % 9973}:amd64 {n}-1"
        for n in range(800)
    )
    chinese = "构建失败：找不到头文件。请检查编译器的搜索路径，然后重新运行测试。第三步需要管理员权限。" * 60
    emoji = "".join(chr(code) for code in range(0x1F300, 0x1F5FF)) * 3
    return {"code": code, "log": log, "chinese": chinese, "emoji": emoji}


@needs_extra
@pytest.mark.parametrize("kind", ["code", "log", "chinese", "emoji"])
def test_estimate_is_close_on_text_it_was_not_fitted_to(kind: str) -> None:
    """Per 4,000 characters, the error stays under 35 %, and in total under 20 %."""
    text = _corpus()[kind]
    parts = [text[at : at + 4_000] for at in range(0, len(text) - 3_999, 4_000)] or [text]
    exact, estimate = counter("o200k").count_many(parts), EstimateCounter().count_many(parts)
    assert all(abs(e / n - 1) < 0.35 for e, n in zip(estimate, exact, strict=True))
    assert abs(sum(estimate) / sum(exact) - 1) < 0.2


@pytest.mark.parametrize("kind", COUNTERS)
@pytest.mark.parametrize("unit", ["a", "ab cd ", "中", "😀", "-", "\n", "x9/"])
def test_time_is_linear(kind: type[Counter], unit: str) -> None:
    """Twice the text takes about twice the time, also for one character a million times and for one line."""
    count = kind().count
    size = 200_000 if kind is O200kCounter else 500_000  # dashes take the exact counter 0.7 µs each
    half = unit * (size // len(unit.encode()))
    count(half)

    def best(text: str) -> float:
        times: list[float] = []
        for _ in range(2):
            start = time.process_time()
            count(text)
            times.append(time.process_time() - start)
        return min(times)

    assert best(half * 2) < 3 * best(half) + 0.02


class Panic(BaseException):
    """What a compiled library raises when it breaks: no Exception."""


class Broken:
    """An encoding whose every count ends with the error it was made with."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def count(self, text: str) -> int:
        raise self.error

    def count_batch(self, texts: list[str]) -> list[int]:
        raise self.error


def test_a_panic_of_the_vocabulary_is_estimated_and_told() -> None:
    """Counting goes on, and says that it is no longer exact."""
    count = O200kCounter(Broken(Panic()))
    assert count.exact
    assert count.count("one two") == EstimateCounter().count("one two")
    assert count.count_many(["a", "one two"]) == EstimateCounter().count_many(["a", "one two"])
    assert not count.exact


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(), TypeError()])
def test_what_is_no_panic_is_not_held_back(error: BaseException) -> None:
    """A signal to stop and a fault of the caller go through."""
    for count in (
        lambda: O200kCounter(Broken(error)).count("a"),
        lambda: O200kCounter(Broken(error)).count_many("a"),
    ):
        with pytest.raises(type(error)):
            count()
