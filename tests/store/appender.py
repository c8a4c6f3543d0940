"""Append until killed (``appender.py STORE OWN SHARED``): each acknowledged append is a line on stdout."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from foreword.errors import AppendConflict
from foreword.store import Store
from tests.store.logs import chain, said, start

BIG = "big " * 1200


def main(place: str, own: str, shared: str) -> None:
    """Append to a session of this process and to one that all share, in turn, without end."""
    store = Store.open(place)
    ends = {}
    for session in (own, shared):
        with suppress(AppendConflict):  # it is there already
            start(store, session)
        ends[session] = store.load(session)[-1]
    number = 0
    while True:
        for session in (own, shared):
            number += 1
            text = f"{os.getpid()} {number} {BIG if number % 10 == 0 else ''}"
            while True:
                [event] = chain([said(text)], after=ends[session])
                try:
                    store.append(session, [event])
                except AppendConflict:
                    ends[session] = store.load(session)[-1]
                else:
                    break
            ends[session] = event
            os.write(1, f"{session} {event.seq} {event.commit.hex()}\n".encode())


if __name__ == "__main__":
    main(*sys.argv[1:])
