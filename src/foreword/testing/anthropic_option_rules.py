"""Anthropic Messages: rules on limits, the window, sampling, tool choice and betas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from foreword.testing import anthropic_forms as forms
from foreword.testing.anthropic_request import AnthropicRequest
from foreword.testing.option_values import out_of_range, stray_values
from foreword.testing.rule import Fault, Rule, fault
from foreword.testing.wire import mapping, objects, text_of

NO_SAMPLING_SINCE = "2026-10-21"
SAMPLING = ("temperature", "top_p", "top_k")
BINDING_BETA = "thinking-binding-controls-2026-08-01"
DISPLAY_BETA = "thinking-display-updates-2026-08-18"
COMPACT_BETAS = ("compact-2026-09-04", "compact-2026-01-12")
BETA_MEMBERS: Mapping[str, tuple[str, ...]] = {
    "context_management": ("context-management-2025-06-27", "compact-2026-01-12"),
    "compaction": ("compact-2026-09-04",),
    "fallbacks": ("server-side-fallback-2026-06-01", "server-side-fallback-2026-07-01"),
    "fallback_credit_token": ("fallback-credit-2026-07-01",),
    "mcp_servers": ("mcp-client-2025-04-04", "mcp-client-2025-11-20", "mcp-client-2026-09-15"),
    "thread": ("message-threads-2026-08-12",),
}
EDIT_BETAS: Mapping[str, str] = {
    "compact_20260112": "compact-2026-01-12",
    "clear_tool_uses_20250919": "context-management-2025-06-27",
    "clear_thinking_20251015": "context-management-2025-06-27",
}
COMPACTS = "compact_20260112"
LEAST_TRIGGER = 50_000
NOT_IN_A_THREAD = ("context_management", "fallbacks", "thinking")
SYSTEM_BETAS = (
    ("clear_at", ("mid-conversation-system-clear-at-2026-08-21",)),
    ("output_config", ("mid-conversation-output-config-2026-07-01",)),
)


def _token_limit(request: AnthropicRequest) -> Iterator[Fault]:
    limit = request.integer("max_tokens")
    if limit is not None and limit < 0:
        yield fault("max_tokens")


def _output_limit(request: AnthropicRequest) -> Iterator[Fault]:
    limit, most = request.integer("max_tokens"), request.facts.max_output
    if limit is not None and most is not None and limit > most:
        yield fault("max_tokens", asked=limit, most=most, model=request.body.get("model"))


def _prewarm(request: AnthropicRequest) -> Iterator[Fault]:
    if request.integer("max_tokens") != 0:
        return
    output = mapping(request.body.get("output_config"))
    clashes = {
        "stream": request.body.get("stream") is True,
        "thinking": request.thinking.get("type") not in (None, "disabled"),
        "output_config.format": output.get("format") is not None,
        "tool_choice": request.forced_tool,
    }
    yield from (fault("max_tokens", member=member) for member, clash in clashes.items() if clash)


def _window_input(request: AnthropicRequest) -> Iterator[Fault]:
    if request.input_tokens > request.facts.window:
        yield fault("messages", tokens=request.input_tokens, window=request.facts.window)


def _window_output(request: AnthropicRequest) -> Iterator[Fault]:
    asked = request.integer("max_tokens") or 0
    if request.input_tokens <= request.facts.window < request.input_tokens + asked:
        yield fault("max_tokens", tokens=request.input_tokens, asked=asked, window=request.facts.window)


def _sampling(request: AnthropicRequest) -> Iterator[Fault]:
    if request.version >= NO_SAMPLING_SINCE or not request.facts.sampling:
        yield from (fault(name) for name in SAMPLING if name in request.body)


def _assistant_document(request: AnthropicRequest) -> Iterator[Fault]:
    for at, index, _ in request.blocks("document"):
        if request.version >= NO_SAMPLING_SINCE and request.messages[at].role == "assistant":
            yield fault(f"messages.{at}.content.{index}")


def _user_citations(request: AnthropicRequest) -> Iterator[Fault]:
    if request.version < NO_SAMPLING_SINCE:
        return
    for at, index, block in request.blocks("text", "search_result", "tool_result"):
        if request.messages[at].role == "user":
            yield from _cited(f"messages.{at}.content.{index}", block.data)


def _cited(path: str, block: Mapping[str, Any]) -> Iterator[Fault]:
    """Find citations on a text, or on those inside a search result, itself perhaps inside a tool result."""
    stack = [(path, block)]
    while stack:
        place, item = stack.pop()
        if item.get("type") == "text" and item.get("citations"):
            yield fault(place)
        parts = enumerate(objects(item.get("content")))
        stack.extend((f"{place}.content.{inner}", part) for inner, part in parts)


def _choice_kind(request: AnthropicRequest) -> Iterator[Fault]:
    kind = mapping(request.body.get("tool_choice")).get("type")
    if "tool_choice" in request.body and text_of(kind) not in forms.TOOL_CHOICES:
        yield fault("tool_choice", kind=kind)


def _choice_name(request: AnthropicRequest) -> Iterator[Fault]:
    choice = mapping(request.body.get("tool_choice"))
    names = {text_of(tool.get("name")) for tool in request.tools}
    if choice.get("type") == "tool" and text_of(choice.get("name")) not in names:
        yield fault("tool_choice", name=choice.get("name"))


def _choice_alone(request: AnthropicRequest) -> Iterator[Fault]:
    # Tools may come by other ways, too; whether `none` needs them is not known.
    offers = request.tools or request.body.get("mcp_servers") or any(request.blocks("tool_addition"))
    if text_of(mapping(request.body.get("tool_choice")).get("type")) in forms.OFFERING_CHOICES and not offers:
        yield fault("tool_choice")


def _choice_forced(request: AnthropicRequest) -> Iterator[Fault]:
    if request.forced_tool and not request.facts.forced_tool_choice:
        yield fault("tool_choice.type")


def _effort(request: AnthropicRequest) -> Iterator[Fault]:
    effort = mapping(request.body.get("output_config")).get("effort")
    if effort is not None and text_of(effort) not in forms.EFFORTS:
        yield fault("output_config.effort")


def _thread_alone(request: AnthropicRequest) -> Iterator[Fault]:
    if request.body.get("thread") is None:
        return
    clashes = [name for name in NOT_IN_A_THREAD if request.body.get(name) is not None]
    yield from (fault("thread", member=name) for name in clashes)
    if request.marks:
        yield fault("thread", member="cache_control")


def _edits(request: AnthropicRequest) -> list[tuple[str, str]]:
    """Return the path and the kind of each edit of the context that is asked for."""
    edits = objects(mapping(request.body.get("context_management")).get("edits"))
    return [(f"context_management.edits.{at}", text_of(edit.get("type"))) for at, edit in enumerate(edits)]


def _edit_kind(request: AnthropicRequest) -> Iterator[Fault]:
    yield from (fault(path, kind=kind) for path, kind in _edits(request) if kind not in EDIT_BETAS)


def _edit_counts(request: AnthropicRequest) -> Iterator[Fault]:
    edits = objects(mapping(request.body.get("context_management")).get("edits"))
    for at, edit in enumerate(edits):
        for member, kinds in forms.EDIT_COUNTS.items():
            counted = mapping(edit.get(member))
            if counted and text_of(counted.get("type")) not in kinds:
                yield fault(f"context_management.edits.{at}.{member}", kind=counted.get("type"))


def _compact_early(request: AnthropicRequest) -> Iterator[Fault]:
    edits = objects(mapping(request.body.get("context_management")).get("edits"))
    for at, edit in enumerate(edits):
        least = mapping(edit.get("trigger")).get("value")
        if edit.get("type") == COMPACTS and isinstance(least, int) and least < LEAST_TRIGGER:
            yield fault(f"context_management.edits.{at}.{COMPACTS}.trigger.value", least=LEAST_TRIGGER)


def _thread_continued(request: AnthropicRequest) -> Iterator[Fault]:
    thread = mapping(request.body.get("thread"))
    if thread.get("type") == "continue" and not thread.get("previous_message_id"):
        yield fault("thread.continue.previous_message_id")


def _betas(request: AnthropicRequest) -> Iterator[Fault]:
    if request.betas is None:
        return
    needs = [(name, BETA_MEMBERS[name]) for name in BETA_MEMBERS if request.body.get(name) is not None]
    if "block_binding" in request.thinking:
        needs.append(("thinking.block_binding", (BINDING_BETA,)))
    if request.thinking.get("display") == "updates":
        needs.append(("thinking.display", (DISPLAY_BETA,)))
    needs += [
        (f"messages.{at}.content.{index}", COMPACT_BETAS) for at, index, _ in request.blocks("compaction")
    ]
    for at, message in enumerate(request.messages):
        needs += [(f"messages.{at}.{name}", betas) for name, betas in SYSTEM_BETAS if name in message.data]
    needs += [(path, (EDIT_BETAS[kind],)) for path, kind in _edits(request) if kind in EDIT_BETAS]
    yield from (fault(path) for path, betas in needs if not request.betas.intersection(betas))


OPTION_RULES: tuple[Rule[AnthropicRequest], ...] = (
    Rule(
        code="max_tokens_negative",
        text="max_tokens: Input should be greater than or equal to 0",
        section="2.1",
        evidence="D",
        check=_token_limit,
    ),
    Rule(
        code="max_tokens_model",
        text="max_tokens: {asked} > {most}, which is the maximum allowed number of output tokens for {model}",
        section="10",
        evidence="L",
        check=_output_limit,
    ),
    Rule(
        code="prewarm",
        text="{path}: 0 is not allowed together with `{member}`",
        section="2.1",
        evidence="D",
        check=_prewarm,
    ),
    Rule(
        code="window_input",
        text="prompt is too long: {tokens} tokens > {window} maximum",
        section="8",
        evidence="F",
        check=_window_input,
        counting=False,
    ),
    Rule(
        code="window_output",
        text="input length and `max_tokens` exceed context limit: {tokens} + {asked} > {window}, "
        "decrease input length or `max_tokens` and try again",
        section="8",
        evidence="F",
        check=_window_output,
        counting=False,
    ),
    Rule(
        code="sampling",
        text="{path}: this parameter is not supported",
        section="1.0",
        evidence="D",
        check=_sampling,
    ),
    Rule(
        code="assistant_document",
        text="{path}: `document` blocks are not allowed in assistant messages",
        section="1.0",
        evidence="D",
        check=_assistant_document,
    ),
    Rule(
        code="user_citations",
        text="{path}: `citations` are not allowed on text in user messages",
        section="1.0",
        evidence="D",
        check=_user_citations,
    ),
    Rule(
        code="choice_kind",
        text="tool_choice: Input tag '{kind}' found using 'type' does not match any of the expected tags: "
        "'auto', 'any', 'tool', 'none'",
        section="1.3",
        evidence="T",
        check=_choice_kind,
    ),
    Rule(
        code="choice_name",
        text="tool_choice: Tool '{name}' not found in provided tools",
        section="1.3",
        evidence="I",
        check=_choice_name,
    ),
    Rule(
        code="choice_alone",
        text="{path} may only be specified while providing tools.",
        section="1.3",
        evidence="F",
        check=_choice_alone,
    ),
    Rule(
        code="choice_forced",
        text="{path}: forced tool use is not supported on this model",
        section="1.3",
        evidence="L",
        check=_choice_forced,
    ),
    Rule(
        code="effort",
        text="{path}: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'",
        section="1.4",
        evidence="T",
        check=_effort,
    ),
    Rule(
        code="thread_alone",
        text="{path}: not supported together with `{member}`",
        section="1.1",
        evidence="T",
        check=_thread_alone,
    ),
    Rule(
        code="thread_continued",
        text="{path}: Field required",
        section="1.1",
        evidence="T",
        check=_thread_continued,
    ),
    Rule(
        code="option_value",
        text="{path}: Input should be {allowed}",
        section="1.0",
        evidence="T",
        check=lambda request: stray_values(request.body, forms.VALUES),
    ),
    Rule(
        code="option_range",
        text="{path}: range: {least}..{most}",
        section="1.0",
        evidence="I",
        check=lambda request: out_of_range(request.body, forms.RANGES),
    ),
    Rule(
        code="edit_count",
        text="{path}: Input tag '{kind}' found using 'type' does not match any of the expected tags",
        section="1.5",
        evidence="T",
        check=_edit_counts,
    ),
    Rule(
        code="compact_early",
        text="{path}: Input should be greater than or equal to {least}",
        section="1.5",
        evidence="I",
        check=_compact_early,
    ),
    Rule(
        code="edit_kind",
        text="{path}: Input tag '{kind}' found using 'type' does not match any of the expected tags",
        section="1.5",
        evidence="T",
        check=_edit_kind,
    ),
    Rule(
        code="beta",
        text="{path}: Extra inputs are not permitted",
        section="1.0",
        evidence="T",
        check=_betas,
    ),
)
