"""Target: whom a request is compiled for, and with what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import msgspec
from msgspec import Struct

from foreword.core.block import Role
from foreword.core.canonical import compact, digest
from foreword.core.catalog import ModelSpec
from foreword.core.request import Codec, Params
from foreword.core.tokens import Counter


def key_at(keys: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    """Return the member at a path; None: there is none."""
    value: Any = keys if path else None
    for name in path:
        value = cast("Mapping[str, Any]", value).get(name) if isinstance(value, Mapping) else None
    return value


def with_key(keys: Mapping[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    """Return the members with the one at ``path`` set; None takes it out, and what it leaves empty with it."""
    name, *rest = path
    if rest:
        inner: Any = keys.get(name)
        known: Mapping[str, Any] = cast("Mapping[str, Any]", inner) if isinstance(inner, Mapping) else {}
        value = with_key(known, tuple(rest), value) or None
    if value is None:
        return {key: member for key, member in keys.items() if key != name}
    return {**keys, name: value}


class Target(Struct, frozen=True, kw_only=True):
    """A model on a wire: its catalog row, codec, counter and the request's parameters.

    ``window`` and ``reserve_output`` are tokens. ``reader``: how this agent reads left-out content back:
    ``tool``, ``shell`` (options of the command may follow), ``path:ROOT`` or ``none``. ``betas``: whoever sends the
    requests sends the beta headers that they need, too; without, the engine uses no form that needs one.
    """

    spec: ModelSpec
    codec: Codec
    counter: Counter
    params: Params
    window: int
    reserve_output: int
    reader: str = "tool"
    betas: bool = False

    @property
    def largest_input(self) -> int:
        """Largest prompt in tokens that leaves the output reserve."""
        room = max(0, self.window - self.reserve_output)
        return room if self.spec.max_input is None else min(room, self.spec.max_input)

    @property
    def head_digest(self) -> str:
        """Digest of what else than the record decides the bytes: keys, wire, reader, and what the model can't take.

        Members that no cache looks at don't count.
        """
        layered = {piece.kind for piece in self.codec.keys(self.params)}
        keys = {name: value for name, value in self.params.keys.items() if name in layered}
        limits = [self.codec.turns] if self.codec.turns else []
        if self.codec.exact:
            limits.append("exact")
        if self.spec.vision is False:
            limits.append("no pictures")
        return digest(compact([self.codec.wire, keys, self.reader, *limits])).hex()

    @property
    def notice_channel(self) -> Role:
        """Whose words a notice of the engine is sent as, where the operator may say it."""
        return "user" if self.codec.turns else self.spec.notice_channel

    @property
    def binds_thinking(self) -> bool:
        """Whether reasoning has to go once anything before it changed."""
        return self.spec.binds_thinking and self.codec.refuses_moved

    @property
    def thinks_first(self) -> bool:
        """Whether a turn that is not over must begin with the model's reasoning."""
        return self.spec.reasoning_return == "turn" and self.codec.thinks_first(self.params)

    @property
    def prefills(self) -> bool:
        """Whether a request may end with the beginning of an answer; one that must begin with reasoning has none."""
        return bool(self.spec.prefill) and not self.thinks_first

    @property
    def effort(self) -> str | None:
        """The effort that the parameters ask for; None: none, or the wire has no such key."""
        value = key_at(self.params.keys, self.codec.effort)
        return value if isinstance(value, str) else None

    def says(self, form: str | None) -> bool:
        """Whether the wire has a form that the catalog names for the model."""
        return form is not None and form in self.codec.late

    def with_effort(self, effort: str | None) -> Target:
        """Return the target that asks for this effort; None: for none."""
        return self._with(self.codec.effort, effort)

    def with_budget(self, total: int, remaining: int | None) -> Target:
        """Return the target that states a task budget, where the model and the wire know one; 0: none."""
        if not total or not self.counts_down:
            return self
        value = {"type": "tokens", "total": total}
        return self._with(
            self.codec.task_budget, value if remaining is None else value | {"remaining": remaining}
        )

    @property
    def counts_down(self) -> bool:
        """Whether the provider itself shows the model what is left of a task budget, by a form that needs a beta."""
        return bool(self.betas and self.spec.task_budget and self.codec.task_budget)

    def _with(self, path: tuple[str, ...], value: Any) -> Target:
        if not path or key_at(self.params.keys, path) == value:
            return self
        keys = with_key(self.params.keys, path, value)
        return msgspec.structs.replace(self, params=msgspec.structs.replace(self.params, keys=keys))

    def same_bytes(self, other: Target) -> bool:
        """Whether units made for ``other`` are units for this target too."""
        return (
            self.codec.wire == other.codec.wire
            and (self.codec.version, self.codec.turns, self.codec.exact)
            == (other.codec.version, other.codec.turns, other.codec.exact)
            and self.params == other.params
            and self.reader == other.reader
            and self.counter.name == other.counter.name
        )
