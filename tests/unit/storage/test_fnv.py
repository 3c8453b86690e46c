"""FNV-1a gives the numbers that its inventors published."""

import pytest

from understudy.storage.postgres import fnv1a, signed_fnv1a


@pytest.mark.parametrize(
    ("data", "number"),
    [(b"", 0xCBF29CE484222325), (b"a", 0xAF63DC4C8601EC8C), (b"foobar", 0x85944171F73967E8)],
)
def test_the_number_of_a_text_is_the_published_one(data: bytes, number: int) -> None:
    assert fnv1a(data) == number
    assert signed_fnv1a(data.decode()) == number - 2**64


def test_a_number_without_the_highest_bit_stays_as_it_is() -> None:
    small = next(text for text in map(str, range(100)) if fnv1a(text.encode()) < 2**63)

    assert signed_fnv1a(small) == fnv1a(small.encode())
