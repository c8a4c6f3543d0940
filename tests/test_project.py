"""Rules about the project itself: names, sizes, docstrings, imports, and what a text file may say."""

import ast
import getpass
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tree import PACKAGE, ROOT, module_name, project_files, relative

SOURCES = project_files(".py", PACKAGE)
TESTS = project_files(".py", ROOT / "tests")
LONGEST_MODULE = 500
SAYS_NOTHING = {"utils", "util", "helpers", "helper", "manager", "managers", "misc", "common", "stuff"}
HEAVY = ("rich", "anthropic", "openai", "toktok")
UNFINISHED = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X)\b|Not" + r"ImplementedError")

# A folder of one machine means nothing on the reader's: the usual homes, this checkout, this person's home.
MACHINE_FOLDERS = [f"/{top}/" for top in ("root", "work", f"home/{getpass.getuser()}")] + [f"{ROOT}/"]
MACHINE_PATH = re.compile(r"(?<![\w.)~-])(?:" + "|".join(map(re.escape, MACHINE_FOLDERS)) + ")")


@pytest.mark.parametrize("path", SOURCES + TESTS, ids=relative)
def test_a_module_is_named_for_one_thing(path: Path) -> None:
    """A file has a name that says what it holds, and a docstring; it is short enough to be one thing."""
    source = path.read_text(encoding="utf-8")
    assert not SAYS_NOTHING & set(path.stem.split("_")), "name it after the one thing in it"
    assert len(source.splitlines()) <= LONGEST_MODULE
    assert ast.get_docstring(ast.parse(source)), "say in a docstring what it is"


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_a_source_is_finished(path: Path) -> None:
    """No source carries a mark of work left for later."""
    assert UNFINISHED.findall(path.read_text(encoding="utf-8")) == []


def test_every_folder_of_the_package_is_a_package() -> None:
    """A folder that holds sources has an `__init__.py`, so that it is installed and says what it is."""
    assert {path.parent for path in SOURCES if not (path.parent / "__init__.py").exists()} == set()


@pytest.mark.parametrize("path", [p for p in TESTS if p.stem.startswith("test_")], ids=relative)
def test_every_test_says_what_it_holds(path: Path) -> None:
    """Each test function has a docstring."""
    functions = [
        node
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    ]
    assert [node.name for node in functions if not ast.get_docstring(node)] == []


@pytest.mark.parametrize("path", SOURCES, ids=module_name)
def test_public_names_exist(path: Path) -> None:
    """Every name in `__all__` can be imported and stands there once; ruff keeps their order."""
    module = importlib.import_module(module_name(path))
    public = getattr(module, "__all__", [])
    assert len(public) == len(set(public))
    assert [missing for missing in public if not hasattr(module, missing)] == []


def loaded_by(module: str) -> set[str]:
    """Import a module in a fresh interpreter and list the names of all modules it brought along."""
    code = f"import sys; before = set(sys.modules); import {module}; print(*(set(sys.modules) - before))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


def test_importing_foreword_stays_light() -> None:
    """The package alone loads no drawing library, no vendor's client and no tokenizer."""
    loaded = loaded_by("foreword")
    assert "foreword" in loaded
    assert loaded.isdisjoint(HEAVY)


def test_a_module_is_seen_when_loaded() -> None:
    """The probe behind the test above reports what an import really loads."""
    assert "rich" in loaded_by("rich.text")


def machine_paths(text: str) -> list[str]:
    """Find the lines that name a folder of one machine."""
    return [line for line in text.splitlines() if MACHINE_PATH.search(line)]


@pytest.mark.parametrize("path", project_files(), ids=relative)
def test_a_file_names_no_folder_of_one_machine(path: Path) -> None:
    """No text file holds a path that only exists where it was written."""
    content = path.read_bytes()
    if b"\0" not in content:
        assert machine_paths(content.decode("utf-8")) == []


@pytest.mark.parametrize(
    "text, found",
    [
        (f"see {ROOT}/notes.txt", True),
        ('open("/' + 'root/.cache/x")', True),
        ("docs/" + "work/plan.md", False),
        ("https://example.org/a.root/b", False),
        ("/workspace/repo", False),
    ],
)
def test_a_machine_path_is_told_from_others(text: str, found: bool) -> None:
    """A path is reported where it is absolute and of one machine, else not."""
    assert bool(machine_paths(text)) is found
