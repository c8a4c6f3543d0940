"""A model server on this machine or near: which kind it is, its window, and what its cache needs in memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from foreword.core.endpoint import Endpoint, endpoint, split
from foreword.core.kv_cache import Shape, shape_bytes
from foreword.engine.asked_json import ask_json
from foreword.engine.observed import Observed
from foreword.errors import ConnectionFailed, EndpointError, ProviderError

SIGNS: tuple[tuple[str, str, str], ...] = (
    ("ollama", "//api/version", "version"),
    ("llama.cpp", "//props", "default_generation_settings"),
    ("litellm", "//health/liveliness", ""),
    ("vllm", "//version", "version"),
    ("vllm", "/models", "data"),
)
"""Profile, a route, and the member of its answer that gives the kind away ("": that it answers at all)."""
BASES = {"ollama": "/v1", "llama.cpp": "/v1", "vllm": "/v1", "litellm": ""}
SHOWN_FORMATS = ("f16", "q8_0", "q4_0")


class Cache(Struct, frozen=True, kw_only=True):
    """Memory of a key-value cache: ``tokens`` in one context, ``bytes`` by format."""

    shape: Shape
    tokens: int
    bytes: dict[str, int]


def local_endpoint(url: str, environ: Mapping[str, str]) -> Endpoint:
    """Find out what kind of server answers at a URL, with or without its `/v1`.

    Raises: EndpointError when it is none that is known; ConnectionFailed when nobody answers.
    """
    parts = split(url if "://" in url else f"http://{url}")
    base = f"{parts.scheme}://{parts.netloc}"
    for name, path, member in SIGNS:
        made = endpoint(name, base_url=base + BASES[name])
        try:
            answer: Any = ask_json(made, path, environ=environ)
        except ConnectionFailed as error:
            if error.status is None:  # nobody is there, whatever the first kind of server to ask for
                raise ConnectionFailed(made.shown.removeprefix(f"{name} at "), said=error.said) from error
            continue
        except ProviderError:
            continue
        if member == "" or (isinstance(answer, dict) and member in answer):
            return made
    kinds = ", ".join(name for name, _, _ in SIGNS)
    raise EndpointError(
        base, f"is none of the servers that are known ({kinds})", "use --provider and --base-url"
    )


def cache_of(seen: Observed, tokens: int | None, shape: Shape | None) -> Cache | None:
    """Return what the cache needs at a length; None: the shape or the length is known to nobody.

    ``tokens`` None: the window that is served. ``shape``: stated by the caller, counts before the server's.
    """
    known, length = shape or seen.shape, tokens or seen.window
    if known is None or length is None:
        return None
    return Cache(
        shape=known,
        tokens=length,
        bytes={dtype: shape_bytes(known, length, dtype) for dtype in SHOWN_FORMATS},
    )
