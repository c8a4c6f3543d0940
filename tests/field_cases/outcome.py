"""What came of a case's operation; every check reads this and nothing else."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import foreword
from foreword.core.event import Event
from foreword.engine.session import Session
from foreword.testing.referee import Referee
from tests.field_cases.cases import Unsupported
from tests.field_cases.request import Request

PRODUCT = str(Path(foreword.__file__).parent)


class ProductFailed(Exception):
    """The product, or a process of it, did what no right one does; the text says what."""


def is_products(error: BaseException) -> bool:
    """Whether an exception came out of the product, and not of this driver's reading of a case."""
    frames = traceback.extract_tb(error.__traceback__)
    return isinstance(error, ProductFailed) or any(frame.filename.startswith(PRODUCT) for frame in frames)


def failure_of(process: bytes) -> Exception:
    """Return what a process ended with, from what it wrote as its last."""
    told = process.decode(errors="replace").strip()
    return (ProductFailed if PRODUCT in told else RuntimeError)(told.rpartition("\n")[2])


class CheckFailed(Exception):
    """A check does not hold: what was expected, what was found."""

    def __init__(self, expected: object, got: object) -> None:
        self.expected = expected
        self.got = got
        super().__init__(f"expected {_short(expected)}, got {_short(got)}")


def _short(value: object) -> str:
    text = value if isinstance(value, str) else repr(value)
    flat = " ".join(text.split())
    return flat if len(flat) <= 200 else f"{flat[:160]}… ({len(flat)} characters)"


@dataclass
class Warned:
    """A warning of the product under its neutral label."""

    code: str
    numbers: dict[str, Any] = field(default_factory=dict[str, Any])
    where: str = ""


@dataclass
class Outcome:
    """The result of an operation. What an operation does not give stays empty or None.

    ``outputs``: requests in order; ``named``: further ones by name. ``referees``: the judge of each output, which
    saw the session's earlier requests. ``before``: events as they stood before the compile under test.
    ``values``: results that are no request, for paths. ``again``: compiles the same record again.
    ``given``: the input of the case.
    """

    outputs: list[Request] = field(default_factory=list[Request])
    named: dict[str, Request] = field(default_factory=dict[str, Request])
    referees: list[Referee[Any]] = field(default_factory=list[Referee[Any]])
    session: Session | None = None
    before: list[Event] = field(default_factory=list[Event])
    values: dict[str, Any] = field(default_factory=dict[str, Any])
    warnings: list[Warned] = field(default_factory=list[Warned])
    model_calls: int = 0
    statuses: dict[str, str] = field(default_factory=dict[str, str])
    error: BaseException | None = None
    again: Callable[[], Request] | None = None
    given: dict[str, Any] = field(default_factory=dict[str, Any])

    def chosen(self, args: dict[str, Any]) -> list[Request]:
        """Return the requests that a check names; the last one when it names none."""
        names = args.get("outputs")
        if names is None:
            one = args.get("output", args.get("request"))
            names = [one] if one is not None else [-1]
        return [self._one(name) for name in names]

    def all(self, args: dict[str, Any]) -> list[Request]:
        """Return the requests that a check over several names; all when it names none."""
        if any(name in args for name in ("outputs", "output", "request")):
            return self.chosen(args)
        if not self.outputs:
            raise self._none("a request")
        return self.outputs

    def referee(self, request: Request) -> Referee[Any]:
        return self.referees[self.outputs.index(request) if request in self.outputs else -1]

    def _one(self, name: int | str) -> Request:
        if name == "request":
            name = -1
        if isinstance(name, str):
            if name not in self.named:
                raise Unsupported(f"output {name}")
            return self.named[name]
        if not -len(self.outputs) <= name < len(self.outputs):
            raise self._none(f"output {name}")
        return self.outputs[name]

    def _none(self, wanted: str) -> Exception:
        """Return what a check says of a request that is not there: some operations give none."""
        if self.outputs or self.error is not None or self.session is not None:
            return CheckFailed(wanted, self._why())
        return Unsupported("a request of this operation")

    def _why(self) -> str:
        return f"{type(self.error).__name__}: {self.error}" if self.error else f"{len(self.outputs)} outputs"

    @property
    def record(self) -> list[Event]:
        """The events of the session. Raises CheckFailed when the product failed to make one, else Unsupported."""
        if self.session is None and self.error is None:
            raise Unsupported("the record of this operation")
        if self.session is None:
            raise CheckFailed("a session", self._why())
        return list(self.session.events)
