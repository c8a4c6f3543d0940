"""foreword tokens: count the tokens of a text."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from foreword.cli import options
from foreword.cli.output import emit, emit_json, note

EPILOG = """\b
Examples:
  foreword tokens "How many tokens is this?"
  foreword tokens - < prompt.txt
  foreword tokens "naïve 東京" --pieces
  foreword tokens - --model claude-opus-4-8 --json < prompt.txt

Counts are in o200k tokens: exact with the extra `tokens`, else an estimate, and the output says which. With
--model, the count is also given in that model's tokens by its factor in the catalog, as an estimate.
"""


@click.command("tokens", epilog=EPILOG)
@click.argument("text", metavar="TEXT|-")
@click.option("--model", metavar="M", cls=options.GivenOnly, help="Estimate the tokens of this model too.")
@options.catalog
@click.option("--pieces", "split", is_flag=True, help="Show the tokens themselves.")
@options.as_json
def command(text: str, model: str | None, catalog: str | None, split: bool, as_json: bool) -> None:
    """Count the tokens of TEXT, or of stdin."""
    from foreword.core.surrogates import mended_text
    from foreword.core.tokens import counter, pieces
    from foreword.engine.catalog_file import load_catalog

    spec = load_catalog(catalog).model(model) if model is not None else None
    read = mended_text(_stdin() if text == "-" else text)
    if _names_file(text):
        note(f"note: {text} is a file, and its name was counted; for its text: foreword tokens - < {text}")
    size = len(read.encode())
    count = counter()
    tokens = count.count(read)
    shown: dict[str, Any] = {
        "tokens": tokens,
        "exact": count.exact,
        "counter": count.name,
        "characters": len(read),
        "bytes": size,
        "model": model,
        "model_tokens": None,
        "factor": None,
    }
    if spec is not None:
        shown["factor"] = spec.token_factor_start
        shown["model_tokens"] = round(tokens * spec.token_factor_start)
    if split:
        shown["pieces"] = pieces(read)
    if as_json:
        emit_json(shown)
        return
    how = "exact" if count.exact else "estimated"
    emit(f"{tokens:,} tokens ({count.name}, {how}), {len(read):,} characters, {size:,} bytes")
    if spec is not None:
        factor = f"{spec.token_factor_start:g} per {count.name} token"
        emit(f"about {shown['model_tokens']:,} tokens of {model} ({factor})")
    if split:
        emit(" ".join(repr(piece) for piece in shown["pieces"]))


def _names_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # too long, or with a null character: no path
        return False


def _stdin() -> str:
    data = sys.stdin.buffer.read()
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise click.UsageError(
            f"stdin is not UTF-8: byte {error.start:,} is 0x{data[error.start]:02x}; convert it first"
        ) from error
