"""foreword models: what the catalog knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from foreword.cli import options
from foreword.cli.output import Cell, emit_json, note, table

if TYPE_CHECKING:
    from foreword.core.catalog import ModelSpec

EPILOG = """\b
Examples:
  foreword models
  foreword models sonnet
  foreword models qwen --catalog mine.toml --json

TEXT is looked for in ids, aliases and the provider's name. Prices are the listed ones of today, in US dollars per
million tokens; a dash is unknown. A model of yours stands here once --catalog, or `catalog` in the settings file,
names the file that describes it.
"""
PRICES = ("input", "cache_read", "cache_write_short", "cache_write_long", "output")


@click.command("models", epilog=EPILOG)
@click.argument("text", metavar="[TEXT]", default="")
@options.catalog
@options.as_json
def command(text: str, catalog: str | None, as_json: bool) -> None:
    """List the models of the catalog, or those with TEXT in a name."""
    from foreword.engine.catalog_file import load_catalog

    known = load_catalog(catalog)
    aliases: dict[str, list[str]] = {}
    for alias, name in known.aliases.items():
        aliases.setdefault(name, []).append(alias)
    specs = [known.model(name) for name in known.names]
    rows = [_row(spec, aliases.get(spec.id, [])) for spec in specs]
    wanted = text.casefold()
    found = [
        row
        for row in rows
        if any(wanted in name.casefold() for name in (row["model"], row["provider"], *row["aliases"]))
    ]
    if as_json:
        emit_json({"models": found})
    elif found:
        table(
            ("model", "also", "provider", "wires", "window", "input", "cache read", "output", "cached from",
             "pictures"),
            [_cells(row) for row in found],
        )  # fmt: skip
    else:
        note(f"no model has {text!r} in a name; `foreword models` lists all {len(rows)}")


def _row(spec: ModelSpec, aliases: list[str]) -> dict[str, Any]:
    return {
        "model": spec.id,
        "aliases": aliases,
        "provider": spec.provider,
        "wires": list(spec.wires),
        "window": spec.window,
        "max_output": spec.max_output,
        "price": {bucket: getattr(spec.price, bucket, None) for bucket in PRICES},
        "min_cacheable_tokens": spec.min_cacheable_tokens,
        "vision": spec.vision,
        "retires": spec.retires,
        "as_of": spec.as_of,
    }


def _cells(row: dict[str, Any]) -> list[Cell]:
    price, vision = row["price"], row["vision"]
    shown = (price[name] for name in ("input", "cache_read", "output"))
    dollars = [None if amount is None else f"${amount}" for amount in shown]
    reads = None if vision is None else "yes" if vision else "no"
    names = ", ".join(row["aliases"])
    return [
        row["model"], names, row["provider"], ", ".join(row["wires"]), row["window"], *dollars,
        row["min_cacheable_tokens"], reads,
    ]  # fmt: skip
