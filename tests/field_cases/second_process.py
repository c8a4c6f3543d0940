"""Compile a session of a store again, in a process of its own: asked on stdin, the request's bytes on stdout."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from foreword.engine.session import Session
from foreword.store import Store
from tests.field_cases.fake_model import describer_of
from tests.field_cases.model import policy_of, target_of
from tests.field_cases.recording import made_up_tools


def main() -> None:
    asked = json.load(sys.stdin)
    target = target_of(asked["wire"], asked["caps"], asked["settings"])
    with Store.open(Path(asked["store"])) as store:
        session = Session.open(
            store, asked["session"], target=target, policy=policy_of(asked["settings"], target)
        )
        session.describe = describer_of(asked["described"], Path(asked["store"]).parent)
        if asked["tools"] is not None:
            others = [tool for tool in session.view.fold.tools[1] if tool.name not in asked["names"]]
            session.offer([*made_up_tools(asked["tools"]), *others])
        sys.stdout.buffer.write(session.compile().body)


if __name__ == "__main__":
    main()
