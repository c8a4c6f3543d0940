"""foreword diff: where the next request parts from the one before, and why."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from foreword.cli import options
from foreword.cli.output import emit, emit_json

EPILOG = """\b
Examples:
  foreword diff steps/00001.request.json steps/00002.request.json --provider anthropic
  foreword diff before.json - --provider openai-chat --json < after.json

A is the body sent first. Says how much of it the next request can still read from the provider's cache, where the
first difference stands, what made it and what to do. The bodies may come from any client. Exit code 0 also when
they differ; tokens are counted (o200k), pictures and documents estimated.
"""


@click.command("diff", epilog=EPILOG)
@click.argument("a", metavar="A.json")
@click.argument("b", metavar="B.json")
@click.option("--provider", metavar="P", required=True, cls=options.GivenOnly, type=click.Choice(options.WIRES),
              help=f"Wire: {', '.join(options.WIRES)}.")  # fmt: skip
@options.as_json
def command(a: str, b: str, provider: str, as_json: bool) -> None:
    """Compare two request bodies A and B of one wire, B sent after A."""
    import msgspec

    from foreword.evals.diff import diff

    if a == b == "-":
        raise click.UsageError("only one of the two can be stdin")
    found = diff(_read(a), _read(b), provider)
    if as_json:
        emit_json(msgspec.to_builtins(found))
        return
    emit(f"common  {found.common_units:,} units, {found.common_tokens:,} tokens")
    difference = found.first_difference
    if difference is None:
        emit("lost    nothing: the second request holds all that a cache has of the first")
        return
    layer = f", from the {found.layer} layer on" if found.layer else ""
    emit(f"lost    {found.lost_tokens:,} tokens{layer}")
    emit(f"cause   {found.cause}")
    emit(f"at      {difference.path}, character {difference.offset:,}")
    emit(f"a       {difference.a!r}")
    emit(f"b       {difference.b!r}")
    emit(f"fix     {found.fix}")


def _read(name: str) -> bytes:
    return sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
