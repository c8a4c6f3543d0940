"""Checks of a request's structure: the wire's rules, pairs, roles, blocks, ids."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from tests.field_cases.cases import Unsupported
from tests.field_cases.checks.comparing import Check, compare, expect
from tests.field_cases.labels import recorded_results
from tests.field_cases.outcome import CheckFailed, Outcome
from tests.field_cases.request import Part, Request


def valid_wire(outcome: Outcome, args: dict[str, Any]) -> None:
    for request in outcome.chosen(args):
        verdict = outcome.referee(request).judge(request.data)
        found = [f"{one.code} at {one.path}: {one.text}" for one in verdict.violations]
        expect(not found, "no broken rule of the wire", "; ".join(found))
        empty = [part for part in request.parts if part.kind == "text" and not part.text.strip()]
        expect(not empty, "no empty text", [part.message for part in empty])


def pairs_complete(outcome: Outcome, args: dict[str, Any]) -> None:
    server = args.get("include_server_tools", False)
    for request in outcome.chosen(args):
        calls = Counter(part.id for part in request.calls(server=server))
        results = Counter(part.id for part in request.results(server=server))
        expect(calls == results, f"a result for each call: {dict(calls)}", f"results {dict(results)}")
        _in_place(request)


def _in_place(request: Request) -> None:
    """Each result stands right after the message (or run of items) that holds its call."""
    placed = {part.id: part.message for part in request.calls()}
    # Items of one answer on the Responses wire are messages of their own: what it said beside a call may stand between.
    free = request.wire == "openai-responses"
    said = {part.message: part.kind for part in request.said if not (free and part.role == "assistant")}
    for result in request.results():
        call = placed[result.id]
        expect(call < result.message, f"result {result.id} after its call", result.message)
        between = {said[at] for at in range(call + 1, result.message) if at in said}
        expect(
            between <= {"result", "call", "thinking"},
            f"only results between call {result.id} and its result",
            between,
        )


def first_role(outcome: Outcome, args: dict[str, Any]) -> None:
    for request in outcome.chosen(args):
        compare(args, request.said[0].role if request.said else None)


def no_message_only_of(outcome: Outcome, args: dict[str, Any]) -> None:
    for request in outcome.chosen(args):
        for index, types in enumerate(map(_types, request.messages)):
            expect(
                not types or not set(types) <= set(args["types"]),
                f"no message only of {args['types']}",
                index,
            )


def block_types(outcome: Outcome, args: dict[str, Any]) -> None:
    for request in outcome.chosen(args):
        at = args["message"]
        if not -len(request.messages) <= at < len(request.messages):
            raise CheckFailed(f"message {at}", f"{len(request.messages)} messages")
        types = _types(request.messages[at])
        if "starts_with" in args:
            wanted = args["starts_with"]
            expect(types[: len(wanted)] == wanted, f"types begin {wanted}", types)
        else:
            compare(args, types)


def _types(message: dict[str, Any]) -> list[str]:
    content = message.get("content", message.get("parts"))
    if isinstance(content, str):
        return ["text"]
    types = [str(block.get("type", next(iter(block), ""))) for block in content or ()]
    return types + ["tool_calls"] * len(message.get("tool_calls") or ())


def no_adjacent_same_role(outcome: Outcome, args: dict[str, Any]) -> None:
    for request in outcome.chosen(args):
        last = None
        for index, message in enumerate(request.messages):
            role = message.get("role")
            expect(
                role is None or role == "tool" or role != last, "no two neighbours of one role", (index, role)
            )
            last = role


def results_in_one_message(outcome: Outcome, args: dict[str, Any]) -> None:
    for request in outcome.chosen(args):
        callers = {part.id: part.message for part in request.calls()}
        homes: dict[int, set[int]] = {}
        for result in request.results():
            homes.setdefault(callers.get(result.id, -1), set()).add(result.message)
        split = {caller: found for caller, found in homes.items() if len(found) > 1}
        expect(not split, "the results of a turn in one message", split)


def results_before_text(outcome: Outcome, args: dict[str, Any]) -> None:
    for request in outcome.chosen(args):
        spoken: set[int] = set()
        for part in request.said:
            if part.kind == "result":
                expect(part.message not in spoken, "results before text", f"message {part.message}")
            elif part.role == "user":
                spoken.add(part.message)


def result_order(outcome: Outcome, args: dict[str, Any]) -> None:
    for request in outcome.chosen(args):
        compare(args, [part.id for part in request.results()])


def tool_results_for(outcome: Outcome, args: dict[str, Any]) -> None:
    for request in outcome.chosen(args):
        sent = sum(part.id == args["id"] for part in request.results())
        compare(args, sent)
        stored = recorded_results(outcome.record, args["id"])
        expect(stored <= sent, f"no more than {sent} results in the record", stored)


def _result(outcome: Outcome, args: dict[str, Any]) -> Part | None:
    return outcome.chosen(args)[0].result(args["id"])


def tool_result(outcome: Outcome, args: dict[str, Any]) -> None:
    result = _result(outcome, args)
    expect(result is not None, f"a result of {args['id']}", None)
    assert result is not None
    if "content" in args:
        expect(result.text == args["content"], args["content"], result.text)
    if "is_error" in args:
        expect(result.is_error == args["is_error"], f"is_error {args['is_error']}", result.is_error)


def tool_result_non_empty(outcome: Outcome, args: dict[str, Any]) -> None:
    result = _result(outcome, args)
    got = None if result is None else result.text
    expect(bool(got and got.strip()), f"a non-empty text in the result of {args['id']}", got)


def tool_result_chars(outcome: Outcome, args: dict[str, Any]) -> None:
    result = _result(outcome, args)
    compare(args, 0 if result is None else len(result.text))


def result_of_call(outcome: Outcome, args: dict[str, Any]) -> None:
    request = outcome.chosen(args)[0]
    wanted = json.loads(args["arguments"])
    call = next((part for part in request.calls() if json.loads(part.arguments) == wanted), None)
    expect(call is not None, f"a call with {args['arguments']}", [part.arguments for part in request.calls()])
    assert call is not None
    result = request.result(call.id)
    compare(args, None if result is None else result.text)


def not_contains_id(outcome: Outcome, args: dict[str, Any]) -> None:
    for request in outcome.chosen(args):
        ids = [part.id for part in request.said if part.id]
        expect(args["id"] not in ids, f"no id {args['id']}", ids)


def unique_call_ids(outcome: Outcome, args: dict[str, Any]) -> None:
    for request in outcome.chosen(args):
        ids = [part.id for part in request.calls()]
        expect(all(ids) and len(set(ids)) == len(ids), "unique ids that are not empty", ids)


def ids_stable_over_compiles(outcome: Outcome, args: dict[str, Any]) -> None:
    if outcome.again is None:
        raise Unsupported("compiling again after this operation")
    [request] = outcome.chosen(args)
    if request is not outcome.outputs[-1]:
        raise Unsupported("compiling an earlier request again")
    first = [part.id for part in request.calls()]
    for _ in range(args["n"] - 1):
        again = [part.id for part in outcome.again().calls()]
        expect(again == first, first, again)


def no_tool_call_without(outcome: Outcome, args: dict[str, Any]) -> None:
    for request in outcome.chosen(args):
        bare = [i for i, m in enumerate(request.messages) if m.get("tool_calls") and args["field"] not in m]
        expect(not bare, f"{args['field']} on each message with calls", f"none in messages {bare}")


def all_arguments_parse(outcome: Outcome, args: dict[str, Any]) -> None:
    for request in outcome.chosen(args):
        for call in request.calls():
            try:
                found = json.loads(call.arguments)
            except ValueError:
                found = None
            expect(isinstance(found, dict), "arguments that are a JSON object", call.arguments)


STRUCTURE: dict[str, Check] = {
    "valid_wire": valid_wire,
    "pairs_complete": pairs_complete,
    "first_role": first_role,
    "no_message_only_of": no_message_only_of,
    "block_types": block_types,
    "no_adjacent_same_role": no_adjacent_same_role,
    "results_in_one_message": results_in_one_message,
    "results_before_text": results_before_text,
    "result_order": result_order,
    "tool_results_for": tool_results_for,
    "tool_result": tool_result,
    "tool_result_non_empty": tool_result_non_empty,
    "tool_result_chars": tool_result_chars,
    "result_of_call": result_of_call,
    "not_contains_id": not_contains_id,
    "unique_call_ids": unique_call_ids,
    "ids_stable_over_compiles": ids_stable_over_compiles,
    "no_tool_call_without": no_tool_call_without,
    "all_arguments_parse": all_arguments_parse,
}
