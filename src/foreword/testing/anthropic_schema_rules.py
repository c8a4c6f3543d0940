"""Anthropic Messages: rules on the schemas of tools and answers.

The rulebook has none of them: the texts are those of public error reports from 2025-08 to 2026-09.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from foreword.testing.anthropic_request import AnthropicRequest
from foreword.testing.rule import Fault, Rule, fault
from foreword.testing.schema_nodes import is_type, nodes
from foreword.testing.wire import mapping

NOT_AT_THE_TOP = ("oneOf", "allOf", "anyOf")
PROPERTY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")


def _schema_top(request: AnthropicRequest) -> Iterator[Fault]:
    for index, tool in enumerate(request.tools):
        if any(name in mapping(tool.get("input_schema")) for name in NOT_AT_THE_TOP):
            yield fault(f"tools.{index}.custom.input_schema")


def _schema_keys(request: AnthropicRequest) -> Iterator[Fault]:
    for index, tool in enumerate(request.tools):
        names = mapping(mapping(tool.get("input_schema")).get("properties"))
        if not all(PROPERTY.fullmatch(name) for name in names):
            yield fault(f"tools.{index}.custom.input_schema.properties")


def _schema_open(request: AnthropicRequest) -> Iterator[Fault]:
    asked = mapping(mapping(request.body.get("output_config")).get("format")).get("schema")
    strict = [
        (f"tools.{index}.custom", tool.get("input_schema"))
        for index, tool in enumerate(request.tools)
        if tool.get("strict") is True
    ]
    for path, schema in (*strict, ("output_config.format.schema", asked)):
        found = (node for _, node in nodes(schema) if is_type(node, "object"))
        if any(node.get("additionalProperties") is not False for node in found):
            yield fault(path)


SCHEMA_RULES: tuple[Rule[AnthropicRequest], ...] = (
    Rule(
        code="schema_top",
        text="{path}: input_schema does not support oneOf, allOf, or anyOf at the top level",
        section="1.3",
        evidence="F",
        check=_schema_top,
    ),
    Rule(
        code="schema_keys",
        text="{path}: Property keys should match pattern '^[a-zA-Z0-9_.-]{{1,64}}$'",
        section="1.3",
        evidence="F",
        check=_schema_keys,
    ),
    Rule(
        code="schema_open",
        text="{path}: For 'object' type, 'additionalProperties' must be explicitly set to false",
        section="1.3",
        evidence="F",
        check=_schema_open,
    ),
)
