"""Which reasoning may be sent: only to the model that gave it, under the prefix that it is bound to."""

from __future__ import annotations

from foreword.core.block import Thinking
from foreword.core.event import OWN_ORIGINS, Answered, RequestSent
from foreword.core.fold import Epoch
from foreword.core.item import Interaction, Item
from foreword.core.target import Target
from foreword.core.view import View


def keeps_reasoning(view: View, item: Interaction, target: Target, epoch: Epoch, base: bool) -> bool:
    """Whether the reasoning of this message may be sent: it was returned to us, by this model, on this wire,

    and, where the model binds it to its prefix, that prefix still stands (the same epoch). Plain words that no
    provider seals may be sent whatever request they answered: what was recorded first-hand on this wire is enough.
    A copy of an answer, by the ids of its items, stands without them and its reasoning.
    """
    event = view.fold.events[item.seq]
    body = event.body
    if not isinstance(body, Answered) or event.origin not in OWN_ORIGINS or item.seq in view.fold.copies:
        return False
    if body.request is None:
        plain = bool(target.codec.reasoning_member(target.params)) and not target.codec.reasoning_blocks
        return plain and item.message.wire == target.codec.wire and body.model in (None, target.params.model)
    sent = view.fold.events[body.request].body
    asked = (target.codec.wire, target.params.model)
    if not isinstance(sent, RequestSent) or (sent.wire, sent.model) != asked:
        return False
    if not target.binds_thinking:
        return True
    if base:
        return item.seq == epoch.body.block and _head_stood(view, body.request, epoch)
    return body.request > epoch.seq


def strips_reasoning(view: View, item: Item, target: Target, epoch: Epoch, base: bool) -> bool:
    """Whether calls of our own are shown without the reasoning that led to them."""
    return (
        isinstance(item, Interaction)
        and bool(item.calls)
        and view.fold.events[item.seq].origin in OWN_ORIGINS
        and any(isinstance(b, Thinking) and b.sealed for b in item.message.blocks)
        and not keeps_reasoning(view, item, target, epoch, base)
    )


def _head_stood(view: View, request: int, epoch: Epoch) -> bool:
    """Whether the base has the head of the request: what was answered behind a compaction block is bound to these."""
    asked = next(each for each in reversed(view.fold.epochs) if each.seq < request)
    return _head(asked) == _head(epoch)


def _head(epoch: Epoch) -> tuple[object, ...]:
    body = epoch.body
    return body.head, epoch.tools, epoch.instructions, body.findable, body.language
