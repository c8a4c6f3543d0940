"""Prices: what a model costs by the catalog, or by a price list of one's own that goes before it.

A list is TOML or JSON, in US dollars per million tokens. One price for every model:

    input = 3
    output = 15
    cache_read = 0.3
    cache_write_short = 3.75

or a table for each (`"*"`: all that have none):

    [claude-sonnet-4-5]
    input = 3
    tiers = [{ above = 200000, input = 6, output = 22.5 }]

A row replaces the catalog's whole price of its model, past prices and peak hours too; a bucket that it leaves out
is unknown. `multipliers` are laid over the catalog's.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from copy import copy
from decimal import Decimal
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from foreword.core.catalog import Catalog, ModelSpec, Rates, Tier
from foreword.errors import CatalogError, UnknownModel

ANY = "*"
BUCKETS = {
    "input": ("input",),
    "output": ("output",),
    "cache_read": ("cache_read",),
    "cache_write": ("cache_write_short", "cache_write_long"),
    "cache_write_short": ("cache_write_short",),
    "cache_write_long": ("cache_write_long",),
    "cache_write_5m": ("cache_write_short",),
    "cache_write_1h": ("cache_write_long",),
}
"""Member of a price list -> the buckets that it prices."""
DECIMALS = 6
"""Digits behind the point that a price per million may have, so that one token costs whole picodollars."""


class _Own(Struct, frozen=True, kw_only=True):
    price: Rates
    tiers: tuple[Tier, ...]
    multipliers: dict[str, str]


class Prices:
    """Finds what a model costs. Immutable."""

    def __init__(self, catalog: Catalog | None = None, own: Mapping[str, Any] | None = None) -> None:
        """Take a price list as read (see the module), to go before the catalog's prices.

        Raises: CatalogError for a list that is none.
        """
        self._catalog = catalog or Catalog.load()
        self._own = _rows(own) if own else {}
        self._specs: dict[str, ModelSpec | None] = {}

    @classmethod
    def read(cls, text: str, name: str, catalog: Catalog | None = None) -> Prices:
        """Read a price list: JSON when it begins with a brace, else TOML. `name` stands in errors.

        Raises: CatalogError.
        """
        try:
            if text.lstrip()[:1] == "{":
                own = json.loads(text, parse_float=Decimal)
            else:
                own = tomllib.loads(text, parse_float=Decimal)
        except (ValueError, RecursionError) as error:
            raise CatalogError(f"prices {name}: neither TOML nor JSON: {error}") from None
        if not own:
            raise CatalogError(f"prices {name}: holds no price; see `foreword cost --help`")
        try:
            return cls(catalog, own)
        except CatalogError as error:
            raise CatalogError(f"prices {name}: {error}") from None

    def spec(self, model: str | None) -> ModelSpec | None:
        """Return a model's row with its prices; None: neither the list nor the catalog knows it."""
        name = model or ""
        if name not in self._specs:
            self._specs[name] = self._spec(name)
        return self._specs[name]

    def also(self, name: str, spec: ModelSpec) -> Prices:
        """Return these prices with a row for a model that they don't know, as of another catalog."""
        if self.spec(name) is not None:
            return self
        made = copy(self)
        made._specs = {**self._specs, name: spec}
        return made

    def _spec(self, name: str) -> ModelSpec | None:
        try:
            spec = self._catalog.model(name)
        except UnknownModel:
            spec = None
        names = (name, name.rpartition("/")[2], spec.id if spec else "", ANY)
        own = next((self._own[known] for known in names if known in self._own), None)
        if own is None:
            return spec
        spec = spec or self._catalog.assumed(name, wire="openai-chat", window=1)
        multipliers = {**spec.multipliers, **own.multipliers}
        return replace(spec, price=own.price, tiers=own.tiers, peak=None, earlier=(), multipliers=multipliers)


def _rows(own: Mapping[str, Any]) -> dict[str, _Own]:
    if any(name in BUCKETS for name in own):
        own = {ANY: own}
    return {name: _row(name, row) for name, row in own.items()}


def _row(name: str, row: object) -> _Own:
    members = _mapping(row, name)
    tiers: list[Tier] = []
    listed = members.pop("tiers", ())
    if not isinstance(listed, list | tuple):
        raise CatalogError(f"{name}.tiers: expected a list")
    for number, one in enumerate(cast("list[object]", listed)):
        tier = _mapping(one, f"{name}.tiers[{number}]")
        above = tier.pop("above", None)
        if not isinstance(above, int) or isinstance(above, bool) or above < 0:
            raise CatalogError(f"{name}.tiers[{number}]: `above` must be a number of tokens")
        tiers.append(Tier(above=above, price=_rates(tier, f"{name}.tiers[{number}]")))
    factors = _mapping(members.pop("multipliers", {}), f"{name}.multipliers")
    multipliers = {key: _figure(factor, f"{name}.multipliers.{key}") for key, factor in factors.items()}
    if not members:
        raise CatalogError(f"{name}: gives no price; there are {', '.join(BUCKETS)}")
    tiers.sort(key=lambda tier: tier.above)
    return _Own(price=_rates(members, name), tiers=tuple(tiers), multipliers=multipliers)


def _rates(members: Mapping[str, Any], where: str) -> Rates:
    figures: dict[str, str] = {}
    for name, value in members.items():
        if name not in BUCKETS:
            raise CatalogError(f"{where}.{name}: unknown; there are {', '.join(BUCKETS)}")
        figures |= dict.fromkeys(BUCKETS[name], _figure(value, f"{where}.{name}"))
    return Rates(**figures)


def _mapping(value: object, where: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise CatalogError(f"{where}: expected a table of prices, got {type(value).__name__}")
    return dict(cast("Mapping[str, Any]", value))


def _figure(value: object, where: str) -> str:
    """Return a price as a plain decimal string."""
    fault = f"{where}: {str(value)[:40]!r} is no price in US dollars such as 0.25, with at most {DECIMALS} decimals"
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
        raise CatalogError(fault)
    try:
        figure = Decimal(str(value))
    except ArithmeticError:
        raise CatalogError(fault) from None
    if not figure.is_finite() or figure < 0 or figure >= 10**9 or (figure and figure.adjusted() < -DECIMALS):
        raise CatalogError(fault)
    text = f"{figure.normalize():f}" if figure else "0"
    if len(text.partition(".")[2]) > DECIMALS:
        raise CatalogError(fault)
    return text
