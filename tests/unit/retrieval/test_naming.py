"""Whom statements are about."""

import pytest

from understudy.retrieval.choice import LEAST_SHARED, names_of


def first_of_many(text: str) -> str | None:
    return names_of([text] * LEAST_SHARED)[0]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Mira went to the harbour.", "Mira"),
        ("Mira: I went to the harbour.", "Mira"),
        ("Mira's boat is red.", "Mira"),
        ("The Kestrel is a boat.", "Kestrel"),
        ("Élodie", "Élodie"),
    ],
)
def test_many_that_begin_with_a_name_are_about_it(text: str, name: str) -> None:
    assert first_of_many(text) == name
    assert names_of([text] * (LEAST_SHARED - 1)) == [None] * (LEAST_SHARED - 1)


@pytest.mark.parametrize(
    "text",
    [
        "mira went to the harbour.",
        "Project names are short.",
        "Mira_x is a variable.",
        "Mira计划 is a plan.",
        "计划是红色",
        "7 boats",
        # It is about more than that.
        "Mira sails. " + "The sea is calm. " * 30,
        "",
        "...",
    ],
)
def test_other_words_are_no_names(text: str) -> None:
    assert first_of_many(text) is None


def test_each_text_has_its_own() -> None:
    texts = ["Mira sails."] * LEAST_SHARED + ["Odo rows."] * (LEAST_SHARED - 1)

    assert names_of(texts) == ["Mira"] * LEAST_SHARED + [None] * (LEAST_SHARED - 1)
