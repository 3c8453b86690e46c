"""Why something was refused, in the language of whoever asked."""

from collections.abc import Mapping
from dataclasses import dataclass

from understudy.core.errors import words_in
from understudy.i18n.locales import DEFAULT, locale_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemText:
    """Words, and the language that they are in."""

    text: str
    language: str = DEFAULT


def told_in(locale: str | None, row: str, detail: str, values: Mapping[str, object]) -> ProblemText:
    """The words of a row of the error table in a language; English callers get the detail.

    What the English words do not say, because it is known at run time only, is added as it is.
    """
    language = locale_of(locale)
    words = None if language == DEFAULT else words_in(language, row, values)
    if words is None:
        return ProblemText(text=detail)
    is_all = words_in(DEFAULT, row, values) in (detail, None)
    return ProblemText(text=words if is_all else f"{words} ({detail})", language=language)
