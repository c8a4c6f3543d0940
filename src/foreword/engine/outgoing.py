"""What goes out: the request's bytes with the members that ask for a stream, in pieces that block no loop."""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec
from msgspec import Struct

from foreword.compiler.compile import Compiled
from foreword.core.canonical import compact
from foreword.core.endpoint import Endpoint
from foreword.errors import MalformedRequest

PIECE = 1 << 20
"""Bytes written at once: a client that takes a larger body whole holds its loop up."""
CHAT = frozenset({"openai-chat", "deepseek"})
"""Wires whose streams tell their usage only when asked."""
BETA = "anthropic-beta"
MODEL_IN_URL = frozenset({"gemini"})


class Outgoing(Struct, frozen=True, kw_only=True):
    """A request ready to send. ``stream``: its answer will come as a stream. ``betas``: what forms in it need."""

    body: bytes
    model: str
    stream: bool
    betas: tuple[str, ...] = ()

    def headers(self, endpoint: Endpoint) -> dict[str, str]:
        """Return the headers beside the key. Betas are added to those that the endpoint's own headers name."""
        made = {
            "content-type": "application/json",
            "content-length": str(len(self.body)),
            "accept": "text/event-stream" if self.stream else "application/json",
            **{name.lower(): value for name, value in endpoint.headers.items()},
        }
        named = [name.strip() for name in made.get(BETA, "").split(",") if name.strip()]
        if betas := dict.fromkeys((*named, *self.betas)):
            made[BETA] = ",".join(betas)
        return made

    async def pieces(self) -> AsyncIterator[memoryview]:
        """Yield the body piece by piece, without copying it."""
        view = memoryview(self.body)
        for at in range(0, len(view), PIECE):
            yield view[at : at + PIECE]


def outgoing(endpoint: Endpoint, request: Compiled | bytes, *, stream: bool, model: str | None) -> Outgoing:
    """Return a request for an endpoint.

    Members are only added at the end of the body, behind all that a cache looks at, so the bytes that were
    compiled go out as they are. A body that says itself whether it wants a stream is taken at its word.
    ``model`` None: as compiled, or as the body says.
    Raises: MalformedRequest for bytes that are no JSON object, for a request of another wire, and for a model that
    is nowhere named.
    """
    body = request if isinstance(request, bytes) else request.body
    betas: tuple[str, ...] = ()
    if isinstance(request, Compiled):
        betas = request.betas
        wire = request.target.codec.wire
        if wire != endpoint.wire:
            fault = f"compiled for the wire {wire}, but {endpoint.shown} is asked in {endpoint.wire}"
            raise MalformedRequest(
                endpoint.wire, "$", f"{fault}; compile for that or choose another endpoint"
            )
        model = model or request.target.params.model
    members = _members(endpoint.wire, body)
    model = model or _string(members.get("model"))
    if model is None:
        raise MalformedRequest(endpoint.wire, "model", "not in the body of this wire; name the model")
    if endpoint.wire in MODEL_IN_URL:
        return Outgoing(body=body, model=model, stream=stream)
    if "stream" in members:
        stream = bytes(members["stream"]) == b"true"
    elif stream:
        added: dict[str, object] = {"stream": True}
        if endpoint.wire in CHAT and endpoint.stream_usage and "stream_options" not in members:
            added["stream_options"] = {"include_usage": True}
        body = body.rstrip()[:-1] + (b"," if members else b"") + compact(added)[1:]
    return Outgoing(body=body, model=model, stream=stream, betas=betas)


def _members(wire: str, body: bytes) -> dict[str, msgspec.Raw]:
    try:
        return msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, RecursionError) as error:
        raise MalformedRequest(wire, "$", f"no JSON object: {error}; give the whole body") from error


def _string(value: msgspec.Raw | None) -> str | None:
    try:
        return None if value is None else msgspec.json.decode(value, type=str)
    except msgspec.DecodeError:
        return None
