"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from foreword.cli.place import default_store
from foreword.cli.settings import SETTINGS

if TYPE_CHECKING:
    from foreword.compiler.policy import Policy
    from foreword.core.target import Target

F = TypeVar("F", bound=Callable[..., Any])

WIRES = ("anthropic", "openai-chat", "openai-responses", "deepseek", "gemini")
FORMATS = ("claude-code", "codex", "pi", "openai-chat", "anthropic")

store = click.option(
    "--store",
    metavar="S",
    envvar="FOREWORD_STORE",
    help="Folder or sqlite:///PATH of the store; the default is a folder of yours.",
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")
format = click.option(
    "--format",
    "format_",
    metavar="F",
    help=f"Format of FILE: {', '.join(FORMATS)}; the default is by its content.",
)
session = click.option("--session", "chosen", metavar="ID", help="Which session, when FILE holds several.")


class Tokens(click.IntRange):
    """A number of tokens, from 1 on, in figures."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Refuse what is no number in words that say what is one."""
        try:
            int(value)
        except (TypeError, ValueError):
            self.fail(
                f"{value!r} is no whole number of tokens; write it in figures, such as 200000", param, ctx
            )
        return super().convert(value, param, ctx)


TOKENS = Tokens(min=1)


def _variable(name: str) -> str:
    return SETTINGS[name].variable


catalog = click.option(
    "--catalog",
    metavar="FILE",
    envvar=_variable("catalog"),
    help="TOML file with models of yours, or other facts about known ones; laid over ours.",
)
served = click.option(
    "--endpoint",
    metavar="NAME",
    envvar=_variable("endpoint"),
    help="Profile of the server; the default is the vendor's.",
)


def endpoint(function: F) -> F:
    """Add the options that say which server is talked to."""
    return _adding(
        served,
        click.option("--base-url", metavar="URL", envvar=_variable("base_url"),
                     help="Its address, where it is not the profile's."),
        click.option("--key-env", metavar="NAME", envvar=_variable("key_env"),
                     help="Environment variable that holds its key; the default is the customary one."),
    )(function)  # fmt: skip


def store_place(given: str | None) -> str:
    """Return the place of the store: as given, else the default one."""
    return given if given is not None else str(default_store())


class GivenOnly(click.Option):
    """An option that is taken from the command line alone, since leaving it out means something."""

    def consume_value(self, ctx: click.Context, opts: Any) -> Any:
        """Look past the settings file; such an option names no variable."""
        settings, ctx.default_map = ctx.default_map, None
        try:
            return super().consume_value(ctx, opts)
        finally:
            ctx.default_map = settings


def whom(*, required: bool, settings: bool | None = None) -> Callable[[F], F]:
    """Add the options that say which model is asked, and in which window.

    ``settings``: whether provider and model may come from the environment and the file; None: when they are required.
    """
    kind: dict[str, Any] = {"required": required}
    if not (required if settings is None else settings):
        kind["cls"] = GivenOnly
    return _adding(
        click.option("--provider", metavar="P", envvar=None if "cls" in kind else _variable("provider"), **kind,
                     help=f"Wire: {', '.join(WIRES)}."),
        click.option("--model", metavar="M", envvar=None if "cls" in kind else _variable("model"), **kind,
                     help="Model, by a name of the catalog."),
        click.option("--window", metavar="N", type=TOKENS, envvar=_variable("window"),
                     help="Tokens that input and output may take; the default is the model's."),
        catalog,
    )  # fmt: skip


def target(*, required: bool, settings: bool | None = None) -> Callable[[F], F]:
    """Add the options that say whom requests are compiled for, and how; ``settings`` as for `whom`."""
    model = whom(required=required, settings=settings)
    more = _adding(
        click.option("--policy", metavar="NAME|FILE", default="default", show_default=True,
                     envvar=_variable("policy"),
                     help="Policy by name, or a TOML or JSON file with some of its fields."),
        click.option("--reserve-output", metavar="N", type=TOKENS,
                     envvar=_variable("reserve_output"),
                     help="Tokens kept for output; the default is min(max output, window / 8)."),
        click.option("--unseen", metavar="recorded|N", default="recorded", show_default=True,
                     envvar=_variable("unseen"),
                     callback=_unseen, help="Tokens of the prompt that FILE does not hold."),
        click.option("--reader", metavar="R", default="tool", show_default=True,
                     envvar=_variable("reader"),
                     help="How the agent reads content back: tool, shell, path:ROOT or none."),
    )  # fmt: skip
    return lambda function: model(more(function))


def _adding(*options: Callable[[F], F]) -> Callable[[F], F]:
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
        endpoint: str | None = None,
        catalog: str | None = None,
    ) -> None:
        """Raises: CatalogError; BadPolicy; CodecError; EndpointError; click.BadParameter for what no target takes."""
        from foreword.engine.catalog_file import load_catalog
        from foreword.engine.policy_file import load_policy
        from foreword.engine.target import target_for
        from foreword.errors import InvalidArgument

        self.policy: Policy = load_policy(policy)
        try:
            self.target: Target = target_for(
                provider,
                model,
                window=window,
                reserve_output=reserve_output,
                reader=reader,
                catalog=load_catalog(catalog),
                endpoint=endpoint,
            )
        except InvalidArgument as error:
            ctx = click.get_current_context()
            option = next((one for one in ctx.command.params if one.name == error.name), None)
            raise click.BadParameter(f"{error.fault}; {error.move}", ctx, option) from error
