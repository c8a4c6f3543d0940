"""Calls that a rewind left behind: their answers are no history, and they were paid all the same."""

from collections.abc import Iterator

from foreword.core.event import Answered, Called, Draft
from foreword.importers.imported import Flaw


def paid(draft: Draft) -> Draft:
    """Return the call alone of a draft of an answer; other drafts as they are."""
    body = draft.body
    if not isinstance(body, Answered):
        return draft
    status = "ok"
    if body.partial:
        status = "failed" if body.stop_reason == "error" else "cancelled"
    call = Called(
        status=status,
        model=body.model,
        response_id=body.response_id,
        call=body.call,
        usage=body.usage,
        recorded_cost_usd=body.recorded_cost_usd,
        terms=body.terms,
        compactions=body.compactions,
        doubts=body.doubts,
    )
    return Draft(body=call, at=draft.at, actor=draft.actor, origin=draft.origin, trust=draft.trust)


def told(calls: int, where: str) -> Iterator[Flaw]:
    """Say how many calls are billed beside the history; nothing of none."""
    if calls:
        text = f"{calls} model calls that were left behind or withdrawn were paid: they are billed, and not history"
        yield Flaw(code="left_behind", where=where, text=text)
