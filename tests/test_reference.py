"""The reference pages are whole: every command, option, field, error, event, wire and format stands in them."""

import importlib
import inspect
import json
import re
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest
from click.testing import CliRunner

import foreword
import foreword.testing
from foreword import Compiled, Page, Session, Synced
from foreword.cli.main import COMMANDS, cli
from foreword.cli.options import FORMATS as OFFERED_FORMATS
from foreword.cli.options import WIRES
from foreword.codecs import CODECS
from foreword.compiler.invariants.check import INVARIANTS
from foreword.compiler.invariants.rule import Invariant
from foreword.compiler.policy import DEFAULT
from foreword.core.event import Body, Event, Replacement
from foreword.core.ledger import Totals
from foreword.core.outcome import CallOutcome
from foreword.core.request import CATEGORIES
from foreword.engine.answering import Sent
from foreword.engine.asking import Asked
from foreword.errors import ForewordError
from foreword.importers.read import FORMATS
from tests.tree import PACKAGE, ROOT, module_name, project_files

REFERENCE = ROOT / "docs" / "reference"
DEMO = ROOT / "demo" / "session.json"
TARGET = ("--provider", "anthropic", "--model", "claude-opus-4-8")


def page(name: str) -> str:
    """Return the text of a reference page."""
    return (REFERENCE / name).read_text(encoding="utf-8")


def section(text: str, heading: str) -> str:
    """Return what stands under a heading, up to the next one of its level or above; '' without it."""
    match = re.search(rf"^(#+) {re.escape(heading)}$", text, re.MULTILINE)
    if match is None:
        return ""
    rest = text[match.end() :]
    following = re.search(rf"^#{{1,{len(match[1])}}} ", rest, re.MULTILINE)
    return rest if following is None else rest[: following.start()]


def spans(text: str) -> set[str]:
    """List the words that stand in code spans."""
    return {word for span in re.findall(r"`([^`\n]+)`", text) for word in re.split(r"[ |=]", span)}


def missing(names: set[str], text: str) -> list[str]:
    """List the names that no code span of a text holds."""
    return sorted(names - spans(text))


def command_of(name: str) -> click.Command:
    """Import a command."""
    found = cli.get_command(click.Context(cli), name)
    assert found is not None
    return found


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_in_the_reference(name: str) -> None:
    """What `foreword COMMAND --help` names stands in the command's section."""
    text = section(page("cli.md"), f"foreword {name}")
    assert text
    options = {
        option
        for param in command_of(name).params
        if isinstance(param, click.Option) and not param.hidden
        for option in param.opts
        if option.startswith("--")
    }
    assert missing(options, text) == []


def test_no_command_is_told_that_is_not_there() -> None:
    """Every command's section has its command, in the order of the table."""
    assert re.findall(r"^## foreword (\S+)$", page("cli.md"), re.MULTILINE) == list(COMMANDS)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in an empty folder with a store of the test's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("FOREWORD_STORE", str(tmp_path / "store"))
    return tmp_path


def document(*args: str | Path, code: int = 0) -> Any:
    """Run a command with --json and return what it printed."""
    result = CliRunner().invoke(cli, [*map(str, args), "--json"])
    assert result.exit_code == code, result.stderr
    return json.loads(result.stdout)


def test_every_json_member_is_in_the_reference(home: Path) -> None:
    """What the commands print for the demo session is named where the command is told."""
    made = document("import", DEMO)
    [row] = made["sessions"]
    alias, session = row["alias"], row["session"]
    printed = {
        "import": [made, row],
        "compile": [
            document("compile", DEMO, *TARGET),
            small := document("compile", DEMO, *TARGET, "--window", "2000", code=1),
            small["required"][0],
        ],
        "show": [shown := document("show", DEMO), shown["by_step"][0], document("show", DEMO, "--step", "2")],
        "stats": [document("stats", DEMO)],
        "sessions": [listed := document("sessions"), listed["sessions"][0]],
        "models": [known := document("models"), known["models"][0], known["models"][0]["price"]],
        "blame": [blamed := document("blame", "include/", session), blamed["entered"]],
        "read": [document("read", f"{alias}#3")],
        "verify": [document("verify", "--all")],
        "cost": [document("cost", DEMO, "--by", "day")],
        "config": [config := document("config"), config["settings"][0], config["keys"][0]],
        "doctor": [doctor := document("doctor"), doctor["findings"][0]],
        "tokens": [document("tokens", "one two", "--model", "claude-opus-4-8", "--pieces")],
    }
    told = page("cli.md")
    for name, documents in printed.items():
        for one in documents:
            assert missing(set(one), section(told, f"foreword {name}")) == [], name


def test_every_member_of_a_report_and_a_manifest_is_in_the_reference(home: Path) -> None:
    """A replay's report stands in its command's section, its manifests on their page."""
    report = document("replay", DEMO, *TARGET, "--window", "32000", "--keep-requests", "none", "--out", "out")
    told = section(page("cli.md"), "foreword replay")
    assert missing({*report, *report["tokens"], *report["cost_usd"], *report["compile_ms"]}, told) == []
    text = page("manifest.md")
    for path in sorted((home / "out" / "steps").glob("*.manifest.json")):
        made = json.loads(path.read_text(encoding="utf-8"))
        assert missing(set(made), text) == []
        for name in ("tokens", "budget", "prefix"):
            assert missing(set(made[name]), section(text, name)) == []
        for name in ("segments", "omitted", "rewrites", "pins"):
            assert missing({key for one in made[name] for key in one}, section(text, name)) == []
        assert missing(set(made["prefix"]["broke"] or ()), section(text, "prefix")) == []
    assert missing(set(CATEGORIES), section(text, "tokens")) == []


def test_every_field_of_the_policy_is_in_the_reference() -> None:
    """Each field has a row with its default."""
    rows = dict(re.findall(r"^\| `(\w+)` \| `([^`]+)` \|", page("policy.md"), re.MULTILINE))
    defaults = {name: getattr(DEFAULT, name) for name in DEFAULT.__struct_fields__}
    assert {name: json.loads(value) for name, value in rows.items()} == defaults


def errors() -> list[str]:
    """List every error class of the package, subclasses too."""
    for path in project_files(".py", PACKAGE):
        importlib.import_module(module_name(path))
    found: list[str] = []
    waiting: list[type[ForewordError]] = [ForewordError]
    while waiting:
        error = waiting.pop()
        waiting += error.__subclasses__()
        if error.__module__.startswith("foreword."):
            found.append(error.__name__)
    return found


def test_every_error_is_in_the_reference() -> None:
    """Each class of the tree, and those beside it, has a row; no row is of a class that is gone."""
    assert sorted(re.findall(r"^\| `(\w+)` \|", page("errors.md"), re.MULTILINE)) == sorted(errors())


def test_every_name_to_import_is_in_the_reference() -> None:
    """Each name of the package has its row, can be had, and no row is of a name that is gone."""
    rows = [
        name for row in re.findall(r"^\| (`.+?) \|", page("python.md"), re.MULTILINE) for name in spans(row)
    ]
    assert sorted(rows) == foreword.__all__
    assert all(getattr(foreword, name) is not None for name in rows)


def first_cells(text: str) -> list[str]:
    """List the code spans in the first cells of a text's tables, whole and in order."""
    return [
        span
        for row in re.findall(r"^\| (`.*?) \| ", text, re.MULTILINE)
        for span in re.findall("`(.+?)`", row)
    ]


def shown(name: str) -> str:
    """Return what a page shows of a public name of `Session`: a call with its arguments, or the name alone."""
    held = inspect.getattr_static(Session, name)
    if not inspect.isfunction(held) and not isinstance(held, classmethod):
        return name
    given = [
        one for one in inspect.signature(getattr(Session, name)).parameters.values() if one.name != "self"
    ]
    words: list[str] = []
    for one in given:
        if one.kind is one.KEYWORD_ONLY and not any(word.startswith("*") for word in words):
            words.append("*")
        stars = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
        plain = one.default is None or isinstance(one.default, str | int)
        value = json.dumps(one.default) if isinstance(one.default, str) else repr(one.default)
        words.append(
            f"{stars}{one.name}" + ("" if one.default is one.empty else f"={value if plain else '…'}")
        )
    return f"{name}({', '.join(words)})"


def public(held: type) -> list[str]:
    """List the public names of a class."""
    return [name for name in dir(held) if not name.startswith("_")]


def test_every_name_of_a_session_is_in_the_reference() -> None:
    """Each public name has its row, a call with its arguments and defaults; no row is of a name that is gone."""
    told = page("session.md").partition("## What they return")[0]
    assert sorted(first_cells(told)) == sorted(map(shown, public(Session)))


def test_every_name_of_a_session_has_a_docstring() -> None:
    """What `help` shows of a method, a property or a member that may be set is never empty."""
    assert [
        name for name in public(Session) if not inspect.getdoc(inspect.getattr_static(Session, name))
    ] == []


@pytest.mark.parametrize("returned", [Synced, CallOutcome, Page, Asked, Sent])
def test_every_field_that_a_session_returns_is_in_the_reference(returned: type) -> None:
    """Each field and property has its row under the name of its class, and no row is of one that is gone."""
    told = page("session.md").partition("## What they return")[2]
    table = re.search(rf"^\| `{returned.__name__}`.*?\n\n", told + "\n", re.MULTILINE | re.DOTALL)
    assert table is not None
    assert sorted(first_cells(table[0])[1:]) == sorted(public(returned))


def test_what_the_reference_says_of_a_request_is_there() -> None:
    """The names told of `Compiled` are names that one has."""
    session = Session.open(None, "one", provider="anthropic", model="claude-opus-4-8")
    session.say("Build it.")
    told = section(page("session.md"), "What they return").partition("`Synced`")[0]
    assert isinstance(session.compile(), Compiled)
    assert [name for name in first_cells(told)[1:] if not hasattr(session.compile(), name)] == []


def test_every_figure_of_totals_is_in_the_reference() -> None:
    """Each field and property of a sum of calls has its row; no row is of one that is gone."""
    assert sorted(first_cells(section(page("ledger.md"), "Totals"))) == sorted(public(Totals))


def test_every_name_of_testing_is_told() -> None:
    """The page on testing a loop names all that `foreword.testing` offers."""
    text = (ROOT / "docs" / "how-to" / "test-your-loop.md").read_text(encoding="utf-8")
    told = {word for span in spans(text) for word in re.findall(r"\w+", span)}
    assert sorted(set(foreword.testing.__all__) - told) == []


def test_every_rule_of_a_request_is_in_the_reference() -> None:
    """Each named rule has a row, those that forbid cuts or tie items another; no row is of a rule that is gone."""
    text = page("rules.md")
    rows = re.findall(r"^\| `(\w+)` \|", section(text, "Rules of a request").partition("##")[0], re.MULTILINE)
    assert sorted(rows) == sorted(rule.name for rule in INVARIANTS)
    free = Invariant(name="", source="", holds=INVARIANTS[0].holds)
    cutting = [
        rule.name for rule in INVARIANTS if rule.forbids is not free.forbids or rule.ties is not free.ties
    ]
    rows = re.findall(r"^\| `(\w+)` \|", section(text, "Where history may be cut"), re.MULTILINE)
    assert sorted(rows) == sorted(cutting)


def test_every_event_is_in_the_reference() -> None:
    """Each kind has a section that names its fields; the header's fields have a table."""
    text = page("events.md")
    header = section(text, "Header")
    assert [field for field in Event.__struct_fields__ if f"| `{field}` |" not in header] == []
    for body in Body.__args__:
        told = section(text, msgspec.inspect.type_info(body).tag)
        assert told, body
        assert missing(set(body.__struct_fields__), told) == [], body
    assert missing(set(Replacement.__struct_fields__), section(text, "rewritten")) == []


def test_every_wire_is_in_the_reference() -> None:
    """Each wire has its rows, its number of rules, and by name those without evidence."""
    text = page("wires.md")
    rows = {
        wire: (int(count), re.findall(r"`(\w+)`", names))
        for wire, count, names in re.findall(
            r"^\| `([\w-]+)` \| (\d+) \| (.*) \|$", section(text, "Unproven rules"), re.MULTILINE
        )
    }
    held: dict[str, tuple[int, list[str]]] = {}
    for wire in CODECS:
        rules = importlib.import_module(f"foreword.testing.{wire.replace('-', '_')}_rules").RULES
        held[wire] = (len(rules), [rule.code for rule in rules if rule.evidence == "I"])
    assert rows == held
    assert missing(set(CODECS), section(text, "Wires").partition("##")[0]) == []


def test_options_name_what_is_registered() -> None:
    """Help texts list wires and formats without importing them; the lists agree."""
    assert tuple(CODECS) == WIRES
    assert tuple(FORMATS) == OFFERED_FORMATS


def test_every_format_and_flaw_is_told() -> None:
    """Each format has a row, and each code of a warning one that says what it means."""
    text = (ROOT / "docs" / "how-to" / "import-sessions.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `([\w-]+)` \|", section(text, "Formats"), re.MULTILINE) == list(FORMATS)
    sources = [*project_files(".py", PACKAGE / "importers"), PACKAGE / "engine" / "import_file.py"]
    codes: set[str] = set()
    for path in sources:
        source = path.read_text(encoding="utf-8")
        codes |= set(re.findall(r'Flaw\(\s*code="(\w+)"', source))
        codes |= set(re.findall(r'^\s+\("(\w+)", (?:lost|history\.)', source, re.MULTILINE))
    assert len(codes) > 15
    assert set(re.findall(r"^\| `(\w+)` \|", section(text, "Flaws"), re.MULTILINE)) == codes


def test_a_missing_name_is_found() -> None:
    """The probe behind these tests looks into one section, and at whole words in code."""
    text = "# A\n## one\n`--json` and `x y`\n### deeper\n`z`\n## two\n`--all`\n"
    assert missing({"--json", "y", "z", "--all", "--js"}, section(text, "one")) == ["--all", "--js"]
