"""Describing: pictures told in words, once each, for a model that reads none.

The words are an event, so the same picture reads the same after a restart, and the cache's prefix stands.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from foreword.core.block import Image, pictures
from foreword.core.event import Described, Draft
from foreword.core.reference import blocks_of

if TYPE_CHECKING:
    from foreword.engine.session import Session

Describe = Callable[[Image], str]
"""Says what a picture shows; it may ask another model. What it raises goes to whoever asked for the request."""


def describe_pictures(session: Session, describe: Describe, since: int) -> None:
    """Append a description of each picture, in the events from seq ``since`` on, that has none yet.

    An erasure behind ``since`` may have taken one with it, so that all events are looked at again.
    """
    since = 0 if session.view.fold.rebuild >= since else since
    for event in list(session.events[since:]):
        for image in pictures(blocks_of(event.body)) if event.body is not None else ():
            if image.digest not in session.view.fold.described:
                body = Described(picture=image.digest, text=describe(image))
                session.append(
                    Draft(body=body, actor="engine", origin="engine", trust="model", causes=(event.seq,))
                )
