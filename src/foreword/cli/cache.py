"""foreword cache: what a session's prompt cache did."""

from __future__ import annotations

from typing import Any

import click

from foreword.cli import options
from foreword.cli.output import emit, emit_json, percent, table, usd_text

EPILOG = """\b
Examples:
  foreword cache explain session.jsonl
  foreword cache explain session.jsonl --json

A break: a call that read less than the call before had sent. Calls without usage are none. The cause comes with what
the file holds as evidence: "shown" where a recorded fact breaks this cache by the provider's rules, "likely" where the
figures fit and nothing recorded speaks against it.
"""


@click.group("cache")
def command() -> None:
    """See what a session's prompt cache did."""


@command.command("explain", epilog=EPILOG)
@click.argument("source", metavar="FILE|SESSION")
@click.option("--prices", metavar="FILE", type=click.Path(exists=True, dir_okay=False),
              help="Price list that goes before the catalog's.")
@options.format
@options.session
@options.store
@options.as_json
def explain(
    source: str, prices: str | None, format_: str | None, chosen: str | None, store: str | None, as_json: bool
) -> None:  # fmt: skip
    """Explain every break of the cache in FILE, or in SESSION of the store: cause, evidence, cost, mend."""
    from foreword.cli.recorded import read_recorded
    from foreword.cli.source import pick
    from foreword.core.prices import Prices
    from foreword.evals.cache_explain import breaks_of, explained
    from foreword.evals.calls import calls_of

    sessions, signs = read_recorded(source, format_=format_, place=store)
    if chosen is not None:
        sessions = [pick(sessions, chosen, source)]
    listed = Prices()
    if prices is not None:
        with click.open_file(prices, encoding="utf-8") as file:
            listed = Prices.read(file.read(), prices)
    calls = {session.session: calls_of(session, signs) for session in sessions}
    breaks = [one for name, made in calls.items() for one in breaks_of(made, name, listed)]
    document = explained(breaks, sum(map(len, calls.values())))
    if as_json:
        emit_json(document)
    else:
        _print(document, several=len(sessions) > 1)


def _print(document: dict[str, Any], *, several: bool) -> None:
    for row in document["breaks"]:
        whose = f"{row['session']} " if several else ""
        emit(f"{whose}step {row['step']} ({row['where']}): {row['cause']} ({row['certainty']})")
        emit(f"  read {row['read']:,} of {row['expected_read']:,} tokens; {usd_text(row['cost_usd'])} more than a hit")
        emit(f"  because  {row['evidence']}")
        emit(f"  mend     {row['fix']}")
    if document["breaks"]:
        emit()
    unknown = document["unknown_share_below_half"]
    table(
        ("as recorded", "figure"),
        [
            ["calls", document["calls"]],
            ["breaks", len(document["breaks"])],
            ["breaks below half", document["breaks_below_half"]],
            ["tokens written again at those", document["tokens_rewritten_below_half"]],
            ["of unknown cause", percent(unknown)],
            ["paid beyond hits", usd_text(document["cost_usd"])],
        ],
    )
