"""Forms of JSON objects."""

import pytest

from foreword.testing.form import Misform, is_kind, misforms


@pytest.mark.parametrize(
    "value, kinds, fits",
    [
        ("a", "str", True),
        (None, "str", False),
        (None, "str|null", True),
        (1, "num", True),
        (1.5, "int", False),
        (True, "int", False),
        (True, "bool", True),
        (True, "any", True),
        ({}, "list|obj", True),
    ],
)
def test_a_value_is_of_a_kind(value: object, kinds: str, fits: bool) -> None:
    """JSON kinds: true is no number, null is a kind of its own."""
    assert is_kind(value, kinds) is fits


def test_misforms_name_each_member_with_its_place() -> None:
    """Missing, of a wrong kind, unknown; the body has no path."""
    table = {"id": "str!", "size": "int"}
    assert list(misforms("", {"size": "1", "colour": "red"}, table)) == [
        Misform("id", "missing", "str"),
        Misform("size", "type", "int"),
        Misform("colour", "extra", ""),
    ]
    assert [found.path for found in misforms("tools.0", {"id": 1}, table)] == ["tools.0.id"]
