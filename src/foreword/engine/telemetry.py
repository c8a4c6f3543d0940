"""Telemetry: one OpenTelemetry span and its measures for each model call. Figures and names, never content.

Needs the extra `otel`; an application brings the SDK and says where spans go. The names are those of the GenAI
semantic conventions 0.66b2 (schema 1.44.0, read 2026-11-30), which know no cost, no cache phase and no window: what
they lack stands under `foreword.`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from foreword.core.ledger import Ledger, Row
from foreword.core.price import PICODOLLARS
from foreword.core.prices import Prices
from foreword.errors import MissingExtra

if TYPE_CHECKING:
    from foreword.engine.recording import Recording

Value = str | int | float | bool | tuple[str, ...]

OWN = "foreword"
"""The namespace of names that the conventions lack."""

OPERATIONS = {"call": "chat", "sub_context": "chat", "compaction": "chat", "embedding": "embeddings"}
"""Kind of a call -> `gen_ai.operation.name`."""

PROVIDERS = {"gemini": "gcp.gemini", "moonshot": "moonshot_ai"}
"""Provider in the catalog -> `gen_ai.provider.name`, where they differ."""

ATTRIBUTES: dict[str, Callable[[Row], Value | None]] = {
    "gen_ai.provider.name": lambda row: PROVIDERS.get(row.provider or "", row.provider),
    "gen_ai.operation.name": lambda row: OPERATIONS[row.kind],
    "gen_ai.request.model": lambda row: row.asked or row.model,
    "gen_ai.response.model": lambda row: row.model if row.response_id is not None else None,
    "gen_ai.response.id": lambda row: row.response_id,
    "gen_ai.response.finish_reasons": lambda row: (
        (row.why,) if row.why and row.status in ("ok", "cut") else None
    ),
    "gen_ai.response.time_to_first_chunk": lambda row: _seconds(row.first_token_ms),
    "gen_ai.conversation.id": lambda row: row.session,
    "gen_ai.usage.input_tokens": lambda row: row.input,
    "gen_ai.usage.output_tokens": lambda row: row.usage and row.usage.output,
    "gen_ai.usage.cache_read.input_tokens": lambda row: row.usage and row.usage.cache_read,
    "gen_ai.usage.cache_creation.input_tokens": lambda row: row.usage and row.usage.written,
    "gen_ai.usage.reasoning.output_tokens": lambda row: row.usage and row.usage.reasoning,
    "error.type": lambda row: (row.why or row.status) if row.status in FAILED else None,
    f"{OWN}.step": lambda row: row.step,
    f"{OWN}.turn": lambda row: row.turn,
    f"{OWN}.call.kind": lambda row: row.kind,
    f"{OWN}.call.status": lambda row: row.status,
    f"{OWN}.cost.usd": lambda row: _dollars(row),
    f"{OWN}.cache.phase": lambda row: row.phase,
    f"{OWN}.price.tier": lambda row: row.tier,
    f"{OWN}.price.terms": lambda row: row.terms or None,
}
"""Every attribute of a span, and where its value comes from; one whose value is unknown (None) is not set."""

METRICS = {
    "gen_ai.client.token.usage": ("{token}", "Tokens of model calls, by gen_ai.token.type."),
    "gen_ai.client.operation.duration": ("s", "Time of model calls, all attempts."),
    "gen_ai.client.operation.time_to_first_chunk": ("s", "Time to the first token."),
    f"{OWN}.client.cost": ("{USD}", "What model calls cost."),
}
"""Every histogram: its unit and what it measures."""

LABELS = ("gen_ai.provider.name", "gen_ai.operation.name", "gen_ai.request.model", "error.type")
"""Attributes that measures carry too: few values each."""

FAILED = frozenset({"failed", "cancelled", "raced", "retried"})


class Telemetry:
    """Hands model calls over to OpenTelemetry."""

    def __init__(self, *, prices: Prices | None = None, tracers: Any = None, meters: Any = None) -> None:
        """Take the providers of tracers and meters; None: those that the process has set up.

        Raises: MissingExtra without the extra `otel`.
        """
        try:
            from opentelemetry import metrics, trace
        except ImportError:
            raise MissingExtra("telemetry", "otel") from None
        self._trace = trace
        self._tracer = trace.get_tracer("foreword", tracer_provider=tracers)
        meter = metrics.get_meter("foreword", meter_provider=meters)
        self._histograms = {
            name: meter.create_histogram(name, unit=unit, description=text)
            for name, (unit, text) in METRICS.items()
        }
        self._prices = prices or Prices()
        self._ledgers: dict[str, tuple[Ledger, int]] = {}

    def watch(self, session: Recording) -> None:
        """Emit each call of a session from now on, as it is recorded; those that it holds already are not emitted.

        Forks of it are watched too.
        """
        ledger = Ledger(session.id, prices=self._prices)
        ledger.add(session.events)
        self._ledgers[session.id] = ledger, len(ledger.rows)
        session.telemetry = self

    def follow(self, session: Recording) -> int:
        """Emit the calls of a session that this object has not emitted yet; return how many."""
        ledger, emitted = self._ledgers.get(session.id) or (Ledger(session.id, prices=self._prices), 0)
        ledger.add(session.events[ledger.position :])
        fresh = [row for row in ledger.rows[emitted:] if not row.copied]
        self.emit(fresh)
        self._ledgers[session.id] = ledger, len(ledger.rows)
        return len(fresh)

    def emit(self, calls: Iterable[Row]) -> None:
        """Emit a span and the measures of each call.

        A span ends when its call was recorded and begins so much earlier as the call took; where nobody measured it,
        when its request was handed out; without a request of ours it has no length.
        """
        for row in calls:
            self._emit(row)

    def _emit(self, row: Row) -> None:
        found = {name: value for name, read in ATTRIBUTES.items() if (value := read(row)) is not None}
        end = None if row.at is None else row.at * 1_000
        start = end if row.began is None else row.began * 1_000
        if end is not None and row.total_ms is not None:
            start = end - row.total_ms * 1_000_000
        span = self._tracer.start_span(
            f"{OPERATIONS[row.kind]} {found.get('gen_ai.request.model', '')}".rstrip(),
            kind=self._trace.SpanKind.CLIENT,
            attributes=found,
            start_time=start,
        )
        if "error.type" in found:
            span.set_status(self._trace.StatusCode.ERROR)
        span.end(end_time=end)
        self._measure(row, {name: found[name] for name in LABELS if name in found})

    def _measure(self, row: Row, labels: dict[str, Value]) -> None:
        output = row.usage.output if row.usage is not None else None
        measures = (
            ("gen_ai.client.token.usage", row.input, {"gen_ai.token.type": "input"}),
            ("gen_ai.client.token.usage", output, {"gen_ai.token.type": "output"}),
            ("gen_ai.client.operation.duration", _seconds(row.total_ms), {}),
            ("gen_ai.client.operation.time_to_first_chunk", _seconds(row.first_token_ms), {}),
            (f"{OWN}.client.cost", _dollars(row), {}),
        )
        for name, value, more in measures:
            if value is not None:
                self._histograms[name].record(value, {**labels, **more})


def _seconds(milliseconds: int | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1_000


def _dollars(row: Row) -> float | None:
    return None if row.cost.picodollars is None else row.cost.picodollars / PICODOLLARS
