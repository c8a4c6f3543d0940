"""The size of a key-value cache, against figures worked out by hand."""

import pytest

from foreword.core.kv_cache import Shape, kv_cache_bytes, shape_bytes


@pytest.mark.parametrize(
    "dtype, gigabytes", [("f16", "5.37"), ("q8_0", "2.85"), ("f32", "10.74"), ("q4_0", "1.51")]
)
def test_a_model_of_40_layers_at_65536_tokens(dtype: str, gigabytes: str) -> None:
    """40 layers with 4 heads of 128: 40,960 values a token; 34 bytes hold 32 of them at Q8_0."""
    size = kv_cache_bytes(40, 4, 128, 65_536, dtype)
    assert f"{size / 1e9:.2f}" == gigabytes


def test_a_block_that_is_not_full_takes_a_whole_one() -> None:
    """One head of 40 values needs two blocks of 32, for the key and for the value, in each layer and token."""
    assert kv_cache_bytes(2, 1, 40, 3, "q8_0") == 2 * 3 * (2 + 2) * 34


def test_values_may_be_narrower_than_keys() -> None:
    """A shape says both widths; 0 for the value means the key's."""
    assert shape_bytes(Shape(layers=1, kv_heads=1, head_dim=192, value_dim=128), 1) == (192 + 128) * 2
    assert shape_bytes(Shape(layers=1, kv_heads=1, head_dim=192), 1) == 192 * 4


def test_an_unknown_format_is_no_figure() -> None:
    """No size is made up."""
    with pytest.raises(KeyError):
        kv_cache_bytes(1, 1, 1, 1, "q9")
