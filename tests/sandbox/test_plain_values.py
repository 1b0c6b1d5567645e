"""What may cross between processes crosses unchanged; nothing else does."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from merilo.sandbox.inside import plain

SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.integers().map(lambda n: n * 10**50), st.floats(allow_nan=False),
    st.text(st.characters(codec=None, exclude_categories=())), st.binary(), st.complex_numbers(allow_nan=False), st.just(...),
    st.builds(range, st.integers(), st.integers(), st.integers(min_value=1)),
)  # fmt: skip
HASHABLE = st.recursive(
    SCALARS, lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3), max_leaves=5
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner)
        | st.dictionaries(HASHABLE, inner, max_size=4)
        | st.sets(HASHABLE, max_size=4)
    ),
    max_leaves=20,
)


def types_of(value: object) -> object:
    """The value with its types: `1`, `True` and `1.0` are equal and not the same."""
    if isinstance(value, list | tuple):
        return type(value), [types_of(part) for part in value]
    if isinstance(value, dict):
        return dict, [(types_of(key), types_of(part)) for key, part in value.items()]
    return type(value), None if isinstance(value, set | frozenset) else repr(value)


@given(VALUES)
def test_a_plain_value_comes_back_as_it_was(value: object) -> None:
    back = plain.loads(plain.dumps(value))
    assert back == value
    assert types_of(back) == types_of(value)


@given(st.one_of(st.binary(), st.text().map(lambda text: text.encode("utf-8", "surrogatepass"))))
def test_any_bytes_are_a_value_or_refused(raw: bytes) -> None:
    try:
        plain.loads(raw)
    except plain.NotPlainError:
        return


@given(
    st.recursive(
        st.none() | st.text() | st.integers(),
        lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from("tdsfgibcreo?"), inner),
    )
)
def test_any_json_is_a_value_or_refused(data: object) -> None:
    try:
        plain.loads(json.dumps(data))
    except plain.NotPlainError:
        return


def test_not_a_number_crosses() -> None:
    value = plain.loads(plain.dumps([math.nan, -math.inf]))
    assert isinstance(value, list)
    assert math.isnan(value[0])
    assert value[1] == -math.inf


def test_an_object_is_refused_or_crosses_as_something_opaque() -> None:
    with pytest.raises(plain.NotPlainError):
        plain.dumps([object()])
    opaque = plain.loads(plain.dumps([ValueError("x")], opaque=True))
    assert isinstance(opaque, list)
    assert isinstance(opaque[0], plain.Opaque)
    assert opaque[0] != ValueError("x")
    assert opaque[0].kind == "ValueError"
    with pytest.raises(TypeError):
        bool(opaque[0])


def test_a_value_without_end_is_refused() -> None:
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(plain.NotPlainError, match="deeply"):
        plain.dumps(endless)
