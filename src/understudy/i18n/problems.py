"""Why something was refused, in the language of whoever asked."""

from collections.abc import Mapping
from dataclasses import dataclass

from understudy.i18n.catalogue import entries
from understudy.i18n.locales import DEFAULT, locale_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemText:
    """Words, and the language that they are in."""

    text: str
    language: str = DEFAULT


def told_in(
    locale: str | None, code: str, detail: str, params: Mapping[str, object]
) -> ProblemText:
    """What a problem is called in a language, where the catalogue has words for its code.

    English callers get what was said at first: it tells more than the catalogue could.
    """
    language = locale_of(locale)
    words = entries(language).get(f"error.{code}")
    if language == DEFAULT or not isinstance(words, str):
        return ProblemText(text=detail)
    try:
        return ProblemText(text=words.format_map(dict(params)), language=language)
    except KeyError:
        # It was raised without what the words need.
        return ProblemText(text=detail)
