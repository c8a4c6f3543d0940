"""What a referee must know of a model."""

from __future__ import annotations

import msgspec


class ModelFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Facts of one model that decide what its server accepts.

    Tokens are counts; None means no such limit. The defaults describe a current Claude model that binds
    thinking to its prefix. `max_input` is a limit on input alone (OpenAI: 922,000 of a 1,050,000 window).
    `max_messages` and `max_body_bytes` are limits of the Anthropic endpoint. `image_max_edge` is in pixels:
    larger images are scaled down before they are counted. `signs_calls`: function calls carry a thought
    signature that must come back (Gemini 3 and later).
    """

    window: int = 1_000_000
    max_input: int | None = None
    max_output: int | None = 128_000
    max_messages: int = 100_000
    max_body_bytes: int = 32 * 1024 * 1024
    min_cache_tokens: int = 512
    binds_thinking: bool = True
    thinking_types: frozenset[str] = frozenset({"adaptive", "between_tools", "disabled"})
    prefill: bool = False
    supports_mid_system: bool = True
    sampling: bool = False
    forced_tool_choice: bool = True
    image_max_edge: int | None = 2000
    image_max_tokens: int | None = None
    signs_calls: bool = False


CLAUDE = ModelFacts()
CHAT = ModelFacts(
    window=1_050_000,
    max_input=922_000,
    min_cache_tokens=1024,
    binds_thinking=False,
    prefill=True,
    sampling=True,
    image_max_edge=None,
)
RESPONSES = CHAT
DEEPSEEK = ModelFacts(
    window=1_000_000,
    max_output=393_216,
    min_cache_tokens=0,
    binds_thinking=False,
    prefill=True,
    sampling=True,
    image_max_edge=None,
)
GEMINI = ModelFacts(
    window=1_048_576,
    max_output=65_536,
    max_body_bytes=20 * 1024 * 1024,
    min_cache_tokens=4096,
    binds_thinking=False,
    sampling=True,
    image_max_edge=None,
    signs_calls=True,
)
