"""Foreword: everything the model reads before it writes.

An engine that decides before every model call what the request holds.
It records what an agent saw, compiles the next request from that record,
and can say of every token why it is there.
Importing this package has no side effects and loads no optional dependency; each name is loaded when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from foreword.codecs.check import check
    from foreword.compiler.compile import Compiled, compile
    from foreword.compiler.manifest import Sketch, manifest
    from foreword.compiler.pipeline import propose
    from foreword.compiler.policy import Policy
    from foreword.core.target import Target
    from foreword.core.view import View
    from foreword.engine.import_file import import_file
    from foreword.engine.reading import Page
    from foreword.engine.session import Session
    from foreword.engine.sync import Synced
    from foreword.engine.target import target_for
    from foreword.errors import ForewordError, OverBudget
    from foreword.store import Store

__version__ = "0.1.0.dev0"

_HOMES = {
    "Compiled": "foreword.compiler.compile",
    "ForewordError": "foreword.errors",
    "OverBudget": "foreword.errors",
    "Page": "foreword.engine.reading",
    "Policy": "foreword.compiler.policy",
    "Session": "foreword.engine.session",
    "Sketch": "foreword.compiler.manifest",
    "Store": "foreword.store",
    "Synced": "foreword.engine.sync",
    "Target": "foreword.core.target",
    "View": "foreword.core.view",
    "check": "foreword.codecs.check",
    "compile": "foreword.compiler.compile",
    "import_file": "foreword.engine.import_file",
    "manifest": "foreword.compiler.manifest",
    "propose": "foreword.compiler.pipeline",
    "target_for": "foreword.engine.target",
}

__all__ = [
    "Compiled",
    "ForewordError",
    "OverBudget",
    "Page",
    "Policy",
    "Session",
    "Sketch",
    "Store",
    "Synced",
    "Target",
    "View",
    "__version__",
    "check",
    "compile",
    "import_file",
    "manifest",
    "propose",
    "target_for",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'foreword' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
