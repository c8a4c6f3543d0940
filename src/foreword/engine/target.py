"""Making a target from names: the catalog row, the codec, the counter and the defaults between them."""

from __future__ import annotations

from collections.abc import Mapping
from os.path import exists, isdir
from typing import Any, Literal

from foreword.codecs import CODECS, codec
from foreword.core.catalog import Catalog, ModelSpec
from foreword.core.endpoint import Profile, profile, profiles
from foreword.core.key_limits import unserved
from foreword.core.reference import PATH, is_reader
from foreword.core.request import Params
from foreword.core.target import Target
from foreword.core.tokens import counter
from foreword.errors import InvalidArgument, UnknownWire, WireMismatch

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
    tokens up to the catalog's, None: those. ``reserve_output``: tokens kept free for the answer, None: min(largest
    output, window / 8). ``max_output``: tokens asked for in the request, None: the reserve, at most 20,000.
    ``reader``: ``tool``, ``shell``, ``path:ROOT`` or ``none``. ``keys``: further request members in the wire's form;
    what the catalog says that the model refuses is refused here, a member that nobody knows goes out as given.
    ``catalog``: None: the one that comes with the package; ``Catalog.load().override(text)`` makes another.
    ``endpoint``: profile of the server that is asked, None: the vendor's; a gateway serves models on wires that are not
    their own. The vendor's is asked for its own name of the model, any other for ``model`` as given.
    ``betas``: you send ``Compiled.headers`` with each request, so that forms which need a beta header may be
    used: late tools and efforts, and task budgets, of Anthropic.
    Raises: InvalidArgument; UnknownModel; WireMismatch; UnknownWire; EndpointError for an unknown profile;
    MalformedRequest or InvalidNumber for what can't stand in ``keys``; MissingExtra when ``count`` asks for one.
    """
    for name, value in (("provider", provider), ("model", model)):
        if not isinstance(value, str):
            raise InvalidArgument("target_for", name, value, "a text")
    _check_reader(reader)
    if not isinstance(keys, Mapping | None):
        raise InvalidArgument("target_for", "keys", keys, "a dict of request members, or None")
    if provider not in CODECS and provider in profiles():
        raise UnknownWire(provider, tuple(CODECS), tuple(profiles()[provider].paths))
    rows = catalog or Catalog.load()
    spec = rows.model(model)
    own = _profile(spec, endpoint)
    exact = own is not None and own.accepts.unknown_members == "no"
    spoken = codec(provider, alternating=spec.strict_alternation, exact=exact)
    served = spec.wires if endpoint is None and provider in spec.wires else wires_of(spec, endpoint)
    if provider not in served:
        raise WireMismatch(model, provider, served, endpoint)
    _check_tokens(
        "window", window, spec.window, f"what the catalog says of {spec.id}; lay a row over it for more"
    )
    size = spec.window if window is None else window
    _check_tokens("reserve_output", reserve_output, size - 1, f"more leaves no room in {size:,}")
    _check_tokens("max_output", max_output, None, "")
    least = spoken.least_output
    for name, tokens in (("reserve_output", reserve_output), ("max_output", max_output)):
        if tokens is not None and tokens < least:
            takes = f"at least {least} tokens, the fewest that {provider} may be asked for"
            raise InvalidArgument("target_for", name, tokens, takes)
    largest = spec.max_output or _DEFAULT_MAX_OUTPUT
    reserve = max(least, min(largest, size // 8)) if reserve_output is None else reserve_output
    asked = max(least, min(reserve, largest, max_output if max_output is not None else _UNSTREAMED_OUTPUT))
    asked_for = rows.vendor_name(model) if own is not None and own.vendor else model
    params = Params(model=asked_for, max_output=asked, keys=dict(keys or {}))
    spoken.keys(params)
    for path, value, takes in unserved(spec, provider, params):
        raise InvalidArgument("target_for", f"keys.{path}", value, f"{takes} ({spec.id})")
    return Target(
        spec=spec,
        codec=spoken,
        counter=counter(count),
        params=params,
        window=size,
        reserve_output=reserve,
        reader=reader,
        betas=betas,
    )


def wires_of(spec: ModelSpec, endpoint: str | None) -> tuple[str, ...]:
    """Return the wires on which a model is served: its own, and those of the endpoint.

    ``endpoint`` None: the vendor's, where it has a profile. Raises: EndpointError for an unknown profile.
    """
    row = _profile(spec, endpoint)
    if row is None or (row.vendor and row.name != spec.provider):
        return spec.wires
    return tuple(dict.fromkeys((*spec.wires, *row.paths)))


def _profile(spec: ModelSpec, endpoint: str | None) -> Profile | None:
    """Return what is known of the server that is asked: the vendor's unless named; None: nothing."""
    return profile(endpoint) if endpoint is not None else profiles().get(spec.provider)


def _check_reader(reader: object) -> None:
    if not is_reader(reader):
        raise InvalidArgument("target_for", "reader", reader, "one of tool, shell, path:ROOT, none")
    root = str(reader).removeprefix(PATH)
    # Not by pathlib, whose `exists` raises for a name too long or a folder that can't be searched.
    if str(reader).startswith(PATH) and exists(root) and not isdir(root):
        raise InvalidArgument("target_for", "reader", reader, f"a folder; {root} is no folder")


def _check_tokens(name: str, value: object, most: int | None, why: str) -> None:
    """Raise InvalidArgument for what is no number of tokens from 1 to ``most``; None is no fault."""
    if value is None:
        return
    if type(value) is not int or value < 1 or (most is not None and value > most):
        limit = "from 1 on" if most is None else f"from 1 to {most:,} ({why})"
        raise InvalidArgument("target_for", name, value, f"a whole number of tokens {limit}")
