"""foreword cost: what every call of recorded sessions cost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from foreword.cli import options
from foreword.cli.output import Cell, emit, emit_bytes, emit_json, note, percent, table, usd_text

if TYPE_CHECKING:
    from foreword.core.prices import Prices
    from foreword.evals.cost import Billed

EPILOG = """\b
Examples:
  foreword cost session.jsonl
  foreword cost *.jsonl --by day
  foreword cost SESSION --csv > calls.csv
  foreword cost --store ./store --by user
  foreword cost session.jsonl --prices mine.toml --json

Without a FILE or SESSION: all sessions of the store. A call counts once, however many files hold it. Prices are
those of the call's day, from the catalog or from --prices: TOML or JSON, in US dollars per million tokens. A cost that
is not known is counted, never taken for 0. A damaged session of the store is left out with a warning; the exit code
is 1 then.
"""

BUCKETS = ("uncached", "cache_read", "cache_write_short", "cache_write_long", "output")
PRICES = {bucket: "input" if bucket == "uncached" else bucket for bucket in BUCKETS}
"""Bucket of a usage -> its member in a price list."""
BY = ("model", "session", "step", "turn", "day", "user", "project", "kind", "status")


@click.command("cost", epilog=EPILOG)
@click.argument("sources", metavar="FILE|SESSION…", nargs=-1)
@click.option(
    "--prices",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    help="Your own prices; they go before the catalog's.",
)
@click.option("--by", type=click.Choice(BY), help="What to add up by; the default is the model.")
@click.option("--csv", "as_csv", is_flag=True, help="Print one line a call as CSV.")
@options.catalog
@options.format
@options.store
@options.as_json
def command(
    sources: tuple[str, ...],
    prices: str | None,
    by: str | None,
    as_csv: bool,
    catalog: str | None,
    format_: str | None,
    store: str | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Bill the calls of FILEs, or of SESSIONs of the store; of none: of all its sessions."""
    from foreword.evals import cost

    if as_csv and as_json:
        raise click.UsageError("--csv and --json are two forms of one result; choose one")
    own = _prices(prices, catalog)
    named = (one for source in sources for one in _sessions(source, format_, store))
    damaged: list[str] = []
    document, rows = cost.bill(named if sources else _all(store, damaged), own, by)
    if as_csv:
        emit_bytes(cost.as_csv(rows).encode("utf-8", "replace"))
    elif as_json:
        emit_json(document)
    else:
        _print(document, by or "model")
    if damaged:
        raise click.exceptions.Exit(1)


def _prices(path: str | None, catalog: str | None) -> Prices:
    from foreword.core.prices import Prices
    from foreword.engine.catalog_file import load_catalog
    from foreword.errors import CatalogError

    known = load_catalog(catalog)
    if path is None:
        return Prices(known)
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise CatalogError(f"prices {path}: not UTF-8 text; write TOML or JSON") from None
    return Prices.read(text, path, known)


def _all(place: str | None, damaged: list[str]) -> Iterator[Billed]:
    """Give the sessions of the store, one at a time: together they may be large.

    One that can't be read is warned of, and its id added to ``damaged``.
    """
    from foreword.cli.source import open_store
    from foreword.errors import ArtifactMissing, LogCorrupt
    from foreword.evals.cost import Billed

    with open_store(place) as store:
        for row in store.sessions():
            try:
                facts = store.load(row.id)
            except (ArtifactMissing, LogCorrupt) as error:
                note(f"warning: {row.id} is not billed: {error}")
                damaged.append(row.id)
                continue
            yield Billed(session=row.id, facts=facts)


def _sessions(name: str, format_: str | None, place: str | None) -> list[Billed]:
    from foreword.cli.source import is_file, open_for_session, read_file
    from foreword.evals.cost import Billed

    if not is_file(name):
        store, session = open_for_session(name, place)
        with store:
            return [Billed(session=session, facts=store.load(session))]
    sessions = read_file(name, format_)
    for flaw in (flaw for one in sessions for flaw in one.flaws):
        if flaw.code in ABOUT_USAGE:
            note(f"warning: {one_place(name, flaw.where)}: {flaw.text} ({flaw.code})")
    return [
        Billed(session=one.session, facts=one.drafts, project=one.project, sub_context=one.sub_context)
        for one in sessions
    ]


ABOUT_USAGE = frozenset(
    {"output_underreported", "unreadable_usage", "usage_missing", "usage_without_answer", "cache_split_mismatch",
     "cached_over_prompt", "progress_usage"}
)  # fmt: skip
"""Codes of flaws that make a bill doubtful."""


def one_place(name: str, where: str) -> str:
    """Name a place in a file, which may be the file."""
    return where if Path(name).name == where else f"{name}: {where}"


def _print(document: dict[str, Any], by: str) -> None:
    groups = document.get("groups", document["by_model"])
    columns = (
        by,
        "calls",
        "uncached",
        "read",
        "written 5 min",
        "written 1 h",
        "output",
        "hit rate",
        "peak",
        "cost",
    )
    rows = [_row(name, one) for name, one in groups.items()]
    table(columns, [*rows, _row("all", document)] if len(rows) != 1 else rows)
    emit()
    recorded = document["recorded_cost_usd"]
    if recorded is not None:
        emit(
            f"recorded by the tool: {usd_text(recorded)}, {document['mismatches']:,} calls with another cost"
        )
    if document["unknown"]:
        names = ", ".join(document["unknown_names"])
        emit(
            f"unknown cost: {document['unknown']:,} of {document['calls']:,} calls ({names}); not in the sums"
        )
        lacking_prices = _lacking_prices(document["by_model"])
        if lacking_prices:
            emit(f"price them with --prices FILE, in dollars per million tokens: {lacking_prices}")
    lacking = {name: count for name, count in document["lacking"].items() if name in BUCKETS}
    if lacking:
        emit(
            "the sums lack "
            + ", ".join(f"{name.replace('_', ' ')} of {count:,} calls" for name, count in lacking.items())
        )
    if document["estimated_cost_usd"] is not None:
        emit(
            f"estimate for {document['estimated']:,} of {document['calls']:,} calls, as if what is unknown had not"
            f" been cached: {usd_text(document['estimated_cost_usd'])}"
        )
    for doubt, count in document["doubts"].items():
        emit(f"warning: the usage of {count:,} calls does not add up ({doubt})")
    others = {name: count for name, count in document["statuses"].items() if name != "ok"}
    if others:
        emit(
            "calls that did not end well: " + ", ".join(f"{count:,} {name}" for name, count in others.items())
        )
    rewrites = document["rewrites"]
    if rewrites:
        emit("rewrites: " + ", ".join(f"{count:,} {name}" for name, count in rewrites.items()))
    for phase, times in (document["first_token_ms"] or {}).items():
        emit(f"first token, {phase}: {times['p50']:,} ms in the median, {times['p95']:,} ms at 95 %")


def _lacking_prices(by_model: dict[str, Any]) -> str:
    """Name what a price list must hold for the calls whose price is unknown: a table for each model, its members."""
    tables: list[str] = []
    for model, one in by_model.items():
        lacking = set(one["unknown_names"])
        fields = [PRICES[bucket] for bucket in BUCKETS if f"price.{bucket}" in lacking]
        if "price" in lacking or any(name.startswith("model.") for name in lacking):
            usage = one["usage"] or dict.fromkeys(BUCKETS, 1)
            fields = [PRICES[bucket] for bucket in BUCKETS if usage[bucket]]
        if fields:
            name = "*" if "model." in lacking else model
            tables.append(f"[{json.dumps(name)}] {', '.join(fields)}")
    return "; ".join(tables)


def _row(name: str, one: dict[str, Any]) -> list[Cell]:
    usage = one["usage"] or {}
    tokens: list[Cell] = [usage.get(bucket) for bucket in BUCKETS]
    return [
        name, one["calls"], *tokens, percent(one["cache_hit_rate"]), one["peak_input"], usd_text(one["cost_usd"])
    ]  # fmt: skip
