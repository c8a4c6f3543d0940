"""OpenTelemetry: one span a call with the names of the conventions, and not a word of what was said."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from opentelemetry.semconv._incubating.metrics import gen_ai_metrics
from opentelemetry.trace import SpanKind, StatusCode

from foreword.core.event import Answered, Called, Draft
from foreword.core.usage import NOTHING, Usage
from foreword.engine.session import Session
from foreword.engine.telemetry import ATTRIBUTES, METRICS, Telemetry
from foreword.errors import MissingExtra, Overloaded
from foreword.testing.script import Answer, Failure
from tests.engine.sessions import answer_message
from tests.engine.spending import LIST, Now, opened
from tests.engine.test_asking import asked, referee
from tests.engine.test_asking import opened as asking
from tests.histories import target_of

USED = Usage(uncached=100, cache_read=900, cache_write_short=40, cache_write_long=60, output=30, reasoning=10)
SECRET = "the valve is in the cellar"


@pytest.fixture
def spans() -> InMemorySpanExporter:
    """Where spans end up."""
    return InMemorySpanExporter()


@pytest.fixture
def measures() -> InMemoryMetricReader:
    """Where measures end up."""
    return InMemoryMetricReader()


@pytest.fixture
def telemetry(spans: InMemorySpanExporter, measures: InMemoryMetricReader) -> Telemetry:
    """Telemetry into memory."""
    tracers = TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(spans))
    return Telemetry(prices=LIST, tracers=tracers, meters=MeterProvider(metric_readers=[measures]))


def points(reader: InMemoryMetricReader) -> dict[str, list[Any]]:
    """Return the points of each metric."""
    data = reader.get_metrics_data()
    assert data is not None
    (scope,) = data.resource_metrics[0].scope_metrics
    return {metric.name: list(metric.data.data_points) for metric in scope.metrics}


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def test_a_call_that_nobody_timed_began_with_its_request(
    telemetry: Telemetry, spans: InMemorySpanExporter
) -> None:
    """And it asked for the model of the request, whichever answered; without a request its span has no length."""
    clock = Now(5_000_000)
    session = opened(clock=clock)
    session.compile()
    clock.at = 9_000_000
    session.answered(answer_message("Mended."), usage=USED, model="another", response_id="r")
    session.answered(answer_message("Mended again."), usage=USED, model="another")
    telemetry.follow(session)
    ours, other = spans.get_finished_spans()
    assert (ours.start_time, ours.end_time) == (5_000_000_000, 9_000_000_000)
    asked = session.target.params.model if session.target is not None else None
    models = [attributes(ours)[f"gen_ai.{side}.model"] for side in ("request", "response")]
    assert (models, ours.name) == ([asked, "another"], f"chat {asked}")
    assert (other.start_time, attributes(other)["gen_ai.request.model"]) == (9_000_000_000, "another")


def test_one_span_a_call(
    telemetry: Telemetry, spans: InMemorySpanExporter, measures: InMemoryMetricReader
) -> None:
    """Tokens with the cached ones inside, cost, step and times; a second look emits only what is new."""
    session = opened(clock=Now(5_000_000))
    session.say(SECRET)
    session.compile()
    session.answered(
        answer_message(SECRET), usage=USED, model="claude-sonnet-4-5", response_id="msg_1", stop_reason="end_turn",
        first_token_ms=250,
    )  # fmt: skip
    assert telemetry.follow(session) == 1
    assert telemetry.follow(session) == 0
    (span,) = spans.get_finished_spans()
    assert (span.name, span.kind) == ("chat claude-opus-4-8", SpanKind.CLIENT)
    found = attributes(span)
    assert found == {
        "gen_ai.provider.name": "anthropic",
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "claude-opus-4-8",
        "gen_ai.response.model": "claude-sonnet-4-5",
        "gen_ai.response.id": "msg_1",
        "gen_ai.response.finish_reasons": ("end_turn",),
        "gen_ai.response.time_to_first_chunk": 0.25,
        "gen_ai.conversation.id": "s",
        "gen_ai.usage.input_tokens": 1_100,
        "gen_ai.usage.output_tokens": 30,
        "gen_ai.usage.cache_read.input_tokens": 900,
        "gen_ai.usage.cache_creation.input_tokens": 100,
        "gen_ai.usage.reasoning.output_tokens": 10,
        "foreword.step": 1,
        "foreword.turn": 1,
        "foreword.call.kind": "call",
        "foreword.call.status": "ok",
        "foreword.cost.usd": 0.00059,
        "foreword.cache.phase": "warm",
        "foreword.price.tier": 0,
    }
    by_name = points(measures)
    tokens = {dict(p.attributes)["gen_ai.token.type"]: p.sum for p in by_name["gen_ai.client.token.usage"]}
    assert tokens == {"input": 1_100, "output": 30}
    assert by_name["foreword.client.cost"][0].sum == pytest.approx(0.00059)
    assert by_name["gen_ai.client.operation.time_to_first_chunk"][0].sum == 0.25
    assert SECRET not in span.to_json()


def test_a_failed_call_is_an_error_and_unknown_is_not_set(
    telemetry: Telemetry, spans: InMemorySpanExporter
) -> None:
    """Its type is the error's name; counts that nobody knows are left out, not 0."""
    session = opened(clock=Now(9_000_000))
    session.append(
        Draft(body=Called(model="m", why="Overloaded", total_ms=1_500, usage=NOTHING)),
        Draft(body=Called(model="m", status="cancelled")),
        Draft(body=Called(kind="embedding", status="ok", model="e", usage=USED)),
    )
    assert telemetry.follow(session) == 3
    failed, cancelled, embedded = spans.get_finished_spans()
    assert attributes(failed)["error.type"] == "Overloaded"
    assert failed.status.status_code is StatusCode.ERROR
    assert (failed.end_time, failed.start_time) == (9_000_000_000, 7_500_000_000)
    assert "gen_ai.usage.input_tokens" not in attributes(cancelled)
    assert attributes(cancelled)["error.type"] == "cancelled"
    assert embedded.name == "embeddings e"
    assert embedded.status.status_code is StatusCode.UNSET


def test_a_watched_session_reports_each_call_by_itself(
    telemetry: Telemetry, spans: InMemorySpanExporter, measures: InMemoryMetricReader
) -> None:
    """Asked over HTTP: a retry, the answer, a call that fails; what was there before is not emitted again."""
    busy = Failure(status=529)
    with referee(Answer(text=SECRET), busy, Answer(text=SECRET), *[busy] * 4) as running:
        session = asking()
        asked(session, running.base_url)
        telemetry.watch(session)
        session.say("And the second pipe?")
        asked(session, running.base_url)
        session.say("And the third?")
        with pytest.raises(Overloaded):
            asked(session, running.base_url)
    found = [attributes(span) for span in spans.get_finished_spans()]
    assert [(one["foreword.step"], one["foreword.call.status"]) for one in found] == [
        (2, "retried"), (2, "ok"), (3, "retried"), (3, "retried"), (3, "retried"), (3, "failed"),
    ]  # fmt: skip
    event = next(event.body for event in reversed(session.events) if isinstance(event.body, Answered))
    assert event.usage is not None
    assert found[1]["gen_ai.usage.input_tokens"] == event.usage.total_input
    assert found[-1]["error.type"] == "Overloaded"
    assert points(measures)["gen_ai.client.operation.time_to_first_chunk"][0].count == 1


def test_a_fork_of_a_watched_session_is_watched(telemetry: Telemetry, spans: InMemorySpanExporter) -> None:
    """Its own calls are emitted under its name, those that it shares are not emitted twice."""
    session = opened(clock=Now(5_000_000))
    telemetry.watch(session)
    session.say("Mend it.")
    session.compile()
    session.answered(answer_message("Done."), usage=USED, model="claude-sonnet-4-5")
    child = session.fork(len(session.events) - 1)
    child.say("And that.")
    child.compile()
    child.answered(answer_message("Done."), usage=USED, model="claude-sonnet-4-5")
    named = [attributes(span)["gen_ai.conversation.id"] for span in spans.get_finished_spans()]
    assert named == [session.id, child.id]


def test_answers_that_a_cut_list_repeats_are_not_emitted_again(
    telemetry: Telemetry, spans: InMemorySpanExporter
) -> None:
    """They were calls of the log before."""
    session = Session.open(None, "cut", target=target_of("openai-chat"), clock=Now(5_000_000))
    telemetry.watch(session)
    listed: list[dict[str, Any]] = [{"role": "user", "content": "begin"}]
    for step in range(4):
        session.sync(listed)
        said = {"role": "assistant", "content": f"answer {step}"}
        session.record({
            "id": f"r{step}", "object": "chat.completion", "created": 1, "model": "gpt-6.1-sol",
            "choices": [{"index": 0, "message": said, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105},
        })  # fmt: skip
        listed = [*listed, said, {"role": "user", "content": f"go on {step}"}][-3:]
    assert len(spans.get_finished_spans()) == 4


def test_the_names_are_those_of_the_conventions() -> None:
    """Every gen_ai name of the tables is one of the installed conventions."""
    known = {value for name, value in vars(gen_ai_attributes).items() if name.startswith("GEN_AI_")}
    metrics = {value for value in vars(gen_ai_metrics).values() if isinstance(value, str)}
    assert {name for name in ATTRIBUTES if name.startswith("gen_ai.")} <= known
    assert {name for name in METRICS if name.startswith("gen_ai.")} <= metrics
    others = {name.split(".")[0] for name in (*ATTRIBUTES, *METRICS)}
    assert others == {"gen_ai", "foreword", "error"}


def test_without_the_extra_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names what to install."""
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(MissingExtra, match=r"foreword\[otel\]"):
        Telemetry()
