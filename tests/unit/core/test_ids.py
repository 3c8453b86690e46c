"""Ids sort by the time they were made, and a caller's id can stand anywhere."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.core.errors import Invalid
from understudy.core.ids import MADE_ID, MAX_ID_LENGTH, IdNumbers, check_caller_id, new_id


def check(value: str) -> str:
    return check_caller_id(value, field="session_id", domain="sessions")


def test_ids_of_one_process_sort_in_the_order_they_were_made() -> None:
    made = [new_id("run") for _ in range(2000)]

    assert made == sorted(made)
    assert len(set(made)) == len(made)


def test_ids_made_together_differ_in_the_first_characters_after_the_seconds() -> None:
    numbers = IdNumbers()
    made = [numbers.next() for _ in range(2000)]

    # Of 26 characters, the seconds and the first four after them.
    assert len({each >> 5 * (26 - 7 - 4) for each in made}) == len(made)


def test_ids_keep_their_order_and_stay_unique_when_a_second_is_full() -> None:
    made = [new_id("run") for _ in range(50_000)]

    assert all(earlier < later for earlier, later in pairwise(made))


def test_ids_of_older_daemons_sort_before_new_ones_and_are_known_as_ids() -> None:
    older = "run_0198c5a27d3e7f10a1b2c3d4e5f60718"

    assert older < new_id("run")
    assert re.fullmatch(MADE_ID, older)
    assert re.fullmatch(MADE_ID, new_id("cand"))


def test_an_id_tells_what_it_is_of_and_would_pass_as_a_callers() -> None:
    made = new_id("lrn")

    assert made.startswith("lrn_")
    assert check(made) == made


@pytest.mark.parametrize("value", ["s1", "…", "team:42@x", "ключ", "日本", "a" * MAX_ID_LENGTH])
def test_printable_ids_are_taken_as_they_are(value: str) -> None:
    assert check(value) == value


HARMFUL = ("", ".", "..", " ", "a b", "a/b", "a\\b", "a\nb", "\x00", "\x7f", "\ud800", "\u200b")


@pytest.mark.parametrize("value", [*HARMFUL, "\u202e", "a" * (MAX_ID_LENGTH + 1)])
def test_ids_that_could_not_stand_in_a_path_or_a_log_line_are_refused(value: str) -> None:
    with pytest.raises(Invalid) as refused:
        check(value)

    assert (refused.value.domain, refused.value.code) == ("sessions", "invalid_id")
    assert refused.value.errors[0].pointer == "/session_id"


@given(st.text())
def test_whatever_is_taken_can_be_stored_and_has_no_blanks(value: str) -> None:
    try:
        check(value)
    except Invalid:
        return
    assert value.encode().decode() == value
    assert value.split() == [value]
