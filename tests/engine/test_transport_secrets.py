"""What an error of sending may say: never a key, a password or the request."""

from __future__ import annotations

import traceback

import pytest
from msgspec.structs import replace

from foreword.core.endpoint import endpoint
from foreword.engine.asked_json import ask_json
from foreword.engine.provider_failure import Hidden, cleaned
from foreword.engine.transport import send
from foreword.errors import (
    ConnectionFailed,
    ProviderError,
    Rejected,
)
from tests.engine.faulty_server import FaultyServer, says
from tests.engine.http_routes import Routes
from tests.engine.sending import BEGUN, BODY, KEY, KEYS, ONCE, at, sent_to


def test_no_error_holds_the_key_or_the_request() -> None:
    """What a server quotes of either is cut out of the text and of every field."""
    said = "The valve in the cellar must stay shut, whatever the plumber says about it."
    body = BODY.replace(b"hi", said.encode())
    echo = {
        "error": {"type": "invalid_request_error", "message": f"key {KEY}: messages.0: bad input '{said}'"}
    }
    with FaultyServer([says(400, echo)]) as running, pytest.raises(Rejected) as raised:
        sent_to(running.url, body=body)
    shown = repr(vars(raised.value)) + str(raised.value)
    assert KEY not in shown
    assert KEY not in everything(raised.value)
    assert "valve" not in shown
    assert "messages.0: bad input" in shown


@pytest.mark.parametrize(
    "answer",
    [
        b"not http at all\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 9000\r\n\r\n" + BEGUN,
    ],
)
def test_a_server_that_speaks_no_http_learns_nothing_of_the_key(answer: bytes) -> None:
    """Broken heads and bodies are a failed connection, whose causes hold no header of ours."""
    with FaultyServer([lambda taken: taken.sendall(answer)]) as running:
        try:
            failure = sent_to(running.url).failure
        except ConnectionFailed as error:
            failure = error
    assert isinstance(failure, ConnectionFailed)
    assert KEY not in everything(failure)


def everything(error: BaseException) -> str:
    """Return all that an error and the errors behind it hold, as text."""
    seen: list[str] = []
    waiting: list[BaseException | None] = [error]
    while waiting:
        if (one := waiting.pop()) is not None:
            request = getattr(one, "request_info", None)
            seen.append(f"{one!r} {vars(one)} {getattr(request, 'headers', '')}")
            waiting += [one.__cause__, one.__context__]
    return " ".join(seen)


@pytest.mark.parametrize("where", ["{}", "{}:notaport", "127.0.0.1:9", "[bad", "/"])
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_no_error_holds_the_password_of_a_proxy(
    monkeypatch: pytest.MonkeyPatch, scheme: str, where: str
) -> None:
    """Neither a proxy that refuses a tunnel nor an address that is none puts it into the error or its causes."""
    for name in ("no_proxy", "NO_PROXY", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with FaultyServer([says(407, {})]) as running:
        host = where.format(running.url.removeprefix("http://"))
        monkeypatch.setenv(
            f"{scheme}_proxy", f"http:/bob:{KEY}@x" if where == "/" else f"http://bob:{KEY}@{host}"
        )
        with pytest.raises(ProviderError) as raised:
            sent_to(f"{scheme}://127.0.0.2:9", retries=ONCE)
        with pytest.raises(ProviderError) as asked:
            ask_json(at("anthropic", f"{scheme}://127.0.0.2:9"), "/models", environ=KEYS, timeout=2)
    for error in (raised.value, asked.value):
        assert KEY not in str(error)
        assert KEY not in "".join(traceback.format_exception(error))
    if where == "{}":
        assert "407" in str(raised.value)


@pytest.mark.parametrize("given", [KEY, f"Bearer {KEY}"])
def test_no_error_holds_a_key_that_stands_in_a_header(given: str) -> None:
    """A gateway's own header is as secret as the key; one that is no secret may be told of."""
    made = endpoint(
        "openai", base_url="http://127.0.0.1:9", headers={"x-gateway-key": given, "anthropic-beta": "beta-1"}
    )
    echo = {"error": {"message": f"the key {KEY} knows no beta-1"}}
    body = b'{"model":"m","messages":[]}'
    with FaultyServer([says(400, echo)]) as running, pytest.raises(Rejected) as raised:
        send(replace(made, base_url=running.url), body, environ={"OPENAI_API_KEY": "other"})
    assert running.heard[0].headers["x-gateway-key"] == given
    assert KEY not in str(raised.value) + everything(raised.value)
    assert "knows no beta-1" in str(raised.value)
    with Routes({"/models": (400, echo)}) as routes, pytest.raises(Rejected) as refused:
        ask_json(replace(made, base_url=routes.url), "/models", environ={"OPENAI_API_KEY": "other"})
    assert KEY not in str(refused.value) + everything(refused.value)


@pytest.mark.parametrize("filler", [1, 200, 900, 955])
@pytest.mark.parametrize("space", [" ", "x"])
def test_no_error_holds_the_beginning_of_a_key(filler: int, space: str) -> None:
    """A message that is cut short is masked before, wherever the cut falls."""
    key = "sk-" + "0123456789" * 10
    hidden = Hidden(secrets=[key], request=b"", model="")
    shown = cleaned(f"bad key{space * filler}{key}", hidden)
    assert "sk-" not in shown
    assert len(shown) <= 240
