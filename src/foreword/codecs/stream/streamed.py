"""What a stream gives: deltas while it runs, and what it came to."""

from __future__ import annotations

from typing import Any, Literal, Protocol, cast

from msgspec import Struct

from foreword.codecs.decoded import Response, WireCodec
from foreword.codecs.stream.payload import well_formed
from foreword.core.usage import Usage
from foreword.errors import MalformedResponse

DeltaKind = Literal[
    "text", "thinking", "tool_call_start", "tool_call_arguments", "usage", "ping", "error", "done"
]
State = Literal["complete", "incomplete", "failed"]

MALFORMED = "malformed_stream"
"""Type of the failure of a stream whose bytes aren't of its wire's form."""


class Failure(Struct, frozen=True, kw_only=True):
    """Why a stream failed, in the provider's own words; None: it gave none.

    ``type`` is `MALFORMED` when the stream itself can't be read.
    """

    type: str | None = None
    code: str | int | None = None
    message: str = ""


class Delta(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A step of a stream.

    ``block``: number of the block it belongs to, counted in order of first appearance; None for `usage`,
    `ping`, `error` and `done`. ``text``: what was added (`text`, `thinking`, `tool_call_arguments`). ``id`` and
    ``name`` come with `tool_call_start`. ``usage``: all that is known so far, not what was added.
    """

    kind: DeltaKind
    block: int | None = None
    text: str = ""
    id: str = ""
    name: str = ""
    usage: Usage | None = None
    error: Failure | None = None


class Streamed(Struct, frozen=True, kw_only=True):
    """What a stream came to.

    ``state``: `complete` (the wire's own end was seen), `incomplete` (the bytes ended before it), `failed` (an
    error came, or the stream can't be read; ``error`` says which). ``response``: all that was received; None:
    nothing of a response was. ``partial``: indices into its blocks of the tool calls that were cut, by the end of
    the stream or by the limit of output: never run them; their arguments are the text that came.
    ``usage``: the last that was reported; None: none was.
    """

    state: State
    response: Response | None = None
    error: Failure | None = None
    usage: Usage | None = None
    partial: tuple[int, ...] = ()


class Call(Struct, frozen=True, kw_only=True):
    """A tool call as it was streamed.

    ``id`` None: the wire gave none. ``arguments``: the text that came; None: read by the codec as it stands in
    the body. ``whole``: nothing of it can be missing.
    """

    id: str | None
    whole: bool
    arguments: str | None = None


class Assembly(Protocol):
    """Events of one wire, put together. Members are read after each event.

    ``take`` raises MalformedResponse, after which nothing more is taken. ``event`` is the name given by the
    event stream, "" where it gave none; ``payload`` the decoded JSON.
    """

    failure: Failure | None
    usage: Any
    """The last usage, in the wire's own form; None: none came."""

    @property
    def complete(self) -> bool:
        """The wire's own end was seen, of something."""
        ...

    def take(self, event: str, payload: Any) -> list[Delta]: ...
    def done(self) -> list[Delta]:
        """Take `[DONE]`, which is the end of some wires and tolerated on the others."""
        ...

    def body(self) -> dict[str, Any] | None:
        """Return the response so far in the wire's unstreamed form; None before anything of it came."""
        ...

    def calls(self) -> list[Call]:
        """Return the tool calls in the order of the body."""
        ...


def usage_of(codec: WireCodec, usage: Any) -> Usage | None:
    """Return the counts of a usage; None: none came, or it can't be read, which the response names as a doubt."""
    try:
        return codec.usage_from(usage) if usage else None
    except MalformedResponse:
        return None


def usage_step(codec: WireCodec, usage: Any) -> list[Delta]:
    """Return the step that tells of a usage, if there is anything to tell."""
    counts = usage_of(codec, usage)
    return [] if counts is None else [Delta(kind="usage", usage=counts)]


def failure_from(error: Any) -> Failure:
    """Read an error object of any provider; a bare string is its message."""
    error = well_formed(error)
    if not isinstance(error, dict):
        return Failure(message=error if isinstance(error, str) else "")
    found = cast(dict[str, Any], error)
    kind, code, message = found.get("type") or found.get("status"), found.get("code"), found.get("message")
    if code is None and isinstance(found.get("details"), dict):
        code = cast(dict[str, Any], found["details"]).get("error_code")
    return Failure(
        type=kind if isinstance(kind, str) else None,
        code=code if isinstance(code, str | int) else None,
        message=message if isinstance(message, str) else "",
    )
