"""Checks of the store after concurrent use, of loaded records, and of what is read back."""

from __future__ import annotations

import re
from typing import Any

from foreword.engine.session import Session
from foreword.errors import ForewordError
from tests.field_cases.cases import Unsupported
from tests.field_cases.checks.comparing import Check, compare, expect
from tests.field_cases.labels import result_handle
from tests.field_cases.outcome import CheckFailed, Outcome
from tests.field_cases.request import Request


def _value(outcome: Outcome, name: str) -> Any:
    if name not in outcome.values:
        if outcome.error is not None:
            raise CheckFailed(name, repr(outcome.error))
        raise Unsupported(f"{name} after this operation")
    return outcome.values[name]


def plain(name: str) -> Check:
    """Return the check that compares a value of the outcome as it is."""

    def check(outcome: Outcome, args: dict[str, Any]) -> None:
        compare(args, _value(outcome, name))

    return check


def no_duplicates(outcome: Outcome, args: dict[str, Any]) -> None:
    keys = _value(outcome, "keys")
    expect(len(keys) == len(set(keys)), "each once", f"{len(keys) - len(set(keys))} twice")


def per_writer_order(outcome: Outcome, args: dict[str, Any]) -> None:
    orders: dict[int, list[int]] = {}
    for writer, number in _value(outcome, "keys"):
        orders.setdefault(writer, []).append(number)
    wrong = [writer for writer, numbers in orders.items() if numbers != sorted(numbers)]
    expect(not wrong, "each writer's own order", f"writers {wrong} out of order")


def keys_present_or_conflict(outcome: Outcome, args: dict[str, Any]) -> None:
    present, conflicts = _value(outcome, "present"), _value(outcome, "conflicts")
    expect(present + conflicts == args["total"], args["total"], f"{present} present, {conflicts} conflicts")


def path_of_leaf(outcome: Outcome, args: dict[str, Any]) -> None:
    paths = _value(outcome, "paths")
    compare(args, paths.get(args["leaf"]))


def gap_before(outcome: Outcome, args: dict[str, Any]) -> None:
    gaps = _value(outcome, "gaps")
    expect(args["id"] in gaps, f"a gap before {args['id']}", gaps)


def history(outcome: Outcome, args: dict[str, Any]) -> None:
    compare(args, _value(outcome, "histories").get(args["session"]))


def more_flags(outcome: Outcome, args: dict[str, Any]) -> None:
    compare(args, [page["more"] for page in _value(outcome, "pages")])


def pages_join_equals_content(outcome: Outcome, args: dict[str, Any]) -> None:
    joined = "".join(page["text"] for page in _value(outcome, "pages"))
    expect(joined == _value(outcome, "content"), "pages joined are the content", joined)


def each_page_bytes(outcome: Outcome, args: dict[str, Any]) -> None:
    for page in _value(outcome, "pages"):
        compare(args, len(page["text"].encode("utf-8", "surrogatepass")))


def page_starts_at_requested(outcome: Outcome, args: dict[str, Any]) -> None:
    wrong = [page for page in _value(outcome, "pages") if page["offset"] != page["asked"]]
    expect(not wrong, "each page begins with the asked line", wrong[:1])


def read_matrix(outcome: Outcome, args: dict[str, Any]) -> None:
    found = _value(outcome, "matrix")
    if args.get("ignore_final_newline"):
        found = [[text.removesuffix("\n") for text in row] for row in found]
    compare(args, found)


def read_text(outcome: Outcome, args: dict[str, Any]) -> None:
    compare(args, _value(outcome, "reads")[args["index"]]["text"])


def read_ok(outcome: Outcome, args: dict[str, Any]) -> None:
    reads = _value(outcome, "reads")
    refused = [index for index in args["indexes"] if reads[index]["error"]]
    expect(not refused, "read", f"{refused} refused")


def no_dead_handle(outcome: Outcome, args: dict[str, Any]) -> None:
    for request in outcome.chosen(args):
        if outcome.session is None:
            raise Unsupported("handles after this operation")
        dead = _dead_handles(outcome.session, request)
        expect(not dead, "handles that a tool of the request resolves", dead)


def _dead_handles(session: Session, request: Request) -> list[str]:
    """Return the handles in a request that none of its tools can resolve."""
    handles = set(re.findall(rf"{re.escape(session.alias)}#\d+(?:\.\d+)?", request.data.decode()))
    epochs = session.view.fold.epochs
    if not epochs or epochs[-1].body.read_tool is None:
        return sorted(handles)
    return sorted(handle for handle in handles if not _resolves(session, handle))


def _resolves(session: Session, handle: str) -> bool:
    try:
        session.read(handle)
    except ForewordError:
        return False
    return True


def handle_resolves_to(outcome: Outcome, args: dict[str, Any]) -> None:
    for request in outcome.chosen(args):
        shown = request.result(args["id"])
        if shown is not None and shown.text == args["equals"]:
            continue
        if outcome.session is None:
            raise Unsupported("handles after this operation")
        handle = result_handle(outcome.session, args["id"])
        named = handle is not None and re.search(rf"{re.escape(handle)}(?!\d)", request.data.decode())
        expect(named, f"the handle of the result of {args['id']} in the request", handle)
        assert handle is not None
        expect(outcome.session.read(handle).text == args["equals"], args["equals"], handle)


def dropped_result_has_handle(outcome: Outcome, args: dict[str, Any]) -> None:
    for request in outcome.chosen(args):
        handle = _handle_of(outcome, args["id"])
        assert outcome.session is not None
        shown = request.result(args["id"])
        if shown is None or shown.text != outcome.session.read(handle).text:
            named = re.search(rf"{re.escape(handle)}(?!\d)", request.data.decode())
            expect(named, f"the handle of the result of {args['id']} in the request", handle)


def handle_resolves_to_bytes(outcome: Outcome, args: dict[str, Any]) -> None:
    id_ = args.get("id", outcome.values.get("stored"))
    assert outcome.session is not None
    compare(args, outcome.session.read(_handle_of(outcome, id_)).bytes)


def handle_resolves_to_raw(outcome: Outcome, args: dict[str, Any]) -> None:
    raw = _value(outcome, "raw")
    assert outcome.session is not None
    text = outcome.session.read(_handle_of(outcome, outcome.values["stored"])).text
    expect(text == raw, raw, text)


def _handle_of(outcome: Outcome, id_: str) -> str:
    if outcome.session is None:
        raise Unsupported("handles after this operation")
    handle = result_handle(outcome.session, id_)
    if handle is None:
        raise CheckFailed(f"a stored result of {id_}", None)
    return handle


def extra_read_error(outcome: Outcome, args: dict[str, Any]) -> None:
    reads = _value(outcome, "extra_reads")
    chosen = reads if "index" not in args else [reads[args["index"]]]
    for read in chosen:
        compare(args if "equals" in args else {**args, "equals": True}, read["error"])


def messages_after_reload(outcome: Outcome, args: dict[str, Any]) -> None:
    """Count what is stored as messages; results that share one message on the wire count as one."""
    shared = outcome.chosen(args)[0].wire in ("anthropic", "gemini") if outcome.outputs else False
    found, last = 0, ""
    for event in outcome.record:
        if event.kind in ("said", "answered", "tool_returned") and event.trust != "engine":
            found += not (shared and event.kind == last == "tool_returned")
            last = event.kind
    compare(args, found)


def read_denied(outcome: Outcome, args: dict[str, Any]) -> None:
    reads = _value(outcome, "reads")
    read = [index for index in args["indexes"] if not reads[index]["error"]]
    expect(not read, "refused", f"{read} read")


STORES: dict[str, Check] = {
    name: plain(name)
    for name in (
        "events_readable",
        "failed_writes",
        "rows",
        "rows_added",
        "events_per_session",
        "foreign_events",
        "max_write_time_s",
        "readable_ids",
        "case_readable_ids",
        "case_warning_codes",
        "imported_ids",
        "branches_kept",
        "permission_prompts",
        "events_each_variant",
    )
} | {
    "no_duplicates": no_duplicates,
    "per_writer_order": per_writer_order,
    "keys_present_or_conflict": keys_present_or_conflict,
    "path_of_leaf": path_of_leaf,
    "gap_before": gap_before,
    "history": history,
    "more_flags": more_flags,
    "pages_join_equals_content": pages_join_equals_content,
    "each_page_bytes": each_page_bytes,
    "page_starts_at_requested": page_starts_at_requested,
    "read_matrix": read_matrix,
    "read_text": read_text,
    "read_ok": read_ok,
    "read_denied": read_denied,
    "no_dead_handle": no_dead_handle,
    "handle_resolves_to": handle_resolves_to,
    "handle_resolves_to_bytes": handle_resolves_to_bytes,
    "handle_resolves_to_raw": handle_resolves_to_raw,
    "dropped_result_has_handle": dropped_result_has_handle,
    "extra_read_error": extra_read_error,
    "messages_after_reload": messages_after_reload,
}
