"""Enum values and reasons of the API in the reader's language; English needs no table."""

import re
import tomllib
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.resources import files
from typing import Final

from understudy.i18n.locales import locale_of

# The column of each language in a row of the table.
COLUMNS: Final = {"vi": 0, "zh": 1}
# The separator between the reasons of one explanation.
SEPARATOR: Final = "; "
ID: Final = "_id"
# A longer text is not made of the daemon's own reasons alone.
MOST_CHARS: Final = 300


def term(locale: str, word: str) -> str:
    """A term such as `waiting_for_approval` for people; one without a row stays English."""
    known = table("terms", locale)
    if word in known:
        return known[word]
    if word.endswith(ID) and (noun := known.get(word.removesuffix(ID))):
        return f"{noun} ID"
    return word.replace("_", " ")


def operation(locale: str, name: str) -> str:
    """The name of an operation or audit action, such as `learnings.revoke`."""
    noun, dot, verb = name.partition(".")
    if not dot or not table("terms", locale):
        return name
    return f"{term(locale, noun)} · {term(locale, verb)}"


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
    """The rows of one table in a language; empty for English."""
    column = COLUMNS.get(locale_of(locale))
    if column is None:
        return {}
    source = files("understudy.i18n").joinpath("terms.toml").read_text("utf-8")
    return {key: words[column] for key, words in tomllib.loads(source)[name].items()}
