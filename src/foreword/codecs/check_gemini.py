"""Is a raw list of contents one that Gemini takes (SDK types and error texts, 2026-11-30).

Signatures are not judged: which models want one is not in the list.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from foreword.codecs.check_fault import Fault
from foreword.codecs.gemini_plain import plain
from foreword.codecs.reading import At


def gemini_plain(content: Any, at: At) -> dict[str, Any]:
    """Return a content whose parts, calls and responses are objects. Raises: CodecError of `at`."""
    found = {"parts": [{"text": content}]} if isinstance(content, str) else plain(content, at)
    parts = (at / "parts").items(found.get("parts") or ())
    found["parts"] = [(at / "parts" / i).mapping(part) for i, part in enumerate(parts)]
    for i, part in enumerate(found["parts"]):
        for name in ("functionCall", "functionResponse"):
            if part.get(name) is not None:
                part[name] = (at / "parts" / i / name).mapping(part[name])
    return {**found, "role": at.text(found, "role") or "user"}


def gemini(contents: list[dict[str, Any]], complete: bool) -> Iterator[Fault]:
    """Judge a list of contents; `complete`: nothing of it is missing at its end."""
    open_: list[tuple[str, str]] = []  # (id, name) of the calls that this content must answer
    asked = 0
    for index, content in enumerate(contents):
        role = content["role"]
        if role not in ("user", "model", "function"):
            yield Fault(index=index, rule="role", text=f"role {role!r}; known are user and model")
        if not content["parts"]:
            yield Fault(index=index, rule="empty", text="a content without parts")
        for response in _inner(content, "functionResponse"):
            match = _match(open_, response)
            if match is None:
                text = f"no open call of {response[1]} in the content before"
                yield Fault(index=index, rule="orphan-result", text=text)
            else:
                open_.remove(match)
        yield from _left(open_, asked)
        open_, asked = list(_inner(content, "functionCall")), index
        if open_ and (index == 0 or contents[index - 1]["role"] == "model"):
            text = "a function call must come right after a user's turn or a function's response"
            yield Fault(index=index, rule="placement", text=text)
        if open_ and role != "model":
            yield Fault(index=index, rule="role", text=f"a function call in a content of role {role}")
    if complete:
        yield from _left(open_, asked)


def _inner(content: dict[str, Any], name: str) -> list[tuple[str, str]]:
    found = [part[name] for part in content["parts"] if part.get(name) is not None]
    return [(str(each.get("id") or ""), str(each.get("name") or "")) for each in found]


def _match(open_: list[tuple[str, str]], response: tuple[str, str]) -> tuple[str, str] | None:
    """Find the call that a response answers: by id where both have one, else the first of its name."""
    id_, name = response
    return next(
        (call for call in open_ if call[1] == name and (not id_ or not call[0] or call[0] == id_)), None
    )


def _left(open_: list[tuple[str, str]], asked: int) -> Iterator[Fault]:
    for id_, name in open_:
        text = f"call {id_ or name} has no response in the content right after"
        yield Fault(index=asked, rule="unanswered-call", text=text)
