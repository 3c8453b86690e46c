"""Why something was refused, in the language of whoever asked."""

import pytest

from understudy.core.errors import words_in
from understudy.i18n.problems import ProblemText, told_in

ROW = "skills/skill_not_found"
SAID = "there is no skill 'x'"


@pytest.mark.parametrize(("locale", "language"), [("vi", "vi"), ("zh-Hans-CN", "zh")])
def test_an_error_is_told_in_the_callers_language(locale: str, language: str) -> None:
    told = told_in(locale, ROW, SAID, {"ref": "x"})

    assert told == ProblemText(text=str(words_in(language, ROW, {"ref": "x"})), language=language)


@pytest.mark.parametrize("locale", [None, "en", "en-GB", "fr", ""])
def test_english_and_unknown_callers_get_what_was_said_at_first(locale: str | None) -> None:
    assert told_in(locale, ROW, SAID, {"ref": "x"}) == ProblemText(text=SAID, language="en")


@pytest.mark.parametrize("row", ["skills/no_such_code", "", "../forbidden"])
def test_an_error_without_a_row_stays_as_it_was(row: str) -> None:
    assert told_in("vi", row, SAID, {}) == ProblemText(text=SAID, language="en")


def test_what_the_problem_is_about_stands_in_the_words() -> None:
    locked = told_in("vi", "evolution/file_locked", SAID, {"name": "AGENTS.md", "more": 1})
    large = told_in("zh", "evolution/soul_too_large", SAID, {"limit_bytes": 16_384})

    assert "AGENTS.md" in locked.text
    assert "16384" in large.text


def test_words_that_need_more_than_there_is_are_not_told() -> None:
    assert told_in("vi", "evolution/file_locked", SAID, {}) == ProblemText(text=SAID)


def test_a_name_with_braces_is_only_a_name() -> None:
    told = told_in("vi", "evolution/file_locked", SAID, {"name": "{0.__class__}"})

    assert "{0.__class__}" in told.text


def test_what_only_the_detail_says_is_added_to_the_words() -> None:
    told = told_in("zh", "skills/invalid_slug", "a slug has no blanks", {})

    assert told.text.endswith("(a slug has no blanks)")
    assert told.text.startswith(str(words_in("zh", "skills/invalid_slug", {})))
