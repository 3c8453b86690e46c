"""Who a text is for."""

import pytest

from understudy.channels.addressing import MAX_MENTIONS, addressed_in

NAMES = (
    ("bob", "Bob"),
    ("bob-smith", "Bob Smith"),
    ("ann", "Annette"),
    ("twin1", "Sam"),
    ("twin2", "Sam"),
)


@pytest.mark.parametrize(
    ("text", "members"),
    [
        ("Bob, what now?", ("bob",)),
        ("bob smith: what now?", ("bob-smith",)),
        ("ask @annette and @BOB.", ("ann", "bob")),
        ("@bob-smith and @bob smith", ("bob-smith",)),
        ("@bob @bob", ("bob",)),
        ("Bobby is away", ()),
        ("write to me@bob.example", ()),
        ("@sam?", ()),
        ("Sam, @twin1", ("twin1",)),
        ("a word of Bob", ()),
        ("", ()),
    ],
)
def test_a_name_at_the_start_or_behind_an_at_sign_addresses_its_one_owner(
    text: str, members: tuple[str, ...]
) -> None:
    assert addressed_in(text, NAMES) == members


def test_a_text_of_at_signs_is_read_only_so_far() -> None:
    text = "@nobody " * MAX_MENTIONS + "@bob"

    assert addressed_in(text, NAMES) == ()
