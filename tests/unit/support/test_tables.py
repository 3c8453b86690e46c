"""One test that walks a table fails with every row that fails, and names it."""

import pytest

from tests.support.tables import every_row


def test_every_row_is_walked_and_each_that_fails_is_named() -> None:
    walked: list[tuple[int, str]] = []

    @every_row(("number", "word"), [(1, "one"), (2, "two"), (3, "three")])
    def walk(number: int, word: str) -> None:
        walked.append((number, word))
        assert number != 1
        with pytest.raises(ValueError, match="invalid literal"):
            int("3" if number == 3 else word)

    with pytest.raises(AssertionError, match="2 of 3 rows fail") as failed:
        walk()

    assert sorted(walked) == [(1, "one"), (2, "two"), (3, "three")]
    assert "(1, 'one'): AssertionError" in str(failed.value)
    assert "(3, 'three'): DID NOT RAISE" in str(failed.value)
    assert "two" not in str(failed.value)


def test_a_row_is_named_as_the_test_wants_it() -> None:
    @every_row("text", ["abc"], ids=str.upper)
    def walk(text: str) -> None:
        assert not text

    with pytest.raises(AssertionError, match="ABC: AssertionError"):
        walk()


def test_rows_that_hold_pass() -> None:
    @every_row("number", range(3))
    def walk(number: int) -> None:
        assert number < 3

    walk()


def test_a_table_without_rows_is_refused() -> None:
    with pytest.raises(AssertionError, match="without rows"):
        every_row("text", [])(lambda text: None)


def test_a_test_that_wants_more_than_the_row_is_refused() -> None:
    with pytest.raises(AssertionError, match="no fixtures"):
        every_row("text", ["a"])(lambda text, tmp_path: None)
