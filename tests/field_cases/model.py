"""The made-up model of the cases: its catalog row, its counter, and the referee of its server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from foreword.codecs import WireCodec, codec
from foreword.compiler.policy import Policy
from foreword.core.catalog import ModelSpec, Wire
from foreword.core.request import Params
from foreword.core.target import Target
from foreword.core.tokens import Counter, EstimateCounter, O200kCounter, counter
from foreword.errors import InvalidArgument
from foreword.evals.replay import REFEREES
from foreword.testing.referee import Referee
from tests.field_cases.cases import Case, Unsupported, known

NAME = "made-up"
CAPS: dict[str, Any] = {
    "binds_thinking": False,
    "prefill": True,
    "vision": True,
    "supports_mid_system": False,
    "tokenizer": "o200k",
    "min_cache_tokens": 1024,
    "lookback_blocks": 20,
    "window": 200_000,
    "max_output": 8_192,
}
SIZES = frozenset({"window", "max_output"})
"""Capabilities that are no less than 1."""
MARKS = {"anthropic": 4}
"""Wire -> cache marks that a request may carry; others take none from a caller."""
NO_WINDOW = 1_000_000_000
"""Tokens. The referee counts otherwise than the session (``Chars4``): sizes are a matter of `compiled_tokens`."""
SEALING = frozenset({"anthropic", "openai-responses", "gemini"})
"""Wires whose server knows again what it signed."""


class Chars4:
    """Counts a token for each four characters, begun ones included."""

    name = "chars4"
    exact = True

    def count(self, text: str) -> int:
        return -(-len(text) // 4)

    def count_many(self, texts: Sequence[str]) -> list[int]:
        return [self.count(text) for text in texts]


def caps_of(case: Case, **more: Any) -> dict[str, Any]:
    """Return the model's capabilities as a case states them, short forms included. Raises Unsupported."""
    given = {**case.input.get("model_caps", {}), **more}
    known("model_caps", given, CAPS)
    for name, value in given.items():
        if type(value) is not type(CAPS[name]) or (name in SIZES and value < 1):
            raise Unsupported(f"model_caps with {name} {value!r:.60}")
    caps = CAPS | given
    if "model_min_cache_tokens" in case.input:
        caps["min_cache_tokens"] = case.input["model_min_cache_tokens"]
    if "tokenizer" in case.input:
        caps["tokenizer"] = case.input["tokenizer"]
    if "window" in case.settings:
        caps["window"] = case.settings["window"]
    if case.input.get("image_to_text"):
        caps["vision"] = False
    if "model_vision" in case.settings:
        caps["vision"] = case.settings["model_vision"]
    return caps


def target_of(
    wire: str,
    caps: Mapping[str, Any],
    settings: Mapping[str, Any],
    *,
    marks: bool = True,
    keys: Mapping[str, Any] | None = None,
) -> Target:
    """Return the target of a made-up model on a wire. ``marks`` False: no cache marks are planned."""
    window = caps["window"]
    reserve = settings.get("reserve_output", min(caps["max_output"], window // 8))
    found: dict[str, Any] = dict(keys or {})
    if settings.get("thinking") and wire == "deepseek":
        found["thinking"] = {"type": "enabled"}
    return Target(
        spec=_spec(wire, caps, marks=marks, longest=settings.get("max_string_chars")),
        codec=_codec(wire, alternating=bool(settings.get("strict_alternation"))),
        counter=Chars4(),
        params=Params(model=NAME, max_output=max(1, min(reserve, caps["max_output"])), keys=found),
        window=window,
        reserve_output=reserve,
        reader="none" if settings.get("engine_read_tool") is False else "tool",
    )


def _codec(wire: str, *, alternating: bool) -> WireCodec:
    try:
        return codec(wire, alternating=alternating)
    except InvalidArgument as error:
        raise Unsupported(f"strict_alternation on {wire}") from error


class Panicking:
    """A vocabulary whose library breaks in a way that is no ``Exception``, as compiled ones do."""

    def count(self, text: str) -> int:
        raise Panic(text[:20])

    def count_batch(self, texts: Sequence[str]) -> list[int]:
        raise Panic(texts[0][:20])


class Panic(BaseException):
    """What a compiled library raises when it breaks."""


def counter_of(caps: Mapping[str, Any], method: str | None = None) -> Counter:
    """Return the counter that the product uses for a model with this tokenizer. Raises Unsupported."""
    match "none" if method == "no_tokenizer" else caps["tokenizer"]:
        case "none":
            return EstimateCounter()
        case "o200k":
            return counter("auto")
        case "fake_panicking_base_exception":
            return O200kCounter(Panicking())
        case other:
            raise Unsupported(f"tokenizer {other}")


def _spec(wire: str, caps: Mapping[str, Any], *, marks: bool, longest: int | None) -> ModelSpec:
    product_wire: Wire = wire
    return ModelSpec(
        id=NAME,
        provider=NAME,
        wires=(product_wire,),
        window=caps["window"],
        max_output=caps["max_output"],
        min_cacheable_tokens=caps["min_cache_tokens"],
        max_marks=MARKS.get(wire, 0) if marks else 0,
        lookback_blocks=caps["lookback_blocks"],
        binds_thinking=caps["binds_thinking"],
        prefill=caps["prefill"],
        mid_system=caps["supports_mid_system"],
        deferred_tools="defer_loading" if wire == "anthropic" else None,
        source="the case",
        as_of="",
        vision=caps["vision"],
        max_string_chars=longest,
    )


def policy_of(settings: Mapping[str, Any], target: Target, *, plan_marks: bool = True) -> Policy:
    """Return the policy of a case: nothing is moved out or rewritten unless its settings say so."""
    policy = Policy(
        name="field-case",
        result_tokens=-(-settings.get("externalise_over_bytes", 0) // 4),
        result_share=1.0,
        batch_share=0.0,
        reserve_tool_result=0.0,
        uncalibrated_factor=1.0,
        plan_marks=plan_marks,
        language_directive=bool(settings.get("language_directive")),
    )
    if "compact_at" not in settings:
        return policy
    kept_free = 1.0 - settings["compact_at"] - target.reserve_output / target.window
    return msgspec.structs.replace(policy, reserve_tool_result=max(0.0, kept_free))


def referee_of(target: Target, *, strict_alternation: bool = False, foreign: bool = False) -> Referee[Any]:
    """Return the server's judge for a target. ``foreign``: signatures that it never gave pass."""
    wire = target.codec.wire
    make, base = REFEREES[wire]
    facts = msgspec.structs.replace(
        base,
        window=NO_WINDOW,
        max_input=None,
        max_output=target.spec.max_output,
        min_cache_tokens=target.spec.min_cacheable_tokens or 0,
        binds_thinking=target.spec.binds_thinking,
        prefill=bool(target.spec.prefill),
        supports_mid_system=target.spec.mid_system,
    )
    more: dict[str, Any] = {}
    if strict_alternation and wire in ("anthropic", "openai-chat"):
        more["strict_alternation"] = True
    if foreign and wire in SEALING:
        more["accept_foreign_signatures"] = True
    return make(facts=facts, **more)
