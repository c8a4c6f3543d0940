"""Importing into a store from the library."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from foreword.engine.import_file import import_file
from foreword.errors import ImportFailed
from foreword.store.store import Store
from tests.cli.sessions import conversation, write
from tests.store.logs import start, steps


def test_a_fork_of_a_fork_is_continued(tmp_path: Path) -> None:
    """Two edits give two forks, and each telling of the file finds its own again."""
    tellings = []
    for number in range(3):
        whole = conversation(4)
        for edited in range(number):
            whole["messages"][2 + 2 * edited]["content"][0]["content"] = f"edit {number}"
        tellings.append(whole)
    path = tmp_path / "s.json"
    with Store.open(tmp_path / "store") as store:
        first = [import_file(store, write(path, telling))[0] for telling in tellings]
        again = [import_file(store, write(path, telling))[0] for telling in tellings]
        assert len({one.session for one in first}) == 3
        assert [one.session for one in again] == [one.session for one in first]
        assert [one.added for one in again] == [0, 0, 0]
        assert len(store.sessions()) == 3
        assert store.verify() == []


def test_a_session_carried_on_here_is_not_mixed_with_the_file(tmp_path: Path) -> None:
    """Facts of the library after an import stay in their session; what the file adds goes into a fork."""
    from foreword.engine.session import Session

    whole = conversation(4)
    path = tmp_path / "s.json"
    with Store.open(tmp_path / "store") as store:
        write(path, {**whole, "messages": whole["messages"][:5]})
        [first] = import_file(store, path)
        Session.open(store, first.session).say("said here")
        [same] = import_file(store, path)
        assert (same.session, same.added) == (first.session, 0)
        [fork] = import_file(store, write(path, whole))
        assert fork.session != first.session
        assert fork.forked_from is not None
        assert "said here" in str(store.load(first.session))
        assert "said here" not in str(store.load(fork.session))


def test_an_import_looks_at_no_other_session(tmp_path: Path) -> None:
    """A file that is known already costs the same in a full store."""
    path = write(tmp_path / "s.json", conversation(4))
    with Store.open(tmp_path / "store") as store:
        import_file(store, path)
        before = steps(store, lambda: import_file(store, path))
        for number in range(100):
            start(store, f"s{number}")
        assert steps(store, lambda: import_file(store, path)) < before + 10


def test_a_bad_file_adds_nothing(tmp_path: Path) -> None:
    """The file is read whole before anything is appended."""
    path = tmp_path / "s.jsonl"
    path.write_text(json.dumps({"a": 1}), encoding="utf-8")
    with Store.open(tmp_path / "store") as store:
        with pytest.raises(ImportFailed):
            import_file(store, path)
        assert store.sessions() == []


def test_two_imports_at_once_record_the_session_once(tmp_path: Path) -> None:
    """Processes that import the same file together add its facts one time."""
    path = write(tmp_path / "s.json", conversation(60))
    place = str(tmp_path / "store")
    code = "import sys; from foreword import Store, import_file; import_file(Store.open(sys.argv[1]), sys.argv[2])"
    running = [subprocess.Popen([sys.executable, "-c", code, place, str(path)]) for _ in range(3)]
    assert [process.wait(60) for process in running] == [0, 0, 0]
    with Store.open(place) as store, Store.open(tmp_path / "other") as other:
        import_file(other, path)
        [row], [alone] = store.sessions(), other.sessions()
        assert row.events == alone.events


@pytest.mark.parametrize("before, after", [("/a", "/b"), (None, "/p")])
def test_a_file_whose_folder_changed_is_imported_again(
    before: str | None, after: str, tmp_path: Path
) -> None:
    """The session keeps the project that it began with, and what the file has grown by is added."""

    def line(number: int, folder: str | None) -> str:
        row = {
            "type": "user", "uuid": f"u{number}", "parentUuid": f"u{number - 1}" if number else None, "sessionId": "s",
            "timestamp": f"2026-01-01T00:00:0{number}.000Z", "message": {"role": "user", "content": f"fact {number}"},
        }  # fmt: skip
        return json.dumps(row if folder is None else {**row, "cwd": folder}) + "\n"

    path = tmp_path / "s.jsonl"
    with Store.open(tmp_path / "store") as store:
        path.write_text(line(0, before))
        import_file(store, path)
        path.write_text((line(0, None) if before is None else "") + line(0 if before else 1, after))
        [again] = import_file(store, path)
        assert (again.session, again.added) == ("s", 0 if before else 1)
