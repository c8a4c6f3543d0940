"""The fake model of a case, in so far as the product asks one: it describes pictures.

Its calls are counted in a file, so that they count on over processes.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from foreword.core.block import Image
from tests.field_cases.cases import Unsupported


class Describer:
    """Answers with the next of ``answers``, the last one again and again; each call is a line of ``calls``."""

    def __init__(self, answers: list[str], calls: Path) -> None:
        self.answers = answers
        self.calls = calls

    def __call__(self, image: Image) -> str:
        made = self.made
        with self.calls.open("a", encoding="utf-8") as file:
            file.write(f"{image.digest}\n")
        return self.answers[min(made, len(self.answers) - 1)]

    @property
    def made(self) -> int:
        return len(self.calls.read_text(encoding="utf-8").split()) if self.calls.exists() else 0


def describer_of(given: Mapping[str, Any], folder: Path) -> Describer | None:
    """Return what describes pictures in a case; None: it asks for none. Raises Unsupported."""
    if not given.get("image_to_text"):
        return None
    answers = given.get("fake_model", {}).get("describe", ())
    listed = answers if isinstance(answers, list) else [answers]
    if any(not isinstance(one, str) and set(one) != {"text"} for one in listed) or not listed:
        raise Unsupported("a describing model that does more than answer")
    return Describer([one if isinstance(one, str) else one["text"] for one in listed], folder / "described")
