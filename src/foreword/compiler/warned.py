"""What a request warns of: things that are legal and cost money or quality."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct


class Warned(Struct, frozen=True, kw_only=True):
    """A warning that goes with a request. ``code`` is stable; ``numbers`` are those that ``text`` tells."""

    code: str
    text: str
    numbers: Mapping[str, int] = {}
