"""What of a Gemini request a tokenizer sees beside its contents."""

import json

import pytest

from foreword.codecs.gemini import GeminiCodec
from foreword.core.request import Params

CODEC = GeminiCodec()


@pytest.mark.parametrize("name", ["responseSchema", "responseJsonSchema"])
def test_the_schema_of_the_output_is_counted(name: str) -> None:
    """It stands in the envelope, so the model's unit counts it; other settings are no text."""
    schema = {"type": "object", "properties": {"answer": {"type": "string"}}}
    bare = {"temperature": 1, "stopSequences": ["never"]}
    for config, text in ((bare, ""), (bare | {name: schema}, json.dumps(schema, separators=(",", ":")))):
        params = Params(model="m", max_output=9, keys={"generationConfig": config})
        assert [piece.text for piece in CODEC.keys(params)] == [text]
