"""The schemas inside a JSON schema, each with the way to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from foreword.testing.wire import mapping

Context = tuple[str, ...]


def nodes(schema: object) -> Iterator[tuple[Context, dict[str, Any]]]:
    """Yield a schema and all schemas in it, outer ones first, with the names that lead to each; () is its own."""
    stack: list[tuple[Context, object]] = [((), schema)]
    while stack:
        at, value = stack.pop()
        node = mapping(value)
        if not node:
            continue
        yield at, node
        inner: list[tuple[Context, object]] = []
        for group in ("properties", "$defs", "definitions"):
            inner += [((*at, group, name), each) for name, each in mapping(node.get(group)).items()]
        if "items" in node:
            inner.append(((*at, "items"), node["items"]))
        options = node.get("anyOf")
        for index, each in enumerate(cast("list[object]", options) if isinstance(options, list) else []):
            inner.append(((*at, "anyOf", str(index)), each))
        stack.extend(reversed(inner))


def is_type(node: Mapping[str, Any], kind: str) -> bool:
    """Say whether a schema takes a type, alone or among others."""
    named = node.get("type")
    return named == kind or (isinstance(named, list) and kind in named)
