"""A policy by name, or from a TOML or JSON file with some of its fields."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import msgspec

from foreword.compiler.policy import DEFAULT, Policy
from foreword.errors import ForewordError, InvalidArgument

POLICIES = {DEFAULT.name: DEFAULT}
LARGEST = 1 << 20


class BadPolicy(ForewordError):
    """A policy that can't be used; ``source`` names it, ``fault`` says what is wrong."""

    def __init__(self, source: str, fault: str) -> None:
        self.source = source
        self.fault = fault
        super().__init__(f"policy {source}: {fault}")


def load_policy(name: str) -> Policy:
    """Return the policy of this name, or that of a file; fields that a file doesn't name keep their default.

    A file's policy is called by the file's stem unless it holds a ``name``. Raises: BadPolicy.
    """
    if name in POLICIES:
        return POLICIES[name]
    path = Path(name)
    if not path.is_file():
        raise BadPolicy(repr(name), f"neither a name ({', '.join(POLICIES)}) nor a file; give one of these")
    fields = {"name": path.stem, **_fields(path)}
    unknown = [field for field in fields if field not in Policy.__struct_fields__]
    if unknown:
        known = ", ".join(Policy.__struct_fields__)
        raise BadPolicy(name, f"unknown field {unknown[0]!r}; fields are {known}")
    try:
        return Policy(**fields)
    except InvalidArgument as error:
        raise BadPolicy(name, f"{error.fault}; {error.move}") from error


def _fields(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise BadPolicy(str(path), f"over {LARGEST:,} bytes; a policy is a short file")
        text = data.decode()
        value = msgspec.json.decode(text) if path.suffix == ".json" else tomllib.loads(text)
    except OSError as error:
        raise BadPolicy(str(path), error.strerror or "can't be read") from error
    except (UnicodeDecodeError, msgspec.DecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise BadPolicy(str(path), f"not {'JSON' if path.suffix == '.json' else 'TOML'}: {error}") from error
    if not isinstance(value, dict):
        raise BadPolicy(str(path), "not a table of fields")
    return value
