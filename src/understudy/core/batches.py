"""Splits values into batches that one SQL statement or one reader can take."""

from collections.abc import Iterator, Sequence
from typing import Final, TypeVar

T = TypeVar("T")

BATCH: Final = 500


def batches(values: Sequence[T], size: int = BATCH) -> Iterator[Sequence[T]]:
    """The values in order, in batches of at most `size`."""
    for start in range(0, len(values), size):
        yield values[start : start + size]
