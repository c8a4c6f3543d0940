"""Opening: what a session is opened with, checked where it is given and held against what its log keeps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os import PathLike

from foreword.core.canonical import utf8
from foreword.core.event import Answered, Called, Event, SessionOpened
from foreword.core.target import Target
from foreword.engine.target import target_for
from foreword.errors import InvalidArgument, StoreUnavailable

_OPEN = "Session.open"


def check_place(store: object, name: object) -> None:
    """Raise StoreUnavailable for a mere place, InvalidArgument or InvalidText for what is no name."""
    if isinstance(store, str | PathLike):
        raise StoreUnavailable(str(store), "this is a place, no open store", "give Store.open(place)")
    if not isinstance(name, str) or not name:
        raise InvalidArgument(_OPEN, "name", name, "a text, the session's id")
    utf8(name)


def named_target(provider: str | None, model: str | None) -> Target | None:
    """Return the target that both names make; None without any. Raises: InvalidArgument for one alone."""
    if provider is None and model is None:
        return None
    for name, value in (("provider", provider), ("model", model)):
        if value is None:
            raise InvalidArgument(_OPEN, name, value, "both a provider and a model, or neither")
    return target_for(str(provider), str(model))


def last_user(events: Sequence[Event]) -> str | None:
    """Return whom the newest call was made for, or the session begun for; None: nobody is named."""
    counted = (
        event for event in reversed(events) if isinstance(event.body, SessionOpened | Answered | Called)
    )
    return next((event.subject for event in counted if event.subject is not None), None)


def check_project(openings: Iterable[SessionOpened], project: str | None) -> None:
    """Raise InvalidArgument for another project than the recorded one; None is none."""
    recorded = next((body.project for body in reversed([*openings]) if body.project is not None), None)
    if project is not None and project != recorded:
        takes = f"{recorded!r}, with which the session was begun, or begin another session"
        raise InvalidArgument(_OPEN, "project", project, takes)
