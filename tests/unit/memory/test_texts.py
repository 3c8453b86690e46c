"""Texts on their way into a memory: scrubbed first, then cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.memory.texts import SCRUBBED_CHARS, Cleaner, cut_bytes
from understudy.redaction.marker import cut

KEY = "sk-" + "proj-" + "AbC123dEf456GhI789jKl012"
MAIL = "alice" + "@example.com"


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("short", 160, "short"),
        ("a" * 160, 160, "a" * 160),
        ("a" * 161, 160, "a" * 160 + "…"),
        ("ab <redacted:email> c", 8, "ab …"),
        ("ab <redacted:email> c", 18, "ab …"),
        ("ab <redacted:email> c", 19, "ab <redacted:email>…"),
        ("a < b and more", 5, "a < b…"),
    ],
)
def test_a_cut_never_parts_a_marker(text: str, limit: int, expected: str) -> None:
    assert cut(text, limit) == expected


@given(st.text(), st.integers(0, 50))
def test_a_cut_in_bytes_keeps_whole_characters_of_the_beginning(text: str, limit: int) -> None:
    text = text.encode(errors="replace").decode()
    kept = cut_bytes(text, limit)

    assert text.startswith(kept)
    assert len(kept.encode()) <= limit
    assert kept == text or len(text[: len(kept) + 1].encode()) > limit or "<" in text


def test_a_cut_in_bytes_does_not_part_a_marker_either() -> None:
    assert cut_bytes("äb <redacted:email> c", 9) == "äb "


def test_a_secret_counts_once_for_its_text_and_personal_data_each_time() -> None:
    text = f"keys {KEY} and {KEY}, mail {MAIL} and bob@example.com"

    clean = Cleaner().clean(text)

    assert KEY not in clean.text
    assert clean.text.count("<redacted:email>") == 2
    assert clean.redacted == 3
    assert Cleaner().clean("nothing here").redacted == 0


def test_personal_data_stays_where_the_policy_says_so_and_secrets_never_do() -> None:
    clean = Cleaner(pii=False).clean(f"{MAIL} {KEY}")

    assert MAIL in clean.text
    assert KEY not in clean.text


def test_what_the_operator_named_is_taken_out() -> None:
    assert "hunter22" not in Cleaner(literals=("hunter22",)).clean("it is hunter22").text


def test_a_long_text_is_looked_at_up_to_a_blank_well_before_the_edge() -> None:
    text = "word " * SCRUBBED_CHARS

    clean = Cleaner().clean(text)

    assert SCRUBBED_CHARS - 300 < len(clean.text) < SCRUBBED_CHARS
    assert text.startswith(clean.text)
    assert clean.text.endswith("word")


def test_no_half_of_a_secret_remains_at_the_edge() -> None:
    filler = "word " * (SCRUBBED_CHARS // 5 - 2)

    assert "sk-" not in Cleaner().clean(filler + KEY * 3 + " tail").text


def test_one_endless_word_is_cut_at_the_edge() -> None:
    assert len(Cleaner().clean("a" * (SCRUBBED_CHARS + 10)).text) == SCRUBBED_CHARS


def test_what_no_database_takes_is_left_out() -> None:
    assert Cleaner().clean("be\0fore \ud83d after").text == "before ? after"
