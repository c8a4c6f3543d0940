"""Describing: pictures told in words, once each, for a model that reads none.

The words are an event, so the same picture reads the same after a restart, and the cache's prefix stands.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from foreword.core.block import Image, pictures
from foreword.core.event import Described, Draft
from foreword.core.reference import blocks_of
from foreword.errors import DescribingFailed

if TYPE_CHECKING:
    from foreword.engine.session import Session

Describe = Callable[[Image], str]
"""Says what a picture shows; it may ask another model. What it raises is the cause of a `DescribingFailed`."""


def describe_pictures(session: Session, describe: Describe, since: int) -> None:
    """Append a description of each picture, in the events from seq ``since`` on, that has none yet.

    An erasure behind ``since`` may have taken one with it, so that all events are looked at again.
    Raises: DescribingFailed; what was described before stays.
    """
    since = 0 if session.view.fold.rebuild >= since else since
    for event in list(session.events[since:]):
        for image in pictures(blocks_of(event.body)) if event.body is not None else ():
            if image.digest not in session.view.fold.described:
                body = Described(picture=image.digest, text=_told(session, describe, image, event.seq))
                session.append(
                    Draft(body=body, actor="engine", origin="engine", trust="model", causes=(event.seq,))
                )


def _told(session: Session, describe: Describe, image: Image, seq: int) -> str:
    """Return the words; an error says no more of its cause than the type, as it may quote what was sent."""
    try:
        text: object = describe(image)
    except Exception as error:
        raise DescribingFailed(session.id, seq, f"`describe` raised {type(error).__name__}") from error
    if not isinstance(text, str):
        raise DescribingFailed(session.id, seq, f"`describe` gave {type(text).__name__}, no text")
    return text
