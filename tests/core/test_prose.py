"""Prose: what is left of a message when code, quotes, addresses and a program's words are taken out."""

from __future__ import annotations

import time

import pytest

from foreword.core.prose import prose


@pytest.mark.parametrize(
    "text, left",
    [
        ("Bitte mach weiter.", "Bitte mach weiter."),
        ("Sieh dir das an:\n```py\nraise it\n```\nWas ist falsch?", "Sieh dir das an: Was ist falsch?"),
        ("Offen:\n```\nnever closed\nat all", "Offen:"),
        ("Was tut `return value` hier?", "Was tut hier?"),
        ("> The build is broken.\n\nWarum?", "Warum?"),
        ('Er sagt "the file is locked" und hält an', "Er sagt und hält an"),
        ("Er sagt „die Datei“ und “the file” und «le fichier»", "Er sagt und und"),
        ("他说「the file」了", "他说 了"),
        ("siehe https://example.org/a?b=c und a@example.org", "siehe und"),
        ("ändere src/app/main.py und setup.cfg bitte", "ändere und bitte"),
        ("TypeError: nothing here\nwarum?", "warum?"),
        ("<system-reminder>The user is away.</system-reminder>\nContinúa", "Continúa"),
        ('<foreword kind="note">\nNo answer was recorded.\n</foreword>\nWeiter', "Weiter"),
        ("Γιατί δεν ανοίγει;", "Γιατί δεν ανοίγει"),
        ("Warum?\n" + "x" * 9_000 + "\nUnd jetzt?", "Warum? " + "x" * 1_993 + " Und jetzt?"),
        ("    indented = code\nja", "ja"),
        ("git push && make test_all", "git push make"),
        ("42", ""),
        ("", ""),
    ],
)
def test_what_a_person_wrote(text: str, left: str) -> None:
    """His own words stay in their order, and nothing else does."""
    assert prose(text) == left


@pytest.mark.parametrize(
    "text",
    ["x" * 20_000, "a-" * 10_000, "<a>" * 6_000, "a." * 10_000, '"' * 20_001, "`" * 20_001, "“" * 20_000],
)
def test_no_text_takes_long(text: str) -> None:
    """Every pattern gives up early: nobody may stop a session with a message."""
    start = time.perf_counter()
    prose(text)
    assert time.perf_counter() - start < 1
