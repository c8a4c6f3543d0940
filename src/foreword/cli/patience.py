"""A line on stderr while a command takes its time, for a person who waits at a terminal."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import Self

SOON = 2.0
"""Seconds after which a person is told; what is quicker needs no word."""
AGAIN = 1.0


class Patience:
    """Says, once a command takes over two seconds, that it works and for how long; to be used in a `with`.

    The line is taken away before anything else is written (``hush``) and at the end. Without a terminal on stderr
    nothing is written at all.
    """

    def __init__(self, label: str) -> None:
        self._label = label
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._shown = 0
        self._hushed = 0.0
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        global _current
        if sys.stderr.isatty():
            _current = self
            self._thread = threading.Thread(target=self._tell, daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        global _current
        if self._thread is not None:
            self._ended.set()
            self._thread.join()
            self.hush()
            _current = None

    def hush(self) -> None:
        """Take the line away, for a second at least: other words follow."""
        with self._lock:
            self._hushed = time.monotonic()
            self._write("", end="\r")

    def end(self) -> None:
        """Take the line away for good, as before something that shows progress itself."""
        self._ended.set()
        self.hush()

    def _tell(self) -> None:
        started = time.monotonic()
        wait = SOON
        while not self._ended.wait(wait):
            wait = AGAIN
            with self._lock:
                now = time.monotonic()
                if not self._ended.is_set() and now - self._hushed >= AGAIN:
                    self._write(f"{self._label}: working, {int(now - started)} s")

    def _write(self, text: str, end: str = "") -> None:
        """Put text over the line that is shown, without an escape code: not every terminal knows them."""
        if text or self._shown:
            sys.stderr.write(f"\r{text.ljust(self._shown)}{end}")
            sys.stderr.flush()
        self._shown = len(text)


_current: Patience | None = None


def hush() -> None:
    """Make room for other words on the terminal."""
    if _current is not None:
        _current.hush()


def end() -> None:
    """Say no more until the command ends."""
    if _current is not None:
        _current.end()
