"""A body that is JSON and no event stream: one document, or an array whose items are taken as they come."""

from __future__ import annotations

import re

_STEP = re.compile(rb'["{}\[\],]')
_IN_STRING = re.compile(rb'["\\]')
_SPACE = b" \t\r\n"


class Documents:
    """Bytes in, the bytes of each whole document out: the items of an outer array, or objects at the top.

    Only brackets and strings are looked at; whether a document is JSON is for its reader to say.
    """

    def __init__(self) -> None:
        self._item = bytearray()
        self._depth = 0
        self._top = 0
        self._string = False
        self._escaped = False

    def feed(self, data: bytes) -> list[bytes]:
        """Take the next bytes; return the documents that they end."""
        found: list[bytes] = []
        start = at = 0
        if self._escaped and data:
            self._escaped, at = False, 1
        while at < len(data):
            match = (_IN_STRING if self._string else _STEP).search(data, at)
            if match is None:
                break
            at, sign = match.end(), match.group()
            if sign == b"\\":
                at += 1
                self._escaped = at > len(data)
            elif sign == b'"':
                self._string = not self._string
            elif sign in b"{[":
                if sign == b"[" and self._depth == self._top == 0:
                    self._top, start = 1, at
                self._depth += 1
            elif sign in b"}]":
                self._depth -= 1
            if self._depth <= self._top and not self._string and sign in b"}],":
                whole = bytes(self._item + data[start:at]).strip(_SPACE + b",")
                self._item.clear()
                start = at
                if whole and whole != b"]":
                    found.append(whole)
        self._item += data[start:]
        return found
