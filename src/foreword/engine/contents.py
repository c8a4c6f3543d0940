"""Files for an agent that reads by path: each content that a request leaves out, below one folder."""

from __future__ import annotations

import os
from pathlib import Path

from foreword.compiler.compile import Compiled
from foreword.core.reference import PATH, content_bytes, recall
from foreword.core.view import View


class Contents:
    """Writes what requests leave out to ``ROOT/ALIAS-SEQ.txt``, each file once; nothing for other readers."""

    def __init__(self, reader: str) -> None:
        self.reader = reader
        self._written: set[str] = set()
        self._seen = 0

    def write(self, compiled: Compiled) -> int:
        """Write the content of every event that a rewrite took out; return how many files were written.

        Raises: OSError.
        """
        if not self.reader.startswith(PATH):
            return 0
        view = compiled.view
        rewrites = view.fold.rewrites
        named = {
            seq
            for _, rewritten in rewrites[self._seen :]
            for replacement in rewritten.replacements
            for seq in replacement.events
        }
        self._seen = len(rewrites)
        return sum(self._write(view, seq) for seq in sorted(named))

    def _write(self, view: View, seq: int) -> bool:
        body = view.fold.events[seq].body
        call = recall(self.reader, None, view.fold.ref(seq))
        if call is None or call in self._written or body is None:
            return False
        found = content_bytes(body, None)
        if found is None:
            return False
        path = Path(call)
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f"{path.name}.{os.getpid()}.tmp")
        draft.write_bytes(found[1])
        draft.replace(path)
        self._written.add(call)
        return True
