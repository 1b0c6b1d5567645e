"""What may cross between processes crosses unchanged; nothing else does."""

import contextlib
import json
import math
from array import array
from collections import deque

import numpy as np
import pytest
from every import every
from hypothesis import example, given
from hypothesis import strategies as st

from merilo.sandbox.inside import messages

SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.integers().map(lambda n: n * 10**50), st.floats(allow_nan=False),
    st.text(st.characters(codec=None, exclude_categories=())), st.binary(), st.complex_numbers(allow_nan=False), st.just(...),
    st.builds(range, st.integers(), st.integers(), st.integers(min_value=1)), st.decimals(allow_nan=False), st.fractions(),
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
    back = messages.loads(messages.dumps(value))
    assert back == value
    assert types_of(back) == types_of(value)


RAW = st.one_of(st.binary(), st.text().map(lambda text: text.encode("utf-8", "surrogatepass")))
NESTED = st.recursive(
    st.none() | st.text() | st.integers(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from("tdsfgibcrneo?"), inner),
)


@given(RAW | NESTED.map(lambda data: json.dumps(data).encode()))
@example(b'{"n": ["Decimal", "x"]}')
@example(b'{"n": ["Fraction", "1/0"]}')
@example(b'{"n": ["os", "1"]}')
@example(b'{"n": ["Decimal", 0, 0]}')
def test_any_bytes_are_a_value_or_refused(raw: bytes) -> None:
    with contextlib.suppress(messages.NotPlainError):
        assert not isinstance(messages.loads(raw), type(json))


def test_not_a_number_crosses() -> None:
    value = messages.loads(messages.dumps([math.nan, -math.inf]))
    assert isinstance(value, list)
    assert math.isnan(value[0])
    assert value[1] == -math.inf


def test_an_object_is_refused_or_crosses_as_something_opaque() -> None:
    with pytest.raises(messages.NotPlainError):
        messages.dumps([object()])
    opaque = messages.loads(messages.dumps([ValueError("x")], opaque=True))
    assert isinstance(opaque, list)
    assert isinstance(opaque[0], messages.Opaque)
    assert opaque[0] != ValueError("x")
    assert opaque[0].kind == "ValueError"
    with pytest.raises(TypeError):
        bool(opaque[0])


@every(
    ("value", "plain_value"),
    [
        (bytearray(b"ab"), b"ab"), (memoryview(b"ab"), b"ab"), (np.bool_(1), True), (np.int8(5), 5),
        (np.float32(0.5), 0.5), (np.complex64(1j), 1j), (np.array(7), 7),
    ],
)  # fmt: skip
def test_what_is_nearly_plain_crosses_as_a_plain_value(value: object, plain_value: object) -> None:
    back = messages.loads(messages.dumps(value, opaque=True))
    assert back == plain_value
    assert type(back) is type(plain_value)


@every(
    "collection",
    [deque([1, 2]), {1: 0, 2: 0}.keys(), {0: 1, 3: 2}.values(), array("i", [1, 2]), np.array([1, 2])],
    ids=lambda collection: type(collection).__name__,
)
def test_what_is_collected_elsewhere_is_iterated_and_equals_nothing(collection: object) -> None:
    there = messages.loads(messages.dumps(collection, opaque=True))
    assert isinstance(there, messages.Collected)
    assert list(there) == sorted(there) == [1, 2]
    assert len(there) == 2
    assert there not in ([1, 2], (1, 2), {1, 2}, deque([1, 2]))
    with pytest.raises(TypeError):
        bool(there)


def test_a_type_of_the_programs_own_is_not_iterated() -> None:
    class Endless:
        def __iter__(self):
            raise AssertionError

    assert type(messages.loads(messages.dumps(Endless(), opaque=True))) is messages.Opaque


def test_a_value_without_end_is_refused() -> None:
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(messages.NotPlainError, match="deeply"):
        messages.dumps(endless)
