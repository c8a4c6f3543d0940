"""Anthropic Messages: rules on cache marks."""

from __future__ import annotations

from collections.abc import Iterator

from foreword.testing import anthropic_forms as forms
from foreword.testing.anthropic_request import AnthropicRequest
from foreword.testing.rule import Fault, Rule, fault
from foreword.testing.wire import mapping

MAX_MARKS = 4
TTLS = ("1h", "5m")


def _marks_many(request: AnthropicRequest) -> Iterator[Fault]:
    count = len(request.marks)
    if count > MAX_MARKS:
        yield fault("", count=count)


def _mark_place(request: AnthropicRequest) -> Iterator[Fault]:
    for mark in request.marks:
        if mark.kind in forms.UNMARKABLE:
            yield fault(f"{mark.path}.{mark.kind}.cache_control")


def _mark_empty(request: AnthropicRequest) -> Iterator[Fault]:
    for mark in request.marks:
        if mark.kind == "text" and mark.target.get("text") == "":
            yield fault(f"{mark.path}.cache_control".lstrip("."))


def _mark_form(request: AnthropicRequest) -> Iterator[Fault]:
    for mark in request.marks:
        value = mapping(mark.value)
        if value.get("type") != "ephemeral" or value.get("ttl", "5m") not in (*TTLS, None):
            yield fault(f"{mark.path}.cache_control".lstrip("."))


def _mark_order(request: AnthropicRequest) -> Iterator[Fault]:
    short = False
    for mark in request.marks:
        ttl = mapping(mark.value).get("ttl") or "5m"
        if short and ttl == "1h":
            yield fault(f"{mark.path}.cache_control.ttl".lstrip("."))
        short = short or ttl == "5m"


CACHE_RULES: tuple[Rule[AnthropicRequest], ...] = (
    Rule(
        code="marks_many",
        text="A maximum of 4 blocks with cache_control may be provided. Found {count}.",
        section="2.1",
        evidence="F",
        check=_marks_many,
    ),
    Rule(
        code="mark_place",
        text="{path}: Extra inputs are not permitted",
        section="1.2",
        evidence="T",
        check=_mark_place,
    ),
    Rule(
        code="mark_empty",
        text="{path}: cache_control cannot be set for empty text blocks",
        section="1.2",
        evidence="F",
        check=_mark_empty,
    ),
    Rule(
        code="mark_form",
        text="{path}: Input should be {{'type': 'ephemeral', 'ttl': '5m' or '1h'}}",
        section="2.1",
        evidence="T",
        check=_mark_form,
    ),
    Rule(
        code="mark_order",
        text="{path}: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block",
        section="2.1",
        evidence="I",
        check=_mark_order,
    ),
)
