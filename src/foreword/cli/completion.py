"""foreword completion: the script that teaches a shell to complete this command."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from foreword.cli.output import emit

EPILOG = """\b
Examples:
  foreword completion bash > ~/.local/share/bash-completion/completions/foreword
  foreword completion zsh > "${fpath[1]}/_foreword"
  foreword completion fish > ~/.config/fish/completions/foreword.fish
  eval "$(foreword completion bash)"
"""
VARIABLE = "_FOREWORD_COMPLETE"


@click.command("completion", epilog=EPILOG)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the completion script for SHELL."""
    made = get_completion_class(shell)
    assert made is not None
    script = made(ctx.find_root().command, {}, "foreword", VARIABLE)
    emit(
        script.source_template % script.source_vars()
    )  # its `source` would start bash to ask for its version
