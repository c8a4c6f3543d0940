"""A policy's numbers are checked where they are given, whoever gives them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from foreword.compiler.policy import DEFAULT, Policy
from foreword.engine.policy_file import BadPolicy, load_policy
from foreword.errors import InvalidArgument

REFUSED: list[tuple[str, Any, str]] = [
    ("low_water", 5, "a share, 0 to 1"),
    ("result_share", -0.1, "a share, 0 to 1"),
    ("uncalibrated_factor", 0, "a number over 0"),
    ("keep_interactions", 2.5, "a whole number, 0 or more"),
    ("stage_tokens", True, "a whole number, 0 or more"),
    ("layout", "theirs", "own or provider"),
    ("price_trigger", "yes", "true or false"),
]


@pytest.mark.parametrize("field, value, takes", REFUSED)
def test_a_field_that_cannot_be_is_refused_where_it_is_given(field: str, value: Any, takes: str) -> None:
    """By Python, and by whoever lays it over another policy."""
    for make in (lambda given: Policy(**given), lambda given: msgspec.structs.replace(DEFAULT, **given)):
        with pytest.raises(InvalidArgument) as caught:
            make({field: value})
        error = caught.value
        assert (error.where, error.name, error.value) == ("Policy", field, value)
        assert error.takes.startswith(takes)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_no_share_is_without_end(value: float) -> None:
    """Neither is a number that a request could be held against."""
    for field in ("low_water", "uncalibrated_factor", "countdown"):
        with pytest.raises(InvalidArgument):
            Policy(**{field: value})


@pytest.mark.parametrize("field, value, takes", REFUSED)
def test_a_file_is_refused_by_the_same_rule(field: str, value: Any, takes: str, tmp_path: Path) -> None:
    """With its name, so that it can be mended."""
    place = tmp_path / "mine.json"
    place.write_text(json.dumps({field: value}))
    with pytest.raises(BadPolicy, match=takes) as caught:
        load_policy(str(place))
    assert caught.value.source == str(place)
    assert field in caught.value.fault
