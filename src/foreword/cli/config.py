"""foreword config: which settings count, and where each comes from."""

from __future__ import annotations

from typing import Any

import click
from click.core import ParameterSource

from foreword.cli import options
from foreword.cli.output import emit, emit_json, table
from foreword.cli.settings import SETTINGS, settings_file, shown

EPILOG = """\b
Examples:
  foreword config --explain
  foreword config --explain --model claude-opus-4-8
  FOREWORD_WINDOW=200000 foreword config --explain --json

An argument counts before the environment, that before the file, that before the default. The file is TOML with the
names of the first column; foreword config says where it is looked for. Keys are never settings: an endpoint
names the environment variable that holds its key, and only whether that is set is shown.
"""
NOT_SET = "not set"


@click.command("config", epilog=EPILOG)
@click.option("--explain", is_flag=True, help="Say of every setting where its value comes from.")
@options.store
@options.target(required=False, settings=True)
@options.endpoint
@options.as_json
@click.pass_context
def command(ctx: click.Context, explain: bool, as_json: bool, **given: Any) -> None:
    """Show the settings that count here."""
    file = settings_file()
    rows = [_row(ctx, name, given.get(name)) for name in SETTINGS]
    keys = _keys()
    if as_json:
        emit_json({"file": str(file), "exists": file.is_file(), "settings": rows, "keys": keys})
        return
    emit(f"settings file: {file}{'' if file.is_file() else ' (not there)'}")
    if explain:
        table(
            ("setting", "value", "from"),
            [(row["name"], row["value"] or NOT_SET, row["from"]) for row in rows],
        )
        states = [
            (key["variable"], "set" if key["set"] else NOT_SET, ", ".join(key["endpoints"])) for key in keys
        ]
        table(("key variable", "state", "endpoints"), states)
    else:
        for row in rows:
            if row["value"] is not None:
                emit(f"{row['name']} = {row['value']}")


def _row(ctx: click.Context, name: str, value: Any) -> dict[str, Any]:
    source = ctx.get_parameter_source(name)
    if name == "store" and value is None:
        value = options.store_place(None)
    origin = {
        ParameterSource.COMMANDLINE: f"argument --{name.replace('_', '-')}",
        ParameterSource.ENVIRONMENT: f"environment {SETTINGS[name].variable}",
        ParameterSource.DEFAULT_MAP: f"file {settings_file()}",
    }.get(source) if source is not None else None  # fmt: skip
    return {"name": name, "value": None if value is None else shown(value), "from": origin or "default"}


def _keys() -> list[dict[str, Any]]:
    """Say of each variable that an endpoint reads whether it is set; never what it holds."""
    import os

    from foreword.core.endpoint import profiles

    users: dict[str, list[str]] = {}
    for profile in profiles().values():
        if profile.auth.key_env is not None:
            users.setdefault(profile.auth.key_env, []).append(profile.name)
    return [
        {"variable": variable, "set": bool(os.environ.get(variable)), "endpoints": names}
        for variable, names in users.items()
    ]
