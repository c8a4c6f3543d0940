"""The event-stream format, read incrementally (WHATWG HTML, server-sent events, parsing).

Works on bytes: line ends are ASCII, so a character cut by the network is whole again once its line is. Bytes of
an unfinished line are kept in one growing buffer: the work is linear however small the pieces are, and neither
a line nor an event has a size limit.
"""

from __future__ import annotations

from msgspec import Struct

_BOM = b"\xef\xbb\xbf"
_CR, _LF = 13, 10


class ServerEvent(Struct, frozen=True, kw_only=True, gc=False):
    """An event: ``data`` are its UTF-8 bytes, several lines joined by newlines.

    ``event`` "": not named. ``id``: the last one given, also by an earlier event; "" before any. ``retry``:
    milliseconds, if this event set it.
    """

    data: bytes
    event: str = ""
    id: str = ""
    retry: int | None = None


class EventStream:
    """Bytes in, whole events out. Comments and unknown fields are skipped, as the format says."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._data: list[bytes] = []
        self._event = ""
        self._id = ""
        self._retry: int | None = None
        self._begun = False
        self._after_cr = False

    def feed(self, data: bytes) -> list[ServerEvent]:
        """Take the next bytes; return the events that they end."""
        if self._after_cr and data:
            self._after_cr = False
            if data[0] == _LF:
                data = data[1:]
        if not data:
            return []
        last = data[-1]
        self._after_cr = last == _CR
        lines = data.splitlines()
        rest = b"" if last in (_LF, _CR) else lines.pop()
        if not lines:
            self._rest += rest
            return []
        if self._rest:
            lines[0] = bytes(self._rest) + lines[0]
        self._rest = bytearray(rest)
        if not self._begun:
            self._begun = True
            lines[0] = lines[0].removeprefix(_BOM)
        return self._take(lines)

    def end(self) -> ServerEvent | None:
        """Return what stands unfinished at the end of the bytes as an event; None when there is nothing.

        The format says to discard it, since it may be cut. Servers that leave out the last blank line exist, so
        the caller decides by what is in it.
        """
        line = bytes(self._rest)
        self._rest.clear()
        events = self._take([line if self._begun else line.removeprefix(_BOM), b""])
        return events[0] if events else None

    def _take(self, lines: list[bytes]) -> list[ServerEvent]:
        events: list[ServerEvent] = []
        for line in lines:
            if not line:
                if data := b"\n".join(self._data):
                    events.append(ServerEvent(data=data, event=self._event, id=self._id, retry=self._retry))
                    self._retry = None
                self._data = []
                self._event = ""
                continue
            name, _, value = line.partition(b":")
            if value[:1] == b" ":
                value = value[1:]
            if name == b"data":
                self._data.append(value)
            elif name == b"event":
                self._event = value.decode("utf-8", "replace")
            elif name == b"id":
                if b"\0" not in value:
                    self._id = value.decode("utf-8", "replace")
            elif name == b"retry" and value.isdigit() and len(value) < 16:
                self._retry = int(value)
        return events
