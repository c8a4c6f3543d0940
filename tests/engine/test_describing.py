"""Pictures told in words: what a caller's describer does wrong is told as an error of ours."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from foreword.core.block import Image, Message, Text
from foreword.core.event import Described, Draft, Said
from foreword.engine.session import Session
from foreword.errors import CompileError, DescribingFailed
from tests.engine.sessions import session
from tests.histories import target_of

PICTURES = tuple(Image(media_type="image/png", data=data) for data in ("AAAA", "AAAB"))


def shown() -> tuple[Session, int]:
    """Return a session of a model that reads no pictures, in which a person showed two, and that event's seq."""
    known = target_of("openai-chat")
    made = session(replace(known, spec=replace(known.spec, vision=False)))
    message = Message(role="user", blocks=(Text(text="Which valve?"), *PICTURES))
    return made, made.append(Draft(body=Said(message=message, person=True), trust="person", actor="user"))


def described(made: Session) -> list[str]:
    return [event.body.text for event in made.events if isinstance(event.body, Described)]


def test_what_a_describer_raises_is_the_cause() -> None:
    """The error names the picture's event and not what was said; compiling again goes on where it stopped."""
    made, seq = shown()
    asked: list[Image] = []

    def fails_once(picture: Image) -> str:
        asked.append(picture)
        if len(asked) == 2:
            raise OSError("sk-secret-0123456789 was refused")
        return f"picture {len(asked)}"

    made.describe = fails_once
    with pytest.raises(DescribingFailed) as raised:
        made.compile()
    assert isinstance(raised.value, CompileError)
    assert isinstance(raised.value.__cause__, OSError)
    assert (raised.value.session, raised.value.seq) == (made.id, seq)
    assert "OSError" in str(raised.value)
    assert "sk-secret" not in str(raised.value)
    assert b"picture 3" in made.compile().body
    assert described(made) == ["picture 1", "picture 3"]


def test_a_describer_gives_a_text() -> None:
    """None, as of a function without a `return`, is no description."""
    made, _ = shown()
    made.describe = lambda picture: None  # type: ignore[assignment, return-value]
    with pytest.raises(DescribingFailed, match="gave NoneType"):
        made.compile()
    assert described(made) == []
