"""read_pages, read_tail, handle_access, externalise_then_read: stored output, read by its handle."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from foreword.core.block import Message, ToolCall
from foreword.engine.reading import Page
from foreword.engine.session import Session
from foreword.errors import ForewordError
from tests.field_cases.bench import Bench, Room
from tests.field_cases.cases import Case, Unsupported, known
from tests.field_cases.outcome import Outcome, ProductFailed

MOST_PAGES = 10_000


def _stored(bench: Bench, content: str, id_: str = "stored") -> str:
    """Record a call that gave this output; return the handle of its result."""
    session = bench.session
    session.say("Run it.")
    session.compile()
    call = ToolCall(id=id_, name="bash", arguments='{"command":"run"}')
    session.answered(Message(role="assistant", blocks=(call,)))
    return f"{session.alias}#{session.returned(id_, content)}"


def read_pages(case: Case, room: Room) -> Outcome:
    case.only("content", "limit", "byte_cap", "start_offset", "extra_reads")
    given = case.input
    bench = Bench(case, room)
    handle = _stored(bench, given["content"])
    # The product's pages are limited in characters, of at most four bytes each.
    more = {"characters": given["byte_cap"] // 4} if "byte_cap" in given else {}
    place: dict[str, int] = {"offset": given.get("start_offset", 1)}
    pages: list[dict[str, Any]] = []
    while len(pages) < MOST_PAGES:
        page = bench.session.read(handle, limit=given["limit"], **place, **more)
        asked = place.get("offset", page.offset)
        pages.append({"text": page.text, "asked": asked, "offset": page.offset, "more": page.truncated})
        if page.next is None:
            break
        place = _hint(page)
    extra = [_tool_read(bench, handle, read) for read in given.get("extra_reads", ())]
    begun = given["content"].split("\n")[given.get("start_offset", 1) - 1 :]
    values = {"pages": pages, "content": "\n".join(begun), "total_lines": page.lines, "extra_reads": extra}
    return Outcome(values=values)


def _tool_read(bench: Bench, handle: str, read: dict[str, Any]) -> dict[str, Any]:
    """Read as the model does. What it is told of a fault is one text in brackets."""
    text = bench.session.run_read_tool({"ref": handle, **read})
    return {"text": text, "error": text.startswith("[") and text.endswith("]")}


def _hint(page: Page) -> dict[str, int]:
    """Return the place that a page's own hint for the next one names."""
    found = re.search(r"--(offset|start) (\d+)", page.next or "")
    if found is None:
        raise ProductFailed(f"a hint without a place: {page.next}")
    return {found[1]: int(found[2])}


def read_tail(case: Case, room: Room) -> Outcome:
    case.only("contents", "offsets")
    matrix: list[list[str]] = []
    for number, content in enumerate(case.input["contents"]):
        bench = Bench(case, room, name=f"content {number}")
        handle = _stored(bench, content)
        matrix.append([bench.session.read(handle, tail=-offset).text for offset in case.input["offsets"]])
    return Outcome(values={"matrix": matrix})


def handle_access(case: Case, room: Room) -> Outcome:
    """Read by the model's own tool in one session; no reading asks for permission."""
    case.only("session", "reads")
    names = [
        case.input["session"],
        *(read["handle_of"] for read in case.input["reads"] if "handle_of" in read),
    ]
    benches = {name: Bench(case, room, name=name) for name in dict.fromkeys(names)}
    contents = {name: f"output of {name}" for name in benches}
    handles = {name: _stored(bench, contents[name]) for name, bench in benches.items()}
    session = benches[case.input["session"]].session
    reads: list[dict[str, Any]] = []
    for read in case.input["reads"]:
        text = session.run_read_tool({"ref": _handle(read, room, handles)})
        reads.append({"text": text, "error": text not in contents.values()})
    return Outcome(values={"reads": reads, "permission_prompts": 0})


def _handle(read: dict[str, Any], room: Room, handles: dict[str, str]) -> str:
    if "handle_of" in read:
        return handles[read["handle_of"]]
    if "handle" in read:
        return read["handle"]
    if "symlink_to" in read:
        outside = room.path / "outside.txt"
        outside.write_text("not of the store", encoding="utf-8")
        link = room.path / "store" / "artifacts" / "link"
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(outside)
        return "artifacts/link"
    raise Unsupported(f"a read of {', '.join(read)}")


def externalise_then_read(case: Case, room: Room) -> Outcome:
    """Read what was moved out by the handle that its excerpt shows; a result that stays inline has one as well."""
    case.only("result", "reads", "wire", settings=("max_bytes", "max_chars", "read_allowed_dirs"))
    result = case.input["result"]
    known("result with", result, ("id", "exit_code", "stdout"))
    bench = Bench(case, room)
    limit = case.settings.get("max_bytes", case.settings.get("max_chars"))
    if limit is not None:
        tokens = max(1, limit // 4)
        bench.session.policy = msgspec.structs.replace(
            bench.policy, result_tokens=tokens, excerpt_tokens=tokens // 2
        )
    handle = _stored(bench, result["stdout"], result["id"])
    request = bench.compile()
    shown = request.result(result["id"])
    preview = "" if shown is None else shown.text
    handle = _shown_handle(bench.session, preview) or handle
    page = bench.session.read(handle)
    bench.outcome.values = {
        "preview": preview,
        "stored": result["id"],
        "raw": result["stdout"],
        "result": {"full_output": handle, "total_bytes": page.bytes, "total_lines": page.lines},
        "reads": [_read(bench, handle, read) for read in case.input.get("reads", ())],
    }
    return bench.outcome


def _shown_handle(session: Session, preview: str) -> str | None:
    found = re.search(rf"{re.escape(session.alias)}#\d+", preview)
    return found[0] if found else None


def _read(bench: Bench, handle: str, read: dict[str, Any]) -> dict[str, Any]:
    try:
        page = bench.session.read(handle, **read)
    except ForewordError as error:
        return {"text": "", "error": str(error)}
    return {"text": page.text, "error": None}


READING = {
    "read_pages": read_pages,
    "read_tail": read_tail,
    "handle_access": handle_access,
    "externalise": externalise_then_read,
    "externalise_then_read": externalise_then_read,
}
