"""Text is searched whatever its case and form, and never across two parts of a record."""

from hypothesis import given
from hypothesis import strategies as st

from understudy.storage.rows import SEPARATOR, folded, search_text


def test_case_and_form_make_no_difference() -> None:
    assert folded("TIẾNG VIỆT") == folded("tie\u0302\u0301ng vie\u0323\u0302t")
    assert folded("Straße") == folded("STRASSE")


def test_what_no_database_keeps_is_replaced() -> None:
    assert folded("a\0b\ud83dc") == "a\ufffdb?c"


@given(query=st.text(min_size=1), parts=st.lists(st.text(), min_size=1, max_size=4))
def test_what_is_found_is_found_within_one_part(query: str, parts: list[str]) -> None:
    within_one = any(folded(query) in folded(part) for part in parts)

    assert (folded(query) in search_text(*parts)) is within_one
    assert SEPARATOR not in folded(query)
