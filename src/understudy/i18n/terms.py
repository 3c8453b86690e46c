"""Enum values, field names and reasons of the API in the reader's language."""

import re
import tomllib
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.resources import files
from typing import Final

from understudy.i18n.locales import DEFAULT, locale_of

# The column of each language in a row of the table; a row without the last is English as it is.
COLUMNS: Final = {"vi": 0, "zh": 1, "en": 2}
# The separator between the reasons of one explanation.
SEPARATOR: Final = "; "
ID: Final = "_id"
# A longer text is not made of the daemon's own reasons alone.
MOST_CHARS: Final = 300


def term(locale: str, word: str) -> str:
    """A term such as `waiting_for_approval` for people; one without a row is shown in words."""
    known = table("terms", locale)
    if word in known:
        return known[word]
    noun = word.removesuffix(ID)
    if noun != word and locale_of(locale) == DEFAULT:
        return term(locale, noun)
    return f"{known[noun]} ID" if noun != word and noun in known else word.replace("_", " ")


def operation(locale: str, name: str) -> str:
    """The name of an operation or audit action, such as `learnings.revoke`."""
    noun, dot, verb = name.partition(".")
    return f"{term(locale, noun)} · {term(locale, verb)}" if dot else name


@lru_cache(maxsize=4096)
def sentence(locale: str, text: str) -> str:
    """An explanation of one or more reasons; a reason without a row stays as it is."""
    rows = _patterns(locale)
    return SEPARATOR.join(_reason(rows, each) for each in text.split(SEPARATOR)) if rows else text


def _reason(rows: Mapping[re.Pattern[str], str], text: str) -> str:
    for pattern, words in rows.items() if len(text) <= MOST_CHARS else ():
        if found := pattern.fullmatch(text):
            return words.format(*found.groups())
    return text


@cache
def _patterns(locale: str) -> Mapping[re.Pattern[str], str]:
    """The reason patterns, those without a placeholder first."""
    rows = sorted(table("sentences", locale).items(), key=lambda row: row[0].count("{}"))
    return {
        re.compile(re.escape(text).replace(r"\{\}", "(.{1,200}?)"), re.DOTALL): words
        for text, words in rows
    }


@cache
def table(name: str, locale: str) -> Mapping[str, str]:
    """The rows of one table in a language; in English only those that need other words."""
    column = COLUMNS[locale_of(locale)]
    source = files("understudy.i18n").joinpath("terms.toml").read_text("utf-8")
    rows = tomllib.loads(source)[name].items()
    return {key: words[column] for key, words in rows if len(words) > column}
