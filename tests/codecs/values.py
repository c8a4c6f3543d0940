"""Generated values that a wire can say without loss."""

from base64 import b64encode

from hypothesis import strategies as st

from foreword.core.block import Image, Message, Opaque, Text, Thinking, ToolCall, ToolResult, ToolSpec
from foreword.core.canonical import compact

texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=12).map(lambda text: f"x{text}")
ids = st.text("azAZ09_-", min_size=1, max_size=40)
names = st.text("abc_", min_size=1, max_size=8)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**12), 10**12) | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(names, inner, max_size=2),
    max_leaves=3,
)
objects = st.dictionaries(names, json_values, max_size=2)
arguments = objects.map(lambda value: compact(value).decode())
SEARCH = {"type": "search", "query": "q"}
text_blocks = st.builds(Text, text=texts)
PICTURES = {
    "image/png": (b"\x89PNG\r\n\x1a\n", b"IEND"),
    "image/jpeg": (b"\xff\xd8\xff", b"\xff\xd9"),
    "image/gif": (b"GIF8", b"\0;"),
    "image/webp": (b"RIFF\x04\0\0\0WEBP", b""),
}
"""Media type -> how such a file begins and ends."""
images = st.builds(
    lambda kind, rest: Image(media_type=kind, data=b64encode(rest.join(PICTURES[kind])).decode()),
    st.sampled_from(sorted(PICTURES)),
    st.binary(max_size=9),
) | st.builds(Image, url=names.map(lambda name: f"https://example.com/{name}.png"))
calls = st.builds(ToolCall, id=ids, name=names, arguments=arguments)
tools = st.builds(
    ToolSpec,
    name=names,
    description=st.just("") | texts,
    schema=objects.map(lambda properties: {"type": "object", "properties": properties}),
)


def anthropic_messages() -> st.SearchStrategy[Message]:
    """Messages with every kind of block where that wire has it."""
    results = st.builds(
        ToolResult, call_id=ids, content=st.lists(text_blocks | images, max_size=3).map(tuple)
    ) | st.builds(
        ToolResult, call_id=ids, content=st.lists(text_blocks, max_size=3).map(tuple), is_error=st.just(True)
    )
    thinking = st.builds(Thinking, text=st.just("") | texts, signature=ids) | st.builds(Thinking, data=ids)
    documents, fallbacks = (
        st.builds(
            lambda members, form=form: Opaque(
                wire="anthropic", form=form, raw=compact({"type": form, "source": members}).decode()
            ),
            objects,
        )
        for form in ("document", "fallback")
    )
    user = st.lists(text_blocks | images | results | documents, min_size=1, max_size=4)
    assistant = st.lists(text_blocks | thinking | calls | fallbacks, min_size=1, max_size=4)
    return st.one_of(
        user.map(lambda blocks: Message(role="user", blocks=tuple(blocks), wire="anthropic")),
        assistant.map(lambda blocks: Message(role="assistant", blocks=tuple(blocks), wire="anthropic")),
    )


def chat_messages() -> st.SearchStrategy[Message]:
    """Messages as that wire would have given them: texts before calls, one result in a message."""
    results = st.builds(
        ToolResult, call_id=ids, content=st.lists(text_blocks, max_size=3).map(tuple), is_error=st.just(False)
    )
    user = st.lists(text_blocks | images, min_size=1, max_size=4)
    assistant = st.tuples(st.lists(text_blocks, max_size=3), st.lists(calls, max_size=3))
    return st.one_of(
        user.map(lambda blocks: Message(role="user", blocks=tuple(blocks), wire="openai-chat")),
        results.map(lambda result: Message(role="user", blocks=(result,), wire="openai-chat")),
        assistant.filter(any).map(
            lambda both: Message(role="assistant", blocks=(*both[0], *both[1]), wire="openai-chat")
        ),
    )


def responses_output(*, easy: bool) -> st.SearchStrategy[Message]:
    """Messages of the model as that wire would have given them; `easy`: with texts that have no item."""
    thinking = st.builds(
        lambda texts_, id_, sealed: Thinking(
            text="\n".join(texts_),
            signature=sealed,
            extra={"id": id_, "summary": [{"type": "summary_text", "text": text} for text in texts_]},
        ),
        st.lists(texts, max_size=2),
        ids,
        ids,
    )
    said = st.builds(
        lambda texts_, id_: [
            Text(
                text=text,
                extra={"part": i} | {"annotations": []}
                if i
                else {"item": item_of(id_)} | {"annotations": []},
            )
            for i, text in enumerate(texts_)
        ],
        st.lists(texts, min_size=1, max_size=2),
        ids,
    )
    called = st.builds(
        ToolCall,
        id=ids,
        name=names,
        arguments=arguments,
        extra=st.none() | st.builds(lambda i: {"id": i}, ids),
    )
    custom = st.builds(
        ToolCall, id=ids, name=names, arguments=texts, extra=st.just({"type": "custom_tool_call"})
    )
    served = st.builds(
        lambda id_: Opaque(
            wire="openai-responses",
            form="web_search_call",
            raw=compact(
                {"type": "web_search_call", "id": id_, "status": "completed", "action": SEARCH}
            ).decode(),
        ),
        ids,
    )
    one = (thinking | called | custom | served).map(lambda block: [block])
    runs = st.lists(
        one | said | text_blocks.map(lambda text: [text]) if easy else one | said, min_size=1, max_size=4
    )
    return runs.map(
        lambda found: Message(
            role="assistant", blocks=tuple(block for run in found for block in run), wire="openai-responses"
        )
    )


def item_of(id_: str) -> dict[str, str]:
    """Write what an output message says beside its content."""
    return {"id": id_, "status": "completed", "type": "message"}


def responses_messages() -> st.SearchStrategy[Message]:
    """Messages as that wire would have given them: one result in a message."""
    wire = "openai-responses"
    results = st.builds(
        ToolResult,
        call_id=ids,
        content=st.lists(text_blocks | images, max_size=3).map(tuple),
        extra=st.none() | st.just({"type": "custom_tool_call_output"}),
    )
    user = st.lists(text_blocks | images, min_size=1, max_size=3)
    later = st.builds(
        lambda text, role: Message(role=role, blocks=(text,), wire=wire),
        text_blocks,
        st.sampled_from(["system", "developer"]),
    )
    return st.one_of(
        user.map(lambda blocks: Message(role="user", blocks=tuple(blocks), wire=wire)),
        results.map(lambda result: Message(role="user", blocks=(result,), wire=wire)),
        later,
        responses_output(easy=True).filter(lambda message: not isinstance(message.blocks[-1], Thinking)),
    )


def deepseek_messages() -> st.SearchStrategy[Message]:
    """Messages as that wire would have given them: reasoning first, and beside every call."""
    results = st.builds(ToolResult, call_id=ids, content=st.lists(text_blocks, max_size=3).map(tuple))
    user = st.lists(text_blocks | images, min_size=1, max_size=4)
    thinking = st.builds(Thinking, text=st.just("") | texts).map(lambda block: (block,))
    assistant = st.one_of(
        st.tuples(thinking | st.just(()), st.lists(text_blocks, min_size=1, max_size=2), st.just([])),
        st.tuples(thinking, st.lists(text_blocks, max_size=2), st.lists(calls, min_size=1, max_size=3)),
    )
    return st.one_of(
        user.map(lambda blocks: Message(role="user", blocks=tuple(blocks), wire="deepseek")),
        results.map(lambda result: Message(role="user", blocks=(result,), wire="deepseek")),
        assistant.map(
            lambda all_: Message(role="assistant", blocks=(*all_[0], *all_[1], *all_[2]), wire="deepseek")
        ),
    )


def gemini_messages() -> st.SearchStrategy[Message]:
    """Messages with every kind of part, each call signed; results first, a text before pictures in each."""
    signatures = st.binary(min_size=1, max_size=9).map(lambda raw: b64encode(raw).decode())
    signed = signatures.map(lambda signature: {"thoughtSignature": signature})
    results = st.builds(
        lambda id_, name, text, pictures, failed: ToolResult(
            call_id=id_,
            content=(*text, *pictures),
            is_error=failed,
            extra=None if id_ == name else {"functionResponse": {"name": name}},
        ),
        ids,
        names,
        st.lists(text_blocks, max_size=1),
        st.lists(images, max_size=2),
        st.booleans(),
    )
    unknown = st.builds(
        lambda members: Opaque(
            wire="gemini", form="executableCode", raw=compact({"executableCode": {"args": members}}).decode()
        ),
        objects,
    )
    said = st.builds(Text, text=texts, extra=st.none() | signed)
    thinking = st.builds(Thinking, text=st.just("") | texts, signature=signatures)
    called = st.builds(ToolCall, id=ids, name=names, arguments=arguments, extra=signed)
    user = st.tuples(
        st.lists(results, max_size=2), st.lists(text_blocks | images | unknown, min_size=1, max_size=3)
    )
    assistant = st.lists(said | thinking | called | unknown, min_size=1, max_size=4)
    return st.one_of(
        user.map(lambda both: Message(role="user", blocks=(*both[0], *both[1]), wire="gemini")),
        assistant.map(lambda blocks: Message(role="assistant", blocks=tuple(blocks), wire="gemini")),
    )
