"""The one exception tree.

Every error that Foreword raises on purpose derives from `ForewordError` and carries its facts as fields.
The text says the fact, the actual value against its limit, where it happened, and the next move.
Errors of other libraries are translated where they enter, never passed through.
This module imports nothing, so that every layer can raise from it.

    ForewordError
    ├ InvalidText · InvalidNumber · InvalidValue
    ├ InvalidCall        InvalidArgument
    ├ MissingExtra
    ├ CatalogError       UnknownModel · WireMismatch
    ├ LogError           LogCorrupt · AppendConflict · UnknownEvent · UnknownSession · Gone · NotErasable
    ├ CompileError       OverBudget · EmptyRequest · StringTooLong · InvariantBroken · SpendLimitReached
    │                    SpendUnknown · DescribingFailed
    ├ CodecError         UnknownWire · MalformedRequest · MalformedResponse
    ├ ImportFailed
    ├ StoreError         StoreUnavailable · ArtifactMissing · UnknownReference · ErasureIncomplete
    ├ EndpointError
    ├ SettingsError
    └ ProviderError      ContextOverflow · RateLimited · Overloaded · Rejected · AuthFailed · ConnectionFailed
"""


class ForewordError(Exception):
    """Report a condition that a caller may handle; the root of the tree."""


class InvalidText(ForewordError):
    """Text that UTF-8 can't hold: a lone surrogate at code point ``position``."""

    def __init__(self, text: str, position: int) -> None:
        self.position = position
        self.code_point = f"U+{ord(text[position]):04X}"
        super().__init__(
            f"lone surrogate {self.code_point} at character {position} of {len(text)}: no wire and no tokenizer "
            f"takes it; replace it (text.encode('utf-16', 'surrogatepass').decode('utf-16', 'replace'))"
        )


class InvalidNumber(ForewordError):
    """A number that JSON can't hold: ``value`` is NaN or an infinity."""

    def __init__(self, value: float) -> None:
        self.value = value
        super().__init__(
            f"{value} is no JSON number: no log and no wire can hold it; give null or a string in its place"
        )


class InvalidValue(ForewordError):
    """A value that its field can't hold, or that no service takes; nothing was recorded.

    ``kind``: of the event. ``field``: the place in it, such as ``result.content[0].text``; "": none in particular.
    ``move``: what to give in its place.
    """

    def __init__(self, kind: str, field: str, fault: str, move: str) -> None:
        self.kind, self.field, self.fault, self.move = kind, field, fault, move
        where = f"{kind}: {field}" if field else kind
        super().__init__(f"{where}: {fault}; nothing was recorded; {move}")


class InvalidCall(ForewordError):
    """``where``, a function or class of ours, can't be called so; nothing was changed."""

    def __init__(self, where: str, fault: str, move: str) -> None:
        self.where, self.fault, self.move = where, fault, move
        super().__init__(f"{where}: {fault}; {move}")


class InvalidArgument(InvalidCall):
    """An argument or field that ``where`` does not take; ``value``: as given, ``takes``: what it takes."""

    def __init__(self, where: str, name: str, value: object, takes: str) -> None:
        self.name, self.value, self.takes = name, value, takes
        super().__init__(where, f"{name} is {_shown(value)}", f"give {takes}")


def _shown(value: object) -> str:
    """Return a value on at most 80 characters; of what can't be written down, the type."""
    try:
        shown = repr(value[:80] if isinstance(value, str | bytes) else value)
    except Exception:  # noqa: BLE001 - a `__repr__` of the caller's, or an integer too long to write
        shown = f"a value of type {type(value).__name__}"
    return shown if len(shown) <= 80 else f"{shown[:77]}..."


class MissingExtra(ForewordError):
    """A feature needs an optional dependency that isn't installed."""

    def __init__(self, feature: str, extra: str) -> None:
        self.feature, self.extra = feature, extra
        super().__init__(f"{feature} needs an optional dependency: pip install 'foreword[{extra}]'")


class CatalogError(ForewordError):
    """The model catalog can't answer."""


class UnknownModel(CatalogError):
    """No row and no alias of the catalog has this name; ``close``: names that look like it."""

    def __init__(self, name: str, close: tuple[str, ...] = ()) -> None:
        self.name, self.close = name, close
        hint = f"; close names: {', '.join(close)}" if close else ""
        super().__init__(
            f"unknown model {name!r}: not in the catalog{hint}; `foreword models` lists them; describe one of your own "
            f"in a file: --catalog FILE, in Python target_for(..., catalog=load_catalog(FILE))"
        )


class WireMismatch(CatalogError):
    """The model is not served on this wire: its rows in the catalog and the endpoint's profile say ``wires``."""

    def __init__(self, model: str, wire: str, wires: tuple[str, ...], endpoint: str | None = None) -> None:
        self.model, self.wire, self.wires, self.endpoint = model, wire, wires, endpoint
        where = f" at {endpoint}" if endpoint is not None else ""
        super().__init__(
            f"model {model!r} is not served on the wire {wire}{where}: it speaks {', '.join(wires)}; name one of "
            f"these as the provider, or the endpoint of a gateway that serves it so"
        )


class LogError(ForewordError):
    """The log can't do what was asked."""


class LogCorrupt(LogError):
    """The stored chain doesn't re-derive at ``seq`` of ``session``."""

    def __init__(self, session: str, seq: int, fault: str) -> None:
        self.session, self.seq, self.fault = session, seq, fault
        super().__init__(
            f"log of session {session} is damaged at event {seq}: {fault}; run `foreword verify`"
        )


class AppendConflict(LogError):
    """Another writer appended first; ``expected`` and ``actual`` are the next free seqs."""

    def __init__(self, session: str, expected: int, actual: int) -> None:
        self.session, self.expected, self.actual = session, expected, actual
        super().__init__(
            f"session {session} grew meanwhile: this writer expected event {expected} to be free, next is "
            f"{actual}; re-read the session and append again"
        )


class UnknownEvent(LogError):
    """The session has no event ``seq``."""

    def __init__(self, session: str, seq: int, size: int) -> None:
        self.session, self.seq, self.size = session, seq, size
        held = f"events 0 to {size - 1}; name one of these" if size else "none yet; append something first"
        super().__init__(f"session {session} has no event {seq}: it holds {held}")


class UnknownSession(LogError):
    """No session of the store has this id, alias or unique prefix."""

    def __init__(self, name: str, store: str, close: tuple[str, ...] = ()) -> None:
        self.name, self.store, self.close = name, store, close
        hint = f"; close: {', '.join(close)}" if close else "; `foreword sessions` lists those there"
        super().__init__(f"no session {name!r} in {store}{hint}")


class Gone(LogError):
    """The payload of an event was erased, and why."""

    def __init__(self, ref: str, reason: str) -> None:
        self.ref, self.reason = ref, reason
        super().__init__(f"{ref} is gone: {reason}")


class NotErasable(LogError):
    """Event ``seq`` is part of the log's structure and holds nothing that was said."""

    def __init__(self, session: str, seq: int, kind: str) -> None:
        self.session, self.seq, self.kind = session, seq, kind
        super().__init__(
            f"event {seq} of session {session} is {kind}: it holds no content, so it can't be erased"
        )


class CompileError(ForewordError):
    """No request can be made."""


class EmptyRequest(CompileError):
    """Nothing was said yet, or a synced list holds no message, so there is nothing to ask."""

    def __init__(self, session: str) -> None:
        self.session = session
        super().__init__(f"session {session} holds no message to send: append what the user said first")


class OverBudget(CompileError):
    """What must be sent doesn't fit.

    ``required``: (name, events, tokens) of each required item. ``needed`` and ``limit`` in the model's tokens
    (counter times calibration, unseen prefix and output reserve included in ``needed`` and ``window``).
    """

    def __init__(
        self,
        required: tuple[tuple[str, tuple[int, ...], int], ...],
        *,
        needed: int,
        window: int,
        reserve_output: int,
        unseen: int,
        smallest_window: int,
    ) -> None:
        self.required = required
        self.needed = needed
        self.window = window
        self.reserve_output = reserve_output
        self.unseen = unseen
        self.smallest_window = smallest_window
        largest = ", ".join(
            f"{name} ({tokens:,})" for name, _, tokens in sorted(required, key=lambda r: -r[2])[:4]
        )
        super().__init__(
            f"required content needs {needed:,} tokens, the window is {window:,} with {reserve_output:,} reserved "
            f"for output and {unseen:,} for the unseen prefix; largest: {largest}; the smallest window that would "
            f"do with this reserve is {smallest_window:,}"
        )


class StringTooLong(CompileError):
    """A string that may not be cut is longer than the server takes; the request was not handed out.

    ``length`` and ``limit`` in characters. ``path``: where in the request. ``events``: those it may come from.
    """

    def __init__(self, session: str, path: str, length: int, limit: int, events: tuple[int, ...]) -> None:
        self.session = session
        self.path = path
        self.length = length
        self.limit = limit
        self.events = events
        where = f" (events {', '.join(map(str, events))})" if events else ""
        super().__init__(
            f"session {session}: {path} of the request{where} has {length:,} characters, the server takes {limit:,}; "
            f"shorten it, or revoke or erase what holds it"
        )


class InvariantBroken(CompileError):
    """A request would break a rule of its wire or of ours; it was not handed out. This is a fault of Foreword."""

    def __init__(self, session: str, rule: str, events: tuple[int, ...], fault: str) -> None:
        self.session, self.rule, self.events, self.fault = session, rule, events, fault
        where = f" (events {', '.join(map(str, events))})" if events else ""
        super().__init__(
            f"session {session}: the request breaks {rule}{where}: {fault}; it was not sent; please report it"
        )


class SpendLimitReached(CompileError):
    """The next call would pass a hard limit; nothing was sent.

    ``scope``: ``call``, ``session``, ``user`` or ``day``, of ``name`` (a session's id, a user, a date).
    ``limit``, ``spent`` so far and ``predicted`` for this call: decimal strings of US dollars.
    """

    def __init__(self, scope: str, name: str, *, limit: str, spent: str, predicted: str) -> None:
        self.scope = scope
        self.name = name
        self.limit = limit
        self.spent = spent
        self.predicted = predicted
        super().__init__(
            f"spend limit of {limit} USD for {scope} {name}: {spent} USD are spent and the next call would cost "
            f"about {predicted} USD; it was not sent; raise the limit, compile a smaller request or use a cheaper model"
        )


class SpendUnknown(CompileError):
    """A hard limit can't be kept, since the price of ``model`` (of this call, or of one that counts) isn't known.

    ``unknown``: what of it.
    """

    def __init__(self, scope: str, model: str, unknown: tuple[str, ...]) -> None:
        self.scope = scope
        self.model = model
        self.unknown = unknown
        super().__init__(
            f"spend limit for {scope}: what a call to {model} costs is unknown ({', '.join(unknown)}); the "
            f"request was not sent; give the model's prices, or set no hard limit"
        )


class DescribingFailed(CompileError):
    """A session's ``describe`` raised, or gave no text, for a picture of event ``seq``; what it raised is the cause."""

    def __init__(self, session: str, seq: int, fault: str) -> None:
        self.session, self.seq, self.fault = session, seq, fault
        super().__init__(
            f"session {session}: a picture of event {seq} was not described: {fault}; nothing was sent; mend "
            f"`describe` and compile again, or set it to None, and a note stands for the picture"
        )


class CodecError(ForewordError):
    """A wire's bytes can't be read or written."""


class UnknownWire(CodecError):
    """No codec has this name; ``known``: the wires there are, ``close``: those of the endpoint that it names."""

    def __init__(self, wire: str, known: tuple[str, ...], close: tuple[str, ...] = ()) -> None:
        self.wire, self.known, self.close = wire, known, close
        hint = f"{wire} is an endpoint, asked in {' or '.join(close)}; " if close else ""
        super().__init__(
            f"unknown wire {wire!r}: {hint}a provider is named by its wire: there are {', '.join(known)}; name one of "
            f"these"
        )


class MalformedRequest(CodecError):
    """A request or message list isn't of its wire's form; ``path`` names the place."""

    def __init__(self, wire: str, path: str, fault: str) -> None:
        self.wire, self.path, self.fault = wire, path, fault
        super().__init__(f"{wire} request: {path}: {fault}")


class MalformedResponse(CodecError):
    """A provider's response isn't of its wire's form; ``path`` names the place."""

    def __init__(self, wire: str, path: str, fault: str) -> None:
        self.wire, self.path, self.fault = wire, path, fault
        super().__init__(
            f"{wire} response: {path}: {fault}; give the whole response as the SDK or the endpoint gave it"
        )


class ImportFailed(ForewordError):
    """A file can't be imported at all; nothing was written."""

    def __init__(self, source: str, fault: str, move: str) -> None:
        self.source, self.fault, self.move = source, fault, move
        super().__init__(f"{source}: {fault}; {move}")


class StoreError(ForewordError):
    """The store can't do what was asked."""


class StoreUnavailable(StoreError):
    """The store can't be opened or written; ``fault`` is the operating system's or SQLite's word."""

    def __init__(self, place: str, fault: str, move: str) -> None:
        self.place, self.fault, self.move = place, fault, move
        super().__init__(f"store {place}: {fault}; {move}")


class ArtifactMissing(StoreError):
    """An event names an artifact that the store doesn't hold."""

    def __init__(self, address: str, place: str) -> None:
        self.address, self.place = address, place
        super().__init__(f"artifact {address} is missing in {place}; run `foreword verify`")


class UnknownReference(StoreError):
    """A reference that names nothing in this store, or isn't one. ``move``: what to name instead."""

    def __init__(self, ref: str, fault: str, move: str) -> None:
        self.ref, self.fault, self.move = ref, fault, move
        super().__init__(f"reference {ref!r}: {fault}; {move}")


class ErasureIncomplete(StoreError):
    """The log says erased, but a reader of an older state keeps old pages in the write-ahead log."""

    def __init__(self, place: str, targets: tuple[int, ...]) -> None:
        self.place = place
        self.targets = targets
        super().__init__(
            f"events {', '.join(map(str, targets))} are erased, but another connection still reads an older state "
            f"of {place}, so its file keeps their bytes; close it and open the store again, which finishes the work"
        )


class EndpointError(ForewordError):
    """An endpoint can't be used as it is described; ``name`` is its profile or address."""

    def __init__(self, name: str, fault: str, move: str) -> None:
        self.name, self.fault, self.move = name, fault, move
        super().__init__(f"endpoint {name}: {fault}; {move}")


class SettingsError(ForewordError):
    """The settings file can't be used."""

    def __init__(self, place: str, fault: str, move: str) -> None:
        self.place, self.fault, self.move = place, fault, move
        super().__init__(f"settings {place}: {fault}; {move}")


class ProviderError(ForewordError):
    """An endpoint did not answer a request; no field holds the key, the request or the raw answer.

    ``endpoint``: its name and address. ``status``: of HTTP, None when there was none. ``said``: the provider's own
    words, cleaned and short; "" when it gave none. ``request_id``: the provider's, for its support. ``retry_after``:
    seconds it asks to wait. ``attempts``: requests made in all; ``lost``: of those before the last, how many may have
    been billed.
    """

    fact = "failed"
    move = "see what the provider says"

    def __init__(
        self,
        endpoint: str,
        *,
        said: str = "",
        status: int | None = None,
        request_id: str | None = None,
        retry_after: float | None = None,
        attempts: int = 1,
        tokens: int | None = None,
        limit: int | None = None,
    ) -> None:
        self.endpoint = endpoint
        self.said = said
        self.status = status
        self.request_id = request_id
        self.retry_after = retry_after
        self.attempts = attempts
        self.lost = 0
        self.tokens = tokens
        self.limit = limit
        where = f" (status {status})" if status is not None else ""
        words = f": {said}" if said else ""
        wait = f"; it asks to wait {retry_after:g} s" if retry_after is not None else ""
        tries = f"; {attempts} attempts" if attempts > 1 else ""
        support = f"; request id {request_id}" if request_id else ""
        super().__init__(f"{endpoint} {self._fact()}{where}{words}{wait}{tries}{support}; {self.move}")

    def _fact(self) -> str:
        return self.fact


class ContextOverflow(ProviderError):
    """The prompt is longer than the endpoint takes. ``tokens`` and ``limit`` as it says them; None: it didn't."""

    move = "compile for a smaller window"

    def _fact(self) -> str:
        sizes = f" ({self.tokens:,} tokens)" if self.tokens is not None else ""
        limit = f" of {self.limit:,}" if self.limit is not None else ""
        return f"refused a prompt{sizes} over its window{limit}"


class RateLimited(ProviderError):
    """Too many requests or tokens for now."""

    fact = "limits the rate"
    move = "send again later"


class Overloaded(ProviderError):
    """The provider is busy or out of order for now."""

    fact = "is overloaded or out of order"
    move = "send again later"


class Rejected(ProviderError):
    """The request is not accepted as it is; sending it again would not help."""

    fact = "rejected the request"
    move = "mend the request or the endpoint's settings"


class AuthFailed(ProviderError):
    """The key is missing, wrong, without the right, or without credit."""

    fact = "refused the key"
    move = "check the key's environment variable, its rights and its credit"


class ConnectionFailed(ProviderError):
    """No connection, or one that broke or fell silent; ``said`` tells which. ``status``: an answer had begun.

    ``unsent``: no connection came about, so that no byte of the request left and nothing can be billed.
    """

    unsent: bool = False
    move = "check the address and the network, then send again"

    def _fact(self) -> str:
        return "could not be reached" if self.status is None else "broke its answer off"
