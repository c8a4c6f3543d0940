"""Bodies that are JSON: documents as they end."""

import json

from hypothesis import given
from hypothesis import strategies as st

from foreword.codecs.stream.documents import Documents

values = st.recursive(
    st.none()
    | st.integers()
    | st.text(st.characters(exclude_categories=("Cs",)) | st.sampled_from('"\\{}[],')),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text('a"\\{[', max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(
    st.lists(st.dictionaries(st.text('a"\\{]', max_size=3), values, max_size=3), max_size=4),
    st.sampled_from([None, 2]),
    st.data(),
)
def test_items_of_an_array_come_one_by_one(
    items: list[object], indent: int | None, data: st.DataObject
) -> None:
    """Every object of the array is given once and whole, wherever the bytes are cut."""
    body = json.dumps(items, ensure_ascii=False, indent=indent).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(body)))))
    parser = Documents()
    chunks = [body[a:b] for a, b in zip([0, *cuts], [*cuts, len(body)], strict=True)]
    assert [json.loads(found) for chunk in chunks for found in parser.feed(chunk)] == items


def test_one_object_is_one_document() -> None:
    """An object at the top is a document, and what comes after its end is another."""
    parser = Documents()
    assert parser.feed(b' {"a": [1, {"b": "}"}]}\n{"c"') == [b'{"a": [1, {"b": "}"}]}']
    assert parser.feed(b": 2}") == [b'{"c": 2}']


def test_anything_is_taken() -> None:
    """Brackets that match nothing break nothing."""
    parser = Documents()
    for body in (b"]]}}{[", b'"\\', b'"', b"[{]}", b",,,"):
        parser.feed(body)
