"""Gemini generateContent: rules on the form of a request, on contents and parts, on calls and signatures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from foreword.testing import gemini_forms as forms
from foreword.testing.form import Misform, Problem
from foreword.testing.gemini_request import GeminiRequest, Part
from foreword.testing.gemini_signatures import first_call
from foreword.testing.rule import Fault, Rule, fault
from foreword.testing.wire import text_of

_COUNTS = (
    "Please ensure that the number of function response parts is equal to the number of function call parts "
    "of the function call turn."
)
_AFTER = (
    "Please ensure that function call turn comes immediately after a user turn or after a function response "
    "turn."
)
_DATA = "* GenerateContentRequest.{path}.data: required oneof field 'data' must have one initialized field"


def _misformed(request: GeminiRequest, problem: Problem) -> Iterator[Fault]:
    for path, misform in _misforms(request):
        if misform.problem == problem:
            outer, _, name = path.rpartition(".")
            yield fault(path, name=name, at=f" at '{outer}'" if outer else "")


def _misforms(request: GeminiRequest) -> Iterator[tuple[str, Misform]]:
    yield from ((misform.path, misform) for misform in request.misforms)
    if request.system:
        yield from ((f"system_instruction.{m.path}", m) for m in request.system.misforms)
    for at, content in enumerate(request.contents):
        yield from ((f"contents[{at}].{m.path}".rstrip("."), m) for m in content.misforms)


class _Placed(NamedTuple):
    """A part with its place: in a content, or (`at` None) in the instructions."""

    at: int | None
    place: int
    role: str
    part: Part

    @property
    def path(self) -> str:
        outer = "system_instruction" if self.at is None else f"contents[{self.at}]"
        return f"{outer}.parts[{self.place}]"


def _parts(request: GeminiRequest) -> Iterator[_Placed]:
    for index, part in enumerate(request.system.parts if request.system else ()):
        yield _Placed(None, index, "", part)
    for at, content in enumerate(request.contents):
        for index, part in enumerate(content.parts):
            yield _Placed(at, index, content.role, part)


def _no_contents(request: GeminiRequest) -> Iterator[Fault]:
    if request.body.get("contents") == []:
        yield fault("contents")


def _role(request: GeminiRequest) -> Iterator[Fault]:
    for at, content in enumerate(request.contents):
        if content.role not in forms.ROLES:
            yield fault(f"contents[{at}].role")


def _first(request: GeminiRequest) -> Iterator[Fault]:
    if request.contents and request.contents[0].role == "model":
        yield fault("contents[0].role")


def _no_parts(request: GeminiRequest) -> Iterator[Fault]:
    for at, content in enumerate(request.contents):
        is_object = all(misform.path for misform in content.misforms)
        if is_object and content.data.get("parts") in (None, []):
            yield fault(f"contents[{at}].parts")


def _part_empty(request: GeminiRequest) -> Iterator[Fault]:
    for placed in _parts(request):
        part = placed.part
        blank = part.kinds == ("text",) and part.data["text"] == "" and part.signature is None
        if not part.kinds or blank:
            yield fault(placed.path)


def _part_one(request: GeminiRequest) -> Iterator[Fault]:
    for placed in _parts(request):
        kinds = placed.part.kinds
        if len(kinds) > 1:
            yield fault(placed.path, second=kinds[1])


def _part_role(request: GeminiRequest) -> Iterator[Fault]:
    for placed in _parts(request):
        wanted = forms.ROLE_KINDS.get(placed.part.kind)
        if wanted and placed.role in forms.ROLES and placed.role != wanted:
            yield fault(placed.path, kind=placed.part.kind, wanted=wanted)


def _system_text(request: GeminiRequest) -> Iterator[Fault]:
    for placed in _parts(request):
        if placed.at is None and placed.part.kind not in {"", "text"}:
            yield fault(placed.path)


def _part_name(request: GeminiRequest) -> Iterator[Fault]:
    for placed in _parts(request):
        kind = placed.part.kind
        if kind in forms.ROLE_KINDS and placed.part.inside.get("name") in (None, ""):
            name = "function_call" if kind == "functionCall" else "function_response"
            yield fault(placed.path, kind=name)


def _media_type(request: GeminiRequest) -> Iterator[Fault]:
    for placed in _parts(request):
        if placed.part.kind in {"inlineData", "fileData"}:
            media = text_of(placed.part.inside.get("mimeType"))
            # A file tells its own type.
            unnamed = not media and placed.part.kind == "inlineData"
            if unnamed or (media.startswith("image/") and media not in forms.IMAGE_TYPES):
                yield fault(placed.path, media=media)


def _call_after(request: GeminiRequest) -> Iterator[Fault]:
    for at, content in enumerate(request.contents):
        called = content.role == "model" and content.count("functionCall")
        if called and at and request.contents[at - 1].role == "model":
            yield fault(f"contents[{at}]")


def _response_count(request: GeminiRequest) -> Iterator[Fault]:
    for at, content in enumerate(request.contents):
        calls = content.count("functionCall") if content.role == "model" else 0
        after = request.contents[at + 1] if at + 1 < len(request.contents) else None
        # A model's content there is another rule's.
        answered = after.count("functionResponse") if after else 0
        if calls and answered != calls and (after is None or after.role != "model"):
            yield fault(f"contents[{at}]")


def _response_after(request: GeminiRequest) -> Iterator[Fault]:
    for at, content in enumerate(request.contents):
        before = request.contents[at - 1] if at else None
        called = before is not None and before.role == "model" and before.count("functionCall") > 0
        if content.role == "user" and content.count("functionResponse") and not called:
            yield fault(f"contents[{at}]")


def _response_match(request: GeminiRequest) -> Iterator[Fault]:
    for at, content in enumerate(request.contents[1:], 1):
        before = request.contents[at - 1]
        calls = [part.inside for part in before.parts if part.kind == "functionCall"]
        found = [(i, part.inside) for i, part in enumerate(content.parts) if part.kind == "functionResponse"]
        named = all(text_of(inside.get("name")) for inside in (*calls, *(inside for _, inside in found)))
        # Contents of other roles, other counts and missing names are other rules'.
        if before.role != "model" or content.role != "user" or len(calls) != len(found) or not named:
            continue
        # What has an id is of that call alone, so it chooses first.
        for index, response in sorted(found, key=lambda each: not each[1].get("id")):
            answered = next((call for call in calls if _answers(response, call)), None)
            if answered is None:
                yield fault(f"contents[{at}].parts[{index}]", name=response["name"])
            else:
                calls.remove(answered)


def _answers(response: dict[str, Any], call: dict[str, Any]) -> bool:
    same = response["name"] == call["name"]
    return same and (not response.get("id") or response["id"] == call.get("id"))


def _call_cut(request: GeminiRequest) -> Iterator[Fault]:
    for at, content in enumerate(request.contents[:-1]):
        follows = request.contents[at + 1]
        cut = content.role == follows.role == "model" and content.count("functionCall")
        # Another call turn there is refused for coming after this one.
        if cut and not follows.count("functionCall"):
            yield fault(f"contents[{at}]")


def _signature_missing(request: GeminiRequest) -> Iterator[Fault]:
    if not request.facts.signs_calls:
        return
    for at in range(request.turn, len(request.contents)):
        content = request.contents[at]
        index = first_call(content) if content.role == "model" else None
        if index is not None and not content.parts[index].signature:
            yield fault(f"contents[{at}].parts[{index}]", name=content.parts[index].inside.get("name"), at=at)


def _signature_stray(request: GeminiRequest, *, moved: bool) -> Iterator[Fault]:
    for stray in request.strays:
        if stray.moved == moved:
            yield fault(stray.path)


CONTENT_RULES: tuple[Rule[GeminiRequest], ...] = (
    Rule(
        code="member_missing",
        text="* GenerateContentRequest.{path}: {path} is not specified",
        section="7",
        evidence="T",
        check=lambda request: _misformed(request, "missing"),
    ),
    Rule(
        code="member_kind",
        text="Invalid value at '{path}'",
        section="7",
        evidence="T",
        check=lambda request: _misformed(request, "type"),
    ),
    Rule(
        code="member_unknown",
        text='Invalid JSON payload received. Unknown name "{name}"{at}: Cannot find field.',
        section="7",
        evidence="I",
        check=lambda request: _misformed(request, "extra"),
    ),
    Rule(
        code="no_contents",
        text="* GenerateContentRequest.contents: contents is not specified",
        section="7",
        evidence="I",
        check=_no_contents,
    ),
    Rule(
        code="role",
        text="Please use a valid role: user, model.",
        section="7",
        evidence="T",
        check=_role,
    ),
    Rule(
        code="first_user",
        text="Please ensure that multiturn requests begin with a user turn.",
        section="7",
        evidence="I",
        check=_first,
    ),
    Rule(
        code="no_parts",
        text="* GenerateContentRequest.{path}: contents.parts must not be empty.",
        section="7",
        evidence="I",
        check=_no_parts,
    ),
    Rule(code="part_empty", text=_DATA, section="7", evidence="I", check=_part_empty),
    Rule(
        code="part_one",
        text="Invalid value at '{path}' (oneof), oneof field 'data' is already set. Cannot set '{second}'",
        section="7",
        evidence="T",
        check=_part_one,
    ),
    Rule(
        code="part_role",
        text="Invalid value at '{path}': '{kind}' is only allowed with the role '{wanted}'.",
        section="7",
        evidence="I",
        check=_part_role,
    ),
    Rule(
        code="system_text",
        text="Invalid value at '{path}': system_instruction holds text only.",
        section="7",
        evidence="I",
        check=_system_text,
    ),
    Rule(
        code="part_name",
        text="* GenerateContentRequest.{path}.{kind}.name: Name cannot be empty.",
        section="7",
        evidence="I",
        check=_part_name,
    ),
    # GIF among them: the page on images lists five types, and public reports (2025-10 to 2026-01) quote the error.
    Rule(
        code="media_type",
        text="Unsupported MIME type: {media}",
        section="7",
        evidence="F",
        check=_media_type,
    ),
    Rule(code="call_after", text=_AFTER, section="7", evidence="F", check=_call_after),
    Rule(code="response_count", text=_COUNTS, section="7", evidence="F", check=_response_count),
    Rule(
        code="response_match",
        text="Please ensure that a function response part has the name, and the id if it has one, of a function "
        "call part of the function call turn. Function response `{name}`.",
        section="7",
        evidence="T",
        check=_response_match,
    ),
    Rule(code="call_cut", text=_COUNTS, section="7", evidence="F", check=_call_cut),
    Rule(
        code="response_after",
        text="Please ensure that function response turn comes immediately after a function call turn.",
        section="7",
        evidence="I",
        check=_response_after,
    ),
    Rule(
        code="signature_missing",
        text="Function call is missing a thought_signature in functionCall parts. This is required for tools "
        "to work correctly. Function call `{name}`, content {at}.",
        section="7",
        evidence="D",
        check=_signature_missing,
    ),
    Rule(
        code="signature_corrupted",
        text="Corrupted thought signature.",
        section="7",
        evidence="D",
        check=lambda request: _signature_stray(request, moved=False),
    ),
    Rule(
        code="signature_moved",
        text="Invalid thought signature.",
        section="7",
        evidence="D",
        check=lambda request: _signature_stray(request, moved=True),
    ),
)
