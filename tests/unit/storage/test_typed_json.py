"""Stored objects are read only where every field is of its type."""

from typing import Any

import pytest

from understudy.storage.rows import fields_of

TYPES = {"name": str, "count": int}


def test_fields_of_their_types_are_read_and_others_left_out() -> None:
    stored = {"name": "a", "count": 1, "later": True}

    assert fields_of(stored, TYPES, optional=False) == {"name": "a", "count": 1}


def test_optional_fields_may_be_null_or_absent() -> None:
    assert fields_of({"name": None}, TYPES, optional=True) == {"name": None, "count": None}


@pytest.mark.parametrize(
    "stored",
    [None, [], "text", {}, {"name": 1, "count": 1}, {"name": "a", "count": True}, {"name": "a"}],
)
def test_anything_else_is_damaged(stored: Any) -> None:
    with pytest.raises(TypeError):
        fields_of(stored, TYPES, optional=False)
