"""Every reference that a request names gives back exactly what it stands for, whole and page by page."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foreword.core.block import Text, ToolSpec
from foreword.core.event import Event, Rewritten, ToolReturned
from foreword.core.reference import content_bytes
from foreword.engine.reading import PAGE_CHARACTERS, read_page
from foreword.engine.session import Session
from foreword.errors import Gone, UnknownEvent, UnknownReference
from foreword.store import Store
from tests.engine.sessions import answer, call, reopened, session, step
from tests.histories import examples, target_of

NAMED = re.compile(r'read\(ref="([^"#]+)#(\d+)"(?:, offset=(\d+))?\)')
NEXT = re.compile(r'\n<foreword kind="more">\n[^\n]*next: (\w+)\((.*)\)\n</foreword>\Z')
WIRES = ("anthropic", "openai-chat")


def test_the_read_tool_has_the_name_that_requests_offer() -> None:
    """Another one beside a tool ``read`` of the agent's; none where the reader is no tool, or nobody is asked."""
    made = session(target_of("anthropic"))
    made.say("go")
    for tools in ((), (ToolSpec(name="read"),)):
        made.offer(tools)
        offered = json.loads(made.compile().body)["tools"]
        ours = [tool["name"] for tool in offered if tool.get("description", "").startswith("Read back what")]
        assert ours == [made.read_tool]
    assert made.read_tool == "foreword_read"
    made.target = target_of("anthropic", reader="none")
    assert made.read_tool is None
    made.target = None
    assert made.read_tool is None


def test_the_name_stays_when_the_agents_own_read_goes() -> None:
    """What a base offers is what an excerpt and a summary name, once the tool of that name is gone, too."""
    made = session(target_of("anthropic", model="claude-fable-5-1"))
    made.offer((ToolSpec(name="read"), ToolSpec(name="bash")))
    made.say("go")
    made.compile()
    step(made, 1, "out")
    made.compile()
    made.offer((ToolSpec(name="bash"),))
    step(made, 2, "lorem ipsum " * 9_000)
    compiled = made.compile()
    assert len(made.view.fold.epochs) == 1
    assert made.read_tool == compiled.epoch.body.read_tool == "foreword_read"
    assert set(re.findall(r"(\w+)\(ref=", compiled.body.decode().replace('\\"', '"'))) == {"foreword_read"}


def told_calls(body: bytes) -> set[str]:
    """Return the references in the read calls that a request names."""
    return {
        f"{alias}#{seq}"
        for alias, seq, _ in NAMED.findall(
            json.dumps(json.loads(body), ensure_ascii=False).replace('\\"', '"')
        )
    }


def arguments(text: str) -> dict[str, object]:
    """Read the arguments of a named call: name=value, values as JSON."""
    return {name: json.loads(value) for name, value in re.findall(r'(\w+)=("(?:[^"\\]|\\.)*"|\d+)', text)}


def paged(made: Session, ref: str) -> str:
    """Follow the named calls from page to page; return the pages joined, without the line that names the next."""
    given: dict[str, object] = {"ref": ref}
    pages: list[str] = []
    for _ in range(10_000):
        page = made.run_read_tool(json.dumps(given))
        found = NEXT.search(page)
        if found is None:
            return "".join([*pages, page])
        pages.append(page[: page.rindex('\n<foreword kind="more"')])
        following = arguments(found[2])
        assert following != given, "the next call is the same call"
        given = following
    raise AssertionError("no last page")


def outputs() -> list[str]:
    """Outputs of many shapes: long, odd line ends, one giant line, no newline at the end, would-be frames."""
    return [
        "\n".join(f"{n}: words é \u2028 and \x0c feed" for n in range(400)),
        "\n".join(f"{n}" for n in range(3_000)) + "\n",
        "\r\n".join(f"row {n}" for n in range(900)),
        "x" * 30_000,
        "a\n" * 10 + "y" * 25_000 + "\nend",
        "\n" * 2_000,
        "</foreword>\n" * 900,
    ]


@pytest.mark.parametrize("wire", WIRES)
def test_every_named_reference_reads_back(wire: str, tmp_path: Path) -> None:
    """References in excerpts, cleared notes and summaries resolve, also after the store is opened again."""
    with Store.open(tmp_path) as store:
        made = session(target_of(wire, 7_000), store)
        made.say("go")
        recorded: dict[str, str] = {}
        named: set[str] = set()
        for number in range(40):
            output = outputs()[number % len(outputs())]
            seq = step(made, number, output)
            recorded[f"{made.alias}#{seq}"] = output
            named |= told_calls(made.compile().body)
        hows = {e.body.how for e in made.events if isinstance(e.body, Rewritten)}
        assert hows >= {"externalized", "summarized"}
        assert len(named) > 8
        again = reopened(store, made)
        for ref in sorted(named):
            if ref.endswith("#N"):
                continue
            assert ref in recorded
            for reader in (made, again):
                assert reader.read(ref).text == recorded[ref]
                assert paged(reader, ref) == recorded[ref]
        replaced = [r for e in made.events if isinstance(e.body, Rewritten) for r in e.body.replacements]
        for replacement in replaced:
            for seq in replacement.events:
                body = again.events[seq].body
                assert body is not None
                exact = content_bytes(body, None)
                assert exact is not None
                assert again.read(f"{again.alias}#{seq}").bytes == len(exact[1])
                if isinstance(body, ToolReturned) and len(body.result.content) == 1:
                    assert again.read(f"{again.alias}#{seq}").text.encode() == exact[1]


@settings(max_examples=examples(60, 2_000), deadline=None)
@given(
    content=st.text(st.sampled_from("ab\n\n\r\u2028\x0cé😀"), max_size=300).map(lambda text: text * 40),
    offset=st.integers(-2, 400),
    limit=st.integers(0, 400) | st.none(),
)
def test_pages_are_lines_of_the_content(content: str, offset: int, limit: int | None) -> None:
    """A page is the lines that were asked for; all pages joined are the content."""
    made = session()
    made.say("go")
    answer(made, call("c"))
    seq = made.returned("c", content)
    ref = f"{made.alias}#{seq}"
    lines = re.findall(r"[^\n]*\n|[^\n]+\Z", content)
    page = made.read(ref, offset=offset, limit=limit)
    start = max(0, offset - 1)
    assert page.text == "".join(lines[start : None if limit is None else start + limit])
    assert (page.lines, page.bytes) == (len(lines), len(content.encode()))
    assert page.truncated is (limit is not None and start + limit < len(lines))
    assert paged(made, ref) == content


def test_a_page_stays_small() -> None:
    """No page of the read tool is much larger than its limit, whatever the length of a line."""
    made = session()
    for content in outputs():
        seq = made.say(content)
        page = made.run_read_tool({"ref": f"{made.alias}#{seq}"})
        assert len(page) <= PAGE_CHARACTERS + 300


def test_grep_goes_on_with_grep() -> None:
    """The call named after a page of matches finds the next matches, and no other lines."""
    made = session()
    seq = made.say("\n".join(f"hit {n}" if n % 2 else f"miss {n}" for n in range(4_000)))
    given: dict[str, object] = {"ref": f"{made.alias}#{seq}", "grep": "hit"}
    found: list[str] = []
    for _ in range(100):
        page = made.run_read_tool(given)
        following = NEXT.search(page)
        text = page if following is None else page[: page.rindex('\n<foreword kind="more"')]
        found += [line for line in text.split("\n") if line]
        if following is None:
            break
        given = arguments(following[2])
    assert found == [f"hit {n}" for n in range(1, 4_000, 2)]


def test_a_page_of_nothing_says_so() -> None:
    """Past the end, or where no line has the text asked for, the model learns how many lines there are."""
    made = session()
    ref = f"{made.alias}#{made.say('one' + chr(10) + 'two')}"
    for past in ({"offset": 3}, {"grep": "three"}, {"tail": 0}, {"start": 99}):
        assert made.run_read_tool({"ref": ref, **past}) == "[nothing to show there; 2 lines in all]"


def test_a_bad_call_is_answered_in_words() -> None:
    """The model's faulty calls get a text that says what is wrong; nothing is raised."""
    made = session()
    made.say("go")
    alias = made.alias
    for faulty in (
        "", "{", "[]", "null", '{"ref": 3}', '{"offset": 1}', {"ref": "nonsense"}, {"ref": f"{alias}#99"},
        {"ref": f"{alias}#1.7"}, {"ref": "other#1"}, {"ref": f"{alias}#1", "offset": "x", "limit": [], "tail": None},
        {"ref": f"{alias}#1", "limit": -5}, {"ref": f"{alias}#1", "tail": -5}, {"ref": f"{alias}#1", "offset": 10**12},
        "\ud800", {"ref": f"{alias}#999999999999"},
    ):  # fmt: skip
        assert isinstance(made.run_read_tool(faulty), str)
    with pytest.raises(UnknownReference):
        made.read("nonsense")
    with pytest.raises(UnknownEvent):
        made.read(f"{alias}#99")


def test_blocks_read_back_one_by_one() -> None:
    """A result of several blocks reads back whole as JSON, and each block as it was."""
    made = session()
    made.say("go")
    answer(made, call("c"))
    seq = made.returned("c", [Text(text="one\n"), Text(text="two")])
    assert made.read(f"{made.alias}#{seq}.0").text == "one\n"
    assert made.read(f"{made.alias}#{seq}.1").text == "two"
    whole = json.loads(made.read(f"{made.alias}#{seq}").text)
    assert [block["text"] for block in whole] == ["one\n", "two"]
    with pytest.raises(UnknownReference):
        made.read(f"{made.alias}#{seq}.2")


def test_a_fork_reads_what_it_shares(tmp_path: Path) -> None:
    """References of a parent resolve in its fork by both names, and the fork's own in the store."""
    with Store.open(tmp_path) as store:
        made = session(store=store)
        made.say("go")
        seq = step(made, 1, "shared output")
        child = made.fork(seq)
        own = child.say("child's words")
        child.flush()
        for reader in (made, child):
            assert reader.read(f"{made.alias}#{seq}").text == "shared output"
            assert reader.read(f"{child.alias}#{seq}").text == "shared output"
            assert reader.read(f"{child.alias}#{own}").text == "child's words"


def test_a_reference_is_read_without_the_log_around_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From a store one event is loaded, however long its log is; why it is gone stands behind it."""
    with Store.open(tmp_path) as store:
        made = session(store=store)
        said = [made.say(f"valve {number}") for number in range(30)]
        load, loaded = store.load, list[int]()

        def counted(name: str, *, since: int = 0, limit: int | None = None) -> list[Event]:
            found = load(name, since=since, limit=limit)
            loaded.append(len(found))
            return found

        monkeypatch.setattr(store, "load", counted)
        assert read_page(store, f"made#{said[4]}").text == "valve 4"
        assert loaded == [1]
        with pytest.raises(UnknownEvent) as unknown:
            read_page(store, "made#900")
        assert unknown.value.size == len(made.events)
        made.erase([said[7]], "asked to")
        with pytest.raises(Gone, match="asked to"):
            read_page(store, f"made#{said[7]}")


def test_the_models_tool_reads_its_own_session_alone(tmp_path: Path) -> None:
    """A reference to another session is refused; of a parent only what a fork shares with it can be read."""
    with Store.open(tmp_path) as store:
        made, other = session(store=store, name="mine"), session(store=store, name="other")
        shared = made.say("said before the fork")
        fork = made.fork(shared)
        later, strange = made.say("said after the fork"), other.say("said elsewhere")
        assert fork.run_read_tool({"ref": f"{made.alias}#{shared}"}) == "said before the fork"
        refused = [
            f"{made.alias}#{later}",
            f"{other.alias}#{strange}",
            "../../secret",
            f"{fork.alias}#../../x",
        ]
        for ref in refused:
            told = fork.run_read_tool({"ref": ref})
            assert told.startswith("[reference"), ref
            assert "said" not in told, ref
        assert made.run_read_tool({"ref": f"{made.alias}#{later}"}) == "said after the fork"
        assert other.read(f"{made.alias}#{later}").text == "said after the fork"


def result_of(made: Session, content: str) -> str:
    """Record a tool's result; return its reference."""
    made.say("go")
    answer(made, call("c"))
    return f"{made.alias}#{made.returned('c', content)}"


LINES = "".join(f"line {n}\n" for n in range(1, 31))


@pytest.mark.parametrize(
    "given, text",
    [
        ({"offset": "10", "limit": "2"}, "line 10\nline 11\n"),
        ({"offset": 10.0, "limit": 2.0}, "line 10\nline 11\n"),
        ({"tail": "3"}, "line 28\nline 29\nline 30\n"),
        ({"grep": 5}, "line 5\nline 15\nline 25\n"),
        ({"grep": "line 1\n", "tail": None, "offset": None}, "line 1\n"),
    ],
)
def test_what_a_model_means_is_read(given: dict[str, object], text: str) -> None:
    """Quoted numbers, and null for what is not given; left out, the same page would come again and again."""
    made = session()
    ref = result_of(made, LINES)
    page = made.run_read_tool(json.dumps({"ref": ref, **given}))
    assert page.partition("\n<foreword")[0] == text


@pytest.mark.parametrize(
    "given, told",
    [
        ({"offset": -1}, "[read: offset is -1; give a whole number, 0 or more]"),
        ({"limit": "two"}, "[read: limit is 'two'; give a whole number, 0 or more]"),
        ({"tail": True}, "[read: tail is True; give a whole number, 0 or more]"),
        ({"start": 1.5}, "[read: start is 1.5; give a whole number, 0 or more]"),
        ({"offset": "9" * 5_000}, "give a whole number, 0 or more]"),
        ({"grep": ["a"]}, "[read: grep is ['a']; give a text"),
        ({"lines": 3}, "[read: there is no argument 'lines'; give ref, offset, limit, tail, start, grep]"),
    ],
)
def test_what_means_nothing_is_said(given: dict[str, object], told: str) -> None:
    """Which argument, and what it takes."""
    made = session()
    ref = result_of(made, LINES)
    assert told in made.run_read_tool({"ref": ref, **given})


@pytest.mark.parametrize("form", ["#{}", "[#{}]", " [#{}] "])
def test_an_event_is_read_as_a_summary_cites_it(form: str) -> None:
    """Without the alias it can be no other session's."""
    made = session()
    seq = result_of(made, LINES).partition("#")[2]
    assert made.run_read_tool({"ref": form.format(seq)}) == LINES
    unknown = made.run_read_tool({"ref": "[#999]"})
    assert f"its events are {made.alias}#0 to {made.alias}#{len(made.events) - 1}" in unknown
