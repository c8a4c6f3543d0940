"""The event-stream format, piece by piece."""

import time

from hypothesis import given
from hypothesis import strategies as st

from foreword.codecs.stream.sse import EventStream, ServerEvent


def read(*chunks: bytes) -> list[ServerEvent]:
    """Feed chunks to a new parser."""
    parser = EventStream()
    return [event for chunk in chunks for event in parser.feed(chunk)]


def test_fields_make_an_event() -> None:
    """Name, id and retry stand beside the data; one space after the colon is no part of a value."""
    event = read(b"event: x\nid: 7\nretry: 250\ndata:  a\n\n")
    assert event == [ServerEvent(data=b" a", event="x", id="7", retry=250)]


def test_data_lines_are_joined() -> None:
    """Several data lines of one event are joined with newlines."""
    assert read(b"data: {\ndata: 1\ndata\ndata: }\n\n") == [ServerEvent(data=b"{\n1\n\n}")]


def test_what_is_no_event_is_skipped() -> None:
    """Comments, unknown fields, events without data and bad values give nothing and break nothing."""
    noise = b": keep-alive\n\n\n\nevent: lost\n\nhello: x\nnonsense\nretry: soon\nid: a\0b\ndata:\n\n"
    assert read(noise + b"data: 1\n\n") == [ServerEvent(data=b"1")]


def test_an_id_stays_and_a_name_does_not() -> None:
    """The last id holds for later events; a name only for its own."""
    assert read(b"id: 1\nevent: n\ndata: a\n\ndata: b\n\n") == [
        ServerEvent(data=b"a", event="n", id="1"),
        ServerEvent(data=b"b", id="1"),
    ]


def test_line_ends_are_equal() -> None:
    """LF, CR and CRLF end lines, also when a chunk ends between CR and LF; a leading BOM is no text."""
    expected = [ServerEvent(data=b"a\nb", event="e"), ServerEvent(data=b"c")]
    for end in (b"\n", b"\r", b"\r\n"):
        body = b"\xef\xbb\xbfevent: e\ndata: a\ndata: b\n\ndata: c\n\n".replace(b"\n", end)
        assert read(body) == expected
        assert read(*(body[i : i + 1] for i in range(len(body)))) == expected


def test_only_line_ends_end_lines() -> None:
    """Unicode's other separators are text."""
    text = "a\u2028b\x0bc\x0cd\x85e\x1cf".encode()
    assert read(b"data: " + text + b"\n\n") == [ServerEvent(data=text)]


def test_an_unfinished_event_is_returned_at_the_end() -> None:
    """What lacks its blank line, or its line end, is the caller's to judge; it is returned once."""
    parser = EventStream()
    assert parser.feed(b"data: 1\n\nevent: x\ndata: {\ndata: }") == [ServerEvent(data=b"1")]
    assert parser.end() == ServerEvent(data=b"{\n}", event="x")
    assert parser.end() is None


FIELDS = ["data: x", "data: 世😀", "data", ": c", "event: e", "id: 1", "retry: 5", "", "\ufeff", "zz"]
lines = st.sampled_from([field.encode() for field in FIELDS])


@given(st.lists(st.tuples(lines, st.sampled_from([b"\n", b"\r", b"\r\n"]))), st.data())
def test_chunks_do_not_matter(parts: list[tuple[bytes, bytes]], data: st.DataObject) -> None:
    """However the bytes are cut, the events are the same, and what is left at the end too."""
    body = b"".join(line + end for line, end in parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(body)))))
    whole, cut = EventStream(), EventStream()
    expected = [*whole.feed(body), whole.end()]
    found = [
        event for a, b in zip([0, *cuts], [*cuts, len(body)], strict=True) for event in cut.feed(body[a:b])
    ]
    assert [*found, cut.end()] == expected


def test_a_long_line_byte_by_byte_is_linear() -> None:
    """Four times the bytes take about four times as long, not sixteen."""

    def seconds(size: int) -> float:
        body = b"data: " + b"x" * size + b"\n\n"
        best = 9.0
        for _ in range(3):
            parser = EventStream()
            start = time.process_time()
            events = [event for i in range(len(body)) for event in parser.feed(body[i : i + 1])]
            best = min(best, time.process_time() - start)
            assert len(events[0].data) == size
        return best

    seconds(1000)
    assert seconds(120_000) < 9 * seconds(30_000)
