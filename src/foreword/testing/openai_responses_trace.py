"""Follow a Responses request back to what the server issued: reasoning, summaries, stored items."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from hashlib import blake2b

import msgspec

from foreword.testing import openai_responses_forms as forms
from foreword.testing.openai_responses_book import ResponsesBook, Sealed, names_of
from foreword.testing.openai_responses_request import Item, Lost, Placed, ResponsesRequest, Torn
from foreword.testing.prefix_cache import Unit
from foreword.testing.thinking_book import State, grown
from foreword.testing.wire import mapping, text_of

# Where the request's own items are; those that the server stored are in a response.
OWN = "input"
TokenCount = Callable[[list[str]], int]


def trace(
    request: ResponsesRequest, book: ResponsesBook, conversations: Container[str], *, accept_foreign: bool
) -> None:
    """Resolve what the request refers to, compare its sealed items, and lay it out for the cache.

    The prefix of a reasoning item is `instructions`, the tools, and every earlier item that is no reasoning.
    Reasoning whose prefix changed is left out without an error (rulebook R2); what the server itself stored
    is held to be unchanged.
    """
    _resolve(request, book, conversations, accept_foreign=accept_foreign)
    state = blake2b(b"".join(unit.digest for unit in request.opening[1:]), digest_size=16).digest()
    turn = _turn(request.context)
    lost: list[Lost] = []
    forged: list[Torn] = []
    for at, (path, item) in enumerate(request.context):
        if item.kind == "reasoning":
            sealed = book.find(item)
            if _is_forged(item, sealed, accept_foreign=accept_foreign):
                forged.append(_torn(path, item))
            own = path.startswith(OWN)
            reason = _reason(request, sealed if own else None, state, in_turn=at > turn)
            if reason:
                lost.append(Lost(at, path, item.id, reason))
            continue
        summary = book.summary(item.sealed) if item.kind == "compaction" else None
        if item.kind == "compaction" and summary is None and not accept_foreign:
            forged.append(_torn(path, item))
        state = resumed(summary.prefix) if summary else after(state, item)
    request.prefix = state
    request.lost = tuple(lost)
    request.forged = tuple(forged)
    request.alone = tuple(_alone(request.context, book))
    request.bare = tuple(_bare(request.context, book))
    request.units = tuple(_units(request, book))


def remember(
    book: ResponsesBook,
    request: ResponsesRequest,
    response: str,
    made: tuple[Item, ...],
    tokens: TokenCount,
    summary_tokens: int = 0,
) -> None:
    """Note the output of a response as issued after a request that was traced.

    `summary_tokens` is the size of a compaction item in it.
    """
    state, last = request.prefix, None
    model = text_of(request.body.get("model"))
    for at, item in enumerate(made):
        if item.kind == "reasoning":
            # What the server neither sealed nor keeps can't come back, so nothing asks for it.
            last = item if item.id and (item.sealed or request.stored) else None
            book.thought(
                Sealed(
                    id=item.id,
                    encrypted=item.sealed,
                    model=model,
                    prefix=state,
                    follower=names_of(made[at + 1]) if at + 1 < len(made) else (),
                    tokens=tokens([text_of(part.get("text")) for part in item.data.get("summary", ())]),
                    stored=request.stored,
                )
            )
            continue
        if item.kind == "compaction":
            book.summarise(item.sealed, state, summary_tokens)
            state = resumed(state)
            continue
        if last is not None:
            book.led_to(last, item)
        state = after(state, item)
    if request.stored:
        book.keep(response, request.context, made)


def after(state: State, item: Item) -> State:
    """Chain an item onto a prefix."""
    return grown(state, item.digest)


def resumed(prefix: State) -> State:
    """Return the prefix after a compaction item, whether or not what it stands for is still sent."""
    return grown(prefix, b"compaction")


def _resolve(
    request: ResponsesRequest, book: ResponsesBook, conversations: Container[str], *, accept_foreign: bool
) -> None:
    previous = request.body.get("previous_response_id")
    before = book.response(previous) if isinstance(previous, str) else ()
    conversation = request.body.get("conversation")
    named = conversation if isinstance(conversation, str) else text_of(mapping(conversation).get("id"))
    own = [Placed(f"{OWN}[{at}]", item) for at, item in enumerate(request.items)]
    found = [
        Placed(path, (book.stored(item.id) or item) if item.kind == "item_reference" else item)
        for path, item in own
    ]
    unknown = [_torn(path, item) for path, item in found if item.kind == "item_reference"]
    for path, item in own:
        if item.kind == "reasoning" and item.id and not item.sealed:
            sealed = book.find(item)
            if sealed is None or not sealed.stored:
                unknown.append(_torn(path, item))
    if accept_foreign:
        unknown = [torn for torn in unknown if torn.kind == "reasoning" and book.issued(torn.id)]
    request.unknown_previous = before is None
    request.unknown_conversation = bool(named) and named not in conversations
    request.unknown_items = tuple(unknown)
    request.context = (*(before or ()), *found)


def _turn(context: Sequence[Placed]) -> int:
    users = (at for at in range(len(context) - 1, -1, -1) if context[at].item.role == "user")
    return next(users, -1)


def _is_forged(item: Item, sealed: Sealed | None, *, accept_foreign: bool) -> bool:
    if not item.sealed:
        return False
    if sealed is None:
        return not accept_foreign
    return sealed.encrypted != item.sealed


def _reason(request: ResponsesRequest, sealed: Sealed | None, state: State, *, in_turn: bool) -> str | None:
    if request.reasoning.get("context") == "current_turn" and not in_turn:
        return "turn_boundary"
    if sealed is None:
        return None
    if sealed.model != request.body.get("model"):
        return "model_mismatch"
    return None if sealed.prefix == state else "prefix_mismatch"


def _alone(context: Sequence[Placed], book: ResponsesBook) -> Iterator[Torn]:
    """Yield the reasoning items that what they led to does not follow."""
    for at, (path, item) in enumerate(context):
        after = context[at + 1].item if at + 1 < len(context) else None
        if item.kind != "reasoning":
            continue
        sealed = book.find(item)
        if after is None or not _follows(after, sealed):
            yield _torn(path, item)


def _follows(item: Item, sealed: Sealed | None) -> bool:
    if item.kind not in forms.MADE and item.role != "assistant":
        return False
    if sealed is None or not sealed.follower:
        return True
    # A message may come back without its id, and is then only known as one of the assistant's.
    names = names_of(item)
    return any(name in sealed.follower for name in names) or (
        not names and sealed.follower[0].startswith("msg")
    )


def _bare(context: Sequence[Placed], book: ResponsesBook) -> Iterator[Torn]:
    """Yield the calls and messages whose reasoning is not sent before them."""
    sent: set[str] = set()
    for path, item in context:
        if item.kind == "reasoning":
            sealed = book.find(item)
            sent |= {item.id, sealed.id} if sealed else {item.id}
            continue
        needs = None if item.kind in forms.OUTPUTS else book.thought_before(item)
        if needs is not None and needs not in sent:
            yield Torn(path, item.kind, item.id or item.call, needs)


def _units(request: ResponsesRequest, book: ResponsesBook) -> Iterator[Unit]:
    """Lay out what the model reads: from the newest compaction item on, without lost reasoning."""
    yield from request.opening
    kinds = [item.kind for _, item in request.context]
    newest = len(kinds) - 1 - kinds[::-1].index("compaction") if "compaction" in kinds else 0
    lost = {place.at for place in request.lost}
    units: list[Unit] = []
    for at in range(newest, len(request.context)):
        if at not in lost:
            units += _sized(request.context[at].item, book)
    if request.body.get("truncation") == "auto":
        over = sum(unit.tokens for unit in (*request.opening, *units)) - request.input_limit
        while over > 0 and len(units) > 1:
            over -= units.pop(0).tokens
    implicit = mapping(request.body.get("prompt_cache_options")).get("mode") != "explicit"
    if units and implicit and units[-1].mark is None:
        units[-1] = msgspec.structs.replace(units[-1], mark="5m")
    yield from units


def _sized(item: Item, book: ResponsesBook) -> tuple[Unit, ...]:
    """Give a sealed item the size of what is inside."""
    inside = None
    if item.kind == "reasoning":
        inside = book.find(item)
    elif item.kind == "compaction":
        inside = book.summary(item.sealed)
    if inside is None:
        return item.units
    return tuple(msgspec.structs.replace(unit, tokens=inside.tokens) for unit in item.units)


def _torn(path: str, item: Item) -> Torn:
    return Torn(path, item.kind, item.id, "")
