"""foreword simulate: what policies would send, read and cost."""

from __future__ import annotations

import re
from typing import Any

import click

from foreword.cli import options
from foreword.cli.output import emit_json, table, usd_text

EPILOG = """\b
Examples:
  foreword simulate --synthetic system=3000,step=1500,steps=40,keep=8,summary=800 --prices miss=0.15,hit=0.003
  foreword simulate --synthetic system=3000,step=1500,steps=40 --models claude-opus-4-8,deepseek-flash

Step k sends the system text and what k steps have added. Only input is priced.
"""

SIZES = {"system": 1, "step": 1, "steps": 1, "keep": 0, "summary": 0}
"""Member of --synthetic -> its least value."""
REQUIRED = ("system", "step", "steps")
LARGEST = {"steps": 2_000}
"""Requests grow with each step, so their units grow with the square."""
MOST = 10**9
PRICE = re.compile(r"[0-9]{1,6}(\.[0-9]{1,6})?")


def _pairs(value: str, known: tuple[str, ...]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for part in value.split(","):
        name, sign, given = part.strip().partition("=")
        if name not in known or not sign or name in pairs:
            raise click.BadParameter(
                f"{part[:40]!r}: expected each of {', '.join(known)} once, as NAME=VALUE"
            )
        pairs[name] = given.strip()
    return pairs


def _sizes(ctx: click.Context, param: click.Parameter, value: str) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for name, given in _pairs(value, tuple(SIZES)).items():
        if not (given.isascii() and given.isdigit() and len(given) < 12):
            raise click.BadParameter(f"{name}={given[:40]!r} is no whole number")
        least, most = SIZES[name], LARGEST.get(name, MOST)
        if not least <= int(given) <= most:
            raise click.BadParameter(f"{name}={given} is not between {least:,} and {most:,}")
        sizes[name] = int(given)
    if missing := [name for name in REQUIRED if name not in sizes]:
        raise click.BadParameter(f"{missing[0]} is missing; it takes {', '.join(REQUIRED)} at least")
    return sizes


def _prices(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, str] | None:
    if value is None:
        return None
    pairs = _pairs(value, ("miss", "hit"))
    for name in ("miss", "hit"):
        if not PRICE.fullmatch(pairs.get(name, "")):
            raise click.BadParameter(f"{name} must be US dollars per million tokens, such as 0.15")
    return pairs["miss"], pairs["hit"]


def _names(ctx: click.Context, param: click.Parameter, value: str | None) -> list[str]:
    return [name.strip() for name in value.split(",") if name.strip()] if value else []


def _later(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    """Refuse what is planned, before anything else is asked for."""
    if value:
        name = "FILE" if param.name == "files" else param.opts[0]
        raise click.UsageError(f"{name} is not built yet; --synthetic is", ctx)


@click.command("simulate", epilog=EPILOG)
@click.option(
    "--synthetic",
    "sizes",
    metavar="system=N,step=N,steps=N[,keep=N,summary=N]",
    required=True,
    callback=_sizes,
    help="Sizes in tokens of an agent's session.",
)
@click.option(
    "--policies",
    metavar="A,B",
    callback=_names,
    help="Which policies: full-no-cache, full, compact-every-step; the default is all.",
)
@click.option(
    "--models",
    metavar="M,N",
    callback=_names,
    help="Models of the catalog: their caches and prices; the default is a cache without limits.",
)
@click.option(
    "--prices",
    metavar="miss=USD,hit=USD",
    callback=_prices,
    help="Prices per million tokens without and with a cache hit; without them, the models'.",
)
@click.option("--sweep", hidden=True, is_eager=True, expose_value=False, callback=_later)
@click.option("--window", hidden=True, is_eager=True, expose_value=False, callback=_later)
@click.argument("files", metavar="", nargs=-1, is_eager=True, expose_value=False, callback=_later)
@options.catalog
@options.as_json
def command(
    sizes: dict[str, int],
    policies: list[str],
    models: list[str],
    prices: tuple[str, str] | None,
    catalog: str | None,
    as_json: bool,
) -> None:
    """Simulate what policies send, read from the cache and cost."""
    from foreword.engine.catalog_file import load_catalog
    from foreword.evals.simulate import POLICIES, Synthetic, nameless, priced, row

    for name in policies:
        if name not in POLICIES:
            raise click.BadParameter(f"{name!r}; there are {', '.join(POLICIES)}", param_hint="--policies")
    known = load_catalog(catalog)
    specs = [known.model(name) for name in models] or [nameless()]
    if prices is not None:
        specs = [priced(spec, *prices) for spec in specs]
    session = Synthetic(**sizes)
    rows = [row(session, policy, spec) for spec in specs for policy in policies or POLICIES]
    if as_json:
        emit_json({"rows": rows})
        return
    table(
        ("policy", "model", "tokens in", "last step", "peak", "cache read", "cost", "epochs"),
        [
            [
                made["policy"],
                made["model"],
                made["tokens_in"],
                made["last_step_tokens"],
                made["peak"],
                made["cache_read"],
                usd_text(made["cost_usd"]),
                made["epochs"],
            ]
            for made in rows
        ],
    )
