"""foreword gate: fail when a measure got worse."""

from __future__ import annotations

import sys
from math import isnan
from typing import TYPE_CHECKING, Any

import click

from foreword.cli import options
from foreword.cli.output import emit, emit_json, percent, table

if TYPE_CHECKING:
    from foreword.evals.gate import Gate, Run

EPILOG = """\b
Examples:
  foreword gate cache run1.jsonl run2.jsonl run3.jsonl --baseline 0.93 --tolerance 0.03
  foreword gate cache responses.jsonl --baseline 0.9 --tolerance 0.05 --json

Each FILE is one run of the same task: a session file, or JSON lines that hold responses or usage objects of any
client. The median hit rate must reach the baseline less the tolerance. Exit code 1 when it does not, when nothing
at all was read from the cache (a usage field probably changed its name), or when a file holds no usage.
"""


class Share(click.FloatRange):
    """A share, 0 to 1; what is no number is none, too."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        share = super().convert(value, param, ctx)
        if isnan(share):
            self.fail(f"{value} is no number from 0 to 1.", param, ctx)
        return share


SHARE = Share(min=0, max=1)


@click.group("gate", epilog=EPILOG)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Fail when a measure got worse."""
    ctx.default_map = dict.fromkeys(("cache",), ctx.default_map)  # settings hold for the commands inside


@command.command("cache", epilog=EPILOG)
@click.argument("sources", metavar="FILE|SESSION…", nargs=-1, required=True)
@click.option(
    "--baseline", metavar="X", type=SHARE, required=True, help="Hit rate that was measured, 0 to 1."
)
@click.option(
    "--tolerance", metavar="Y", type=SHARE, required=True, help="How far under it the median may be."
)
@options.format
@options.store
@options.as_json
def cache(
    sources: tuple[str, ...],
    baseline: float,
    tolerance: float,
    format_: str | None,
    store: str | None,
    as_json: bool,
) -> None:
    """Hold the cache hit rate of repeat runs against a baseline."""
    from foreword.evals.gate import gate

    found = gate([_run(name, format_, store) for name in sources], baseline=baseline, tolerance=tolerance)
    if as_json:
        emit_json(_document(found))
    else:
        _print(found)
    if not found.ok:
        raise click.exceptions.Exit(1)


def _run(name: str, format_: str | None, place: str | None) -> Run:
    """Read one run: the calls of a session, else the usage in the file's records.

    Raises: ImportFailed; UnknownSession; StoreUnavailable; click.UsageError.
    """
    from foreword.cli.source import STDIN, is_file, sessions_of
    from foreword.errors import ImportFailed
    from foreword.evals.gate import run_of, run_of_sessions
    from foreword.evals.usage_lines import tells_usage, usage_of
    from foreword.importers.read import read
    from foreword.importers.source import Source

    if not is_file(name):
        return run_of_sessions(name, sessions_of(name, format_=format_, place=place))
    data = sys.stdin.buffer.read() if name == STDIN else None
    failed: ImportFailed | None = None
    try:
        found = run_of_sessions(name, read(name, format=format_, data=data))
    except ImportFailed as error:
        if format_ is not None:
            raise
        found, failed = run_of(name, []), error
    if found.calls or format_ is not None:
        return found
    with Source(name, data) as source:
        told = [(usage_of(row.value), tells_usage(row.value)) for row in source.rows()]
    known = [usage for usage, _ in told if usage is not None]
    plain = run_of(name, known or [None for _, tells in told if tells])
    if failed is not None and not plain.calls and not plain.unknown:
        raise failed
    return plain if plain.calls or failed is not None else found


def _document(found: Gate) -> dict[str, Any]:
    return {
        "ok": found.ok,
        "median": found.median,
        "baseline": found.baseline,
        "tolerance": found.tolerance,
        "threshold": found.threshold,
        "reason": found.reason,
        "text": found.text,
        "runs": [
            {
                "file": run.name,
                "hit_rate": None if run.hit_rate is None else round(run.hit_rate, 6),
                "calls": run.calls,
                "calls_without_usage": run.unknown,
                "input": run.input,
                "cache_read": run.cache_read,
            }
            for run in found.runs
        ],
    }


def _print(found: Gate) -> None:
    table(
        ("run", "calls", "input", "read from cache", "hit rate"),
        [[run.name, run.calls, run.input, run.cache_read, percent(run.hit_rate)] for run in found.runs],
    )
    emit(f"{'ok' if found.ok else 'RED'}: {found.text}")
