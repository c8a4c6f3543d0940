"""Settings: defaults of options, from a file of yours. Argument > environment > file > default.

The file is `$XDG_CONFIG_HOME/foreword/config.toml`, else `~/.config/foreword/config.toml` (XDG Base Directory
Specification 0.8: a relative value is ignored), or the one that FOREWORD_CONFIG names.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from foreword.errors import SettingsError

LARGEST = 1 << 20
PREFIX = "FOREWORD_"


class Setting(NamedTuple):
    """An option that may be set once for all commands that take it: its type in the file, and its variable."""

    type: type
    variable: str


SETTINGS = {
    "store": Setting(str, "FOREWORD_STORE"),
    "provider": Setting(str, "FOREWORD_PROVIDER"),
    "model": Setting(str, "FOREWORD_MODEL"),
    "policy": Setting(str, "FOREWORD_POLICY"),
    "window": Setting(int, "FOREWORD_WINDOW"),
    "reserve_output": Setting(int, "FOREWORD_RESERVE_OUTPUT"),
    "unseen": Setting(str, "FOREWORD_UNSEEN"),
    "reader": Setting(str, "FOREWORD_READER"),
    "catalog": Setting(str, "FOREWORD_CATALOG"),
    "endpoint": Setting(str, "FOREWORD_ENDPOINT"),
    "base_url": Setting(str, "FOREWORD_BASE_URL"),
    "key_env": Setting(str, "FOREWORD_KEY_ENV"),
}


def settings_file(environ: Mapping[str, str] = os.environ, home: Path | None = None) -> Path:
    """Return where the settings stand, whether there is such a file or not."""
    if named := environ.get("FOREWORD_CONFIG"):
        return Path(named)
    given = environ.get("XDG_CONFIG_HOME", "")
    base = Path(given) if given and Path(given).is_absolute() else (home or Path.home()) / ".config"
    return base / "foreword" / "config.toml"


def read_settings(path: Path) -> dict[str, Any]:
    """Return what a file sets; {} when there is none.

    Raises: SettingsError for one that can't be read, is no TOML, names what is no setting, or has a wrong type.
    """
    import tomllib

    move = "mend it, or move it away"
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST)
    except (FileNotFoundError, NotADirectoryError):
        if os.environ.get("FOREWORD_CONFIG"):
            raise SettingsError(str(path), "no such file", "unset FOREWORD_CONFIG, or name one") from None
        return {}
    except OSError as error:
        raise SettingsError(str(path), error.strerror or "can't be read", move) from error
    try:
        found = tomllib.loads(data.decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise SettingsError(str(path), f"not TOML: {error}", move) from error
    for name, value in found.items():
        if name not in SETTINGS:
            raise SettingsError(str(path), f"no setting {name!r}", f"settings are {', '.join(SETTINGS)}")
        kind = SETTINGS[name].type
        if type(value) is not kind or (kind is int and value < 1):
            want = "a whole number from 1 on" if kind is int else "a text"
            raise SettingsError(str(path), f"{name} must be {want}", move)
    return found


def default_map(commands: Mapping[str, Any]) -> dict[str, dict[str, Any]] | None:
    """Return the file's settings as click takes them, the same for every command; None: none are set."""
    found = read_settings(settings_file())
    return dict.fromkeys(commands, found) if found else None


def misspelt(environ: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the variables that look like one of ours and are none, with the one that each looks like."""
    known = {setting.variable.removeprefix(PREFIX): setting.variable for setting in SETTINGS.values()}
    others = [name for name in environ if name.startswith(PREFIX) and name.removeprefix(PREFIX) not in known]
    if not others:
        return []
    import difflib  # only an unknown name pays for it

    close = (
        (name, difflib.get_close_matches(name.removeprefix(PREFIX)[:40], known, 1, 0.8)) for name in others
    )
    return [(name, known[found[0]]) for name, found in close if found]


def shown(value: Any) -> str:
    """Write a value without the name and password that an address may hold."""
    text = str(value)
    if "@" not in text or "://" not in text:
        return text
    try:
        parts = urlsplit(text)
        return parts._replace(netloc=f"***@{parts.netloc.rpartition('@')[2]}").geturl()
    except ValueError:
        return "***"
