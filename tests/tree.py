"""The files of this checkout, for the tests that judge the project itself."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "foreword"
MADE = {".git", ".venv", "build", "dist", "__pycache__", ".hypothesis", ".pytest_cache", ".ruff_cache"}


def project_files(suffix: str = "", below: Path = ROOT) -> list[Path]:
    """List every file a person wrote below a folder, sorted; `suffix` as in `.py`, empty for all."""
    found: list[Path] = []
    for folder, folders, names in os.walk(below):
        folders[:] = [name for name in folders if name not in MADE]
        found += [Path(folder, name) for name in names if name.endswith(suffix)]
    return sorted(found)


def relative(path: Path) -> str:
    """Name a file from the root of the checkout."""
    return path.relative_to(ROOT).as_posix()


def module_name(path: Path) -> str:
    """Name the module a source file holds, as in `foreword.core.block`."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
