"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from foreword.cli.place import default_store

if TYPE_CHECKING:
    from foreword.compiler.policy import Policy
    from foreword.core.target import Target

F = TypeVar("F", bound=Callable[..., Any])

WIRES = ("anthropic", "openai-chat", "openai-responses", "deepseek", "gemini")

store = click.option(
    "--store",
    metavar="S",
    envvar="FOREWORD_STORE",
    help="Folder or sqlite:///PATH of the store; the default is a folder of yours.",
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")
format = click.option(
    "--format", "format_", metavar="F", help="Format of FILE; the default is by its content."
)
session = click.option("--session", "chosen", metavar="ID", help="Which session, when FILE holds several.")


def store_place(given: str | None) -> str:
    """Return the place of the store: as given, else the default one."""
    return given if given is not None else str(default_store())


def target(*, required: bool) -> Callable[[F], F]:
    """Add the options that say whom requests are compiled for."""
    options = (
        click.option("--provider", metavar="P", required=required, help=f"Wire: {', '.join(WIRES)}."),
        click.option("--model", metavar="M", required=required, help="Model, by a name of the catalog."),
        click.option("--policy", metavar="NAME|FILE", default="default", show_default=True,
                     help="Policy by name, or a TOML or JSON file with some of its fields."),
        click.option("--window", metavar="N", type=click.IntRange(min=1),
                     help="Tokens that input and output may take; the default is the model's."),
        click.option("--reserve-output", metavar="N", type=click.IntRange(min=1),
                     help="Tokens kept for output; the default is min(max output, window / 8)."),
        click.option("--unseen", metavar="recorded|N", default="recorded", show_default=True,
                     callback=_unseen, help="Tokens of the prompt that FILE does not hold."),
        click.option("--reader", metavar="R", default="tool", show_default=True, callback=_reader,
                     help="How the agent reads content back: tool, shell, path:ROOT or none."),
    )  # fmt: skip

    def decorate(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def _unseen(ctx: click.Context, param: click.Parameter, value: str) -> int | None:
    """Read ``recorded`` as None, else a number of tokens."""
    if value == "recorded":
        return None
    if not value.isascii() or not value.isdigit() or len(value) > 12:
        raise click.BadParameter(f"{value!r} is neither `recorded` nor a number of tokens", ctx, param)
    return int(value)


def _reader(ctx: click.Context, param: click.Parameter, value: str) -> str:
    if value in ("tool", "shell", "none"):
        return value
    if value.startswith("path:") and len(value) > len("path:"):
        root = Path(value.removeprefix("path:"))
        if root.exists() and not root.is_dir():
            raise click.BadParameter(f"{root} is no folder", ctx, param)
        return value
    raise click.BadParameter(f"{value!r} is none of tool, shell, path:ROOT, none", ctx, param)


class Aim:
    """The target and policy that a command's options name."""

    def __init__(
        self,
        provider: str,
        model: str,
        policy: str,
        window: int | None,
        reserve_output: int | None,
        reader: str,
    ) -> None:
        """Raises: UnknownModel; BadPolicy; CodecError; click.BadParameter for a reserve over the window."""
        from foreword.engine.policy_file import load_policy
        from foreword.engine.target import target_for

        self.policy: Policy = load_policy(policy)
        self.target: Target = target_for(
            provider, model, window=window, reserve_output=reserve_output, reader=reader
        )
        size = self.target.window
        if reserve_output is not None and reserve_output >= size:
            raise click.BadParameter(
                f"{reserve_output:,} leaves no room for a prompt in a window of {size:,}",
                param_hint="--reserve-output",
            )
