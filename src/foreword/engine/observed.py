"""What an endpoint says of a model: its window above all. One reader a kind of endpoint."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace

from foreword.core.endpoint import Endpoint, Probe
from foreword.core.kv_cache import Shape
from foreword.engine.asked_json import ask_json
from foreword.engine.gguf import read_shape
from foreword.errors import EndpointError, ProviderError, Rejected

Ask = Callable[..., Any]


class Observed(Struct, frozen=True, kw_only=True):
    """What an endpoint said. None: it did not say.

    ``window``: tokens of input and output together, as served; ``max_input``: of the prompt alone. ``trained``: what
    the model itself could hold. ``slots``: how many contexts of ``window`` it keeps at once. ``shape``: what decides
    the size of its cache. ``where``: the routes that said so. ``notes``: what is to be known beside it.
    """

    model: str
    window: int | None = None
    max_input: int | None = None
    max_output: int | None = None
    trained: int | None = None
    slots: int | None = None
    shape: Shape | None = None
    where: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def observe(
    endpoint: Endpoint, model: str | None, *, environ: Mapping[str, str] = os.environ, timeout: float = 5.0
) -> Observed:
    """Ask an endpoint what it serves a model with. ``model`` None: the only one, or the first that is loaded.

    Raises: ProviderError, which is Rejected for a model that is not served; EndpointError when it can't be asked, or
    serves several models and none is named.
    """
    if endpoint.probe is None:
        raise EndpointError(endpoint.shown, "has no route that tells a window", "give the window yourself")

    def ask(path: str, body: Mapping[str, Any] | None = None) -> Any:
        return ask_json(endpoint, path, body, environ=environ, timeout=timeout)

    return READERS[endpoint.probe](endpoint, model, ask)


def _named(endpoint: Endpoint, model: str | None) -> str:
    if model is None:
        raise EndpointError(endpoint.shown, "serves many models", "name one")
    return model


def _anthropic(endpoint: Endpoint, model: str | None, ask: Ask) -> Observed:
    path = endpoint.probe_path.replace("{model}", quote(_named(endpoint, model), safe=""))
    row = _mapping(ask(path))
    window = _count(row, "max_input_tokens")
    return Observed(
        model=model or "", window=window, max_output=_count(row, "max_tokens"), where=(_route("GET", path),)
    )


def _gemini(endpoint: Endpoint, model: str | None, ask: Ask) -> Observed:
    path = endpoint.probe_path.replace("{model}", quote(_named(endpoint, model), safe=""))
    row = _mapping(ask(path))
    return Observed(
        model=model or "",
        max_input=_count(row, "inputTokenLimit"),
        max_output=_count(row, "outputTokenLimit"),
        where=(_route("GET", path),),
    )


WINDOWS = ("max_model_len", "context_length", "context_window", "max_context_length")
"""Members of a row of `/models` in which one server or another tells the window."""


def _models(endpoint: Endpoint, model: str | None, ask: Ask) -> Observed:
    path = endpoint.probe_path.replace("/{model}", "")
    row = _row(endpoint, _rows(ask(path), "data"), "id", model)
    top = _mapping(row.get("top_provider"))
    notes = ()
    if endpoint.probe == "openrouter" and _count(top, "context_length") not in (
        None,
        _count(row, "context_length"),
    ):
        notes = (f"its first provider serves {top['context_length']:,} tokens",)
    return Observed(
        model=str(row["id"]),
        window=next((count for name in WINDOWS if (count := _count(row, name)) is not None), None),
        max_output=_count(top, "max_completion_tokens"),
        trained=_count(_mapping(row.get("meta")), "n_ctx_train"),
        where=(_route("GET", path),),
        notes=notes,
    )


def _litellm(endpoint: Endpoint, model: str | None, ask: Ask) -> Observed:
    row = _row(endpoint, _rows(ask(endpoint.probe_path), "data"), "model_name", model)
    info = _mapping(row.get("model_info"))
    return Observed(
        model=str(row["model_name"]),
        max_input=_count(info, "max_input_tokens"),
        max_output=_count(info, "max_output_tokens"),
        where=(_route("GET", endpoint.probe_path),),
        notes=("these are LiteLLM's own figures, not the provider's",),
    )


def _llama_cpp(endpoint: Endpoint, model: str | None, ask: Ask) -> Observed:
    """Read `/props`; its window is that of one slot. The model's file tells the shape, when it is on this machine."""
    props = _mapping(ask(endpoint.probe_path))
    file = props.get("model_path")
    seen = Observed(
        model=str(model or props.get("model_alias") or file or "model"),
        window=_count(_mapping(props.get("default_generation_settings")), "n_ctx"),
        slots=_count(props, "total_slots"),
        where=(_route("GET", endpoint.probe_path),),
    )
    if endpoint.local and isinstance(file, str) and Path(file).is_file():
        read = read_shape(Path(file))
        seen = replace(seen, shape=read.shape, trained=read.trained, where=(*seen.where, f"file {file}"))
    return seen


def _ollama(endpoint: Endpoint, model: str | None, ask: Ask) -> Observed:
    """Read `/api/show`, and `/api/ps` for the window of a model that is loaded: that one counts."""
    loaded = _rows(_quiet(ask, "//api/ps"), "models")
    if model is None:
        names = loaded or _rows(ask("//api/tags"), "models")
        model = str(_row(endpoint, names, "name", None)["name"])
    shown = _mapping(ask(endpoint.probe_path, {"model": model}))
    info = _mapping(shown.get("model_info"))
    ours = [row for row in loaded if row.get("name") in (model, f"{model}:latest")]
    running = _count(ours[0], "context_length") if ours else None
    window = running or _parameter(shown.get("parameters"), "num_ctx")
    notes = (
        ()
        if window
        else ("not loaded, and no num_ctx is set: the server's default decides, see /api/ps later",)
    )
    where = (_route("POST", endpoint.probe_path), *((_route("GET", "//api/ps"),) if running else ()))
    return Observed(
        model=model,
        window=window,
        trained=_member(info, "context_length"),
        shape=_ollama_shape(info),
        where=where,
        notes=notes,
    )


def _ollama_shape(info: Mapping[str, Any]) -> Shape | None:
    layers, heads = _member(info, "block_count"), _member(info, "attention.head_count")
    kv_heads = _member(info, "attention.head_count_kv") or heads
    width = _member(info, "embedding_length")
    head_dim = _member(info, "attention.key_length") or (width // heads if width and heads else None)
    if not (layers and kv_heads and head_dim):
        return None
    value_dim = _member(info, "attention.value_length") or 0
    return Shape(layers=layers, kv_heads=kv_heads, head_dim=head_dim, value_dim=value_dim)


def _member(info: Mapping[str, Any], name: str) -> int | None:
    """Return a figure of `model_info`, whose names begin with the architecture's; the largest of a list by layer."""
    arch = info.get("general.architecture")
    value = info.get(f"{arch}.{name}")
    if isinstance(value, list):
        counts = [count for count in cast(list[Any], value) if isinstance(count, int)]
        return max(counts) if counts else None
    return value if isinstance(value, int) and value > 0 else None


def _parameter(text: Any, name: str) -> int | None:
    """Return a figure of Ollama's `parameters`: one name and value a line."""
    for line in text.splitlines() if isinstance(text, str) else ():
        words = line.split()
        if len(words) == 2 and words[0] == name and words[1].isdigit() and len(words[1]) < 12:
            return int(words[1])
    return None


def _quiet(ask: Ask, path: str) -> Any:
    try:
        return ask(path)
    except ProviderError:
        return None  # an older server lacks the route, which only adds to the others


def _row(endpoint: Endpoint, rows: list[dict[str, Any]], key: str, model: str | None) -> dict[str, Any]:
    rows = [row for row in rows if isinstance(row.get(key), str)]
    found = rows if model is None else [row for row in rows if row[key] == model]
    if len(found) == 1 or (found and model is not None):
        return found[0]
    listed = ", ".join(str(row[key])[:60] for row in rows[:5]) + (", …" if len(rows) > 5 else "")
    if model is not None:
        raise Rejected(
            endpoint.shown, said=f"no model {model[:60]!r} among those it lists ({listed or 'none'})"
        )
    if not rows:
        raise EndpointError(endpoint.shown, "serves no model", "load one")
    raise EndpointError(endpoint.shown, "serves several models", f"name one of {listed}")


def _rows(value: Any, name: str) -> list[dict[str, Any]]:
    rows = _mapping(value).get(name)
    return [row for row in cast(list[Any], rows) if isinstance(row, dict)] if isinstance(rows, list) else []


def _mapping(value: Any) -> dict[str, Any]:
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def _count(row: Mapping[str, Any], name: str) -> int | None:
    value = row.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _route(method: str, path: str) -> str:
    return f"{method} {path.removeprefix('/') if path.startswith('//') else path}"


READERS: dict[Probe, Callable[[Endpoint, str | None, Ask], Observed]] = {
    "anthropic": _anthropic,
    "gemini": _gemini,
    "openai": _models,
    "vllm": _models,
    "openrouter": _models,
    "litellm": _litellm,
    "llama.cpp": _llama_cpp,
    "ollama": _ollama,
}
