"""The command line: the table of commands, and every error as one line and an exit code.

Exit 0: done. 1: the thing checked does not hold. 2: bad use or bad input.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from foreword.cli.lines import one_line
from foreword.errors import ArtifactMissing, ForewordError, Gone, LogCorrupt, OverBudget

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# Command -> (module:attribute, what it does). Modules are loaded when their command runs.
COMMANDS = {
    "import": ("foreword.cli.import_:command", "Record session files in the store."),
    "compile": ("foreword.cli.compile:command", "Compile the next request of a session."),
    "replay": ("foreword.cli.replay:command", "Walk a recorded session and judge every request."),
    "sessions": ("foreword.cli.sessions:command", "List the sessions of a store."),
    "show": ("foreword.cli.show:command", "Show what fills a session's context, step by step."),
    "stats": ("foreword.cli.stats:command", "Measure a session: categories, tools, repeats, usage, cost."),
    "cost": ("foreword.cli.cost:command", "Bill every call: tokens, money, cache; as a table or CSV."),
    "cache": ("foreword.cli.cache:command", "Explain every break of a session's prompt cache."),
    "simulate": (
        "foreword.cli.simulate:command",
        "Simulate what policies send, read from the cache and cost.",
    ),
    "blame": ("foreword.cli.blame:command", "Say when a text entered the context, and when and why it left."),
    "diff": ("foreword.cli.diff:command", "Say where the next request parts from the one before, and why."),
    "gate": ("foreword.cli.gate:command", "Fail when the cache hit rate of repeat runs got worse."),
    "read": ("foreword.cli.read:command", "Read back what a request left out."),
    "verify": ("foreword.cli.verify:command", "Prove sessions from their stored bytes."),
    "tokens": ("foreword.cli.tokens:command", "Count the tokens of a text."),
    "models": ("foreword.cli.models:command", "List the models of the catalog: names, windows, prices."),
    "config": ("foreword.cli.config:command", "Show the settings that count, and where they come from."),
    "doctor": ("foreword.cli.doctor:command", "Check the installation, and the windows of a model."),
    "completion": ("foreword.cli.completion:command", "Print the completion script for a shell."),
}

LATER = frozenset(
    {"eval", "run", "reduce", "compact", "memory", "skills", "handoff", "checkpoint", "fork", "undo", "mcp", "proxy",
     "watch", "ui"}
)  # fmt: skip
"""Commands that are planned: asked for, they say so."""

DOES_NOT_HOLD = (OverBudget, Gone, LogCorrupt, ArtifactMissing)
"""Errors about what was asked to be done or checked; every other one is bad use or bad input."""

PIPE_CLOSED = 128 + 13
COMPLETING = "_FOREWORD_COMPLETE"

EXAMPLES = """\b
Examples:
  foreword replay session.jsonl --provider anthropic --model claude-opus-4-8 --out out
  foreword show session.jsonl
  foreword import session.jsonl && foreword stats SESSION
"""


class Commands(click.Group):
    """A group that imports a command when it is run, and lists commands without importing any."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the commands in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command; None: there is none of this name."""
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        return getattr(import_module(module), name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands from the table."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the name of a command from the table, without importing any."""
        from click.shell_completion import CompletionItem

        found = [
            CompletionItem(name, help=text)
            for name, (_, text) in COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return found or super().shell_complete(ctx, incomplete)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; an unknown one is refused with the names that come close."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            import difflib

            if args[0] in LATER:
                raise click.UsageError(f"{args[0]} is not built yet; `foreword --help` lists what there is")
            close = difflib.get_close_matches(args[0][:40], COMMANDS, 3)
            hint = f"did you mean {' or '.join(close)}?" if close else "`foreword --help` lists them"
            raise click.UsageError(f"no command {args[0]!r}; {hint}")
        return super().resolve_command(ctx, args)

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the command line and exit; with ``standalone_mode`` False, errors are raised instead."""
        extra.update(complete_var=complete_var, windows_expand_args=windows_expand_args)
        run = partial(super().main, args, prog_name, standalone_mode=False, **extra)
        if not standalone_mode:
            return run()
        try:
            code = run()
        except click.MissingParameter as error:
            shown = f"`{error.ctx.command_path if error.ctx is not None else 'foreword'} --help` says what it takes"
            code = _fail(f"{error.format_message().rstrip('.')}; {shown}", 2)
        except click.ClickException as error:
            code = _fail(_with_variable(error), 2)
        except (click.Abort, KeyboardInterrupt):
            code = _fail("interrupted", 130)
        except DOES_NOT_HOLD as error:
            code = _fail(str(error), 1)
        except ForewordError as error:
            code = _fail(str(error), 2)
        except SystemExit as ended:
            # click ends so after completing words; with 1 when the reader of our output is gone, as with `| head`.
            code = PIPE_CLOSED if ended.code == 1 and COMPLETING not in os.environ else ended.code
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            code = _fail(f"{where}{error.strerror or error}; name a place that can be read or written", 2)
        except Exception as error:
            if os.environ.get("FOREWORD_DEBUG"):
                raise
            text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            code = _fail(
                f"a fault of Foreword itself: {text}; run again with FOREWORD_DEBUG=1 and report it", 2
            )
        sys.exit(code if isinstance(code, int) else 0)


def _with_variable(error: click.ClickException) -> str:
    """Return the error's text, with the variable that a refused value came from."""
    text = error.format_message()
    if isinstance(error, click.BadParameter) and error.ctx is not None and error.param is not None:
        name = error.param.name
        if name is not None and error.ctx.get_parameter_source(name) is ParameterSource.ENVIRONMENT:
            return f"{text.rstrip('.')}; it is set in {error.param.envvar}"
    return text


def _fail(text: str, code: int) -> int:
    click.echo(f"foreword: {one_line(text)}", err=True)
    return code


@click.group(
    cls=Commands,
    epilog=EXAMPLES,
    no_args_is_help=False,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option("--version", is_flag=True, help="Print the version and exit.")
@click.pass_context
def cli(ctx: click.Context, version: bool) -> None:
    """Everything the model reads before it writes: record what an agent saw, compile what it is sent next."""
    if version:
        from foreword import __version__

        click.echo(f"foreword {__version__}")
    elif ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
    else:
        from foreword.cli.output import note
        from foreword.cli.patience import Patience
        from foreword.cli.settings import default_map, misspelt

        for name, meant in misspelt(os.environ):
            note(f"warning: {name} sets nothing; did you mean {meant}?")
        ctx.default_map = default_map(COMMANDS)
        ctx.with_resource(Patience(f"foreword {ctx.invoked_subcommand}"))


def main() -> None:
    """Run the command line."""
    cli()
