"""The fields of a text that say who an agent is: labelled values, such as `Name: Ada`, and addresses."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final

from understudy.evolution.answers import listed, words_of
from understudy.evolution.visible_text import as_seen, plain, word_line

# Separators between the label and its value; a dash needs blanks around it.
_BETWEEN: Final = re.compile(r"[:=|;\t]|[-=]+>|[\u2192\u21d2]|\s[\u2013\u2014-]\s")
_EMAIL: Final = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")
_TAG: Final = re.compile(r"</?[a-z][^<>]*>", re.IGNORECASE)
_DRESS: Final = str.maketrans("", "", "*`~_<>\"'{}")
# A line whose value may stand below it.
_HEADING: Final = re.compile(r"[\s>]*(?:#{1,6}\s|\*\*.*\*\*\s*$|.*[:\uff1a]\s*$)")
MAX_CELLS: Final = 40
MAX_LABEL_WORDS: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityField:
    """One identity field of a text, with its line from 1."""

    label: str
    value: str
    line: int


def fields_of(text: str) -> Iterator[IdentityField]:
    """The identity fields of a text, in order."""
    lines = [as_seen(line) for line in text.splitlines()]
    for index, line in enumerate(lines):
        for label, value in _said_in(line, _below(lines, index)):
            yield IdentityField(label=label, value=value, line=index + 1)


def _below(lines: list[str], index: int) -> str:
    """The next line with words, where a line is a heading; else nothing."""
    if _HEADING.match(lines[index]) is None:
        return ""
    return next((words for line in lines[index + 1 : index + 4] if (words := _bare(line))), "")


def _said_in(line: str, below: str) -> Iterator[tuple[str, str]]:
    cells = [cell for cell in map(_bare, _BETWEEN.split(_untagged(line), MAX_CELLS)) if cell]
    for at, cell in enumerate(cells):
        label = _label(cell)
        value = " ".join(cells[at + 1 :]) or below
        if label and value:
            yield label, value
            # What follows is its value.
            break
    yield from (("contact", found[0]) for found in _EMAIL.finditer(plain(line)))


def _untagged(line: str) -> str:
    return _TAG.sub(" ", line).translate(_DRESS)


def _bare(text: str) -> str:
    return word_line(plain(_untagged(text)))


def _label(cell: str) -> str:
    """The label that a cell is, without words for whose it is; empty if it is none."""
    words = cell.split()
    if len(words) > MAX_LABEL_WORDS:
        return ""
    kept = " ".join(word for word in words if word not in _own() and not _counts(word))
    return next((label for label in (kept, cell) if label in _labels()), "")


def _counts(word: str) -> bool:
    """Whether a word only numbers or marks a line."""
    return word.isdecimal() or not any(map(str.isalnum, word))


@cache
def _labels() -> frozenset[str]:
    return frozenset(" ".join(words_of(label)) for label in listed("identity"))


@cache
def _own() -> frozenset[str]:
    return frozenset(word for phrase in listed("own") for word in words_of(phrase))
