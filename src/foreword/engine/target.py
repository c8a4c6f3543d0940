"""Making a target from names: the catalog row, the codec, the counter and the defaults between them."""

from __future__ import annotations

from typing import Any, Literal

from foreword.codecs import codec
from foreword.core.catalog import Catalog, ModelSpec
from foreword.core.endpoint import profile, profiles
from foreword.core.request import Params
from foreword.core.target import Target
from foreword.core.tokens import counter
from foreword.errors import WireMismatch

_DEFAULT_MAX_OUTPUT = 8_192

_UNSTREAMED_OUTPUT = 20_000
"""Output asked for by default, in tokens: the official Anthropic client refuses more without streaming
(anthropic 2.14.0: 10 minutes at its assumed speed are 21,333 tokens)."""


def target_for(
    provider: str,
    model: str,
    *,
    window: int | None = None,
    reserve_output: int | None = None,
    max_output: int | None = None,
    reader: str = "tool",
    count: Literal["auto", "estimate", "o200k"] = "auto",
    keys: dict[str, Any] | None = None,
    catalog: Catalog | None = None,
    endpoint: str | None = None,
    betas: bool = False,
) -> Target:
    """Return whom to compile for.

    ``provider`` names a wire (``anthropic``, ``openai-chat``); ``model`` a catalog row or alias. ``window``:
    tokens, None: the catalog's. ``reserve_output``: tokens kept free for the answer, None: min(largest output,
    window / 8). ``max_output``: tokens asked for in the request, None: the reserve, at most 20,000.
    ``reader``: ``tool``, ``shell``, ``path:ROOT`` or ``none``. ``keys``: further request members in the wire's form.
    ``catalog``: None: the one that comes with the package; ``Catalog.load().override(text)`` makes another.
    ``endpoint``: profile of the server that is asked, None: the vendor's; a gateway serves models on wires that are not
    their own. ``betas``: you send ``Compiled.headers`` with each request, so that forms which need a beta header may be
    used: late tools and efforts, and task budgets, of Anthropic.
    Raises: UnknownModel; WireMismatch; CodecError for an unknown wire; EndpointError for an unknown profile;
    MissingExtra when ``count`` asks for one.
    """
    spec = (catalog or Catalog.load()).model(model)
    spoken = codec(provider, alternating=spec.strict_alternation)
    served = spec.wires if endpoint is None and provider in spec.wires else wires_of(spec, endpoint)
    if provider not in served:
        raise WireMismatch(model, provider, served, endpoint)
    size = spec.window if window is None else window
    largest = spec.max_output or _DEFAULT_MAX_OUTPUT
    reserve = max(1, min(largest, size // 8)) if reserve_output is None else reserve_output
    asked = max(1, min(reserve, largest, max_output if max_output is not None else _UNSTREAMED_OUTPUT))
    return Target(
        spec=spec,
        codec=spoken,
        counter=counter(count),
        params=Params(model=model, max_output=asked, keys=keys or {}),
        window=size,
        reserve_output=reserve,
        reader=reader,
        betas=betas,
    )


def wires_of(spec: ModelSpec, endpoint: str | None) -> tuple[str, ...]:
    """Return the wires on which a model is served: its own, and those of the endpoint.

    ``endpoint`` None: the vendor's, where it has a profile. Raises: EndpointError for an unknown profile.
    """
    row = profile(endpoint) if endpoint is not None else profiles().get(spec.provider)
    if row is None or (row.vendor and row.name != spec.provider):
        return spec.wires
    return tuple(dict.fromkeys((*spec.wires, *row.paths)))
