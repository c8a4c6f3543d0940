"""Catalog: what is known of each model, as dated data. Differences between providers are rows here, not code.

The data stand in `catalog.toml` beside this module; operators override rows with `Catalog.override`.
Start-up time matters: a row is parsed when it is first asked for, since parsing the whole file takes 25 ms.
"""

import hashlib
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any, Literal, TypeVar, cast

import msgspec

from foreword.errors import CatalogError, UnknownModel

Wire = Literal["anthropic", "openai-chat", "openai-responses", "deepseek", "gemini"]
T = TypeVar("T")

_ROW = "\n[[model]]\n"
"""What cuts the file of the package into rows. It stands in no value there, and `id` is a row's first key."""


class Rates(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Hold prices in US dollars per million tokens, as decimal strings.

    None: the source gives no figure. "0": free, and the source says so. Where a provider charges nothing
    extra for writing its cache, a written token is billed as input, and the row says so with the input price.
    """

    input: str | None = None
    output: str | None = None
    cache_read: str | None = None
    cache_write_short: str | None = None
    cache_write_long: str | None = None


class Tier(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Hold the prices of a whole request whose prompt is larger than `above` tokens (cached ones count)."""

    above: int
    price: Rates


class Peak(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Hold when a model's listed price applies, and its price at all other times.

    `weekdays`: 0 is Monday. `hours_utc`: pairs of "HH:MM", the end not included.
    """

    weekdays: tuple[int, ...]
    hours_utc: tuple[tuple[str, str], ...]
    off_peak: Rates


class Earlier(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Hold the prices of a time that is over: they held on every day (UTC, YYYY-MM-DD) before `until`."""

    until: str
    price: Rates
    tiers: tuple[Tier, ...] = ()
    peak: Peak | None = None


class ModelSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Hold what is known of one model. None always means unknown, never no and never 0.

    Sizes are tokens. `window` holds input and output together; where the source gives only a limit for the
    input, `max_input` repeats it and `window` takes it for the total, which errs on the safe side.
    """

    id: str
    provider: str
    wires: tuple[Wire, ...]
    """The wires that reach this model."""
    window: int
    max_input: int | None = None
    """The limit for the prompt alone, where there is one beside the window."""
    max_output: int | None = None
    working_limit: int | None = None
    """The prompt size up to which quality holds."""

    price: Rates | None = None
    tiers: tuple[Tier, ...] = ()
    """Long-context prices, rising by `above`."""
    peak: Peak | None = None
    """Present where `price` is a peak price."""
    multipliers: Mapping[str, str] = {}
    """Factors on the whole bill, by what is asked for: batch, fast, us."""
    earlier: tuple[Earlier, ...] = ()
    """Prices before the last changes, rising by `until`; the newest change is in `price`."""

    min_cacheable_tokens: int | None = None
    max_marks: int | None = None
    """Cache marks per request; 0: the wire has none."""
    lookback_blocks: int | None = None
    """How many blocks before a mark an earlier cache entry is looked for; None: no such limit, or unknown."""
    cache_ttl_short: int | None = None
    """Seconds that a short cache write lives after its last use."""
    cache_ttl_long: int | None = None
    cache: Literal["marks", "breakpoints", "prefix", "units"] | None = None
    """What a later request can read: what ended at a mark and is near one now (marks), what ended at a breakpoint
    (breakpoints), any prefix (prefix), or what ended where a request or an answer did (units)."""
    cache_step: int | None = None
    """Tokens in whole multiples of which a prefix is read; 1: exactly."""
    cache_read_marks: int | None = None
    """How many breakpoints of a request, the newest, are looked up; None: no such limit, or unknown."""
    cache_refresh: bool | None = None
    """Whether reading an entry starts its life again."""
    cache_idle: int | None = None
    """Seconds without use from which a cache that promises no life may have dropped an entry."""

    binds_thinking: bool = True
    """Whether a reasoning block is refused or dropped when anything before it changed. A row that doesn't say is taken
    at the worst: what is left out in vain costs words, what is sent in vain costs the request."""
    thinking: tuple[Literal["adaptive", "enabled", "disabled"], ...] | None = None
    """The thinking types a request may ask for."""
    reasoning_return: Literal["turn", "calls", "paired"] | None = None
    """What reasoning must be sent back: that of the current tool loop (turn), that of every message with tool
    calls (calls), or each reasoning item with the item that follows it (paired)."""
    forced_tool_choice: bool | None = None
    sampling: bool | None = None
    """Whether temperature and its kin are accepted."""
    prefill: bool | None = None
    """Whether the last message may be the start of the assistant's answer."""
    mid_system: bool = False
    """Whether a system message may stand in mid-conversation."""
    strict_alternation: bool = False
    """Whether two neighbours of one role are refused, as some chat templates do; then no message of the operator
    stands in mid-conversation either."""
    vision: bool | None = None
    """Whether the model reads pictures."""
    max_string_chars: int | None = None
    """The longest text that a request may hold in one string, in characters; None: no such limit is known."""
    max_tools: int | None = None
    """How many tools a request may offer; None: no such limit is known."""
    max_stops: int | None = None
    """How many texts a request may name that end the answer; None: no such limit is known."""
    notice_channel: Literal["system", "developer", "user"] = "user"
    late_tools: str | None = None
    """The block (Anthropic) or input item (OpenAI Responses) that adds a tool after what was sent."""
    deferred_tools: str | None = None
    """The member of a tool that keeps it out of the prefix until a search finds it."""
    late_removal: str | None = None
    """The block that takes a tool away after what was sent."""
    late_effort: str | None = None
    """The member of a system message (Anthropic) or the input item (OpenAI Responses) that changes the effort
    after what was sent."""
    task_budget: bool | None = None
    """Whether the provider shows the model what is left of a task budget."""
    token_factor_start: float = 1.2
    """Tokens of this model per o200k token, before anything was learned from usage."""

    retires: str | None = None
    """The day from which the provider no longer serves it (YYYY-MM-DD)."""
    source: str
    as_of: str
    verified: tuple[str, ...] = ()
    """What confirmed the row; empty: nothing did."""
    derived: tuple[str, ...] = ()
    """Fields that were worked out, not read."""

    def priced_on(self, day: str) -> "ModelSpec":
        """Return the row with the prices that held on a day (UTC, YYYY-MM-DD)."""
        for past in self.earlier:
            if day < past.until:
                return msgspec.structs.replace(
                    self, price=past.price, tiers=past.tiers, peak=past.peak, earlier=()
                )
        return self


REQUIRED = tuple(field.name for field in msgspec.structs.fields(ModelSpec) if field.required)
"""What a row must say, in itself or by its provider's defaults."""


class Alias(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"old": "from"}):
    """Name a row by an older or longer name: a dated snapshot, another spelling.

    ``served``: the vendor takes this name too, so it is asked for as given, such as a snapshot; else by ``to``.
    """

    old: str
    to: str
    served: bool = False
    as_of: str
    source: str


class Catalog:
    """Find models by name. Immutable; `override` makes another one."""

    def __init__(self, text: str, *overrides: str) -> None:
        """Read the text of a catalog file, then overrides; raise CatalogError when one cannot be read."""
        self._texts = (text, *overrides)
        self.version = hashlib.sha256("\0".join(self._texts).encode()).hexdigest()[:16]
        """Digest of the data: equal versions give equal answers."""
        self._rows: dict[str, str | dict[str, Any]] = {}
        self._aliases: dict[str, str] = {}
        self._served: set[str] = set()
        self._providers: dict[str, dict[str, Any]] = {}
        self._sources: dict[str, str] = {}
        self._specs: dict[str, ModelSpec] = {}
        head, *rows = text.split(_ROW)
        self._read(_parse(head, "catalog.toml"), "catalog.toml")
        for row in rows:
            self._rows[row.split('"', 2)[1]] = row
        for number, override in enumerate(overrides, 1):
            self._read(_parse(override, f"override {number}"), f"override {number}")

    @staticmethod
    @cache
    def load() -> "Catalog":
        """Return the catalog that comes with the package; read once per process."""
        data = resources.files("foreword.core").joinpath("catalog.toml").read_text(encoding="utf-8")
        return Catalog(data)

    def override(self, text: str) -> "Catalog":
        """Return a catalog with `text` laid over this one.

        A `[[model]]` row with a known id changes the fields it names (a price, key by key); one with a new id
        adds a model. Aliases, sources and provider defaults are laid over likewise.
        Every row is checked at once, since nobody else has checked it. Raises CatalogError.
        """
        other = Catalog(*self._texts, text)
        for name, row in other._rows.items():
            if isinstance(row, dict):
                other.model(name)
        return other

    @property
    def names(self) -> tuple[str, ...]:
        """Return the ids of all rows, in the order of the file."""
        return tuple(self._rows)

    @property
    def aliases(self) -> Mapping[str, str]:
        """Return the other names of rows -> the id each stands for, in the order of the file."""
        return self._aliases

    def model(self, name: str) -> ModelSpec:
        """Return the row of a model, by id, alias, or either behind a route such as `vendor/`.

        Raises UnknownModel with the closest names.
        """
        found = self._resolve(name)
        if found is None:
            raise UnknownModel(name, self._nearest(name))
        if found not in self._specs:
            self._specs[found] = self._spec(found)
        return self._specs[found]

    def vendor_name(self, name: str) -> str:
        """Return the name under which a model's own vendor serves it, without a route; raise UnknownModel."""
        bare = name.rpartition("/")[2]
        return bare if bare in self._served else self.model(name).id

    def assumed(self, name: str, *, wire: Wire, window: int) -> ModelSpec:
        """Return a row for a model that the catalog does not hold, of which the caller knows the window.

        Everything else is unknown; the cautious defaults of `ModelSpec` apply.
        """
        return ModelSpec(
            id=name, provider="unknown", wires=(wire,), window=window, source="stated by the caller", as_of=""
        )

    def _read(self, data: dict[str, Any], where: str) -> None:
        unknown = data.keys() - {"schema", "source", "provider", "alias", "model"}
        if unknown:
            raise CatalogError(f"{where}: unknown table {sorted(unknown)[0]!r}")
        self._sources.update(_convert(data.get("source", {}), dict[str, str], where))
        for name, defaults in _convert(data.get("provider", {}), dict[str, dict[str, Any]], where).items():
            self._providers[name] = _laid_over(self._providers.get(name, {}), defaults)
        for alias in _convert(data.get("alias", []), list[Alias], where):
            self._aliases[alias.old] = alias.to
            (self._served.add if alias.served else self._served.discard)(alias.old)
        for row in _convert(data.get("model", []), list[dict[str, Any]], where):
            name = row.get("id")
            if not isinstance(name, str) or not name:
                raise CatalogError(f"{where}: a [[model]] row has no id")
            self._rows[name] = _laid_over(self._row(name), row)

    def _row(self, name: str) -> dict[str, Any]:
        row = self._rows.get(name, {})
        return _parse(row, f"model {name}") if isinstance(row, str) else row

    def _resolve(self, name: str) -> str | None:
        for candidate in (name, name.rpartition("/")[2]):
            target = self._aliases.get(candidate, candidate)
            if target in self._rows:
                return target
        return None

    def _nearest(self, name: str) -> tuple[str, ...]:
        import difflib  # only a wrong name pays for it

        meant = name.rpartition("/")[2][:100].lower()
        # A whole part of ids, such as a family's name, is too short to be alike.
        parts = [known for known in self._rows if meant in known.split("-")]
        alike = difflib.get_close_matches(meant, [*self._rows, *self._aliases], n=3, cutoff=0.6)
        return tuple(dict.fromkeys([*parts, *alike]))[:3]

    def _spec(self, name: str) -> ModelSpec:
        row = self._row(name)
        row = {**self._providers.get(str(row.get("provider")), {}), **row}
        if lacking := [member for member in REQUIRED if member not in row]:
            raise CatalogError(
                f"model {name} lacks {', '.join(lacking)}; a new row needs all of {', '.join(REQUIRED)} "
                f"(source, as_of: who says so, and the day)"
            )
        row["source"] = self._sources.get(str(row["source"]), row["source"])
        spec = _convert(row, ModelSpec, f"model {name}")
        _check(spec, f"model {name}")
        return spec


def _parse(text: str, where: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise CatalogError(f"{where}: not valid TOML: {error}") from error


def _check(spec: ModelSpec, where: str) -> None:
    if spec.window <= 0:
        raise CatalogError(f"{where}: window is {spec.window}, must be positive")
    days = [past.until for past in spec.earlier]
    if days != sorted(days) or any(len(day) != 10 for day in days):
        raise CatalogError(f"{where}: earlier prices must rise by `until`, a day such as 2026-10-07")
    rates: list[Rates | None] = []
    for priced in (spec, *spec.earlier):
        if [tier.above for tier in priced.tiers] != sorted(tier.above for tier in priced.tiers):
            raise CatalogError(f"{where}: tiers must rise by `above`")
        tiers = (tier.price for tier in priced.tiers)
        rates += [priced.price, *tiers, priced.peak and priced.peak.off_peak]
    figures = [figure for rate in rates if rate is not None for figure in msgspec.structs.astuple(rate)]
    for figure in [*figures, *spec.multipliers.values()]:
        if figure is not None and not _is_decimal(figure):
            raise CatalogError(f"{where}: {figure!r} is not a plain decimal such as 0.25")


def _is_decimal(text: str) -> bool:
    whole, dot, part = text.partition(".")
    digits = whole + part
    return (
        bool(whole) and digits.isascii() and digits.isdigit() and (not dot or bool(part)) and len(part) <= 6
    )


def _laid_over(base: dict[str, Any], top: dict[str, Any]) -> dict[str, Any]:
    """Lay tables over tables key by key; any other value replaces."""
    merged = dict(base)
    for key, value in top.items():
        old: Any = merged.get(key)
        both = isinstance(old, dict) and isinstance(value, dict)
        merged[key] = (
            _laid_over(cast("dict[str, Any]", old), cast("dict[str, Any]", value)) if both else value
        )
    return merged


def _convert(value: object, type_: type[T], where: str) -> T:
    try:
        return msgspec.convert(value, type_)
    except msgspec.ValidationError as error:
        raise CatalogError(f"{where}: {error}") from error
