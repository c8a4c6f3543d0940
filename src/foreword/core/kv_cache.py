"""What a key-value cache takes in memory: one key and one value vector a token, layer and head."""

from __future__ import annotations

from msgspec import Struct

FORMATS: dict[str, tuple[int, int]] = {
    "f32": (4, 1),
    "f16": (2, 1),
    "bf16": (2, 1),
    "fp8": (1, 1),
    "q8_0": (34, 32),
    "q5_1": (24, 32),
    "q5_0": (22, 32),
    "q4_1": (20, 32),
    "q4_0": (18, 32),
}
"""Format -> (bytes, values) of a block; the quantised ones carry their scale with them (ggml, 2026-11-30)."""


class Shape(Struct, frozen=True, kw_only=True):
    """What of a model decides the size of its cache.

    ``kv_heads``: heads that keep keys and values (fewer than heads that ask, under grouped attention). ``head_dim``:
    values of a key; ``value_dim``: of a value, 0 for the same. Layers with a sliding window or without attention
    need less than this says, so it is an upper bound for such models.
    """

    layers: int
    kv_heads: int
    head_dim: int
    value_dim: int = 0


def kv_cache_bytes(
    layers: int, kv_heads: int, head_dim: int, tokens: int, dtype: str = "f16", *, value_dim: int = 0
) -> int:
    """Return bytes for a context of so many tokens. Raises: KeyError for a format that `FORMATS` doesn't hold."""
    size, values = FORMATS[dtype]
    rows = layers * tokens
    return sum(rows * -(-(kv_heads * width) // values) * size for width in (head_dim, value_dim or head_dim))


def shape_bytes(shape: Shape, tokens: int, dtype: str = "f16") -> int:
    """Return bytes for a model of this shape; see `kv_cache_bytes`."""
    return kv_cache_bytes(
        shape.layers, shape.kv_heads, shape.head_dim, tokens, dtype, value_dim=shape.value_dim
    )
