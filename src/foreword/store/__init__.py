"""The disk: event stores, artifact stores, and their migrations.

Imports `foreword.core` only; translates database and file errors into the tree of `foreword.errors`.
"""

from foreword.store.sessions import SessionRow
from foreword.store.store import Store
from foreword.store.verify import Problem

__all__ = ["Problem", "SessionRow", "Store"]
