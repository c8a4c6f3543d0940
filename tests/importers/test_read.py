"""Files of any quality: read with their flaws named, or refused in one line."""

import gzip
import io
import json
import os
import sys
import threading
from pathlib import Path

import pytest

from foreword.core.event import Answered, Said, kind_of
from foreword.errors import ImportFailed
from foreword.importers.read import FORMATS, read
from tests.importers.claude_file import ClaudeFile, call, codes, story, text, words
from tests.importers.codex_file import CodexFile
from tests.importers.pi_file import PiFile

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


def small() -> ClaudeFile:
    file = ClaudeFile()
    file.user("Build it.")
    file.answer("a", call("t1", command="make"))
    file.result("t1")
    file.answer("b", text("Built."))
    return file


@pytest.mark.parametrize(
    "data, fault",
    [
        (b"", "the file is empty"),
        (b"\n \n", "the file is empty"),
        (b"\x7fELF\0\0\0", "binary data"),
        (b"hello there\n", "not JSON: Expecting value at line 1"),
        (b'[{"role": "user", "content": "Hi"}', "not JSON"),
        (b'\n{"messages": [\n{"role": "user",\n', "not JSON: .* at line 4"),
        (b"42\n", "line 1: JSON, but no object or list"),
        (b"[]", "neither|holds none"),
        (b'{"a": 1}\n', "line 1 is neither"),
        (b'[{"role": "user", "content": "Hi"}]\n{}\n', "line 2: more data after the array"),
        (
            b'{"timestamp": "t", "type": "session_meta", "payload": {}}\n',
            "a Codex rollout without a message",
        ),
        (b'{"type": "session", "id": "s", "timestamp": "t"}\n', "a session of pi without a message"),
        (b'{"sessionId": "s", "projectHash": "p"}\n', "a Gemini CLI session, which is not supported"),
        (
            gzip.compress(b'{"role": "user", "content": "Hi"}\n' * 99, mtime=0)[:40],
            "can't be read after line",
        ),
        (zstd.compress(b'{"role": "user", "content": "Hi"}\n' * 9)[:-5], "can't be read after line"),
        (b"\x1f\x8bxxxxxx", "can't be read after line 0"),
    ],
)
def test_a_file_that_holds_no_session_is_refused(data: bytes, fault: str) -> None:
    """The error is one line with the name of the file, the fault and the next move."""
    with pytest.raises(ImportFailed, match=fault) as caught:
        read("some.jsonl", data=data)
    assert str(caught.value).startswith("some.jsonl: ")
    assert "\n" not in str(caught.value)
    assert caught.value.move


@pytest.mark.parametrize(
    "data",
    [
        b'{"sessionId": "s", "projectHash": "p"}\n',
        b'{"sessionId": "s", "agent": "a", "messages": [{"role": "user", "content": "Hi"}]}\n',
    ],
)
def test_a_format_that_is_not_supported_has_no_name_to_give(data: bytes) -> None:
    """Naming one with --format would not help, so it isn't the advice."""
    with pytest.raises(ImportFailed, match="which is not supported; formats are claude-code") as caught:
        read("some.json", data=data)
    assert "--format" not in str(caught.value)


def test_a_missing_file_or_format_is_refused(tmp_path: Path) -> None:
    """With the system's word for it, or the list of formats."""
    with pytest.raises(ImportFailed, match="No such file"):
        read(str(tmp_path / "none.jsonl"))
    with pytest.raises(ImportFailed, match="Is a directory"):
        read(str(tmp_path))
    with pytest.raises(ImportFailed, match="formats are claude-code, codex, pi, openai-chat"):
        read("x", format="cobol", data=b"{}")
    with pytest.raises(ImportFailed, match="stdin"):
        read("-")


def test_a_file_of_two_formats_is_refused() -> None:
    """Both places are named."""
    data = small().data + b'{"role": "user", "content": "Hi"}\n'
    with pytest.raises(ImportFailed, match=r"claude-code \(line 1\) and messages \(line 5\)"):
        read("x.jsonl", data=data)


@pytest.mark.parametrize(
    "row, format_",
    [
        ({"type": "response_item", "payload": {"type": "message", "role": "user", "content": "Hi"}}, "codex"),
        ({"type": "message", "message": {"role": "user", "content": "Hi"}}, "pi"),
        ({"type": "user", "sessionId": "s", "message": {"role": "user", "content": "Hi"}}, "claude-code"),
        ({"role": "user", "content": "Hi"}, "openai-chat"),
        ({"role": "user", "content": [{"type": "text", "text": "Hi"}]}, "anthropic"),
    ],
)
def test_a_format_is_known_by_one_row(row: dict[str, object], format_: str) -> None:
    """Whatever the file is called, and without its beginning; with rows of another format it is refused."""
    data = json.dumps(row).encode() + b"\n"
    [one] = read("rollout.jsonl", data=data)
    assert one.format == format_
    assert any(kind_of(draft.body) == "said" for draft in one.drafts)
    other = CodexFile() if format_ != "codex" else PiFile()
    with pytest.raises(ImportFailed, match="two formats in one file"):
        read("rollout.jsonl", data=data + other.data)


@pytest.mark.parametrize("format_", FORMATS)
def test_a_wrong_format_by_name_is_refused(format_: str) -> None:
    """Numbers in a list are no session of any format."""
    with pytest.raises(ImportFailed):
        read("x.json", format=format_, data=b"[1, 2, 3]")


def test_bad_lines_are_skipped_and_named() -> None:
    """Each by its number and fault; a torn last line by its own code; the rest is read."""
    file = small()
    lines = [file.lines[0], '{"broken": ', "[1]", *file.lines[1:], file.lines[-1][:40]]
    [one] = read("x.jsonl", data="\n".join(lines).encode())
    assert story(one) == story(file.read()[0])
    bad = [(flaw.code, flaw.where) for flaw in one.flaws if flaw.code.endswith("_line")]
    assert bad == [("malformed_line", "line 2"), ("malformed_line", "line 3"), ("torn_line", "line 7")]


def test_a_damaged_first_line_costs_only_itself() -> None:
    """The file is still known by its other lines."""
    [one] = read("x.jsonl", data=b'{"type": "user", \n' + small().data)
    assert len(story(one)) == 4
    assert "malformed_line" in codes(one)


def test_many_bad_lines_are_counted() -> None:
    """The first are named, the rest are one warning."""
    [one] = read("x.jsonl", data=small().data + b"{oops\n" * 50)
    bad = [flaw for flaw in one.flaws if flaw.code == "malformed_line"]
    assert len(bad) == 21
    assert bad[-1].text.startswith("30 more lines")


def test_text_that_no_wire_takes_is_mended_and_named() -> None:
    """Lone surrogates, bytes that are not UTF-8, numbers that are not JSON."""
    file = ClaudeFile()
    file.user("AAA \ud800 BBB")
    file.user("CCC")
    file.answer("a", call("t1", size=float("nan")))
    data = file.data.replace(b"CCC", b"C\xffC")
    [one] = read("x.jsonl", data=data)
    said = [words(draft) for draft in one.drafts if isinstance(draft.body, Said)]
    assert said == ["AAA \ufffd BBB", "C\ufffdC"]
    [answer] = [draft.body for draft in one.drafts if isinstance(draft.body, Answered)]
    assert json.loads(answer.message.blocks[0].arguments) == {"size": None}
    mended = [(flaw.where, flaw.text) for flaw in one.flaws if flaw.code == "mended_text"]
    assert mended[0] == ("line 1", "a lone surrogate in message.content, replaced")
    assert [where for where, _ in mended] == ["line 1", "line 2", "line 3"]


def test_an_escaped_pair_of_surrogates_is_a_character() -> None:
    """Only lone ones are replaced."""
    file = ClaudeFile()
    file.user("\N{GRINNING FACE}")
    assert b"\\ud83d" in file.data
    assert story(file.read()[0]) == ["person: \N{GRINNING FACE}"]


@pytest.mark.parametrize("depth", [500, 960, 100_000])
def test_deep_nesting_ends_no_reading(depth: int) -> None:
    """A value nested beyond what can be handled costs its line or its record, not the file."""
    file = small()
    deep = json.loads(file.lines[1])
    deep["message"]["content"][0]["input"] = "DEEP"
    line = json.dumps(deep).replace('"DEEP"', '{"a":' * depth + "1" + "}" * depth)
    lines = [file.lines[0], line, *file.lines[2:]]
    [one] = read("x.jsonl", data="\n".join(lines).encode() + b"\n")
    assert "person: Build it." in story(one)
    assert "model: Built." in story(one)


@pytest.mark.parametrize("ends", ["content", "extra"])
def test_no_depth_of_nesting_is_an_error_of_ours(ends: str) -> None:
    """At every depth around the limit the file is read or refused."""
    outcomes: set[str] = set()
    for depth in range(820, 1_000, 4):
        deep = '{"a":' * depth + "1" + "}" * depth
        members = {
            "content": f'"content":[{deep}]',
            "extra": f'"content":[{{"type":"text","text":"x","y":{deep}}}]',
        }
        line = f'{{"role":"user",{members[ends]}}}\n{{"role":"user","content":"Hi"}}\n'
        try:
            outcomes.add(f"{len(read('x', format='anthropic', data=line.encode())[0].drafts)} drafts")
        except ImportFailed as error:
            outcomes.add(error.fault)
    assert outcomes & {"1 drafts", "2 drafts"}


def test_a_byte_order_mark_and_foreign_line_ends_are_fine() -> None:
    """As Windows tools write them."""
    data = b"\xef\xbb\xbf" + small().data.replace(b"\n", b"\r\n")
    assert story(read("x.jsonl", data=data)[0]) == story(small().read()[0])


@pytest.mark.parametrize("pack", [gzip.compress, zstd.compress])
def test_packed_files_are_known_by_their_bytes(pack, tmp_path: Path) -> None:
    """Whatever they are called, also when they come through a pipe."""
    path = tmp_path / "session.txt"
    path.write_bytes(pack(small().data))
    assert story(read(str(path))[0]) == story(small().read()[0])
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(path.read_bytes()))
    writer.start()
    assert story(read(str(pipe))[0]) == story(small().read()[0])
    writer.join()


def test_stdin_comes_as_bytes() -> None:
    """The caller reads it; its name is plain."""
    [one] = read("-", data=small().data)
    assert one.source == "stdin"
    assert one.drafts[-1].origin == "claude-code:stdin:4"


def test_a_large_file_is_read_in_well_under_a_second() -> None:
    """Two megabytes, a thousand calls, parsed and told apart; the bound is loose for slow machines."""
    import time

    file = ClaudeFile()
    for number in range(700):
        file.user(f"Step {number}")
        file.answer(f"a{number}", call(f"t{number}", command="x" * 400))
        file.result(f"t{number}", "line\n" * 400)
    data = file.data
    assert len(data) > 2_000_000
    start = time.perf_counter()
    [one] = read("x.jsonl", data=data)
    assert time.perf_counter() - start < 5
    assert sum(kind_of(draft.body) == "answered" for draft in one.drafts) == 700


def test_a_file_that_unpacks_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit counts bytes after decompression."""
    monkeypatch.setattr("foreword.importers.source.MAX_TOTAL", 100_000)
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb") as stream:
        stream.write(b'{"role": "user", "content": "Hi"}\n' * 9_000)
    assert len(packed.getvalue()) < 10_000
    with pytest.raises(ImportFailed, match="over the limit"):
        read("x.gz", data=packed.getvalue())


def test_lines_without_end_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short lines pack to nothing and take much memory, so they are counted, blank ones too."""
    monkeypatch.setattr("foreword.importers.source.MAX_LINES", 1_000)
    for line in (b"{}\n", b"\n"):
        with pytest.raises(ImportFailed, match=r"line 1001: over the limit of .*1,000 lines"):
            read("x.gz", data=gzip.compress(small().data + line * 1_000))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_text_in_utf_16_is_called_so(encoding: str) -> None:
    """As some shells write it; it is no binary file, and saving it again helps."""
    data = ("\ufeff" if encoding == "utf-16-be" else "").encode(encoding) + small().data.decode().encode(
        encoding
    )
    with pytest.raises(ImportFailed, match="UTF-16 text, not UTF-8; save it as UTF-8"):
        read("x.jsonl", data=data)
