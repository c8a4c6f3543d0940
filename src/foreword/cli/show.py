"""foreword show: what fills a session's context, step by step."""

from __future__ import annotations

from typing import Any

import click

from foreword.cli import options
from foreword.cli.lines import one_line
from foreword.cli.output import Cell, emit, emit_json, table

EPILOG = """\b
Examples:
  foreword show session.jsonl
  foreword show session.jsonl --step 12
  foreword show SESSION --json

Without --step: what fills the context at the end, by category, and what each step added. With --step: what
that call read anew and what it answered. Tokens are counted (o200k).
"""


@click.command("show", epilog=EPILOG)
@click.argument("source", metavar="FILE|SESSION")
@click.option("--step", metavar="N", type=click.IntRange(min=1), help="One step, block by block.")
@options.format
@options.session
@options.store
@options.as_json
def command(
    source: str, step: int | None, format_: str | None, chosen: str | None, store: str | None, as_json: bool
) -> None:
    """Show what fills the context of a session of FILE, or of SESSION in the store."""
    from foreword.cli.source import pick, sessions_of
    from foreword.evals.show import overview, show_step

    sessions = sessions_of(source, format_=format_, place=store)
    if step is not None or chosen is not None:
        sessions = [pick(sessions, chosen, source)]
    shown = [overview(one) if step is None else show_step(one, step) for one in sessions]
    if as_json:
        emit_json(shown[0] if len(shown) == 1 else {"sessions": shown})
        return
    for number, one in enumerate(shown):
        if number:
            emit()
        emit(f"session {one['session']} ({one['format']}), {one['steps']:,} steps")
        emit()
        if step is None:
            _print_overview(one)
        else:
            _print_step(one)


def _print_overview(one: dict[str, Any]) -> None:
    from foreword.cli.stats import print_categories

    print_categories(one["tokens"])
    emit()
    rows: list[list[Cell]] = [
        [
            row["step"],
            row["context"],
            sum(row["added"].values()),
            row["answer"],
            row["calls"],
            one_line(row["begins"], 60),
        ]
        for row in one["by_step"]
    ]
    table(("step", "context", "new", "answer", "calls", "begins"), rows)


def _print_step(one: dict[str, Any]) -> None:
    emit(f"step {one['step']}: {one['context']:,} tokens in the context, {one['new']:,} of them new")
    emit()
    rows: list[list[Cell]] = [
        [row["category"], row["tool"] or "", row["tokens"], one_line(row["text"], 90)] for row in one["rows"]
    ]
    table(("category", "tool", "tokens", "text"), rows)
