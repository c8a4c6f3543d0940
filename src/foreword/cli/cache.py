"""foreword cache: what a session's prompt cache did."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from foreword.cli import options
from foreword.cli.output import emit, emit_json, percent, table, usd_text

if TYPE_CHECKING:
    from foreword.evals.calls import Call

EPILOG = """\b
Examples:
  foreword cache explain session.jsonl
  foreword cache explain session.jsonl --json

A break: a call that read less than the call before had sent. Calls without usage are none. The cause comes with what
the file holds as evidence: "shown" where a recorded fact breaks this cache by the provider's rules, "likely" where the
figures fit and nothing recorded speaks against it.
"""


@click.group("cache", epilog=EPILOG)
@click.pass_context
def command(ctx: click.Context) -> None:
    """See what a session's prompt cache did."""
    ctx.default_map = dict.fromkeys(("explain",), ctx.default_map)  # settings hold for the commands inside


@command.command("explain", epilog=EPILOG)
@click.argument("source", metavar="FILE|SESSION")
@click.option(
    "--bodies",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of the request bodies, as 00007.request.json for step 7; needs --provider.",
)
@click.option("--provider", metavar="P", type=click.Choice(options.WIRES), help="Wire of the bodies.")
@options.catalog
@options.format
@options.session
@options.store
@options.as_json
def explain(
    source: str,
    bodies: Path | None,
    provider: str | None,
    catalog: str | None,
    format_: str | None,
    chosen: str | None,
    store: str | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Explain every break of the cache in FILE, or in SESSION of the store: cause, evidence, cost, mend."""
    from foreword.core.prices import Prices
    from foreword.engine.catalog_file import load_catalog
    from foreword.evals.cache_explain import breaks_of, explained

    if (bodies is None) != (provider is None):
        raise click.UsageError("--bodies and --provider go together: each wire writes its bodies its own way")
    calls = _recorded(source, format_, store, chosen)
    if bodies is not None and len(calls) != 1:
        raise click.UsageError(
            f"--bodies belong to one session; choose it with --session: {', '.join(calls)}"
        )
    prices = Prices(load_catalog(catalog))
    breaks = [one for name, made in calls.items() for one in breaks_of(made, name, prices)]
    if bodies is not None and provider is not None:
        from foreword.evals.cache_bodies import beside_bodies

        breaks = [beside_bodies(one, bodies, provider) for one in breaks]
    document = explained(breaks, sum(map(len, calls.values())))
    if as_json:
        emit_json(document)
    else:
        _print(document, several=len(calls) > 1)


def _recorded(name: str, format_: str | None, place: str | None, chosen: str | None) -> dict[str, list[Call]]:
    """Return the calls of each session; the log of a session in the store is its own witness.

    Raises: ImportFailed; UnknownSession; StoreUnavailable; click.UsageError.
    """
    from foreword.cli.source import STDIN, is_file, open_for_session, pick
    from foreword.evals.cache_signs import signs_of
    from foreword.evals.calls import calls_of
    from foreword.importers.read import read

    if not is_file(name):
        store, session = open_for_session(name, place)
        with store:
            return {session: calls_of(store.load(session))}
    data = sys.stdin.buffer.read() if name == STDIN else None
    sessions = read(name, format=format_, data=data)
    signs = signs_of(name, sessions[0].format, data)
    main = sessions[0].session
    if chosen is not None:
        sessions = [pick(sessions, chosen, name)]
    return {one.session: calls_of(one.drafts, signs, side=one.session != main) for one in sessions}


def _print(document: dict[str, Any], *, several: bool) -> None:
    for row in document["breaks"]:
        whose = f"{row['session']} " if several else ""
        emit(f"{whose}step {row['step']} ({row['where']}): {row['cause']} ({row['certainty']})")
        emit(
            f"  read {row['read']:,} of {row['expected_read']:,} tokens; {usd_text(row['cost_usd'])} more than a hit"
        )
        emit(f"  because  {row['evidence']}")
        emit(f"  mend     {row['fix']}")
    if document["breaks"]:
        emit()
    unknown = document["unknown_share_below_half"]
    too_short = document["by_cause"].get("too_short", 0)
    table(
        ("as recorded", "figure"),
        [
            ["calls", document["calls"]],
            *([["too short to be cached", too_short]] if too_short else []),
            ["breaks", len(document["breaks"]) - too_short],
            ["breaks below half", document["breaks_below_half"]],
            ["tokens written again at those", document["tokens_rewritten_below_half"]],
            ["of unknown cause", percent(unknown)],
            ["paid beyond hits", usd_text(document["cost_usd"])],
        ],
    )
