"""foreword stats: measure a session."""

from __future__ import annotations

from typing import Any

import click

from foreword.cli import options
from foreword.cli.output import Cell, cell, emit, emit_json, note, percent, table, usd_text

EPILOG = """\b
Examples:
  foreword stats session.jsonl
  foreword stats SESSION --json

What fills the context by category and step; the tools by weight; texts that came in more than once; results
that were cut, files read again and paging by shell soon after a cut; usage and cost as recorded. Tokens are
counted (o200k); usage is the provider's.
"""

TOP = 12


@click.command("stats", epilog=EPILOG)
@click.argument("source", metavar="FILE|SESSION")
@options.catalog
@options.format
@options.session
@options.store
@options.as_json
def command(
    source: str,
    catalog: str | None,
    format_: str | None,
    chosen: str | None,
    store: str | None,
    as_json: bool,
) -> None:
    """Measure the sessions of FILE, or SESSION of the store."""
    from foreword.cli.source import pick, sessions_of
    from foreword.core.prices import Prices
    from foreword.engine.catalog_file import load_catalog
    from foreword.evals.stats import stats

    prices = Prices(load_catalog(catalog))
    sessions = sessions_of(source, format_=format_, place=store)
    if chosen is not None:
        sessions = [pick(sessions, chosen, source)]
    measured = [stats(session, prices) for session in sessions]
    if as_json:
        emit_json(measured[0] if len(measured) == 1 else {"sessions": measured})
        return
    for number, one in enumerate(measured):
        if number:
            emit()
        _print(one)


def _print(one: dict[str, Any]) -> None:
    for warning in one["warnings"]:
        note(f"warning: {warning['where']}: {warning['text']} ({warning['code']})")
    emit(f"session {one['session']} ({one['format']}): {one['steps']:,} steps, {one['messages']:,} messages, "
         f"{one['tool_calls']:,} tool calls")  # fmt: skip
    emit()
    print_categories(one["tokens"])
    if one["tools"]:
        emit()
        rows: list[list[Cell]] = [
            [row["tool"], row["calls"], row["argument_tokens"], row["result_tokens"], row["errors"]]
            for row in one["tools"][:TOP]
        ]
        table(("tool", "calls", "argument tokens", "result tokens", "errors"), rows)
    emit()
    repeated, reads = one["repeated"], one["reads"]
    table(
        ("habit", "times", "tokens"),
        [
            ["same content again", repeated["copies"], repeated["tokens"]],
            ["results cut by their tool", reads["truncated"], None],
            ["files read again", reads["reread"], None],
            ["shell paging soon after a cut", reads["paged_after_truncation"], None],
        ],
    )
    emit()
    usage = one["usage"] or {}
    table(
        ("as recorded", "figure"),
        [
            *([name.replace("_", " "), cell(usage[name])] for name in usage),
            ["calls without usage", cell(one["calls_without_usage"])],
            ["cost by the catalog", usd_text(one["cost_usd"])],
            ["calls of unknown cost", cell(one["unknown"])],
            ["recorded cost", usd_text(one["recorded_cost_usd"])],
            ["cache hit rate", percent(one["cache_hit_rate"])],
            ["input per output token", cell(one["input_to_output"])],
        ],
    )


def print_categories(tokens: dict[str, Any]) -> None:
    """Print what fills the context, with a bar for each share."""
    total = tokens["total"] or 1
    table(
        ("category", "tokens", "share", ""),
        [
            [name, count, percent(count / total), "█" * round(24 * count / total)]
            for name, count in tokens["by_category"].items()
            if count
        ],
    )
