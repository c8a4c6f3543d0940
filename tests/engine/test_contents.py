"""Files for an agent that reads by path: each name that a request says is a file, in a fork as well."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from foreword.compiler.policy import Policy
from foreword.engine.contents import Contents
from foreword.engine.session import Session
from foreword.store.store import Store
from tests.engine.sessions import answer, call
from tests.histories import target_of


def test_a_fork_writes_the_files_that_its_requests_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An event of the parent's has the parent's name, whether it was left out before the fork or after."""
    monkeypatch.chdir(tmp_path)
    root = Path(
        "files"
    )  # names of a length that is the same wherever the tests run: it decides what is left out how
    target = target_of("anthropic", 8_000, reader=f"path:{root}")
    with Store.open(tmp_path / "store") as store:
        made = Session.open(store, "parent", target=target, policy=Policy())
        made.say("Find it.")
        for number in range(12):
            answer(made, call(f"c{number}"))
            made.returned(f"c{number}", f"result {number} " + "lorem ipsum " * 200)
        made.compile()
        fork = made.fork(made.view.position - 1, "child")
        for number in range(12, 30):
            answer(fork, call(f"c{number}"))
            fork.returned(f"c{number}", f"result {number} " + "lorem ipsum " * 200)
        compiled = fork.compile()
        Contents(target.reader).write(compiled)
        named = set(re.findall(re.escape(str(root)) + r"/(\w+-\d+)\.txt", compiled.body.decode()))
        assert len(named) > 2
        assert {name for name in named if not (root / f"{name}.txt").is_file()} == set()
        assert {name.partition("-")[0] for name in named} == {made.alias, fork.alias}
