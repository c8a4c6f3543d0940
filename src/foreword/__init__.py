"""Foreword: everything the model reads before it writes.

An engine that decides before every model call what the request holds.
It records what an agent saw, compiles the next request from that record,
and can say of every token why it is there.
Importing this package has no side effects and loads no optional dependency.
"""

__all__ = ["__version__"]

__version__ = "0.1.0.dev0"
