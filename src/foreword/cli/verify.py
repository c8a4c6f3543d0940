"""foreword verify: prove sessions from their stored bytes."""

from __future__ import annotations

import click

from foreword.cli import options
from foreword.cli.output import emit, emit_json, table

EPILOG = """\b
Examples:
  foreword verify SESSION
  foreword verify --all --store ./store --json

Checks the chain and every payload's digest, that what was derived (rewrites, repairs) names events that are
there, and that every reference handed to an agent reads back or says why it is gone. Exit code 1 when
anything does not hold.
"""


@click.command("verify", epilog=EPILOG)
@click.argument("session", metavar="[SESSION]", required=False)
@click.option("--all", "everything", is_flag=True, help="Every session, and the store's own files.")
@options.store
@options.as_json
def command(session: str | None, everything: bool, store: str | None, as_json: bool) -> None:
    """Prove SESSION, or --all sessions, from the stored bytes."""
    if (session is None) != everything:
        raise click.UsageError("name one SESSION, or --all")
    import msgspec

    from foreword.cli.source import open_for_session, open_store
    from foreword.engine.verify import verify

    opened, name = (open_store(store), None) if session is None else open_for_session(session, store)
    with opened:
        proof = verify(opened, name)
    if as_json:
        emit_json({"ok": proof.ok, **msgspec.to_builtins(proof)})
    else:
        if proof.problems:
            table(("code", "where", "problem"), [[p.code, p.where, p.text] for p in proof.problems])
        verdict = "all hold" if proof.ok else f"problems: {len(proof.problems)}"
        emit(f"{proof.sessions} sessions, {proof.events:,} events, {proof.artifacts:,} references: {verdict}")
    if not proof.ok:
        raise click.exceptions.Exit(1)
