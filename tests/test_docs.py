"""The documentation holds: examples run, console sessions print what they show, links lead somewhere."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.markdown import Block, anchors, blocks, commands, first_unmet, links
from tests.tree import MADE, ROOT, project_files, relative

README = ROOT / "README.md"
DOCS = ROOT / "docs"
PAGES = project_files(".md")
RUN_PAGES = [path for path in PAGES if path == README or path.is_relative_to(DOCS)]


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in a folder that looks like the checkout; what is written there is thrown away."""
    for entry in ROOT.iterdir():
        if entry.name not in MADE and not entry.name.startswith("."):
            (tmp_path / entry.name).symlink_to(entry)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "build" / "share"))
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    return tmp_path


@pytest.mark.parametrize("page", RUN_PAGES, ids=relative)
def test_python_examples_run(page: Path, checkout: Path) -> None:
    """Every `python` block parses; those marked `python run` run, in order, in one namespace a page."""
    names: dict[str, object] = {"__name__": page.stem}
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.words[:1] == ("python",):
            ast.parse(block.text, f"{relative(page)}:{block.line}")
        if block.words[:2] == ("python", "run"):
            exec(compile(block.text, f"{relative(page)}:{block.line}", "exec"), names)


@pytest.mark.parametrize("page", RUN_PAGES, ids=relative)
def test_console_sessions_print_what_they_show(page: Path, checkout: Path) -> None:
    """Each `$ foreword …` and `$ make demo` of a `console` block succeeds and prints the lines under it."""
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.words[:1] == ("console",):
            assert unmet(block) == []


def unmet(block: Block) -> list[str]:
    """Run the commands of a console block; say what each printed otherwise than shown.

    `make demo` runs with the environment of this very test, so that it installs nothing.
    """
    faults: list[str] = []
    for command in commands(block):
        if command.text == "make demo":
            line = f"make -s demo VENV={sys.prefix} -o {sys.prefix}/.installed"
        elif command.text.startswith("foreword "):
            line = command.text
        else:
            continue
        run = subprocess.run(["sh", "-c", line], capture_output=True, text=True, timeout=120, check=False)
        if run.returncode:
            faults.append(f"line {command.line}: {command.text}: exit {run.returncode}: {run.stderr.strip()}")
        elif command.shown and (fault := first_unmet(command.shown, run.stdout)):
            faults.append(f"line {command.line}: {command.text}: not printed there: {fault}\n{run.stdout}")
    return faults


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_links_lead_somewhere(page: Path) -> None:
    """Every link to a place in the project names a file, and a heading in it where it says so."""
    assert broken_links(page, page.read_text(encoding="utf-8")) == []


def broken_links(page: Path, text: str) -> list[str]:
    """List the links of a page that lead to no file or to no heading of the file."""
    broken: list[str] = []
    for link in links(text):
        if "://" in link or link.startswith("mailto:"):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if not target.is_relative_to(ROOT) or not target.exists():
            broken.append(link)
            continue
        there = text if target == page else target.read_text(encoding="utf-8") if anchor else ""
        if anchor and anchor not in anchors(there):
            broken.append(link)
    return broken


def test_every_page_is_in_an_index() -> None:
    """A page under docs can be reached from `docs/README.md` by following links."""
    seen: set[Path] = set()
    waiting = [DOCS / "README.md"]
    while waiting:
        page = waiting.pop()
        seen.add(page)
        names = [link.partition("#")[0] for link in links(page.read_text(encoding="utf-8"))]
        targets = [(page.parent / name).resolve() for name in names]
        waiting += [t for t in targets if t.suffix == ".md" and t.is_file() and t not in seen]
    assert [relative(page) for page in project_files(".md", DOCS) if page not in seen] == []


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    """A missing file, a missing heading and a way out of the project are each reported."""
    text = "# One two\n[a](#one-two) [b](#three) [c](nowhere.md) [d](https://a.example/x) [e](../../../etc)\n"
    assert broken_links(DOCS / "README.md", text) == ["#three", "nowhere.md", "../../../etc"]


def test_links_inside_code_are_not_links() -> None:
    """Text in fences and code spans is shown, not followed."""
    assert links("`[a](b)` [c](d)\n```\n[e](f)\n```\n[g](h)\n") == ["d", "h"]


def test_repeated_headings_are_numbered() -> None:
    """The second heading of a name gets `-1`, as the readers of these pages number it."""
    assert anchors("# A `b`!\n## A b\n```\n# not one\n```\n") == {"a-b", "a-b-1"}


def test_a_console_block_is_split_into_commands() -> None:
    """A command goes on after a backslash; the lines under it are what it prints."""
    block = blocks("x\n```console\n$ foreword show \\\n    a.json\none\n\ntwo\n$ ls\n```\n")[0]
    first, second = commands(block)
    assert (first.text, first.shown, first.line) == ("foreword show a.json", ("one", "", "two"), 3)
    assert (second.text, second.shown) == ("ls", ())


def test_an_open_fence_is_refused() -> None:
    """A block that is never closed would hide the rest of its page."""
    with pytest.raises(ValueError, match="line 2 is never closed"):
        blocks("```python\nx = 1\n")


@pytest.mark.parametrize(
    "shown, printed, fault",
    [
        (("a  b", "c"), "a b\n\nc\n", None),
        (("a", "..."), "a\nb\nc\n", None),
        (("...", "c"), "a\nb\nc\n", None),
        (("took ... ms, 3 steps",), "took 12.5 ms, 3 steps\n", None),
        (("took … ms, 3 steps",), "took 12.5 ms, 4 steps\n", "took … ms, 3 steps"),
        (("a", "c"), "a\nb\nc\n", "c"),
        (("a",), "a\nb\n", "(nothing more, but there is: b)"),
        (("a ... a",), "a\n", "a ... a"),
        ((), "anything\n", None),
    ],
)
def test_output_is_compared_loosely(shown: tuple[str, ...], printed: str, fault: str | None) -> None:
    """Spacing and what an ellipsis stands for are free; all else must be printed as shown."""
    assert first_unmet(shown, printed) == fault


def test_a_failing_command_is_a_fault(checkout: Path) -> None:
    """A command that exits with an error is reported with its exit code."""
    (fault,) = unmet(Block(("console",), "$ foreword no-such-command\n", 1))
    assert "foreword no-such-command: exit" in fault
