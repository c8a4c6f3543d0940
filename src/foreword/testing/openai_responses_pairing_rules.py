"""OpenAI Responses: rules on calls and outputs, on sealed items, and on what the server stores."""

from __future__ import annotations

from collections.abc import Container, Iterator

from foreword.testing import openai_responses_forms as forms
from foreword.testing.openai_responses_request import ResponsesRequest
from foreword.testing.rule import Fault, Rule, fault

# How errors name a pair of call and output.
NAMES = {
    "function_call": "function call",
    "custom_tool_call": "custom tool call",
    "shell_call": "shell call",
    "local_shell_call": "local shell call",
    "apply_patch_call": "apply patch call",
    "computer_call": "computer call",
}


def _unanswered(request: ResponsesRequest) -> Iterator[Fault]:
    waiting: dict[tuple[str, str], str] = {}
    for path, item in request.context:
        if item.kind in forms.ANSWERS and item.call:
            waiting[item.kind, item.call] = path
        elif item.kind in forms.OUTPUTS:
            waiting.pop((forms.OUTPUTS[item.kind], item.call), None)
    for (kind, call), path in waiting.items():
        yield fault(path if path.startswith("input") else "input", name=NAMES[kind], id=call)


def _orphans(request: ResponsesRequest) -> Iterator[Fault]:
    if request.unknown_previous or request.body.get("conversation"):
        # What the call was is for the server to know.
        return
    called: set[tuple[str, str]] = set()
    for path, item in request.context:
        if item.kind in forms.ANSWERS:
            called.add((item.kind, item.call))
        elif item.kind in forms.OUTPUTS and item.call:
            call = forms.OUTPUTS[item.kind]
            if (call, item.call) not in called:
                yield fault(path, name=NAMES[call], id=item.call)


def _repeated(request: ResponsesRequest, kinds: Container[str]) -> Iterator[Fault]:
    seen: set[str] = set()
    for path, item in request.context:
        if item.kind in kinds and item.call:
            if item.call in seen:
                yield fault(path, id=item.call)
            seen.add(item.call)


def _mid_pair(request: ResponsesRequest) -> Iterator[Fault]:
    called: dict[str, tuple[str, int]] = {}
    compactions: list[tuple[int, str]] = []
    for at, (path, item) in enumerate(request.context):
        if item.kind in forms.ANSWERS:
            called[item.call] = NAMES[item.kind], at
        elif item.kind == "compaction":
            compactions.append((at, path))
        elif item.kind in forms.OUTPUTS and item.call in called:
            name, since = called[item.call]
            between = (where for place, where in compactions if since < place < at)
            yield from (fault(where, name=name, id=item.call) for where in between)


def _alone(request: ResponsesRequest) -> Iterator[Fault]:
    for torn in request.alone:
        yield fault(torn.path, id=torn.id)


def _bare(request: ResponsesRequest) -> Iterator[Fault]:
    for torn in request.bare:
        yield fault(torn.path, id=torn.id, kind=torn.kind, needs=torn.needs)


def _forged(request: ResponsesRequest) -> Iterator[Fault]:
    for torn in request.forged:
        yield fault(torn.path, id=torn.id)


def _unknown_item(request: ResponsesRequest) -> Iterator[Fault]:
    for torn in request.unknown_items:
        yield fault(torn.path, id=torn.id)


def _exclusive(request: ResponsesRequest) -> Iterator[Fault]:
    if request.body.get("previous_response_id") and request.body.get("conversation"):
        yield fault("previous_response_id")


def _unknown_previous(request: ResponsesRequest) -> Iterator[Fault]:
    if request.unknown_previous:
        yield fault("previous_response_id", id=request.body["previous_response_id"])


def _unknown_conversation(request: ResponsesRequest) -> Iterator[Fault]:
    if request.unknown_conversation:
        yield fault("conversation", id=request.body["conversation"])


PAIRING_RULES: tuple[Rule[ResponsesRequest], ...] = (
    Rule(
        code="call_unanswered",
        text="No tool output found for {name} {id}.",
        section="5.2",
        evidence="F",
        check=_unanswered,
    ),
    Rule(
        code="output_orphan",
        text="No tool call found for {name} output with call_id {id}.",
        section="5.2",
        evidence="F",
        check=_orphans,
    ),
    Rule(
        code="call_duplicate",
        text="Duplicate call_id '{id}' at '{path}': each tool call needs one of its own.",
        section="5.2",
        evidence="I",
        check=lambda request: _repeated(request, forms.ANSWERS),
    ),
    Rule(
        code="output_duplicate",
        text="Duplicate tool output at '{path}': the call '{id}' was answered before.",
        section="5.2",
        evidence="I",
        check=lambda request: _repeated(request, forms.OUTPUTS),
    ),
    Rule(
        code="compaction_mid_pair",
        text="No tool call found for {name} output with call_id {id}.",
        section="5.3",
        evidence="I",
        check=_mid_pair,
    ),
    Rule(
        code="reasoning_alone",
        text="Item '{id}' of type 'reasoning' was provided without its required following item.",
        section="5.2",
        evidence="F",
        check=_alone,
    ),
    Rule(
        code="reasoning_missing",
        text="Item '{id}' of type '{kind}' was provided without its required 'reasoning' item: '{needs}'.",
        section="5.2",
        evidence="F",
        check=_bare,
    ),
    Rule(
        code="sealed_forged",
        text="The encrypted content for item {id} could not be verified.",
        section="5.2",
        evidence="I",
        check=_forged,
        error_code="invalid_encrypted_content",
    ),
    Rule(
        code="item_unknown",
        text="Item with id '{id}' not found. Items are not persisted when `store` is set to false. Try again "
        "with `store` set to true, or remove this item from your input.",
        section="5.2",
        evidence="I",
        check=_unknown_item,
        status=404,
    ),
    Rule(
        code="history_exclusive",
        text="Mutually exclusive parameters: 'previous_response_id' and 'conversation'. Ensure you are only "
        "providing one of them.",
        section="5.2",
        evidence="T",
        check=_exclusive,
        error_code="mutually_exclusive_parameters",
    ),
    Rule(
        code="previous_unknown",
        text="Previous response with id '{id}' not found.",
        section="5.2",
        evidence="I",
        check=_unknown_previous,
        error_code="previous_response_not_found",
    ),
    Rule(
        code="conversation_unknown",
        text="Conversation with id '{id}' not found.",
        section="5.2",
        evidence="I",
        check=_unknown_conversation,
        status=404,
    ),
)
