"""A rule of a wire as a value: what is refused, with which words, and where that is written down."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic, Literal, NamedTuple, TypeVar

import msgspec

Asked = TypeVar("Asked")

FACT_LIMIT = 300


class Fault(NamedTuple):
    """One place where a request breaks a rule, with the facts that the rule's text quotes."""

    path: str
    facts: dict[str, object]


def fault(path: str, **facts: object) -> Fault:
    """Name a place and the facts for the provider's text."""
    return Fault(path, facts)


class Violation(msgspec.Struct, frozen=True, kw_only=True):
    """A broken rule, in the provider's own words.

    `status`, `error_type` and `error_code` are what the wire's error body carries; `path` is where.
    """

    code: str
    path: str
    text: str
    status: int = 400
    error_type: str = "invalid_request_error"
    error_code: str | None = None


class Rule(msgspec.Struct, Generic[Asked], frozen=True, kw_only=True):
    """One rule that the real API enforces.

    `text` is the provider's error with named fields; `section` is the section of the protocol rulebook
    (protocols.md) and `as_of` its date. `evidence` is the rulebook's tag: T SDK type, D documentation,
    F text seen in public code, L LiteLLM data, I inferred or widely known but not in a specification.
    `counting` is False for rules that a token-count call does not apply.
    """

    code: str
    text: str
    section: str
    evidence: Literal["T", "D", "F", "L", "I"]
    check: Callable[[Asked], Iterable[Fault]]
    as_of: str = "2026-11-30"
    status: int = 400
    error_type: str = "invalid_request_error"
    error_code: str | None = None
    counting: bool = True

    def violations(self, asked: Asked) -> list[Violation]:
        """Return every place where the request breaks this rule, in request order."""
        return [
            Violation(
                code=self.code,
                path=path,
                text=self.text.format(path=path, **{name: _clip(value) for name, value in facts.items()}),
                status=self.status,
                error_type=self.error_type,
                error_code=self.error_code,
            )
            for path, facts in self.check(asked)
        ]


def broken(rules: Iterable[Rule[Any]], asked: Any, *, counting: bool = False) -> tuple[Violation, ...]:
    """Judge a request by all rules; by those of a token-count call if `counting`."""
    return tuple(
        violation for rule in rules if rule.counting or not counting for violation in rule.violations(asked)
    )


def _clip(value: object) -> str:
    text = str(value)
    return text if len(text) <= FACT_LIMIT else text[:FACT_LIMIT] + "..."
