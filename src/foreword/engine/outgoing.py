"""What goes out: the request's bytes with the members that ask for a stream, in pieces that block no loop."""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec
from msgspec import Struct

from foreword.codecs.counting import count_body
from foreword.compiler.compile import Compiled
from foreword.core.canonical import compact
from foreword.core.endpoint import Endpoint, Form
from foreword.errors import MalformedRequest

PIECE = 1 << 20
"""Bytes written at once: a client that takes a larger body whole holds its loop up."""
CHAT = frozenset({"openai-chat", "deepseek"})
"""Wires whose streams tell their usage only when asked."""
BETA = "anthropic-beta"
MODEL_IN_URL = frozenset({"gemini"})


class Outgoing(Struct, frozen=True, kw_only=True):
    """A request ready to send.

    ``stream``: its answer will come as a stream. ``counts``: it asks for the size of a request alone. ``betas``: what
    forms in it need.
    """

    body: bytes
    model: str
    stream: bool
    counts: bool = False
    betas: tuple[str, ...] = ()

    def url(self, endpoint: Endpoint) -> str:
        """Return where it goes. Raises: EndpointError where nothing counts."""
        if self.counts:
            return endpoint.for_model(endpoint.counting().path, self.model)
        return endpoint.url(self.model, stream=self.stream)

    def headers(self, endpoint: Endpoint) -> dict[str, str]:
        """Return the headers beside the key. Betas are added to those that the endpoint's own headers name."""
        # A cloud's path says that it shall be a stream; what is accepted is another thing there.
        events = self.stream and endpoint.form is None
        made = {
            "content-type": "application/json",
            "content-length": str(len(self.body)),
            "accept": "text/event-stream" if events else "application/json",
            **{name.lower(): value for name, value in endpoint.headers.items()},
        }
        named = made.pop(BETA, None)
        if (endpoint.form is None or endpoint.form.betas is None) and (betas := _betas(named, self.betas)):
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
    compiled go out as they are; a cloud's form also leaves some out. A body that says itself whether it wants a
    stream is taken at its word. ``model`` None: as compiled, or as the body says.
    Raises: MalformedRequest for bytes that are no JSON object, for a request of another wire, and for a model that
    is nowhere named.
    """
    body, members, model, betas = _read(endpoint, request, model)
    if endpoint.wire in MODEL_IN_URL:
        return Outgoing(body=body, model=model, stream=stream)
    if "stream" in members:
        stream = bytes(members["stream"]) == b"true"
    elif stream:
        added: dict[str, object] = {"stream": True}
        if endpoint.wire in CHAT and endpoint.stream_usage and "stream_options" not in members:
            added["stream_options"] = {"include_usage": True}
        body = body.rstrip()[:-1] + (b"," if members else b"") + compact(added)[1:]
    if endpoint.form is not None:
        body = _formed(endpoint, endpoint.form, body, betas)
    return Outgoing(body=body, model=model, stream=stream, betas=betas)


def counting(endpoint: Endpoint, request: Compiled | bytes, *, model: str | None) -> Outgoing:
    """Return what asks an endpoint for the tokens of a request. Raises: EndpointError; MalformedRequest."""
    _, members, model, betas = _read(endpoint, request, model)
    adds = endpoint.form.adds if endpoint.form is not None else {}
    made = count_body(endpoint.wire, members, model, endpoint.counting(), adds)
    return Outgoing(body=made, model=model, stream=False, counts=True, betas=betas)


def _read(
    endpoint: Endpoint, request: Compiled | bytes, model: str | None
) -> tuple[bytes, dict[str, msgspec.Raw], str, tuple[str, ...]]:
    """Return body, members, model and betas of a request for an endpoint. Raises: MalformedRequest."""
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
    return body, members, model, betas


def _formed(endpoint: Endpoint, form: Form, body: bytes, betas: tuple[str, ...]) -> bytes:
    """Return a body in a cloud's form; members that stay keep their bytes and their order."""
    members: dict[str, object] = {**_members(endpoint.wire, body)}
    for name in form.omits:
        members.pop(name, None)
    if form.betas is not None and (named := _betas(_beta_header(endpoint), betas)):
        members.setdefault(form.betas, named)
    for name, value in form.adds.items():
        members.setdefault(name, value)
    return msgspec.json.encode(members)


def _beta_header(endpoint: Endpoint) -> str | None:
    return next((value for name, value in endpoint.headers.items() if name.lower() == BETA), None)


def _betas(header: str | None, more: tuple[str, ...]) -> list[str]:
    named = [name.strip() for name in (header or "").split(",") if name.strip()]
    return list(dict.fromkeys((*named, *more)))


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
