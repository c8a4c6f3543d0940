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
    from foreword.core.block import ToolSpec
    from foreword.core.catalog import Catalog
    from foreword.core.endpoint import endpoint
    from foreword.core.target import Target
    from foreword.core.view import View
    from foreword.engine.asking import ask, ask_now
    from foreword.engine.catalog_file import load_catalog
    from foreword.engine.import_file import import_file
    from foreword.engine.policy_file import load_policy
    from foreword.engine.reading import Page
    from foreword.engine.session import Session
    from foreword.engine.spend import Limit, Spend
    from foreword.engine.sync import Synced
    from foreword.engine.target import target_for
    from foreword.engine.telemetry import Telemetry
    from foreword.engine.transport import Transport
    from foreword.errors import ForewordError, OverBudget
    from foreword.store import Store

__version__ = "0.1.0.dev0"

_HOMES = {
    "Catalog": "foreword.core.catalog",
    "Compiled": "foreword.compiler.compile",
    "ForewordError": "foreword.errors",
    "Limit": "foreword.engine.spend",
    "OverBudget": "foreword.errors",
    "Page": "foreword.engine.reading",
    "Policy": "foreword.compiler.policy",
    "Session": "foreword.engine.session",
    "Sketch": "foreword.compiler.manifest",
    "Spend": "foreword.engine.spend",
    "Store": "foreword.store",
    "Synced": "foreword.engine.sync",
    "Target": "foreword.core.target",
    "Telemetry": "foreword.engine.telemetry",
    "ToolSpec": "foreword.core.block",
    "Transport": "foreword.engine.transport",
    "View": "foreword.core.view",
    "ask": "foreword.engine.asking",
    "ask_now": "foreword.engine.asking",
    "check": "foreword.codecs.check",
    "compile": "foreword.compiler.compile",
    "endpoint": "foreword.core.endpoint",
    "import_file": "foreword.engine.import_file",
    "load_catalog": "foreword.engine.catalog_file",
    "load_policy": "foreword.engine.policy_file",
    "manifest": "foreword.compiler.manifest",
    "propose": "foreword.compiler.pipeline",
    "target_for": "foreword.engine.target",
}

__all__ = [
    "Catalog",
    "Compiled",
    "ForewordError",
    "Limit",
    "OverBudget",
    "Page",
    "Policy",
    "Session",
    "Sketch",
    "Spend",
    "Store",
    "Synced",
    "Target",
    "Telemetry",
    "ToolSpec",
    "Transport",
    "View",
    "__version__",
    "ask",
    "ask_now",
    "check",
    "compile",
    "endpoint",
    "import_file",
    "load_catalog",
    "load_policy",
    "manifest",
    "propose",
    "target_for",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'foreword' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
