"""An Anthropic request in render order, as its prompt cache sees it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from hashlib import blake2b
from typing import Any

import msgspec

from foreword.testing import anthropic_forms as forms
from foreword.testing.anthropic_deferred_rules import loaded
from foreword.testing.anthropic_request import AnthropicRequest, Block
from foreword.testing.prefix_cache import Unit
from foreword.testing.wire import compact, mapping, objects

MESSAGE_OVERHEAD = 4
TOOL_PROMPT = 350

# What spoils a layer and all after it when it changes (rulebook 2.1, "Invalidation"); for effort and format that is an
# assumption: they are taken like thinking and like a text of the system layer.
Spoiler = Callable[[AnthropicRequest], object]
TOOL_KEYS: tuple[Spoiler, ...] = (lambda request: request.body.get("model"),)
SYSTEM_KEYS: tuple[Spoiler, ...] = (
    lambda request: request.body.get("speed"),
    lambda request: any(str(tool.get("type")).startswith("web_search") for tool in request.tools),
    lambda request: any(
        mapping(block.data.get("citations")).get("enabled") is True for block in _blocks(request)
    ),
    lambda request: mapping(request.body.get("output_config")).get("format"),
)
MESSAGE_KEYS: tuple[Spoiler, ...] = (
    lambda request: request.body.get("tool_choice"),
    lambda request: request.body.get("thinking"),
    lambda request: mapping(request.body.get("output_config")).get("effort"),
    lambda request: any(
        part.get("type") == "image"
        for block in _blocks(request)
        for part in (block.data, *objects(block.data.get("content")))
    ),
)


def units(request: AnthropicRequest, tool_tokens: Callable[[Mapping[str, Any]], int]) -> tuple[Unit, ...]:
    """Return tools, system and messages as cache units; their tokens sum to the input.

    A top-level mark lands on the last block that can carry one. Deferred tools are not rendered, until a search
    found them: there their definitions stand.
    """
    rendered = [*_rendered(request, tool_tokens)]
    automatic = _ttl(request.body)
    if automatic:
        last = max(
            (at for at, (_, kind) in enumerate(rendered) if kind not in forms.UNMARKABLE), default=None
        )
        if last is not None:
            unit, kind = rendered[last]
            rendered[last] = msgspec.structs.replace(unit, mark=unit.mark or automatic), kind
    return tuple(unit for unit, _ in rendered)


def _rendered(
    request: AnthropicRequest, tool_tokens: Callable[[Mapping[str, Any]], int]
) -> Iterator[tuple[Unit, str]]:
    yield _key(request, TOOL_KEYS, tokens=TOOL_PROMPT if request.tools else 0)
    for tool, digest in zip(request.tools, request.tool_digests, strict=True):
        if tool.get("defer_loading") is not True:
            yield Unit(digest=digest, tokens=tool_tokens(tool), mark=_ttl(tool)), "tool"
    yield _key(request, SYSTEM_KEYS)
    form = b"string" if isinstance(request.body.get("system"), str) else b"blocks"
    for block in request.system:
        yield Unit(digest=block.digest + form, tokens=block.tokens, mark=_ttl(block.data)), block.kind
    yield _key(request, MESSAGE_KEYS)
    dropped = request.dropped
    defined = {str(tool.get("name")): tool for tool in request.tools}
    for at, message in enumerate(request.messages):
        for index, (block, unit) in enumerate(zip(message.blocks, message.units, strict=True)):
            if (at, index) in dropped:
                overhead = MESSAGE_OVERHEAD if index == 0 else 0
                unit = msgspec.structs.replace(unit, tokens=overhead)
            for name in loaded(block):
                unit = msgspec.structs.replace(unit, tokens=unit.tokens + tool_tokens(defined.get(name, {})))
            yield unit, block.kind


def message_units(role: str, blocks: tuple[Block, ...], *, string: bool) -> tuple[Unit, ...]:
    """Return the units of one message. The string and the block form of a text are no common prefix."""
    form = role.encode() + (b"string" if string else b"blocks")
    return tuple(
        Unit(
            digest=block.digest + form,
            tokens=block.tokens + (MESSAGE_OVERHEAD if index == 0 else 0),
            mark=_block_ttl(block),
        )
        for index, block in enumerate(blocks)
    )


def _blocks(request: AnthropicRequest) -> Iterator[Block]:
    return (block for message in request.messages for block in message.blocks)


def _key(request: AnthropicRequest, spoilers: tuple[Spoiler, ...], tokens: int = 0) -> tuple[Unit, str]:
    values = compact([spoiler(request) for spoiler in spoilers])
    # A parameter can carry no mark: name it among the kinds that cannot.
    return Unit(digest=blake2b(values, digest_size=16).digest(), tokens=tokens, key=True), "thinking"


def _block_ttl(block: Block) -> str | None:
    nested = [ttl for part in objects(block.data.get("content")) if (ttl := _ttl(part))]
    return _ttl(block.data) or next(iter(nested), None)


def _ttl(carrier: Mapping[str, Any]) -> str | None:
    mark = mapping(carrier.get("cache_control"))
    return ("1h" if mark.get("ttl") == "1h" else "5m") if mark else None
