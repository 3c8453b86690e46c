"""Why something was refused, in the language of whoever asked."""

import pytest

from understudy.i18n.catalogue import entries
from understudy.i18n.problems import ProblemText, told_in

SAID = "this needs the admin role; you are viewer"


@pytest.mark.parametrize(("locale", "language"), [("vi", "vi"), ("zh-Hans-CN", "zh")])
def test_a_code_with_words_is_told_in_the_callers_language(locale: str, language: str) -> None:
    told = told_in(locale, "forbidden", SAID, {})

    assert told == ProblemText(text=str(entries(language)["error.forbidden"]), language=language)


@pytest.mark.parametrize("locale", [None, "en", "en-GB", "fr", ""])
def test_english_and_unknown_callers_get_what_was_said_at_first(locale: str | None) -> None:
    assert told_in(locale, "forbidden", SAID, {}) == ProblemText(text=SAID, language="en")


@pytest.mark.parametrize("code", ["no_such_code", "", "../forbidden"])
def test_a_code_without_words_stays_as_it_was(code: str) -> None:
    assert told_in("vi", code, SAID, {}) == ProblemText(text=SAID, language="en")


def test_what_the_problem_is_about_stands_in_the_words() -> None:
    locked = told_in("vi", "file_locked", SAID, {"name": "AGENTS.md", "more": 1})
    large = told_in("zh", "soul_too_large", SAID, {"size_bytes": 20_000, "limit_bytes": 16_384})

    assert "AGENTS.md" in locked.text
    assert "16384" in large.text


def test_words_that_need_more_than_there_is_are_not_told() -> None:
    assert told_in("vi", "file_locked", SAID, {}) == ProblemText(text=SAID)


def test_a_name_with_braces_is_only_a_name() -> None:
    assert "{0.__class__}" in told_in("vi", "file_locked", SAID, {"name": "{0.__class__}"}).text
