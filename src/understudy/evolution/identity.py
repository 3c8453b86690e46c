"""Finds where a text says who an agent is: its name, role, purpose, and how it is reached."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from understudy.evolution.identity_words import FIELD_WORDS, SENTENCES
from understudy.evolution.reading import plain, word_line


class Kind(StrEnum):
    """What a field says of an agent."""

    NAME = "name"
    ROLE = "role"
    PURPOSE = "purpose"
    CONTACT = "contact"
    IDENTITY = "identity"


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One thing that a text says of an agent, on a line that counts from 1."""

    kind: Kind
    value: str
    line: int

    @property
    def key(self) -> tuple[Kind, str]:
        """What it says, wherever it stands."""
        return self.kind, self.value


# What comes before a label: marks of lists, quotations, tables and comments, and whose it is.
_MARKS: Final = r"[\s#>*+|\-\"'`_~(\[{<!\u2022\u00b7\u300c\u3010]*+(?:\d{1,3}[.)]\s*+)?[\"'`_*]*+"
_WHOSE: Final = r"(?:(?:your|my|the|its|(?:agent|bot|assistant)(?:['\u2019]?s)?|new|full|display|core|main)\s+)*"
_WHOSE_ZH: Final = r"(?:你|我|您|它)?的?"
_OF_VI: Final = r"(?:\s+(?:của\s+)?(?:bạn|tôi|mình|tác nhân|trợ lý))?"
_CLOSING: Final = r"[\s\"'`_*)\]}\u300d\u3011]*+"
_KINDS: Final[Mapping[str, Kind]] = {
    word: Kind(kind) for kind, words in FIELD_WORDS.items() for word in words
}
_WORDS: Final = "|".join(re.escape(word) for word in sorted(_KINDS, key=len, reverse=True))
_LABEL: Final = rf"{_MARKS}{_WHOSE}{_WHOSE_ZH}(?P<word>{_WORDS}){_OF_VI}{_CLOSING}"
_FIELD: Final = re.compile(rf"{_LABEL}(?:[:=|]|(?<=\s)[-\u2013\u2014]\s|->|=>)(?P<value>.*)")
_HEADING: Final = re.compile(rf"{_LABEL}#*\s*")
_IS_HEADING: Final = re.compile(
    r"\s*(?:#{1,6}(?:\s|$)|(?:\*\*|__).*(?:\*\*|__)\s*+:?\s*+$|<h[1-6])"
)
_UNDERLINE: Final = re.compile(r"\s{0,3}(?:=+|-{2,})\s*")
_EMAIL: Final = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")
_SENTENCES: Final = tuple((Kind(kind), re.compile(said)) for kind, said in SENTENCES)


def fields_of(text: str) -> tuple[Field, ...]:
    """Everything of that sort in a text, in order."""
    lines = [plain(line) for line in text.splitlines()]
    return tuple(found for index in range(len(lines)) for found in _on_line(lines, index))


def _on_line(lines: list[str], index: int) -> Iterator[Field]:
    line = lines[index]
    field = _FIELD.fullmatch(line)
    if field and field["value"].strip(" *_|`"):
        yield _field(_KINDS[field["word"]], field["value"], index)
    elif (heading := _HEADING.fullmatch(line.rstrip(" :"))) and _is_heading(lines, index):
        yield _field(_KINDS[heading["word"]], " ".join(_below(lines, index)), index)
    for kind, said in _SENTENCES:
        yield from (_field(kind, found["value"], index) for found in said.finditer(line))
    for address in _EMAIL.finditer(line):
        yield _field(Kind.CONTACT, address[0], index)


def _is_heading(lines: list[str], index: int) -> bool:
    """Marked as one, underlined, or a label whose value stands on the next line."""
    is_label = lines[index].rstrip().endswith(":")
    is_underlined = index + 1 < len(lines) and _UNDERLINE.fullmatch(lines[index + 1]) is not None
    return is_label or is_underlined or _IS_HEADING.match(lines[index]) is not None


def _below(lines: list[str], index: int) -> Iterator[str]:
    """The lines below a heading, up to the next."""
    for at in range(index + 1, len(lines)):
        if _IS_HEADING.match(lines[at]) or _HEADING.fullmatch(lines[at].rstrip(" :")):
            return
        if not _UNDERLINE.fullmatch(lines[at]):
            yield lines[at]


def _field(kind: Kind, value: str, index: int) -> Field:
    return Field(kind=kind, value=word_line(value.strip("|<>- ")), line=index + 1)
