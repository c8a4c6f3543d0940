"""Writing results: one JSON document, aligned tables, progress.

On a terminal tables are drawn with rich (it respects NO_COLOR); piped they are plain aligned text.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

from foreword.cli.lines import one_line
from foreword.cli.patience import end, hush

Cell = str | int | float | None
UNKNOWN = "–"
_FIGURE = str.maketrans("", "", "$%.,")


def emit_json(value: Any) -> None:
    """Write one JSON document to stdout, as UTF-8 whatever the locale."""
    try:
        data = json.dumps(value, ensure_ascii=False, indent=1).encode()
    except UnicodeEncodeError:  # a lone surrogate, as in a file name that is not UTF-8
        data = json.dumps(value, indent=1).encode()
    emit_bytes(data + b"\n")


def emit_bytes(data: bytes) -> None:
    """Write bytes to stdout as they are."""
    hush()
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def emit(text: str = "") -> None:
    """Write a line to stdout."""
    hush()
    click.echo(text)


def note(text: str) -> None:
    """Write a line to stderr, where it is in no script's way."""
    hush()
    click.echo(one_line(text), err=True)


def is_terminal(*, err: bool = False) -> bool:
    """Say whether a person reads stdout (or stderr)."""
    return (sys.stderr if err else sys.stdout).isatty()


def cell(value: Cell) -> str:
    """Write a figure: thousands grouped, unknown as a dash."""
    if value is None:
        return UNKNOWN
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.2f}" if isinstance(value, float) else one_line(value, 200)


def percent(share: float | None) -> str:
    """Write a share as a percentage; None: unknown."""
    return UNKNOWN if share is None else f"{share:.1%}"


def usd_text(amount: str | None) -> str:
    """Write a decimal string of dollars to the cent, or finer below a dollar; None: unknown."""
    if amount is None:
        return UNKNOWN
    value = float(amount)
    return f"${value:,.2f}" if value >= 1 or value == 0 else f"${value:.4f}"


def table(columns: Sequence[str], rows: Sequence[Sequence[Cell]], *, title: str = "") -> None:
    """Draw a table; a column of figures is aligned right."""
    right = [_is_number([row[index] for row in rows]) for index in range(len(columns))]
    texts = [[cell(value) for value in row] for row in rows]
    if is_terminal():
        _drawn(columns, texts, right, title)
        return
    if title:
        emit(title)
    widths = [max([len(name), *(len(row[index]) for row in texts)]) for index, name in enumerate(columns)]
    for row in [list(columns), *texts]:
        line = "  ".join(
            text.rjust(width) if side else text.ljust(width)
            for text, width, side in zip(row, widths, right, strict=True)
        )
        emit(line.rstrip())


def _is_number(values: Sequence[Cell]) -> bool:
    known = [value for value in values if value is not None]
    return bool(known) and all(
        not isinstance(value, str) or value == UNKNOWN or value.translate(_FIGURE).isdigit()
        for value in known
    )


def _drawn(columns: Sequence[str], texts: Sequence[Sequence[str]], right: Sequence[bool], title: str) -> None:
    hush()
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(title=title or None, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for name, side in zip(columns, right, strict=True):
        drawn.add_column(name, justify="right" if side else "left", overflow="fold")
    for row in texts:
        drawn.add_row(*(Text(text) for text in row))
    Console().print(drawn)


@contextmanager
def progress(label: str, total: int) -> Iterator[Callable[[int], None]]:
    """Draw a bar on stderr while something runs, when that is a terminal; yield the call that moves it."""
    if total < 2 or not is_terminal(err=True):
        yield lambda done: None
        return
    end()
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task(one_line(label, 40), total=total)
        yield lambda done: bar.update(task, completed=done)
