"""Who may import whom, held by reading every import in the sources, also those inside functions."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tree import PACKAGE, ROOT, module_name, project_files

CORE = {"errors", "core"}
ENGINE = CORE | {"compiler", "codecs", "store", "importers", "engine"}
PRODUCT = ENGINE | {"testing", "foreword"}

# Layer -> the layers it may import besides itself. `foreword` is the package's own public face.
LAYERS = {
    "errors": set[str](),
    "core": CORE,
    "compiler": CORE,
    "codecs": CORE,
    "store": CORE,
    "importers": CORE | {"codecs"},
    "engine": ENGINE,
    "testing": CORE,
    "foreword": ENGINE,
    "evals": PRODUCT,
    "mcp": PRODUCT,
    "pytest_plugin": PRODUCT | {"evals"},
    "cli": PRODUCT | {"evals", "mcp"},
    "__main__": {"cli"},
}

PURE = {"errors", "core", "compiler", "codecs"}
# fmt: off
IMPURE_MODULES = {
    "asyncio", "http", "locale", "logging", "multiprocessing", "os", "random", "secrets", "select", "shutil",
    "signal", "socket", "sqlite3", "ssl", "subprocess", "tempfile", "threading", "time", "uuid",
}
# fmt: on
IMPURE_CALLS = {"open", "print", "input", "datetime.now", "datetime.utcnow", "datetime.today", "date.today"}

# Layer -> other distributions it may import, by import name; without a row: any that pyproject.toml declares.
THIRD_PARTY = {
    "errors": set[str](),
    "core": {"msgspec"},
    "compiler": {"msgspec"},
    "codecs": {"msgspec"},
    "store": {"msgspec", "apsw", "backports"},
    "testing": {"msgspec", "toktok"},
    "pytest_plugin": {"pytest"},
}
STANDARD_LIBRARY = sys.stdlib_module_names | {"compression"}  # compression: from 3.14
IMPORT_NAMES = {
    "backports.zstd": "backports",
    "opentelemetry-api": "opentelemetry",
    "toktok-rs": "toktok",
    "pyyaml": "yaml",
}

MODULE_PATH = re.compile(r"foreword(?:\.[A-Za-z_]\w*)+(?::\w+)?")


def imports_of(source: str, module: str, *, is_package: bool = False) -> Iterator[tuple[int, str]]:
    """Yield (line, dotted name) of all a source imports, and of module paths held as strings for later."""
    package = module if is_package else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, name.name) for name in names)
            case ast.ImportFrom(module=base, names=names, level=level):
                if level:
                    above = package.split(".")[: len(package.split(".")) - level + 1]
                    base = ".".join([*above, base] if base else above)
                yield from ((node.lineno, f"{base}.{name.name}") for name in names)
            case ast.Constant(value=str(text)) if MODULE_PATH.fullmatch(text):
                yield node.lineno, text.replace(":", ".")


def layer_of(dotted: str) -> str:
    """Name the layer that a dotted name below `foreword` belongs to."""
    _, _, below = dotted.partition(".")
    child = below.partition(".")[0]
    return child if child in LAYERS else "foreword"


def faults(source: str, module: str, *, is_package: bool = False) -> list[str]:
    """Say each import or call in a source that its layer may not make."""
    layer = layer_of(module)
    found: list[str] = []
    for line, name in imports_of(source, module, is_package=is_package):
        top = name.split(".")[0]
        if top == "foreword":
            target = layer_of(name)
            if target != layer and target not in LAYERS[layer]:
                found.append(f"{module}:{line} layer {layer} imports {target} ({name})")
            if target != layer and any(re.match(r"_(?!_)", part) for part in name.split(".")):
                found.append(f"{module}:{line} {name} is private to {target}")
        elif top in STANDARD_LIBRARY:
            if layer in PURE and top in IMPURE_MODULES:
                found.append(f"{module}:{line} pure layer {layer} imports {top}")
        elif top not in THIRD_PARTY.get(layer, declared()):
            found.append(f"{module}:{line} layer {layer} imports {top}, which it does not declare")
    if layer in PURE:
        found += [f"{module}:{line} pure layer {layer} calls {call}" for line, call in impure_calls(source)]
    return found


def impure_calls(source: str) -> Iterator[tuple[int, str]]:
    """Yield (line, call) for each call that reads a clock, a file or a terminal."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            name = ".".join(ast.unparse(node.func).split(".")[-2:])
            if name in IMPURE_CALLS:
                yield node.lineno, name


def declared() -> set[str]:
    """List the import names of the distributions that an installed Foreword may have beside it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    needs = list(project["dependencies"])
    for extra in extras.keys() - {"test", "lint"}:
        needs += extras[extra]
    names = [re.match(r"[\w.-]+", need) for need in needs]
    return {IMPORT_NAMES.get(name.group(), name.group().replace("-", "_")) for name in names if name}


@pytest.mark.parametrize("path", project_files(".py", PACKAGE), ids=module_name)
def test_imports_follow_the_layers(path: Path) -> None:
    """Each source file imports only what its layer may."""
    source = path.read_text(encoding="utf-8")
    assert faults(source, module_name(path), is_package=path.name == "__init__.py") == []


def test_every_package_has_a_layer() -> None:
    """A new folder or module of the package needs a row in the table."""
    children = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert children - {"__init__", "__pycache__", "__main__", "py"} <= LAYERS.keys()


@pytest.mark.parametrize(
    "module, source, fault",
    [
        ("foreword.core.log", "import time", "pure layer core imports time"),
        ("foreword.core.log", "def f():\n    from os import path", "pure layer core imports os"),
        ("foreword.core.log", "import apsw", "core imports apsw"),
        ("foreword.core.log", "from foreword.store import sqlite", "core imports store"),
        ("foreword.core.log", "from ..store import sqlite", "core imports store"),
        ("foreword.core.log", "from foreword import __version__", "core imports foreword"),
        ("foreword.compiler.plan", "import foreword.codecs.sse", "compiler imports codecs"),
        ("foreword.compiler.plan", "at = datetime.datetime.now()", "calls datetime.now"),
        ("foreword.codecs.table", 'LATE = {"a": "foreword.engine.session:Session"}', "codecs imports engine"),
        ("foreword.testing.referee", "from foreword.codecs.sse import Parser", "testing imports codecs"),
        ("foreword.engine.session", "import requests", "engine imports requests"),
        ("foreword.evals.replay", "from foreword.cli import main", "evals imports cli"),
        ("foreword.mcp.server", "from foreword.engine.session import _send", "private to engine"),
        ("foreword.errors", "import msgspec", "errors imports msgspec"),
    ],
)
def test_a_forbidden_import_is_found(module: str, source: str, fault: str) -> None:
    """Each kind of breach is seen, wherever in the file it stands."""
    assert fault in " ".join(faults(source, module))


@pytest.mark.parametrize(
    "module, source",
    [
        ("foreword.core.log", "import json\nimport msgspec\nfrom foreword.errors import ForewordError"),
        ("foreword.core.log", "from foreword.core.block import _text"),
        ("foreword.store.sqlite", "import apsw, os\nfrom foreword.core import log"),
        (
            "foreword.cli.main",
            "from foreword import __version__\nfrom foreword.evals import needle\nimport rich",
        ),
    ],
)
def test_an_allowed_import_passes(module: str, source: str) -> None:
    """What the table grants is not reported."""
    assert faults(source, module) == []
