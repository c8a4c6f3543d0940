"""The only sources of time and randomness. Tests and replays give their own."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable

from foreword.core.sealing import NONCE_BYTES

Clock = Callable[[], int]
"""Returns microseconds since 1970 UTC."""

Nonces = Callable[[], bytes]
"""Returns NONCE_BYTES fresh bytes."""


def system_clock() -> int:
    return time.time_ns() // 1_000


def random_nonce() -> bytes:
    return secrets.token_bytes(NONCE_BYTES)
