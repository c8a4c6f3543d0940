"""foreword doctor: is the installation sound, and do the windows agree?"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from foreword.cli import options
from foreword.cli.output import emit, emit_json, is_terminal

if TYPE_CHECKING:
    from foreword.core.catalog import Catalog
    from foreword.core.endpoint import Endpoint
    from foreword.core.kv_cache import Shape
    from foreword.engine.findings import Finding
    from foreword.engine.local_server import Cache
    from foreword.engine.observed import Observed
    from foreword.engine.window_check import Windows

EPILOG = """\b
Examples:
  foreword doctor
  foreword doctor --provider anthropic --model claude-opus-4-8 --window 128000
  foreword doctor --provider openai-chat --model qwen3 --endpoint vllm --base-url http://gpu:8000/v1
  foreword doctor --local http://127.0.0.1:8080 --shape 40,4,128 --json

With a model, the endpoint is asked for its window, and that is compared with the configured and the catalog's.
Nothing is sent to a model. Exit code 1 when something is a problem; notes and warnings are none.
"""
COLORS = {"ok": "green", "note": "blue", "warning": "yellow", "problem": "red"}


def _shape(ctx: click.Context, param: click.Parameter, value: str | None) -> Shape | None:
    if value is None:
        return None
    from foreword.core.kv_cache import Shape

    figures = value.split(",")
    if len(figures) not in (3, 4) or not all(
        f.isascii() and f.isdigit() and 0 < len(f) < 7 and int(f) for f in figures
    ):
        raise click.BadParameter(f"{value!r} is not LAYERS,KV_HEADS,HEAD_DIM", ctx, param)
    layers, kv_heads, head_dim, value_dim = [*map(int, figures), 0][:4]
    return Shape(layers=layers, kv_heads=kv_heads, head_dim=head_dim, value_dim=value_dim)


@click.command("doctor", epilog=EPILOG)
@click.option("--local", metavar="URL", help="Ask this model server, and say what its cache needs in memory.")
@click.option(
    "--tokens", metavar="N", type=options.TOKENS, help="Length for that; the default is its window."
)
@click.option("--shape", metavar="LAYERS,KV_HEADS,HEAD_DIM", callback=_shape,
              help="The model's shape, where the server doesn't tell it.")  # fmt: skip
@options.store
@options.whom(required=False, settings=True)
@options.endpoint
@options.as_json
def command(
    local: str | None,
    tokens: int | None,
    shape: Shape | None,
    store: str | None,
    provider: str | None,
    model: str | None,
    window: int | None,
    catalog: str | None,
    endpoint: str | None,
    base_url: str | None,
    key_env: str | None,
    as_json: bool,
) -> None:
    """Check the installation, and the windows of a model."""
    from foreword.core.endpoint import endpoint as made
    from foreword.engine.catalog_file import load_catalog
    from foreword.engine.findings import Finding, healthy
    from foreword.engine.installation import check_installation
    from foreword.engine.local_server import cache_of, local_endpoint
    from foreword.errors import ConnectionFailed

    findings = check_installation(options.store_place(store), datetime.now(UTC).date())
    known = load_catalog(catalog)
    asked: Endpoint | None = None
    if local is not None:
        try:
            asked = local_endpoint(local, os.environ)
        except ConnectionFailed as error:
            text = f"no server answers at {error.endpoint}: {error.said}"
            move = "start it, or check the address"
            findings.append(Finding(code="endpoint_unreachable", level="problem", text=text, move=move))
    elif model is not None and (provider is not None or endpoint is not None):
        asked = made(endpoint or _vendor(provider or ""), provider, base_url=base_url, key_env=key_env)
    elif model is not None or base_url is not None or endpoint is not None:
        raise click.UsageError("a window is checked for a --model of a --provider; give both, or --local URL")
    seen, windows, cache = None, None, None
    if asked is not None:
        seen, windows = _check(asked, model, window, known, findings)
        cache = cache_of(seen, tokens, shape) if seen is not None else None
        if local is not None and seen is not None and cache is None:
            findings.append(_no_shape(seen))
    if as_json:
        emit_json(_document(findings, asked, seen, windows, cache))
    else:
        for finding in findings:
            _print(finding)
        if cache is not None:
            _print_cache(cache, seen)
    if not healthy(findings):
        raise click.exceptions.Exit(1)


def _vendor(wire: str) -> str:
    """Name the vendor of a wire: the first in the file of profiles that serves it."""
    from foreword.core.endpoint import profiles
    from foreword.errors import UnknownWire

    for profile in profiles().values():
        if profile.vendor and wire in profile.paths:
            return profile.name
    raise UnknownWire(wire, options.WIRES)


def _check(
    asked: Endpoint, model: str | None, window: int | None, catalog: Catalog, findings: list[Finding]
) -> tuple[Observed | None, Windows | None]:
    from foreword.engine.findings import Finding
    from foreword.engine.observed import observe
    from foreword.engine.window_check import check_windows, windows
    from foreword.errors import AuthFailed, ConnectionFailed, EndpointError, ProviderError

    sends_key = asked.key_env is not None and bool(os.environ.get(asked.key_env))
    if sends_key and asked.base_url.startswith("http://") and not asked.local:
        text = f"{asked.shown} is not encrypted: the key of {asked.key_env} would be readable on the way"
        findings.append(Finding(code="key_in_clear", level="warning", text=text, move="use https"))
    seen: Observed | None = None
    try:
        seen = observe(asked, model)
    except EndpointError as error:
        findings.append(Finding(code="endpoint_not_asked", level="warning", text=str(error)))
    except AuthFailed as error:
        findings.append(Finding(code="key_refused", level="problem", text=str(error)))
    except ConnectionFailed as error:
        findings.append(Finding(code="endpoint_unreachable", level="problem", text=str(error)))
    except ProviderError as error:
        findings.append(Finding(code="model_not_served", level="problem", text=str(error)))
    name = seen.model if seen is not None else model
    if name is None:
        return seen, None
    found = windows(name, window, seen, catalog)
    findings += check_windows(name, asked, found, catalog, answered=seen is not None)
    for text in seen.notes if seen is not None else ():
        findings.append(Finding(code="endpoint_note", level="note", text=f"{asked.shown}: {text}"))
    return seen, found


def _no_shape(seen: Observed) -> Finding:
    from foreword.engine.findings import Finding

    lacks = "the length" if seen.window is None and seen.shape is not None else "the shape"
    text = f"the server does not tell {lacks} that decides what the cache of {seen.model} needs"
    move = (
        "give --tokens N"
        if lacks == "the length"
        else "give --shape LAYERS,KV_HEADS,HEAD_DIM, from the model's card"
    )
    return Finding(code="kv_cache_unknown", level="note", text=text, move=move)


def _document(
    findings: list[Finding],
    asked: Endpoint | None,
    seen: Observed | None,
    windows: Windows | None,
    cache: Cache | None,
) -> dict[str, Any]:
    from msgspec import to_builtins

    from foreword.engine.findings import healthy

    endpoint: dict[str, Any] | None = None
    if asked is not None:
        endpoint = {
            "name": asked.name,
            "base_url": asked.base_url,
            "wire": asked.wire,
            "observed": to_builtins(seen),
        }
    return {
        "ok": healthy(findings),
        "findings": to_builtins(findings),
        "endpoint": endpoint,
        "windows": to_builtins(windows),
        "kv_cache": to_builtins(cache),
    }


def _print(finding: Finding) -> None:
    level = (
        click.style(f"{finding.level:<8}", fg=COLORS[finding.level])
        if is_terminal()
        else f"{finding.level:<8}"
    )
    move = f"; {finding.move}" if finding.move else ""
    emit(f"{level} {finding.code:<20} {finding.text}{move}".rstrip())


def _print_cache(cache: Cache, seen: Observed | None) -> None:
    sizes = ", ".join(f"{size / 1e9:.2f} GB at {dtype}" for dtype, size in cache.bytes.items())
    emit(f"key-value cache of {cache.tokens:,} tokens: {sizes}")
    if seen is not None and seen.slots is not None and seen.slots > 1:
        emit(f"the server keeps {seen.slots} such contexts")
