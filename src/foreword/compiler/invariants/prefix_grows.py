"""Between epochs a request begins with all units of the one sent before it."""

from __future__ import annotations

from collections.abc import Iterator

from foreword.compiler.compile import Compiled
from foreword.compiler.invariants.rule import Broken, Invariant


def _holds(compiled: Compiled, start: int) -> Iterator[Broken]:
    del start
    sent = [one for one in compiled.view.fold.sent[-1:] if one.seq > compiled.epoch.seq]
    if compiled.stale >= 0:
        fault = f"request {compiled.stale} would be encoded differently today"
        yield Broken(rule="prefix_grows", unit=None, events=(compiled.stale,), fault=fault)
    if sent and sent[0].body.units != compiled.frozen:
        fault = f"{compiled.frozen} units stand where {sent[0].body.units} were sent"
        yield Broken(rule="prefix_grows", unit=compiled.frozen, events=(sent[0].seq,), fault=fault)


RULE = Invariant(name="prefix_grows", source="design, section 3: units and epochs", holds=_holds)
