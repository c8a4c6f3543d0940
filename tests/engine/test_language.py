"""The language to answer in: told by what persons write, said once where it changed, in bytes that stay."""

from __future__ import annotations

import random
import subprocess
import sys
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foreword.compiler.compile import Compiled
from foreword.core.event import Draft, EpochStarted, LanguageDetected, Noticed
from foreword.core.languages import LANGUAGES
from foreword.core.target import Target
from foreword.engine import language
from foreword.engine.language import language_of
from foreword.engine.session import Session
from foreword.errors import MissingExtra
from foreword.store import Store
from tests.compiler.test_incremental import LOOP, SLOW, walk_in_memory
from tests.engine.sessions import answer, call
from tests.histories import (
    MODELS,
    OPERATIONS,
    TIGHT,
    counting_clock,
    digests,
    examples,
    from_scratch,
    referee_for,
    target_of,
)

ASKING = msgspec.structs.replace(TIGHT, language_directive=True)
WIRES = sorted(MODELS)
GERMAN = "Bitte sieh dir den letzten Fehler noch einmal genau an."
FRENCH = "Peux-tu regarder pourquoi la dernière page ne s'ouvre plus ?"
SENTENCES = {
    "ar": ["هل يمكنك النظر في آخر تغيير؟", "لماذا لا تفتح الصفحة بعد الآن؟"],
    "cs": ["Můžeš se podívat na poslední změnu?", "Proč se ta stránka vůbec neotevře?"],
    "de": [GERMAN, "Warum stürzt es beim Öffnen ab?"],
    "el": ["Μπορείς να δεις την τελευταία αλλαγή;", "Διόρθωσε το τεστ που αποτυγχάνει."],
    "en": ["Please look at the last change again.", "Why does it crash when I open the page?"],
    "es": ["¿Por qué se cierra cuando abro la página?", "Mira otra vez el último cambio, por favor."],
    "fi": ["Voitko katsoa viimeisintä muutosta?", "Korjaa jäsentimen epäonnistuva testi."],
    "fr": [FRENCH, "Continue avec l'étape suivante, s'il te plaît."],
    "hi": ["क्या आप पिछला बदलाव फिर से देख सकते हैं?", "पेज क्यों नहीं खुल रहा है?"],
    "it": ["Puoi guardare l'ultima modifica?", "Perché si blocca quando apro la pagina?"],
    "ja": ["最後の変更を見てもらえますか？", "次のステップに進んでください"],
    "ko": ["마지막 변경을 볼 수 있나요?", "왜 페이지가 열리지 않나요?"],
    "nl": ["Kun je nog eens naar de laatste wijziging kijken?", "Waarom crasht het als ik de pagina open?"],
    "pl": ["Czy możesz spojrzeć na ostatnią zmianę?", "Dlaczego strona się nie otwiera?"],
    "pt": ["Por que não consigo abrir a página?", "Você pode olhar a última alteração?"],
    "ru": ["Можешь посмотреть последнее изменение?", "Почему страница не открывается?"],
    "sv": ["Kan du titta på den senaste ändringen?", "Varför kraschar det när jag öppnar sidan?"],
    "tr": ["Son değişikliğe bakabilir misin?", "Sayfayı açınca neden çöküyor?"],
    "uk": ["Можеш подивитися останню зміну?", "Чому сторінка не відкривається?"],
    "vi": ["Bạn có thể xem thay đổi cuối cùng không?", "Tại sao trang không mở được?"],
    "zh": ["你能看一下最后一次提交吗？", "请修复解析器里失败的测试。"],
}  # fmt: skip
NOTHING = [
    "ok", "Ok.", "yes", "go", "go on", "hm", "no", "stop", "thx", "done?", "LGTM", "+1", "👍", "retry", "continue", "",
    "123 456", "git push origin main", "npm run build && npm test", "docker compose up -d", "src/app/main.py:42",
    "def f(x): return x + 1", "TypeError: 'NoneType' object is not iterable", "https://example.org/a/b?c=1",
    "SELECT id FROM users WHERE name = 'x'", "Traceback (most recent call last)", "Step 3.",
    "```\nThe quick brown fox jumps over the lazy dog.\n```", "> The quick brown fox jumps over the lazy dog.",
]  # fmt: skip


def begun(target: Target | None = None, store: Store | None = None) -> Session:
    return Session.open(
        store, "made", target=target or target_of("anthropic"), policy=ASKING, clock=counting_clock()
    )


def detected(made: Session) -> list[str]:
    return [event.body.language for event in made.events if isinstance(event.body, LanguageDetected)]


def whys(made: Session) -> list[str]:
    return [event.body.why for event in made.events if isinstance(event.body, EpochStarted)]


def asked(made: Session) -> Compiled:
    """Compile the next request, which the referee must accept and a fresh compile must give again."""
    compiled = made.compile()
    assert made.target is not None
    assert referee_for(made.target).judge(compiled.body).violations == ()
    assert from_scratch(made, compiled).body == compiled.body
    return compiled


def directives(compiled: Compiled) -> list[str]:
    """Return the sentences that say in which language to answer, in render order."""
    said = [unit.data.decode() for unit in compiled.units if unit.category == "notice"]
    return [name for text in said for name in LANGUAGES.values() if f"Answer in {name} (" in text]


@pytest.mark.parametrize("code, text", [(code, text) for code in SENTENCES for text in SENTENCES[code]])
def test_sentences(code: str, text: str) -> None:
    """A plain sentence of some words is enough, in some twenty languages."""
    assert language_of(text) == code


@pytest.mark.parametrize("text", NOTHING)
def test_too_little_says_nothing(text: str) -> None:
    """Short assent, commands, code and what programs print are in no language."""
    assert language_of(text) is None


@pytest.mark.parametrize(
    "text",
    [
        f'{GERMAN} Er sagt "The requested file could not be opened because it is locked by another process".',
        f"> Why does the page not open any more? It has been like this since yesterday.\n\n{GERMAN}",
        f"{GERMAN}\n```python\ndef total(items):\n    # the sum of all the prices that are known\n    return 1\n```",
        f"{GERMAN}\n\nTypeError: the value of this argument must be a string and not a number",
        f"<system-reminder>The user has not yet saved any of the open files.</system-reminder>\n{GERMAN}",
        f"{GERMAN} `the name of a thing that is long enough` src/main/app.py",
        f"{GERMAN}\n" + "    INFO the server has been started and is waiting for requests\n" * 50,
    ],
)
def test_code_and_quotes_say_nothing(text: str) -> None:
    """Only what the person wrote himself counts."""
    assert language_of(text) == "de"


def test_the_same_text_always_says_the_same() -> None:
    """Twice in this process and once in another."""
    texts = [text for listed in SENTENCES.values() for text in listed] + NOTHING
    here = [language_of(text) for text in texts]
    assert [language_of(text) for text in texts] == here
    code = (
        "import json, sys; from foreword.engine.language import language_of;"
        "print(json.dumps([language_of(text) for text in json.load(sys.stdin)]))"
    )
    there = subprocess.run(
        [sys.executable, "-c", code], input=msgspec.json.encode(texts), capture_output=True, check=True
    )
    assert msgspec.json.decode(there.stdout) == here


@pytest.mark.parametrize("wire", WIRES)
def test_the_base_says_it_and_a_notice_changes_it(wire: str) -> None:
    """Said before the messages at the start, and behind them when a person goes on in another language."""
    made = begun(target_of(wire))
    made.instruct("You help.")
    made.say(GERMAN)
    first = asked(made)
    assert directives(first) == ["German"]
    assert [unit.section for unit in first.units if unit.category == "notice"] == ["system"]
    answer(made, "Ja.")
    made.say("ok")
    second = asked(made)
    assert digests(second)[: first.size] == digests(first)
    assert directives(second) == ["German"]
    answer(made, "So.")
    made.say(FRENCH)
    third = asked(made)
    assert digests(third)[: second.size] == digests(second)
    assert directives(third) == ["German", "French"]
    answer(made, "Oui.")
    made.say("Continue avec l'étape suivante, s'il te plaît.")
    fourth = asked(made)
    assert digests(fourth)[: third.size] == digests(third)
    assert directives(fourth) == ["German", "French"]
    made.instruct("You help otherwise.")
    assert directives(asked(made)) == ["French"]
    assert whys(made) == ["start", "instructions"]
    assert detected(made) == ["de", "fr"]


def test_the_notice_goes_by_the_operators_channel() -> None:
    """It is the engine's word, though a person's message led to it."""
    made = begun()
    made.say(GERMAN)
    asked(made)
    answer(made, "Ja.")
    made.say(FRENCH)
    assert asked(made).units[-1].role == "system"


@pytest.mark.parametrize(
    "other",
    [
        lambda made: made.say(FRENCH, person=False),
        lambda made: made.append(Draft(body=Noticed(topic="note", text=FRENCH))),
        lambda made: made.pin(FRENCH),
        lambda made: answer(made, FRENCH),
        lambda made: (answer(made, call("c1")), made.returned("c1", FRENCH)),
        lambda made: made.instruct(FRENCH),
    ],
)
def test_only_persons_count(other: Any) -> None:
    """Not the engine, the model, a tool, the operator."""
    made = begun()
    made.say(GERMAN)
    other(made)
    made.say("ok")
    assert directives(asked(made)) == ["German"]
    assert detected(made) == ["de"]


def test_off_by_default() -> None:
    """Without the policy nothing is looked at, and nothing recorded."""
    made = Session.open(None, "made", target=target_of("anthropic"), clock=counting_clock())
    made.say(GERMAN)
    assert directives(asked(made)) == []
    assert detected(made) == []


def test_switched_on_and_off() -> None:
    """On in the middle of a session it looks back to the last message that shows a language; off it is taken back."""
    made = Session.open(None, "made", target=target_of("anthropic"), clock=counting_clock())
    made.say(FRENCH)
    first = asked(made)
    answer(made, "Oui.")
    made.say("ok")
    made.policy = ASKING
    second = asked(made)
    assert digests(second)[: first.size] == digests(first)
    assert directives(second) == ["French"]
    made.policy = msgspec.structs.replace(ASKING, language_directive=False)
    third = asked(made)
    assert digests(third)[: second.size] == digests(second)
    assert "No language is asked for any more." in third.units[-1].data.decode()
    made.instruct("New rules.")
    assert directives(asked(made)) == []
    assert whys(made) == ["start", "instructions"]


def test_another_process_goes_on(tmp_path: Any) -> None:
    """What was detected is in the log: the same request, and nothing recorded twice."""
    with Store.open(tmp_path / "store") as store:
        made = begun(store=store)
        made.say(GERMAN)
        answer(made, "Ja.")
        made.say("ok")
        body = made.compile().body
        made.flush()
        events = len(made.events)
        again = begun(store=store)
        assert again.compile().body == body
        assert len([event for event in again.events if event.kind == "language_detected"]) == 1
        assert len(again.events) - events <= 1


def test_erasing_the_message_erases_what_it_told() -> None:
    """The language is derived from a person's words, and goes with them."""
    made = begun()
    made.say(FRENCH)
    asked(made)
    answer(made, "Oui.")
    seq = made.say(GERMAN)
    asked(made)
    gone = made.erase([seq], "asked to")
    assert {made.event(one).kind for one in gone} == {"said", "language_detected", "changed"}
    made.say("ok")
    assert directives(asked(made)) == ["French"]


def test_a_synced_list_tells_it_too() -> None:
    """A user's message in a caller's list is a person's; tool results in it are not."""
    made = begun()
    result = {"type": "tool_result", "tool_use_id": "c1", "content": FRENCH}
    listed: list[dict[str, Any]] = [
        {"role": "user", "content": GERMAN},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "look", "input": {}}]},
        {"role": "user", "content": [result]},
    ]
    assert directives(made.sync(listed).request) == ["German"]


@pytest.mark.parametrize("wire", WIRES)
@settings(SLOW, max_examples=examples(8, 300))
@given(names=st.lists(st.sampled_from((*OPERATIONS, *LOOP, "speak", "speak")), max_size=25), rng=st.randoms())
def test_random_histories(wire: str, names: list[str], rng: random.Random) -> None:
    """Whoever says what in which language when: every request is legal, grown, and the same from scratch."""
    walk = walk_in_memory(target_of(wire), rng)
    walk.session.policy = ASKING
    for operation in ["say", *names, "ask"]:
        if operation == "speak":
            walk.session.say(rng.choice(rng.choice(list(SENTENCES.values()))), person=rng.random() < 0.8)
        else:
            walk.run([operation])


def test_without_the_library_a_typed_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked for and not installed: no request, and a line that says what to install."""
    monkeypatch.setitem(sys.modules, "py3langid.langid", None)
    language._detector.cache_clear()  # pyright: ignore[reportPrivateUsage]
    made = begun()
    made.say(GERMAN)
    with pytest.raises(MissingExtra, match=r"language_directive.*foreword\[language\]"):
        made.compile()


def test_the_library_is_imported_only_when_asked_for() -> None:
    """Opening a session and compiling without the policy loads neither it nor NumPy."""
    code = (
        "import sys; from foreword import Session;"
        "made = Session.open(None, 'm', provider='anthropic', model='claude-opus-4-8'); made.say('hi');"
        "made.compile(); print([name for name in ('py3langid', 'numpy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
