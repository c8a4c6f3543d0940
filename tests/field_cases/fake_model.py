"""The fake model of a case, in so far as the product asks one: it describes pictures.

Its calls are counted in a file, so that they count on over processes.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from foreword.core.block import Image
from tests.field_cases.cases import Unsupported, known


class ModelError(Exception):
    """What the model's server refused a call with."""


class Answer(Struct, frozen=True, kw_only=True):
    """An answer of the fake model: words, or ``error``, after so many milliseconds."""

    text: str = ""
    error: str = ""
    delay_ms: int = 0


class Describer:
    """Answers with the next of ``answers``, the last one again and again; each call is a line of ``calls``."""

    def __init__(self, answers: list[Answer], calls: Path) -> None:
        self.answers = answers
        self.calls = calls

    def __call__(self, image: Image) -> str:
        """Return the words for an image. Raises ModelError, which goes to whoever asked for the request."""
        answer = self.answers[min(self.made, len(self.answers) - 1)]
        with self.calls.open("a", encoding="utf-8") as file:
            file.write(f"{image.digest}\n")
        time.sleep(answer.delay_ms / 1000)
        if answer.error:
            raise ModelError(answer.error)
        return answer.text

    @property
    def made(self) -> int:
        return len(self.calls.read_text(encoding="utf-8").split()) if self.calls.exists() else 0


def describer_of(given: Mapping[str, Any], folder: Path) -> Describer | None:
    """Return what describes pictures in a case; None: it asks for none. Raises Unsupported."""
    if not given.get("image_to_text"):
        return None
    model = given.get("fake_model", {})
    if isinstance(model, dict):
        known("fake_model with", model, ("describe", "summarise", "answer"))
        model = model.get("describe", [])
    listed = model if isinstance(model, list) else [model]
    if not listed:
        raise Unsupported("a fake model that makes no descriptions")
    return Describer([_answer(one) for one in listed], folder / "described")


def _answer(given: Any) -> Answer:
    if isinstance(given, str):
        return Answer(text=given)
    known("an answer with", given, ("text", "error", "delay_ms", "reject_images"))
    error = given.get("error")
    if given.get("reject_images"):
        error = {"status": 400, "message": "images are not accepted"}
    if error is not None:
        known("an error with", error, ("status", "message"))
    elif not isinstance(given.get("text"), str):
        raise Unsupported("an answer without words")
    told = "" if error is None else f"{error.get('status', 500)}: {error.get('message', '')}"
    return Answer(text=given.get("text", ""), error=told, delay_ms=given.get("delay_ms", 0))
