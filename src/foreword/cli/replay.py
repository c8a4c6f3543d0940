"""foreword replay: walk a recorded session and judge every request Foreword would have sent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from foreword.cli import options
from foreword.cli.output import emit, emit_json, note, percent, progress, table, usd_text

if TYPE_CHECKING:
    from foreword.evals.replay import Keep

EPILOG = """\b
Examples:
  foreword replay session.jsonl --provider anthropic --model claude-opus-4-8 --out out
  foreword replay session.jsonl --provider openai-chat --model gpt-4.1 --window 32000 --out out --json
  foreword replay SESSION --provider anthropic --model claude-opus-4-8 --keep-requests sample:10 --out out

No model and no network. DIR gets store/, steps/00001.request.json and .manifest.json (or .error.json where a
request was refused), and report.json; a file of several sessions gets one subfolder a session. An earlier
replay in DIR is replaced. The exit code is 1 when a request breaks a rule of its wire, when a prefix broke
without a reason on record, or when recorded bytes can't be read back. A refused step is told, and is none of these.
"""


def _keep(ctx: click.Context, param: click.Parameter, value: str) -> Keep:
    from foreword.evals.replay import Keep

    try:
        return Keep.parse(value)
    except ValueError as error:
        raise click.BadParameter(str(error), ctx, param) from error


@click.command("replay", epilog=EPILOG)
@click.argument("source", metavar="FILE|SESSION")
@options.target(required=True)
@options.served
@click.option("--summarizer", type=click.Choice(["extractive"]), default="extractive", show_default=True,
              help="What writes summaries.")  # fmt: skip
@click.option("--keep-requests", "keep", metavar="all|sample:N|none", default="all", show_default=True,
              callback=_keep, help="Which request bodies are written: all, every N-th, none.")  # fmt: skip
@options.format
@options.store
@click.option(
    "--out", metavar="DIR", required=True, type=click.Path(path_type=Path), help="Folder for the results."
)
@options.as_json
def command(
    source: str,
    provider: str,
    model: str,
    policy: str,
    window: int | None,
    catalog: str | None,
    reserve_output: int | None,
    unseen: int | None,
    reader: str,
    endpoint: str | None,
    summarizer: str,
    keep: Keep,
    format_: str | None,
    store: str | None,
    out: Path,
    as_json: bool,
) -> None:
    """Walk a recorded session: compile and judge, before each recorded model call, the request to send."""
    from foreword.cli.options import Aim
    from foreword.cli.source import sessions_of
    from foreword.evals.replay_folder import STORE, clear, subfolders
    from foreword.evals.replayed import refereed, replay
    from foreword.store.store import Store

    aim = Aim(provider, model, policy, window, reserve_output, reader, endpoint, catalog)
    refereed(aim.target)
    sessions = sessions_of(source, format_=format_, place=store)
    clear(out)
    folders = [out] if len(sessions) == 1 else subfolders(out, [session.session for session in sessions])
    reports: list[dict[str, Any]] = []
    asked = click.get_current_context().get_parameter_source("store") is ParameterSource.COMMANDLINE
    with Store.open(store if store is not None and asked else out / STORE) as opened:
        for session, folder in zip(sessions, folders, strict=True):
            for flaw in session.flaws:
                note(f"warning: {session.session}: {flaw.where}: {flaw.text} ({flaw.code})")
            walk = replay(
                session, aim.target, store=opened, policy=aim.policy, unseen=unseen, out=folder, keep=keep
            )
            with progress(session.session, walk.calls) as moved:
                reports.append(walk.run(moved))
    if as_json:
        emit_json(reports[0] if len(reports) == 1 else {"sessions": reports})
    else:
        _print(reports, out)
    if any(not holds(report) for report in reports):
        raise click.exceptions.Exit(1)


def holds(report: dict[str, Any]) -> bool:
    """Say whether a replay kept the rules: no violation, no unexplained break, nothing lost."""
    return not (report["violations"] or report["unexplained_prefix_breaks"] or report["unrecoverable_bytes"])


ROWS = (
    ("steps", "steps"), ("refused", "refused_steps"), ("epochs", "epochs"),
    ("prefix breaks", "prefix_breaks"), ("unexplained breaks", "unexplained_prefix_breaks"),
    ("violations", "violations"),
    ("peak tokens", "peak_tokens"), ("bytes that can't be read back", "unrecoverable_bytes"),
)  # fmt: skip


def _print(reports: list[dict[str, Any]], out: Path) -> None:
    if len(reports) == 1:
        _print_one(reports[0])
    else:
        columns = (
            "session",
            "steps",
            "refused",
            "epochs",
            "breaks",
            "hit rate",
            "cost",
            "peak",
            "violations",
        )
        rows = [
            [r["session"], r["steps"], r["refused_steps"], r["epochs"], r["prefix_breaks"],
             percent(r["cache_hit_rate"]), usd_text(r["cost_usd"]["total"]), r["peak_tokens"],
             r["violations"]]
            for r in reports
        ]  # fmt: skip
        table(columns, rows)
    emit()
    emit(f"results in {out}")


def _print_one(report: dict[str, Any]) -> None:
    model = f"{report['model']} ({report['provider']})"
    emit(f"session {report['session']} for {model}, window {report['window']:,}")
    emit()
    tokens = report["tokens"]
    table(
        ("replay", "figure"),
        [
            *([name, report[key]] for name, key in ROWS),
            ["tokens sent", tokens["sent"]],
            ["read from cache", tokens["cache_read"]],
            ["cache hit rate", percent(report["cache_hit_rate"])],
            ["cost", usd_text(report["cost_usd"]["total"])],
            *([f"results {how}" if how != "summarized" else "stages summarized", n]
              for how, n in report["rewrites"].items() if n),
        ],
    )  # fmt: skip
