"""Error texts in the caller's language."""

from collections.abc import Mapping
from dataclasses import dataclass

from understudy.core.errors import words_in
from understudy.i18n.locales import DEFAULT, locale_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemText:
    """A text and its language."""

    text: str
    language: str = DEFAULT


def told_in(locale: str | None, row: str, detail: str, values: Mapping[str, object]) -> ProblemText:
    """The translated text of a row of the error table; English callers get the detail.

    The part of a detail that is known only at run time is appended untranslated.
    """
    language = locale_of(locale)
    words = None if language == DEFAULT else words_in(language, row, values)
    if words is None:
        return ProblemText(text=detail)
    is_all = words_in(DEFAULT, row, values) in (detail, None)
    return ProblemText(text=words if is_all else f"{words} ({detail})", language=language)
