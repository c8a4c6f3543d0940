"""Claude at a cloud: the forms of Bedrock's InvokeModel and of Vertex' rawPredict around the one referee.

Evidence: `lib/bedrock` and `lib/vertex` of the anthropic SDK 2.14.0, AWS' and Google's documentation, error texts seen
in public.
"""

from __future__ import annotations

from typing import Any

import msgspec

from foreword.testing.anthropic_referee import AnthropicReferee
from foreword.testing.aws_messages import chunk, exception
from foreword.testing.referee import Reply
from foreword.testing.sse import Pieces, Sending
from foreword.testing.wire import UNREADABLE, mapping, text_of

VERSION = "anthropic_version"
VERSIONS = {"bedrock-2023-05-31": "2023-06-01", "vertex-2023-10-16": "2023-06-01"}
"""A cloud's first version -> the one of the vendor that it stands for; later ones have one name everywhere."""
EXCEPTIONS = {
    400: "ValidationException",
    403: "AccessDeniedException",
    404: "ResourceNotFoundException",
    429: "ThrottlingException",
    500: "InternalServerException",
}
EVENT_STREAM = "application/vnd.amazon.eventstream"


class _Refused(ValueError):
    """The body is not of the cloud's form."""


def bedrock(
    referee: AnthropicReferee, body: bytes, headers: dict[str, str], *, model: str, stream: bool
) -> Reply:
    """Answer `POST /model/{model}/invoke`, or `invoke-with-response-stream`: betas and version are in the body."""
    try:
        members, version = _opened(body, strays=("model", "stream"))
        betas = msgspec.json.decode(members.pop("anthropic_beta", msgspec.Raw(b"[]")), type=list[str])
    except (_Refused, msgspec.ValidationError) as fault:
        return _raised(400, f"Malformed input request: {fault}, please reformat your input and try again.")
    named = {"anthropic-version": version, "anthropic-beta": ",".join(betas)}
    reply = _asked(referee, members, named, model=model, stream=stream)
    if reply.status >= 400:
        said = text_of(mapping(reply.body.get("error")).get("message"))
        return _raised(reply.status, said, reply.headers)
    if reply.sending is None:
        return reply
    typed = {**reply.headers, "content-type": EVENT_STREAM}
    return msgspec.structs.replace(reply, headers=typed, sending=_framed(reply.sending))


def vertex(
    referee: AnthropicReferee, body: bytes, headers: dict[str, str], *, model: str, stream: bool
) -> Reply:
    """Answer `POST …/publishers/anthropic/models/{model}:rawPredict`, or `:streamRawPredict`.

    The model `count-tokens` counts: its body names the model that is meant.
    """
    counts = model == "count-tokens"
    try:
        members, version = _opened(body, strays=() if counts else ("model",))
    except _Refused as fault:
        return Reply(status=400, body=_invalid(str(fault)))
    plain = {name.lower(): value for name, value in headers.items()}
    named = {**plain, "anthropic-version": version}
    if counts:
        status, answer = referee.count(msgspec.json.encode(members), named)
        return Reply(status=status, body=answer)
    return _asked(referee, members, named, model=model, stream=stream)


def _opened(body: bytes, *, strays: tuple[str, ...]) -> tuple[dict[str, msgspec.Raw], str]:
    """Return the members of a body and the vendor's version it asks for; raises `_Refused`."""
    try:
        members = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    except UNREADABLE as error:
        raise _Refused(f"not valid JSON: {error}") from error
    if stray := next((name for name in strays if name in members), None):
        raise _Refused(f"extraneous key [{stray}] is not permitted")
    version = text_of(msgspec.json.decode(members.pop(VERSION, msgspec.Raw(b"null"))))
    if not version:
        raise _Refused(f"{VERSION}: Field required")
    return members, VERSIONS.get(version, version)


def _asked(
    referee: AnthropicReferee,
    members: dict[str, msgspec.Raw],
    headers: dict[str, str],
    *,
    model: str,
    stream: bool,
) -> Reply:
    body = msgspec.json.encode({**members, "model": model, "stream": stream})
    return referee.reply(body, headers)


def _framed(sending: Sending) -> Sending:
    """Put the events of a stream into Amazon's messages; an error is an exception, a cut stays one."""
    *events, rest = b"".join(sending.writes).split(b"\n\n")
    data = b"".join(_message(event) for event in events)
    if sending.cut:
        cut = chunk(rest)
        data += cut[: len(cut) // 2]
    return Sending(writes=tuple(Pieces(len(data)).of_bytes(data)), cut=sending.cut, pause=sending.pause)


def _message(event: bytes) -> bytes:
    data = event.partition(b"data: ")[2]
    if event.startswith(b"event: error"):
        said = text_of(mapping(mapping(msgspec.json.decode(data)).get("error")).get("message"))
        return exception("modelStreamErrorException", said)
    return chunk(data)


def _raised(status: int, text: str, headers: dict[str, str] | None = None) -> Reply:
    kind = EXCEPTIONS.get(status, "ServiceUnavailableException")
    return Reply(status=status, body={"message": text}, headers={**(headers or {}), "x-amzn-errortype": kind})


def _invalid(text: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": "invalid_request_error", "message": text}}
