"""Anthropic Messages: rules on thinking, on its bond to the prefix, and on compaction blocks."""

from __future__ import annotations

from collections.abc import Iterator

from foreword.testing import anthropic_forms as forms
from foreword.testing.anthropic_request import AnthropicRequest
from foreword.testing.anthropic_thinking import THINKING
from foreword.testing.rule import Fault, Rule, fault
from foreword.testing.wire import mapping, objects, text_of

# The texts of clashes with sampling, forced calls and edits, and of a turn without its thinking, are those of public
# error reports from 2025-05 to 2026-07.
MIN_THINKING_BUDGET = 1024
LEAST_TOP_P = 0.95
BEFORE = frozenset({"compaction", "fallback"})
CLEAR_THINKING = "clear_thinking_20251015"
BOUND_ELSEWHERE = (
    "{path}: Invalid `signature` in `thinking` block. The block is bound to a different conversation. "
    'Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
)


def _thinking_kind(request: AnthropicRequest) -> Iterator[Fault]:
    if "thinking" in request.body and text_of(request.thinking.get("type")) not in forms.THINKING_TYPES:
        yield fault("thinking", kind=request.thinking.get("type"))


def _thinking_model(request: AnthropicRequest) -> Iterator[Fault]:
    kind = text_of(request.thinking.get("type"))
    if kind in forms.THINKING_TYPES and kind not in request.facts.thinking_types:
        yield fault("thinking.type", kind=kind)


def _budget(request: AnthropicRequest) -> int | None:
    budget = request.thinking.get("budget_tokens")
    enabled = request.thinking.get("type") == "enabled"
    return budget if enabled and isinstance(budget, int) else None


def _budget_missing(request: AnthropicRequest) -> Iterator[Fault]:
    if request.thinking.get("type") == "enabled" and _budget(request) is None:
        yield fault("thinking.enabled.budget_tokens")


def _budget_low(request: AnthropicRequest) -> Iterator[Fault]:
    budget = _budget(request)
    if budget is not None and budget < MIN_THINKING_BUDGET:
        yield fault("thinking.enabled.budget_tokens")


def _budget_high(request: AnthropicRequest) -> Iterator[Fault]:
    budget, limit = _budget(request), request.integer("max_tokens")
    if budget is not None and limit is not None and budget >= limit:
        yield fault("max_tokens")


def _signature(request: AnthropicRequest) -> Iterator[Fault]:
    yield from (fault(thought.path) for thought in request.thoughts if not thought.genuine)


def _bound(request: AnthropicRequest) -> bool:
    return request.facts.binds_thinking and not request.drops_mismatched


def _prefix(request: AnthropicRequest) -> Iterator[Fault]:
    for thought in request.thoughts if _bound(request) else ():
        if not thought.prefix_holds:
            yield fault(thought.path)


def _chain(request: AnthropicRequest) -> Iterator[Fault]:
    for thought in request.thoughts if _bound(request) else ():
        if not thought.chain_holds:
            yield fault(thought.path)


def _boundary(request: AnthropicRequest) -> Iterator[Fault]:
    yield from (fault(thought.path) for thought in request.thoughts if not thought.boundary_holds)


def _display(request: AnthropicRequest) -> Iterator[Fault]:
    display = request.thinking.get("display")
    if display is not None and text_of(display) not in forms.THINKING_DISPLAYS:
        yield fault("thinking.display", display=display)


def _turn_thinking(request: AnthropicRequest) -> Iterator[Fault]:
    if request.thinking.get("type") != "disabled" and not request.drops_mismatched:
        yield from (fault(path) for path in request.bare_calls)


def _thinks(request: AnthropicRequest) -> bool:
    return text_of(request.thinking.get("type")) in forms.THINKING_TYPES - {"disabled"}


def _thinking_forced(request: AnthropicRequest) -> Iterator[Fault]:
    # A model that takes no forced choice at all says so itself.
    if _thinks(request) and request.forced_tool and request.facts.forced_tool_choice:
        yield fault("tool_choice")


def _thinking_sampling(request: AnthropicRequest) -> Iterator[Fault]:
    if not _thinks(request):
        return
    if request.body.get("temperature", 1) != 1:
        yield fault("temperature", limit="may only be set to 1 when thinking is enabled or in adaptive mode")
    if "top_k" in request.body:
        yield fault("top_k", limit="must be unset when thinking is enabled or in adaptive mode")
    top = request.body.get("top_p", 1)
    if isinstance(top, int | float) and top < LEAST_TOP_P:
        yield fault(
            "top_p",
            limit="must be greater than or equal to 0.95 or unset when thinking is enabled or in adaptive mode",
        )


def _thinking_first(request: AnthropicRequest) -> Iterator[Fault]:
    """Judge where a turn begins that still waits for its end; adaptive thinking asks for nothing there."""
    if request.thinking.get("type") != "enabled":
        return
    asked = [
        at
        for at, message in enumerate(request.messages)
        if message.role == "user" and any(block.kind != "tool_result" for block in message.blocks)
    ]
    for at in range(asked[-1] + 1 if asked else 0, len(request.messages)):
        message = request.messages[at]
        if message.role == "assistant" and message.blocks:
            # What the server itself puts before an answer is no part of it.
            index = next((n for n, block in enumerate(message.blocks) if block.kind not in BEFORE), 0)
            if message.blocks[index].kind not in THINKING:
                yield fault(f"messages.{at}.content.{index}.type", found=message.blocks[index].kind)
            return


def _clear_thinking(request: AnthropicRequest) -> Iterator[Fault]:
    edits = objects(mapping(request.body.get("context_management")).get("edits"))
    # Without a wish, only models that take a budget do not think.
    off = not request.thinking and "enabled" in request.facts.thinking_types
    if off or request.thinking.get("type") == "disabled":
        yield from (fault("context_management") for edit in edits if edit.get("type") == CLEAR_THINKING)


def _thinking_last(request: AnthropicRequest) -> Iterator[Fault]:
    roles = [message.role for message in request.messages]
    for at, message in enumerate(request.messages):
        # Neighbours of one role are one message.
        ends = message.role == "assistant" and roles[at + 1 : at + 2] != ["assistant"]
        if ends and message.blocks and message.blocks[-1].kind in THINKING:
            yield fault(f"messages.{at}.content.{len(message.blocks) - 1}")


def _compaction_signature(request: AnthropicRequest) -> Iterator[Fault]:
    yield from (fault(path) for path in request.forged_compactions)


def _compaction_many(request: AnthropicRequest) -> Iterator[Fault]:
    full = [place for *place, block in request.blocks("compaction") if block.data.get("content")]
    yield from (fault(f"messages.{at}.content.{index}") for at, index in full[1:])


def _compaction_first(request: AnthropicRequest) -> Iterator[Fault]:
    for at, index, block in request.blocks("compaction"):
        if block.data.get("signature") and (at, index) != (0, 0):
            yield fault(f"messages.{at}.content.{index}")


def _compaction_empty(request: AnthropicRequest) -> Iterator[Fault]:
    for at, index, block in request.blocks("compaction"):
        if block.data.get("content") == "":
            yield fault(f"messages.{at}.content.{index}.content")


def _compaction_alone(request: AnthropicRequest) -> Iterator[Fault]:
    if not request.body.get("compaction"):
        return
    clashes = [name for name in ("context_management", "stop_sequences") if request.body.get(name)]
    if mapping(request.body.get("output_config")).get("format") is not None:
        clashes.append("output_config.format")
    if request.forced_tool:
        clashes.append("tool_choice")
    yield from (fault("compaction", member=member) for member in clashes)


THINKING_RULES: tuple[Rule[AnthropicRequest], ...] = (
    Rule(
        code="thinking_kind",
        text="thinking: Input tag '{kind}' found using 'type' does not match any of the expected tags",
        section="1.4",
        evidence="T",
        check=_thinking_kind,
    ),
    Rule(
        code="thinking_model",
        text="{path}: '{kind}' is not supported on this model",
        section="1.4",
        evidence="D",
        check=_thinking_model,
    ),
    Rule(
        code="budget_missing",
        text="{path}: Field required",
        section="1.4",
        evidence="T",
        check=_budget_missing,
    ),
    Rule(
        code="budget_low",
        text="{path}: Input should be greater than or equal to 1024",
        section="1.4",
        evidence="T",
        check=_budget_low,
    ),
    Rule(
        code="budget_high",
        text="`max_tokens` must be greater than `thinking.budget_tokens`",
        section="1.4",
        evidence="T",
        check=_budget_high,
    ),
    Rule(
        code="signature",
        text="{path}: Invalid `signature` in `thinking` block",
        section="1.4",
        evidence="T",
        check=_signature,
    ),
    Rule(
        code="bound_prefix",
        text=BOUND_ELSEWHERE,
        section="1.4",
        evidence="D",
        check=_prefix,
    ),
    Rule(
        code="bound_chain",
        text=BOUND_ELSEWHERE,
        section="1.4",
        evidence="D",
        check=_chain,
    ),
    Rule(
        code="fallback_moved",
        text="{path}: thinking around a `fallback` block can only be validated with the block where it stood",
        section="1.2",
        evidence="T",
        check=_boundary,
    ),
    Rule(
        code="thinking_display",
        text="{path}: Input should be 'summarized', 'omitted' or 'updates'",
        section="1.4",
        evidence="T",
        check=_display,
    ),
    Rule(
        code="turn_thinking",
        text="{path}: Expected `thinking` or `redacted_thinking`, but found `tool_use`. Thinking that led to "
        "a tool call must be sent back until the turn ends.",
        section="1.4",
        evidence="D",
        check=_turn_thinking,
    ),
    Rule(
        code="thinking_forced",
        text="Thinking may not be enabled when tool_choice forces tool use.",
        section="1.4",
        evidence="F",
        check=_thinking_forced,
    ),
    Rule(
        code="thinking_sampling",
        text="`{path}` {limit}.",
        section="1.4",
        evidence="F",
        check=_thinking_sampling,
    ),
    Rule(
        code="thinking_first",
        text="{path}: Expected `thinking` or `redacted_thinking`, but found `{found}`. When `thinking` is enabled, a "
        "final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and "
        "`tool_result` blocks). We recommend you include thinking blocks from previous turns. To avoid this "
        "requirement, disable `thinking`.",
        section="1.4",
        evidence="F",
        check=_thinking_first,
    ),
    Rule(
        code="clear_thinking",
        text="`clear_thinking_20251015` strategy requires `thinking` to be enabled or adaptive",
        section="1.5",
        evidence="F",
        check=_clear_thinking,
    ),
    Rule(
        code="thinking_last",
        text="{path}: The final block in an assistant message cannot be `thinking`.",
        section="1.4",
        evidence="F",
        check=_thinking_last,
    ),
    Rule(
        code="compaction_signature",
        text="{path}: Invalid `signature` in `compaction` block",
        section="1.5",
        evidence="T",
        check=_compaction_signature,
        error_code="compaction_signature_invalid",
    ),
    Rule(
        code="compaction_many",
        text="{path}: more than one `compaction` block with content",
        section="1.5",
        evidence="T",
        check=_compaction_many,
        error_code="compaction_block_ambiguous",
    ),
    Rule(
        code="compaction_first",
        text="{path}: a signed `compaction` block must be first in `messages`",
        section="1.5",
        evidence="T",
        check=_compaction_first,
        error_code="compaction_block_misplaced",
    ),
    Rule(
        code="compaction_empty",
        text="{path}: String should have at least 1 character",
        section="1.2",
        evidence="T",
        check=_compaction_empty,
    ),
    Rule(
        code="compaction_alone",
        text="{path}: not allowed together with `{member}`",
        section="1.5",
        evidence="T",
        check=_compaction_alone,
    ),
)
