"""What all wires share: ids, foreign members, pictures, and blocks that a wire has no word for."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from typing import Any, cast

import msgspec
from msgspec.structs import replace

from foreword.codecs.known import OWNERS
from foreword.core.block import Image, Opaque
from foreword.core.canonical import compact
from foreword.core.image import ImageFamily, image_size, image_tokens, picture_type
from foreword.core.opaque_words import in_words

IMAGE_TOKENS = 1_500
"""What a picture costs when its size can't be read."""
DOCUMENT_TOKENS = 1_500
DOCUMENT_PAGE = 100_000
"""A document of base64 data is counted as `DOCUMENT_TOKENS` for each started `DOCUMENT_PAGE` characters."""

_MAGIC = {"iVBORw": "image/png", "/9j/": "image/jpeg", "R0lGOD": "image/gif", "UklGR": "image/webp"}
_NOT_READ = {
    "data", "file_data", "signature", "thoughtSignature", "encrypted_content", "encrypted_index",
    "encrypted_stdout", "type", "id", "call_id",
}  # fmt: skip
_DOCUMENTS = (("data", "media_type"), ("data", "mimeType"), ("data", "format"), ("file_data", "filename"))
"""How wires say a document: the member with its base64 data, and one that stands beside it."""
_WEB = frozenset({"http", "https"})
_SCHEMES: Mapping[str, frozenset[str]] = {
    "anthropic": frozenset({"https"}),
    "openai-chat": _WEB,
    "deepseek": _WEB,
    "openai-responses": _WEB,
    "gemini": _WEB | {"gs"},
}
"""Wire -> schemes of the addresses from which pictures are fetched (error texts `Only HTTPS URLs are supported`, 2025,
and `Expected a valid URL`, 2026)."""
_OWN = frozenset({"file", "ms", "oss"})
"""Schemes that some servers of the Chat wire read (vLLM, Moonshot, DashScope), and OpenAI's doesn't."""
_LONGEST_ADDRESS = 200
"""Characters of a text without a scheme that may be an address; a longer one may be the picture itself."""
_PICTURE = "image_generation_call"
"""A block whose `result` is a picture in base64."""
PDF = "application/pdf"
NO_TITLE = "document.pdf"
"""The name of a PDF that has none, where the wire wants one."""
PDF_URL = f"data:{PDF};base64,"
_PDF_MAGIC = "JVBERi"
"""How a PDF begins in base64."""
_FILES = {"document": "source", "file": "file", "input_file": "", "inlineData": "inlineData"}
"""Form of a block that may hold a PDF -> the member with its data; "": the block itself."""
_TITLES = ("title", "filename", "displayName", "name")
_TITLE = 100
_NOT_AN_ID = re.compile(r"[^a-zA-Z0-9_-]")
_IMAGE_HEAD = 1 << 16
"""Characters of base64 that are enough to find a picture's size, large metadata included."""


def members(extra: Mapping[str, Any] | None, wire: str, *, own: bool) -> dict[str, Any]:
    """Return the foreign members that may be sent on a wire.

    Inside a message the message names their wire, and `own` says that it is this one; what stands there and is known
    for another wire's stays behind. Outside of a message (a tool, a system block, a bare result) they stand under the
    name of their wire.
    """
    found = (extra or {}) if own else tool_members(extra, wire)
    return {name: value for name, value in found.items() if wire in OWNERS.get(name, (wire,))}


def tool_members(extra: Mapping[str, Any] | None, wire: str) -> dict[str, Any]:
    """Return the foreign members of a tool, which stand under the name of their wire."""
    named: Any = extra.get(wire) if extra else None
    return dict(cast(Mapping[str, Any], named)) if isinstance(named, Mapping) else {}


def call_id(id_: str, limit: int) -> str:
    """Return an id that every provider takes: letters, digits, `_` and `-`, at most `limit` characters.

    A fit id is returned unchanged. Another gets a piece of its SHA-256 at its end, so that two different ids
    stay different and a call and its result stay a pair.
    """
    if id_ and len(id_) <= limit and not _NOT_AN_ID.search(id_):
        return id_
    tail = "_" + hashlib.sha256(id_.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    return _NOT_AN_ID.sub("_", id_)[: limit - len(tail)] + tail


NAME_LIMIT = 64
"""Characters of a tool's name that every provider takes; letters, digits, `_` and `-` only."""


def tool_name(name: str) -> str:
    """Return a tool's name as every provider takes it; a fit name is returned unchanged."""
    return call_id(name, NAME_LIMIT)


def lettered_name(name: str) -> str:
    """Return a tool's name for a provider that wants a letter or `_` at its beginning; a fit one is unchanged."""
    fit = tool_name(name)
    return fit if fit[0] == "_" or fit[0].isalpha() else tool_name("." + name)


def json_object(text: str) -> bool:
    """Say whether a text is one JSON object."""
    try:
        return isinstance(msgspec.json.decode(text), dict)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return False


def object_arguments(text: str) -> tuple[str, tuple[str, ...]]:
    """Return (the arguments of a call as the text of one JSON object, what got lost).

    An object stays as it came: a provider's cache sees the order and spelling of its keys. Nothing is the empty
    object. Any other text, such as of a call that was cut, is its member `arguments`: servers parse the arguments of
    a history, and would refuse every later request. Raises: InvalidText.
    """
    if json_object(text):
        return text, ()
    if not text.strip():
        return "{}", ()
    lost = "arguments that are no JSON object, sent as a member `arguments`"
    return compact({"arguments": text}).decode(), (lost,)


def inline_image(image: Image) -> Image:
    """Return the same picture with a `data:` URL taken apart and a missing media type read from its bytes."""
    data, media_type = image.data, image.media_type
    if data is None and image.url is not None and image.url.startswith("data:"):
        head, _, data = image.url.removeprefix("data:").partition(",")
        given, *parameters = head.split(";")
        if "base64" not in parameters:
            return image
        media_type = given or media_type
    if data is None:
        return image
    if media_type is None:
        media_type = next((kind for magic, kind in _MAGIC.items() if data.startswith(magic)), None)
    return replace(image, media_type=media_type, data=data, url=None)


def shown_image(image: Image) -> Image:
    """Return the picture as it may be sent, like `inline_image`.

    Its media type is that of its bytes, whatever was named. Data that is no picture is left out: a provider answers
    either with an error for ever, so `stand_in` tells of it.
    """
    inline = inline_image(image)
    if inline.data is None:
        unread = inline.url is not None and inline.url.startswith("data:")
        return replace(inline, media_type=None, url=None) if unread else inline
    kind = picture_type(inline.data)
    return replace(inline, data=None) if kind is None else replace(inline, media_type=kind)


def fetched(image: Image, wire: str, *, files: bool = False) -> bool:
    """Whether a picture has an address that servers of a wire fetch; with another every request is refused.

    `files`: this one reads addresses of its own, too: of files beside it, or of its store.
    """
    scheme = (image.url or "").partition(":")[0].lower()
    taken = scheme in _SCHEMES[wire] or (files and scheme in _OWN)
    return taken and image.url is not None and len(image.url) > len(scheme) + len("://")


def image_cost(image: Image, family: ImageFamily) -> int:
    """Count a picture in tokens: by its size where its bytes are here and say it, else `IMAGE_TOKENS`."""
    try:
        head = base64.b64decode((image.data or "")[:_IMAGE_HEAD] + "==")
    except ValueError:
        return IMAGE_TOKENS
    size = image_size(head)
    return image_tokens(*size, family) if size else IMAGE_TOKENS


def opaque_reading(block: Opaque) -> tuple[str, int]:
    """Return (text, tokens of documents) of a block that only its own wire understands."""
    texts: list[str] = []
    tokens = 0
    pending: list[Any] = [msgspec.json.decode(block.raw)]
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            texts.append(value)
        elif isinstance(value, list):
            pending += cast(list[Any], value)[::-1]
        elif isinstance(value, dict):
            inner = cast(dict[str, Any], value)
            for name, beside in _DOCUMENTS:
                if isinstance(data := inner.get(name), str) and beside in inner:
                    tokens += document_tokens(data)
            if inner.get("type") == _PICTURE and inner.pop("result", None):
                tokens += IMAGE_TOKENS
            pending += [inner[key] for key in reversed(inner) if key not in _NOT_READ]
    return "\n".join(texts), tokens


def stand_in(block: Opaque | Image) -> str:
    """Say in brackets what stood where a wire can't show it, and where it is read back."""
    read = f"; ref {block.ref}" if block.ref else ""
    match block:
        case Opaque(wire=wire, form=kind):
            title = f' "{called}"' if (called := title_of(block)) else ""
            return f"[{kind}{title} of {wire}, not shown: this model's interface has no such block{read}]"
        case Image(media_type=media_type, data=data, url=url):
            reason = "" if url or data else ": its data is no picture"
            shown = url if url and ("://" in url or len(url) <= _LONGEST_ADDRESS) else None
            return f"[image {shown or media_type or 'of unknown type'}, not shown{reason}{read}]"


def misplaced(block: Opaque) -> str:
    """Say what a block says where it can't stand as itself, or in brackets what stood there."""
    words = in_words(block)
    return stand_in(block) if words is None else words.text


def pdf_of(block: Opaque) -> str | None:
    """Return the base64 data of a PDF in whichever wire's form; None: it is none, or stands elsewhere."""
    if block.form not in _FILES or not json_object(block.raw):
        return None
    found: dict[str, Any] = msgspec.json.decode(block.raw)
    inner = found.get(_FILES[block.form], found)
    held: dict[str, Any] = cast("dict[str, Any]", inner) if isinstance(inner, dict) else {}
    data: Any = held.get("data") or held.get("file_data")
    if not isinstance(data, str):
        return None
    data = data.removeprefix(PDF_URL)
    return data if data.startswith(_PDF_MAGIC) else None


def document_tokens(data: str) -> int:
    """Count a document of base64 data in tokens, by its length."""
    return DOCUMENT_TOKENS * (1 + len(data) // DOCUMENT_PAGE)


def title_of(block: Opaque) -> str:
    """Return how a block calls itself, at most `_TITLE` characters; "": it doesn't."""
    found: dict[str, Any] = msgspec.json.decode(block.raw) if json_object(block.raw) else {}
    within = [cast("dict[str, Any]", inner) for inner in found.values() if isinstance(inner, dict)]
    titles = (members.get(name) for members in (found, *within) for name in _TITLES)
    return next((title[:_TITLE] for title in titles if isinstance(title, str) and title), "")
