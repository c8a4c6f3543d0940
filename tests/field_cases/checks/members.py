"""What a check may say: the members of each, which of them it needs, and the form of a value.

A check is read only when it says nothing else: a member that nobody looks at could make it hold for nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from tests.field_cases.cases import Unsupported
from tests.field_cases.checks.comparing import COMPARISONS

Given = dict[str, Any]

CHOOSING = frozenset({"output", "outputs", "request"})
"""Members with which any check chooses the results that it looks at."""
NESTED = {"one_of": ("any",), "all_of": ("all", "each"), "implies": ("if", "then"), "every_request": ("of",)}
"""Check that is made of others -> where they stand."""

MEMBERS = {
    "applies_to": "outputs",
    "one_of": "any",
    "all_of": "all|each",
    "implies": "if then",
    "every_request": "of",
    "valid_wire": "",
    "pairs_complete": "include_server_tools?",
    "first_role": "=",
    "no_message_only_of": "types",
    "block_types": "message =|starts_with",
    "no_adjacent_same_role": "",
    "results_in_one_message": "",
    "results_before_text": "",
    "result_order": "=",
    "tool_results_for": "id =",
    "tool_result": "id content|is_error",
    "tool_result_non_empty": "id",
    "tool_result_chars": "id =",
    "result_of_call": "arguments =",
    "not_contains_id": "id",
    "unique_call_ids": "",
    "ids_stable_over_compiles": "n",
    "no_tool_call_without": "field",
    "all_arguments_parse": "",
    "contains": "text|texts part|in?",
    "contains_in": "text|texts part|in",
    "not_contains": "text|texts part|in?",
    "not_contains_in": "text|texts part|in",
    "contains_any": "texts part|in?",
    "occurs": "text times part|in?",
    "last_user_text": "equals:text",
    "text_order": "equals:texts",
    "order_of_texts": "equals:texts",
    "system_text_order": "equals:texts",
    "regex": "pattern part|in?",
    "not_regex": "pattern part|in?",
    "well_formed_unicode": "part|in?",
    "no_replacement_char": "part|in?",
    "no_empty_text": "",
    "image_count": "=",
    "all_images_decode": "",
    "max_string_chars": "=",
    "request_utf8_encodable": "",
    "equals_path": "path =",
    "equals_input": "path",
    "path_present": "path",
    "path_absent": "path",
    "byte_equal": "parts",
    "message_bytes_stable": "index",
    "append_only": "",
    "prefix_breaks": "=",
    "each_break_has_event": "type min_tokens?",
    "each_request_prefix_of_next": "part",
    "marker_count": "=",
    "markers_in_message": "message =",
    "caller_markers_kept": "=",
    "marker_present": "at",
    "marker_not_on": "types",
    "last_marker_distance_blocks": "=",
    "marker_reuse_within_blocks": "=",
    "prefix_unchanged": "",
    "simulated_cache_read_share": "from_request? =",
    "record_has_text": "text|texts",
    "record_still_has": "text|texts",
    "record_unchanged": "",
    "record_user_origin_count": "=",
    "record_image_count": "=",
    "engine_messages_marked": "",
    "recorded_status": "id =",
    "run_state": "id =",
    "status_at": "id t status|exit_code|run_state",
    "never_status": "id status",
    "retryable": "=",
    "executed_calls": "=",
    "tool_call_count": "=",
    "arguments_list": "=",
    "recorded_state": "=",
    "event": "type count? count_gte? fields?",
    "warning": "code has_numbers?",
    "raises": "code has_numbers?",
    "no_exception": "",
    "thinking_blocks_intact_or_absent": "",
    "money": "path equals:money",
    "each_count": "=",
    "count_of": "index =",
    "counts_equal": "of:numbers tolerance?",
    "count_greater": "a b by_gte?",
    "total": "=",
    "each_time_s": "=",
    "time_ratio": "of:numbers =",
    "after_feedback_within": "relative",
    "compiled_tokens": "=",
    "model_calls": "=",
    "every_model_call_tokens": "=",
    "media_present_or_handled": "=",
    "preview_chars": "=",
    "preview_bytes": "=",
    "has_marker": "=",
    "single_marker": "",
    "marker_numbers_exact": "",
    "events_readable": "=",
    "failed_writes": "=",
    "rows": "=",
    "rows_added": "=",
    "events_per_session": "=",
    "foreign_events": "=",
    "max_write_time_s": "=",
    "readable_ids": "=",
    "case_readable_ids": "=",
    "case_warning_codes": "=",
    "imported_ids": "=",
    "branches_kept": "=",
    "permission_prompts": "=",
    "events_each_variant": "=",
    "no_duplicates": "",
    "per_writer_order": "",
    "keys_present_or_conflict": "total",
    "path_of_leaf": "leaf =",
    "gap_before": "id",
    "history": "session =",
    "more_flags": "=",
    "pages_join_equals_content": "",
    "each_page_bytes": "=",
    "page_starts_at_requested": "",
    "read_matrix": "ignore_final_newline? =",
    "read_text": "index =",
    "read_ok": "indexes",
    "read_denied": "indexes",
    "no_dead_handle": "",
    "handle_resolves_to": "id equals:text",
    "handle_resolves_to_bytes": "id? =",
    "handle_resolves_to_raw": "",
    "dropped_result_has_handle": "id",
    "extra_read_error": "index? equals?",
    "messages_after_reload": "=",
}
"""Check -> its members: `|` one of several, `?` may lack, `:` a form that the name does not tell, `=` comparisons."""


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


def _several(each: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and bool(value) and all(map(each, value))


def _pattern(value: Any) -> bool:
    try:
        return isinstance(value, str) and bool(re.compile(value))
    except (re.error, OverflowError, RecursionError):
        return False


def _check(value: Any) -> bool:
    return isinstance(value, dict)


def _anything(value: Any) -> bool:
    return True


def _name(value: Any) -> bool:
    return _whole(value) or isinstance(value, str)


def _money(value: Any) -> bool:
    digits = isinstance(value, str) and re.fullmatch(r"-?\d+(\.\d+)?([eE][-+]?\d+)?", value) is not None
    return digits or _number(value)


FORMS: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("text", "part", "in", "path", "at", "field", "arguments", "code"), _text),
    **dict.fromkeys(("type", "status", "session", "content", "run_state"), _text),
    **dict.fromkeys(("texts", "types", "parts", "fields", "has_numbers"), _several(_text)),
    **dict.fromkeys(("n", "index", "message", "times", "count", "count_gte", "a", "b", "total"), _whole),
    **dict.fromkeys(("lte", "gte", "lt", "gt", "t", "relative", "tolerance", "by_gte"), _number),
    **dict.fromkeys(("min_tokens", "from_request"), _number),
    **dict.fromkeys(("is_error", "include_server_tools", "ignore_final_newline"), _flag),
    **dict.fromkeys(("any", "all", "each"), _several(_check)),
    **dict.fromkeys(("if", "then", "of"), _check),
    **dict.fromkeys(("output", "request", "id", "leaf"), _name),
    "outputs": _several(_name),
    "indexes": _several(_whole),
    "numbers": _several(_whole),
    "starts_with": _several(_text),
    "pattern": _pattern,
    "money": _money,
}
"""Member, or name of a form -> whether a value has the form; every other may be anything."""


def refuse_unread(check: Any) -> None:
    """Raise Unsupported unless a check, and each that it is made of, says what it needs and nothing else."""
    name = check.get("check") if isinstance(check, dict) else None
    if not isinstance(name, str):
        raise Unsupported("a check without a name")
    if name not in MEMBERS:
        raise Unsupported(f"check {name}")
    known: dict[str, str] = dict.fromkeys(CHOOSING, "")
    for word in MEMBERS[name].split():
        names, _, form = word.removesuffix("?").partition(":")
        alternatives = [one for each in names.split("|") for one in (COMPARISONS if each == "=" else [each])]
        known |= {one: form or one for one in alternatives}
        if not word.endswith("?") and not any(one in check for one in alternatives):
            raise Unsupported(f"check {name} without {names.replace('=', 'a comparison')}")
    if unknown := check.keys() - known.keys() - {"check"}:
        raise Unsupported(f"check {name} with {', '.join(sorted(unknown))}")
    for member in check.keys() - {"check"}:
        if not FORMS.get(known[member] or member, _anything)(check[member]):
            raise Unsupported(f"check {name} with {member} {check[member]!r:.60}")
    for inner in _inner(check):
        refuse_unread(inner)


def _inner(check: Given) -> Iterator[Given]:
    for place in NESTED.get(check["check"], ()):
        inner = check.get(place, [])
        yield from inner if isinstance(inner, list) else [inner]


def aimed(check: Given, aim: Given) -> Given:
    """Return a check that looks at these results, and so do those that it is made of, unless they choose others."""
    if CHOOSING & check.keys():
        return check
    made = {**check, **aim}
    for place in NESTED.get(check["check"], ()):
        if place in check:
            inner = check[place]
            made[place] = [aimed(one, aim) for one in inner] if isinstance(inner, list) else aimed(inner, aim)
    return made


def asks_for(check: Given, name: str) -> bool:
    """Whether a check is of this name, or made of one that is."""
    return check["check"] == name or any(asks_for(inner, name) for inner in _inner(check))
