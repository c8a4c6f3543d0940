"""A fake server of one wire, without the network: it judges every request and answers from a script."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar

import msgspec

from foreword.testing.facts import ModelFacts
from foreword.testing.measure import TokenMeter
from foreword.testing.rule import Rule, Violation, broken
from foreword.testing.script import Answer, Failure, Scripted, ScriptExhausted
from foreword.testing.sse import Pieces, Sending, frame, sending
from foreword.testing.wire import UNREADABLE

Asked = TypeVar("Asked")

STREAM_ERROR = Violation(
    code="scripted",
    path="",
    text="scripted failure in the middle of the stream",
    status=500,
    error_type="api_error",
)
ERROR_TYPES: Mapping[int, str] = {
    400: "invalid_request_error",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What a server says of a request.

    `status` is 200 or the refusal's; `violations` are in the order of the rules, the first one in the error.
    `usage_body` is the input side of the wire's usage object, {} when refused. `input_tokens` counts the
    whole prompt in the server's measure, cached or not; 0 when the body could not be read. `error_body` is
    None when accepted. `dropped`: paths of thinking that the server leaves out, `drop_reasons` the wire's
    word for each (only where the wire gives one).
    """

    status: int
    violations: tuple[Violation, ...] = ()
    usage_body: dict[str, Any] = {}
    input_tokens: int = 0
    error_body: dict[str, Any] | None = None
    dropped: tuple[str, ...] = ()
    drop_reasons: tuple[str, ...] = ()


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """An HTTP answer: status, JSON body, and headers beside the usual ones.

    `sending` is set when the request asked for a stream: then it goes out instead of `body`.
    """

    status: int
    body: dict[str, Any]
    headers: dict[str, str] = {}
    sending: Sending | None = None


class Referee(ABC, Generic[Asked]):
    """What the referees of all wires do alike. Safe to use from several threads."""

    def __init__(
        self, *, facts: ModelFacts, seed: int, script: Iterable[Scripted], rules: tuple[Rule[Asked], ...]
    ) -> None:
        self.facts = facts
        self.meter = TokenMeter(seed)
        self.rules = rules
        self.served = 0
        self._seed = seed
        self._script = iter(script)
        self._next = next(self._script, None)
        self._lock = threading.Lock()

    def judge(self, body: bytes, headers: Mapping[str, str] | None = None) -> Verdict:
        """Judge a request by every rule; one that is legal counts as sent, so later ones may read its prefix.

        `headers` None: rules that look at betas are not applied, and the newest version is assumed.
        """
        with self._lock:
            return self._judged(body, headers)[0]

    def respond(self, body: bytes, headers: Mapping[str, str] | None = None) -> tuple[int, dict[str, Any]]:
        """Judge a request and answer it: the refusal, or the script's next answer in full wire form.

        Raises `ScriptExhausted` when the request is legal and the script has no more answers.
        """
        reply = self.reply(body, headers)
        return reply.status, reply.body

    def reply(
        self, body: bytes, headers: Mapping[str, str] | None = None, *, stream: bool | None = None
    ) -> Reply:
        """Answer like `respond`, with the headers of a scripted failure and the events of a stream.

        `stream` None: the body says whether it wants one.
        """
        with self._lock:
            if isinstance(self._next, Failure):
                # A server that is down or busy judges nothing.
                failure, self._next = self._next, next(self._script, None)
                return self._failed(failure)
            verdict, asked = self._judged(body, headers)
            if asked is None:
                return Reply(status=verdict.status, body=verdict.error_body or {})
            scripted = self._taken()
            said = scripted if isinstance(scripted, Answer | Failure) else scripted(self._parsed(asked))
            if isinstance(said, Failure):
                return self._failed(said)
            self.served += 1
            answer = self._answer(asked, said, verdict)
            if not (self._parsed(asked).get("stream") is True if stream is None else stream):
                return Reply(status=200, body=answer)
            frames = self._frames(asked, answer, Pieces(said.stream.seed))
            return Reply(status=200, body=answer, sending=sending(frames, self._error_frame(), said.stream))

    def _counted(
        self, body: bytes, headers: Mapping[str, str] | None, counted: Callable[[int], dict[str, Any]]
    ) -> tuple[int, dict[str, Any]]:
        with self._lock:
            try:
                asked = self._read(body, headers)
            except UNREADABLE as error:
                return 400, self._error(unreadable(error))
            violations = broken(self.rules, asked, counting=True)
            if violations:
                return violations[0].status, self._error(violations[0])
            return 200, counted(self._size(asked))

    def _judged(self, body: bytes, headers: Mapping[str, str] | None) -> tuple[Verdict, Asked | None]:
        try:
            asked = self._read(body, headers)
        except UNREADABLE as error:
            return self._refused((unreadable(error),), 0), None
        violations = broken(self.rules, asked)
        if violations:
            return self._refused(violations, self._size(asked)), None
        return self._accepted(asked), asked

    def _refused(self, violations: tuple[Violation, ...], tokens: int) -> Verdict:
        first = violations[0]
        return Verdict(
            status=first.status,
            violations=violations,
            input_tokens=tokens,
            error_body=self._error(first),
        )

    def _failed(self, failure: Failure) -> Reply:
        kind = ERROR_TYPES.get(failure.status, "api_error")
        violation = Violation(
            code="scripted", path="", text=failure.text, status=failure.status, error_type=kind
        )
        headers = {} if failure.retry_after is None else {"retry-after": str(failure.retry_after)}
        if not failure.retry:
            headers["x-should-retry"] = "false"
        return Reply(status=failure.status, body=self._error(violation), headers=headers)

    def _taken(self) -> Scripted:
        taken, self._next = self._next, None
        if taken is None:
            raise ScriptExhausted(self.served)
        self._next = next(self._script, None)
        return taken

    @abstractmethod
    def _read(self, body: bytes, headers: Mapping[str, str] | None) -> Asked:
        """Read a request; raises `UNREADABLE`."""

    @abstractmethod
    def _size(self, asked: Asked) -> int:
        """Input tokens of a request."""

    @abstractmethod
    def _parsed(self, asked: Asked) -> dict[str, Any]:
        """The request as plain JSON values, for a scripted callable."""

    @abstractmethod
    def _accepted(self, asked: Asked) -> Verdict:
        """Note a legal request and report its usage."""

    @abstractmethod
    def _error(self, violation: Violation) -> dict[str, Any]:
        """The wire's error body."""

    @abstractmethod
    def _answer(self, asked: Asked, said: Answer, verdict: Verdict) -> dict[str, Any]:
        """The wire's answer body."""

    @abstractmethod
    def _frames(self, asked: Asked, answer: dict[str, Any], pieces: Pieces) -> Iterator[bytes]:
        """The wire's events for an answer body."""

    def _error_frame(self) -> bytes:
        """The wire's event for an error in the middle of a stream."""
        return frame(self._error(STREAM_ERROR))


def unreadable(error: Exception) -> Violation:
    """Refuse a body that could not be read: no rule of a table, since there is nothing to judge."""
    return Violation(code="unreadable", path="", text=f"The request body is not valid JSON: {error}")
