"""Endpoints: who speaks a wire, and where. Differences between them are rows of `endpoints.toml`, not code.

A wire is a protocol; an endpoint is a server that speaks one: the vendor, a cloud, a gateway, a local server.
A key never stands here: an endpoint names the environment variable that holds it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any, Literal, get_args
from urllib.parse import SplitResult, quote, urlsplit

import msgspec
from msgspec import Struct

from foreword.core.catalog import Wire
from foreword.errors import EndpointError

Probe = Literal["anthropic", "openai", "vllm", "llama.cpp", "ollama", "litellm", "openrouter", "gemini"]
"""How an endpoint is asked for the window of a model."""
Answer = Literal["yes", "no", "ignored", "some"]
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
TELLABLE = frozenset({"accept", "anthropic-beta", "anthropic-version", "content-type", "user-agent"})
"""Headers that are no secret, whoever gives them. Any other may be a key under a gateway's own name."""
SHORTEST_SECRET = 4
"""Characters of a header's value; a shorter one would be cut out of every other word."""


class Auth(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a key is sent. ``key_env``: the variable's name by custom; None: none is needed.

    ``signed``: requests are signed instead (a cloud's own scheme), which Foreword does not do; a token of the
    bearer kind, where the cloud gives one, is sent.
    """

    header: str = "authorization"
    prefix: str = "Bearer "
    key_env: str | None = None
    optional: bool = False
    signed: bool = False


class Form(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a cloud wants the body of a wire to differ from the vendor's.

    ``adds``: members that it wants, unless they are there; ``omits``: members that its path says instead. ``betas``:
    the member that lists the names of betas; None: they stand in the vendor's header.
    """

    adds: dict[str, str] = {}
    omits: tuple[str, ...] = ()
    betas: str | None = None


class Counting(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the tokens of a request are counted. ``inside``: the member that the whole request stands in.

    None: the members that count stand there themselves.
    """

    path: str
    inside: str | None = None


class Paths(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a wire is served below the base address. ``{model}`` stands for the model.

    ``stream`` None: the same path, and the body says that it wants a stream. ``count``: where the tokens of a request
    are counted; None: nowhere that is known. ``form`` None: the vendor's. ``auth`` None: that of the profile.
    """

    send: str
    stream: str | None = None
    count: Counting | None = None
    form: Form | None = None
    auth: Auth | None = None


class Accepts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an endpoint does with parts of a request; None: unknown."""

    unknown_members: Answer | None = None
    cache_marks: Answer | None = None
    tools: Answer | None = None
    parallel_calls: Answer | None = None
    strict_alternation: bool | None = None
    """Whether user and assistant must take turns."""
    stream_usage: Answer | None = None
    """Whether `stream_options.include_usage` is known."""


class Counts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the usage of an answer tells; None: unknown."""

    usage: Answer | None = None
    cache_read: Answer | None = None
    cache_write: Answer | None = None
    reasoning: Answer | None = None


class Overflow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What happens to a prompt over the window: an error of status ``status``, or silence.

    ``phrase``: what the error says in lower case, a row of `codecs/failure_signs.py`; "" when it may be any of
    them (a gateway passes the error of whoever is behind it).
    """

    status: int | None = None
    phrase: str = ""
    silent: bool = False


class Profile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is known of one kind of endpoint. None is unknown.

    ``base_url`` None: it is yours, so it must be given. ``verified``: what was proved against the endpoint
    itself; all else is documentation or hearsay, of the day ``as_of`` and from ``source``. ``vendor``: it serves the
    models of the provider of its name alone.
    """

    name: str
    title: str
    vendor: bool = False
    base_url: str | None = None
    paths: dict[Wire, Paths]
    auth: Auth = Auth()
    headers: dict[str, str] = {}
    query: dict[str, str] = {}
    accepts: Accepts = Accepts()
    cache: str | None = None
    counts: Counts = Counts()
    overflow: Overflow = Overflow()
    probe: Probe | None = None
    probe_path: str = ""
    notes: tuple[str, ...] = ()
    source: str
    as_of: str
    verified: tuple[str, ...] = ()


class Endpoint(Struct, frozen=True, kw_only=True):
    """One address that speaks one wire; made by `endpoint`.

    ``key_env``: name of the environment variable that holds the key; None: no key is sent. ``path`` and
    ``stream_path`` are below ``base_url`` and may hold ``{model}``; the rest as in `Paths` and `Profile`.
    """

    name: str
    base_url: str
    wire: Wire
    path: str
    stream_path: str | None = None
    count: Counting | None = None
    form: Form | None = None
    query: dict[str, str] = {}
    headers: dict[str, str] = {}
    key_env: str | None = None
    key_header: str = "authorization"
    key_prefix: str = "Bearer "
    key_optional: bool = False
    stream_usage: bool = True
    probe: Probe | None = None
    probe_path: str = ""

    @property
    def shown(self) -> str:
        """Name and address for messages, without what a user may have put before an `@` or behind a `?`."""
        parts = urlsplit(self.base_url)
        return f"{self.name} at {parts.scheme}://{parts.netloc.rpartition('@')[2]}"

    @property
    def local(self) -> bool:
        """Whether it is on this machine."""
        return urlsplit(self.base_url).hostname in LOOPBACK

    def url(self, model: str, *, stream: bool) -> str:
        """Return where a request for a model goes."""
        path = self.stream_path if stream and self.stream_path is not None else self.path
        return self.for_model(path, model)

    def for_model(self, path: str, model: str) -> str:
        """Return the address of a path that may hold ``{model}``."""
        return self.at(path.replace("{model}", quote(model, safe="")))

    def counting(self) -> Counting:
        """Return how requests are counted here. Raises: EndpointError where they are not."""
        if self.count is None:
            fault = f"counts no tokens of a request on the wire {self.wire}"
            raise EndpointError(self.shown, fault, "leave the count to the counter and the usage of answers")
        return self.count

    def at(self, path: str) -> str:
        """Return the address of a path below the base address; one that starts with `//` is below its host."""
        if path.startswith("//"):
            parts = urlsplit(self.base_url)
            url = f"{parts.scheme}://{parts.netloc}{path[1:]}"
        else:
            url = self.base_url.rstrip("/") + path
        joined = "&".join(f"{quote(name)}={quote(value)}" for name, value in self.query.items())
        return url if not joined else f"{url}{'&' if '?' in url else '?'}{joined}"

    def key_headers(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Return the headers that carry the key, {} when none is sent.

        Raises: EndpointError when the variable isn't set and a key is needed, or holds what no header may.
        """
        if self.key_env is None:
            return {}
        key = environ.get(self.key_env, "").strip()
        if not key:
            if self.key_optional:
                return {}
            raise EndpointError(
                self.shown, f"no key in the variable {self.key_env}", "set it, or name another"
            )
        if not key.isascii() or not key.isprintable():
            fault = f"the variable {self.key_env} holds characters that no header may"
            raise EndpointError(self.shown, fault, "set it to the key alone")
        return {self.key_header: self.key_prefix + key}

    def secrets(self, environ: Mapping[str, str]) -> list[str]:
        """Return what no message may show, longest first: the key, and headers that its profile does not have.

        Of ``scheme credentials`` the credentials count for themselves too (RFC 9110, 11.4).
        """
        key = environ.get(self.key_env, "").strip() if self.key_env is not None else ""
        usual = profiles()[self.name].headers if self.name in profiles() else {}
        given = [
            value.strip()
            for name, value in self.headers.items()
            if name.lower() not in TELLABLE and usual.get(name) != value
        ]
        parts = {part for value in given for part in (value, value.rpartition(" ")[2])}
        found = {key, *(part for part in parts if len(part) >= SHORTEST_SECRET)} - {""}
        return sorted(found, key=lambda secret: (-len(secret), secret))


def split(url: str) -> SplitResult:
    """Take an address apart. Raises: EndpointError when it is none."""
    try:
        return urlsplit(url)
    except ValueError:  # its text may hold the whole address
        raise EndpointError(_shown(url), "is no address", "give one, such as https://host/v1") from None


def _shown(url: str) -> str:
    """Return an address for a message, without what may be a secret: all before an `@`, all behind a `?`."""
    text = url.rpartition("@")[2].partition("?")[0].partition("#")[0]
    return repr(text[:80])


@cache
def profiles() -> Mapping[str, Profile]:
    """Return the profiles that come with the package, by name, in the order of the file."""
    text = resources.files("foreword.core").joinpath("endpoints.toml").read_text(encoding="utf-8")
    rows: list[dict[str, Any]] = tomllib.loads(text)["endpoint"]
    return {row["name"]: msgspec.convert(row, Profile) for row in rows}


def profile(name: str) -> Profile:
    """Return the profile of a name. Raises: EndpointError."""
    known = profiles()
    if name not in known:
        raise EndpointError(repr(name), "no profile has this name", f"name one of {', '.join(known)}")
    return known[name]


def endpoint(
    name: str,
    wire: str | None = None,
    *,
    base_url: str | None = None,
    key_env: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Endpoint:
    """Return an endpoint by the name of its profile.

    ``wire`` None: the first that the profile serves. ``base_url`` None: the profile's own. ``key_env``: another
    variable than the customary one; "": send no key. ``headers`` are laid over the profile's.
    Raises: EndpointError.
    """
    row = profile(name)
    served = next(iter(row.paths)) if wire is None else wire
    if served not in get_args(Wire) or served not in row.paths:
        raise EndpointError(name, f"does not serve the wire {wire!r}", f"it serves {', '.join(row.paths)}")
    base = base_url or row.base_url
    if base is None:
        raise EndpointError(name, "has no address of its own", "give a base URL")
    parts = split(base)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise EndpointError(
            name, f"{_shown(base)} is no http or https address", "give one, such as https://host/v1"
        )
    if parts.username or parts.password or parts.query or parts.fragment:
        fault = "its address holds a name, a password or a query"
        raise EndpointError(name, fault, "put the key into a variable and name that")
    paths = row.paths[served]
    auth = paths.auth or row.auth
    chosen = auth.key_env if key_env is None else key_env or None
    return Endpoint(
        name=name,
        base_url=base,
        wire=served,
        path=paths.send,
        stream_path=paths.stream,
        count=paths.count,
        form=paths.form,
        query=row.query,
        headers={**row.headers, **(headers or {})},
        key_env=chosen,
        key_header=auth.header,
        key_prefix=auth.prefix,
        key_optional=auth.optional and key_env is None,
        stream_usage=row.accepts.stream_usage in ("yes", None),
        probe=row.probe,
        probe_path=row.probe_path,
    )
