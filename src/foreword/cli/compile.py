"""foreword compile: the next request of a session."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from foreword.cli import options
from foreword.cli.output import emit, emit_bytes, emit_json, note, percent, table

if TYPE_CHECKING:
    from foreword.cli.options import Aim
    from foreword.engine.session import Session
    from foreword.errors import OverBudget

EPILOG = """\b
Examples:
  foreword compile session.jsonl --provider anthropic --model claude-opus-4-8
  foreword compile session.jsonl --provider openai-chat --model gpt-4.1 --window 32000 --out next
  foreword compile SESSION --provider anthropic --model claude-opus-4-8 --commit --json

Dry unless --commit: nothing is appended anywhere. With --commit a FILE is imported into the store first.
--out writes request.json (the exact body) and manifest.json (why each byte is there). When what must be sent
does not fit, the exit code is 1 and each required item is listed.
"""


@click.command("compile", epilog=EPILOG)
@click.argument("source", metavar="FILE|SESSION")
@options.target(required=True)
@options.served
@options.format
@options.session
@options.store
@click.option("--commit", is_flag=True, help="Append what compiling needs, and the request, to the store.")
@click.option(
    "--out", metavar="DIR", type=click.Path(path_type=Path), help="Write the request and its manifest."
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
    format_: str | None,
    chosen: str | None,
    store: str | None,
    commit: bool,
    out: Path | None,
    as_json: bool,
) -> None:
    """Compile the next request of a session of FILE, or of SESSION in the store."""
    from foreword.cli.options import Aim
    from foreword.engine.contents import Contents
    from foreword.errors import OverBudget
    from foreword.evals.compiled import described

    aim = Aim(provider, model, policy, window, reserve_output, reader, endpoint, catalog)
    session = _opened(source, aim, store=store, format_=format_, chosen=chosen, unseen=unseen, commit=commit)
    try:
        try:
            compiled = session.compile()
        except OverBudget as error:
            _refuse(error, as_json=as_json)
            raise
        session.flush()
        made = described(session, compiled)
        Contents(reader).write(compiled)
        if out is not None:
            out.mkdir(parents=True, exist_ok=True)
            (out / "request.json").write_bytes(compiled.body)
            (out / "manifest.json").write_bytes(_encoded(made))
    finally:
        if session.store is not None:
            session.store.close()
    if as_json:
        emit_bytes(b'{"request": ' + compiled.body + b', "manifest": ' + _encoded(made) + b"}\n")
    else:
        _print(made, out)
    if made["violations"]:
        raise click.exceptions.Exit(1)


def _opened(
    source: str,
    aim: Aim,
    *,
    store: str | None,
    format_: str | None,
    chosen: str | None,
    unseen: int | None,
    commit: bool,
) -> Session:
    """Return the session to compile: in memory, or of the store when ``commit``."""
    from foreword.cli.source import is_file, open_for_session, open_store, pick, read_file
    from foreword.core.event import Draft, UnseenPrefix
    from foreword.engine.import_file import import_sessions
    from foreword.engine.session import Session

    if is_file(source):
        imported = pick(read_file(source, format_), chosen, source)
        for flaw in imported.flaws:
            note(f"warning: {flaw.where}: {flaw.text} ({flaw.code})")
        if commit:
            opened = open_store(store, write=True)
            name = import_sessions(opened, [imported])[0].session
            session = Session.open(opened, name, target=aim.target, policy=aim.policy)
        else:
            session = Session.open(
                None,
                imported.session,
                target=aim.target,
                policy=aim.policy,
                format=imported.format,
                source=imported.source,
            )
            session.append(*imported.drafts)
    else:
        opened, name = open_for_session(source, store, write=commit)
        session = Session.open(opened, name, target=aim.target, policy=aim.policy)
        if not commit:
            units = opened.sent_units(name)
            session = Session(
                session.events, store=None, target=aim.target, policy=aim.policy, sent_units=units
            )
            opened.close()
    if unseen is not None and unseen != session.view.fold.unseen:
        session.append(Draft(body=UnseenPrefix(tokens=unseen, basis="given")))
    return session


def _encoded(value: Any) -> bytes:
    import msgspec

    return msgspec.json.encode(value)


def _refuse(error: OverBudget, *, as_json: bool) -> None:
    from foreword.evals.compiled import refusal

    facts = refusal(error)
    if as_json:
        emit_json(facts)
        return
    items = sorted(facts["required"], key=lambda item: -item["tokens"])
    table(("required", "tokens"), [[item["name"], item["tokens"]] for item in items])


def _print(made: dict[str, Any], out: Path | None) -> None:
    total = made["tokens"]["total"]
    emit(f"session {made['session']}, step {made['step']}: {made['bytes']:,} bytes, {total:,} tokens, "
         f"epoch {made['epoch']}; {made['budget']['available']:,} tokens available of a window of "
         f"{made['budget']['window']:,}")  # fmt: skip
    emit()
    categories = [(name, tokens) for name, tokens in made["tokens"]["by_category"].items() if tokens]
    table(
        ("category", "tokens", "share"),
        [[name, tokens, percent(tokens / total)] for name, tokens in categories],
    )
    if made["omitted"]:
        emit()
        ways: dict[str, list[int]] = {}
        for item in made["omitted"]:
            ways.setdefault(item["how"], []).append(item["tokens"])
        table(("left out", "items", "tokens"), [[how, len(sizes), sum(sizes)] for how, sizes in ways.items()])
    for violation in made["violations"] or ():
        note(f"violation: {violation}")
    if out is not None:
        note(f"wrote {out / 'request.json'} and {out / 'manifest.json'}")
