"""Generated values that a wire can say without loss."""

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
text_blocks = st.builds(Text, text=texts)
images = st.builds(
    Image,
    media_type=st.sampled_from(["image/png", "image/jpeg", "image/gif", "image/webp"]),
    data=st.binary(min_size=3, max_size=9).map(lambda raw: raw.hex()),
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
        ToolResult,
        call_id=ids,
        content=st.lists(text_blocks | images, max_size=3).map(tuple),
        is_error=st.booleans(),
    )
    thinking = st.builds(Thinking, text=st.just("") | texts, signature=ids) | st.builds(Thinking, data=ids)
    unknown = st.builds(
        lambda members: Opaque(
            wire="anthropic", form="document", raw=compact({"type": "document", "source": members}).decode()
        ),
        objects,
    )
    user = st.lists(text_blocks | images | results | unknown, min_size=1, max_size=4)
    assistant = st.lists(text_blocks | thinking | calls | unknown, min_size=1, max_size=4)
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
