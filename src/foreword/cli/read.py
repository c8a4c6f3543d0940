"""foreword read: read back what a request left out."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any

import click

from foreword.cli import options
from foreword.cli.lines import visible
from foreword.cli.output import emit_bytes, emit_json, is_terminal, note
from foreword.cli.patience import hush

if TYPE_CHECKING:
    from foreword.engine.reading import Page
    from foreword.store.store import Store

EPILOG = """\b
Examples:
  foreword read k3v9ax#41
  foreword read k3v9ax#41 --offset 401
  foreword read k3v9ax#41 --grep 'error|warning' --json
  foreword read k3v9ax#41 --raw > result.txt

REF is an artifact as it stands in a request (ALIAS#EVENT, ALIAS#EVENT.BLOCK), or SESSION#EVENT.

A page is 400 lines or 6,000 characters, whichever comes first, and names the command for the next one;
--limit lifts the bound on characters, --limit 0 both. --bytes counts from 0 and includes both ends.

--grep takes a regular expression in Python's syntax, searched line by line in a process of its own that is
ended after 5 seconds.

What was erased is named with its reason, exit code 1.
"""

_RANGE = re.compile(r"(\d{1,15})-(\d{1,15})?")


def _range(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, int | None] | None:
    if value is None:
        return None
    match = _RANGE.fullmatch(value)
    if match is None:
        raise click.BadParameter(f"{value!r} is not of the form A-B, as in 0-99", ctx, param)
    first, last = int(match[1]), int(match[2]) if match[2] else None
    if last is not None and last < first:
        raise click.BadParameter(f"{value!r} ends before it begins", ctx, param)
    return first, last


@click.command("read", epilog=EPILOG)
@click.argument("ref", metavar="REF")
@click.option("--offset", metavar="LINE", type=click.IntRange(min=1), help="First line, from 1.")
@click.option("--limit", metavar="N", type=click.IntRange(min=0), help="At most N lines; 0: all of them.")
@click.option("--tail", metavar="N", type=click.IntRange(min=1), help="Only the last N lines.")
@click.option(
    "--start", metavar="CHAR", type=click.IntRange(min=0), help="A page from this character, from 0."
)
@click.option("--grep", metavar="RE", help="Only lines in which this regular expression is found.")
@click.option("--bytes", "span", metavar="A-B", callback=_range, help="Bytes A to B, from 0; A-: to the end.")
@click.option("--raw", is_flag=True, help="The exact original bytes.")
@options.store
@options.as_json
def command(
    ref: str,
    offset: int | None,
    limit: int | None,
    tail: int | None,
    start: int | None,
    grep: str | None,
    span: tuple[int, int | None] | None,
    raw: bool,
    store: str | None,
    as_json: bool,
) -> None:
    """Read back the content that REF names, page by page or byte by byte."""
    if raw and as_json:
        raise click.UsageError("--raw writes bytes and --json a document; give one of them")
    kinds = {
        "--offset": offset, "--tail": tail, "--start": start, "--bytes": span, "--raw": raw or None,
    }  # fmt: skip
    given = [name for name, value in kinds.items() if value is not None]
    if len(given) > 1 and given != ["--bytes", "--raw"]:
        raise click.UsageError(f"{given[0]} and {given[1]} count differently; give one of them")
    if given and given[0] in ("--start", "--bytes", "--raw") and (limit is not None or grep is not None):
        raise click.UsageError(f"--limit and --grep are for lines, {given[0]} is not; give one kind")
    from foreword.cli.source import open_store
    from foreword.core.reference import parse_reference
    from foreword.engine.reading import find
    from foreword.errors import Gone

    parse_reference(ref)  # a bad one is told before a store is looked for
    with open_store(store) as opened:
        try:
            if raw:
                data = find(opened, ref)[2]
                emit_bytes(data if span is None else _cut(data, span))
                return
            if span is not None:
                page = _bytes(opened, ref, span, store)
            else:
                page = _page(opened, ref, offset, limit, tail, start, grep, store)
        except Gone as error:
            if not as_json:
                raise
            emit_json({"ref": ref, "gone": error.reason})
            raise click.exceptions.Exit(1) from error
    if as_json:
        emit_json(page)
    else:
        _print(page, listed=grep is not None)


def _print(page: dict[str, Any], *, listed: bool) -> None:
    text: str = page["text"]
    if is_terminal():
        hush()
        click.echo(visible(text), nl=not text.endswith("\n"))
    else:
        emit_bytes(text.encode())
    if page["next"] is None:
        return
    last = page["offset"] + page["returned_lines"] - 1
    shown = f"{page['returned_lines']:,} lines" if listed else f"lines {page['offset']:,} to {last:,}"
    note(f"[{shown} of {page['lines']:,}; next: {page['next']}]")


def _page(
    store: Store,
    ref: str,
    offset: int | None,
    limit: int | None,
    tail: int | None,
    start: int | None,
    grep: str | None,
    place: str | None,
) -> dict[str, Any]:
    import msgspec

    from foreword.engine.grep import matching
    from foreword.engine.reading import PAGE_CHARACTERS, PAGE_LINES, read_page

    whole = limit is not None or tail is not None
    call = f"foreword read {_braced(shlex.quote(ref))}"
    page: Page = read_page(
        store,
        ref,
        offset=offset or 1,
        limit=limit or (None if whole else PAGE_LINES),
        tail=tail,
        start=start,
        keep=None if grep is None else lambda lines: matching(grep, lines),
        characters=None if whole else PAGE_CHARACTERS,
        call=f"{call}{_again(limit, grep, place)} --offset {{offset}}",
        span_call=f"{call}{_again(None, None, place)} --start {{start}}",
    )
    return msgspec.to_builtins(page)


def _again(limit: int | None, grep: str | None, store: str | None) -> str:
    """Return the options that the next page needs too, safe for a format string and a shell."""
    given = [] if limit is None else ["--limit", str(limit)]
    given += [] if grep is None else [f"--grep={grep}"]
    given += [] if store is None else ["--store", store]
    return _braced("".join(f" {shlex.quote(word)}" for word in given))


def _braced(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _cut(data: bytes, span: tuple[int, int | None]) -> bytes:
    first, last = span
    if first >= len(data) and data:
        raise click.UsageError(
            f"--bytes begins at {first:,}, the content has {len(data):,} bytes, 0 to {len(data) - 1:,}"
        )
    return data[first:] if last is None else data[first : last + 1]


def _bytes(store: Store, ref: str, span: tuple[int, int | None], place: str | None) -> dict[str, Any]:
    """Return a range of bytes in the form of a page; ``offset`` is the line in which it begins."""
    from foreword.engine.reading import find

    full, kind, data = find(store, ref)
    cut = _cut(data, span)
    end = span[0] + len(cut)
    more = end < len(data)
    where = [] if place is None else ["--store", place]
    following = shlex.join(["foreword", "read", full, "--bytes", f"{end}-{end + len(cut) - 1}", *where])
    return {
        "ref": full,
        "kind": kind,
        "bytes": len(data),
        "lines": _lines(data),
        "offset": data.count(b"\n", 0, span[0]) + 1,
        "returned_lines": _lines(cut),
        "truncated": more,
        "next": following if more else None,
        "text": cut.decode("utf-8", "replace"),
    }


def _lines(data: bytes) -> int:
    return data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
