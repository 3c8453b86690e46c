"""Whether a few words are a label of who an agent is, such as `Your new name`."""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import chain
from typing import Final

from understudy.evolution.identity.words import (
    BEHIND,
    CAUTIOUS,
    COMPOUNDS,
    FIELD_WORDS,
    FIELD_WORDS_VI,
    FIELD_WORDS_ZH,
    OTHERS,
    OTHERS_VI,
    OTHERS_ZH,
    OWN,
    OWN_VI,
    OWN_ZH,
    WAYS,
)
from understudy.evolution.reading import plain, word_line
from understudy.learnings.wording import HAN_AND_KANA


class Kind(StrEnum):
    """What a field says of an agent."""

    NAME = "name"
    ROLE = "role"
    PURPOSE = "purpose"
    CONTACT = "contact"
    IDENTITY = "identity"


@dataclass(frozen=True, slots=True)
class Label:
    """What a label says, and the words behind it that are no part of it."""

    kind: Kind
    rest: str = ""


# A longer text is a sentence.
MAX_LABEL_CHARS: Final = 80
MAX_WORDS: Final = 8
MAX_BEFORE: Final = 2
MAX_BEHIND: Final = 3
MAX_SIGNS: Final = 6

_IN_BRACKETS: Final = re.compile(r"\([^()]*\)|\[[^\[\]]{2,}\](?=\s*\S)")
_CAMEL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
_SIGN: Final = re.compile(r"[^\w\s'\u2019]")
_HAN_OR_KANA: Final = re.compile(f"[{HAN_AND_KANA}]")
# At the head of a line: numbers and letters that count.
_COUNTING: Final = re.compile(r"\d+|[a-z]|[ivx]{2,4}|[一二三四五六七八九十]")
_STUCK: Final = re.compile(r"\d+(?=[^\W\d])")
_OWN_ZH: Final = re.compile(OWN_ZH)
_OTHERS_ZH: Final = re.compile(OTHERS_ZH)


def _kinds(words: Mapping[str, Sequence[str]]) -> Mapping[str, Kind]:
    return {word: Kind(kind) for kind, group in words.items() for word in group}


def _unmarked(text: str) -> str:
    apart = unicodedata.normalize("NFD", text.replace("đ", "d"))
    return "".join(sign for sign in apart if unicodedata.category(sign) != "Mn")


_ENGLISH: Final = _kinds(FIELD_WORDS)
_VIETNAMESE: Final = _kinds(FIELD_WORDS_VI)
# Written without marks; one short word alone could be any.
_UNMARKED: Final = {_unmarked(word): word for word in _VIETNAMESE if " " in word}
_CHINESE: Final = _kinds(FIELD_WORDS_ZH)
# The words of the longest, and one more: letters may stand apart in parts of it.
_LONGEST: Final = 1 + max(len(word.split()) for word in (*_ENGLISH, *_VIETNAMESE))


@lru_cache(maxsize=4096)
def label_of(text: str, *, is_heading: bool = False) -> Label | None:
    """What a text says as a label; None when it is none. A heading may go on behind its label."""
    if len(text) > MAX_LABEL_CHARS:
        return None
    words = _words(_IN_BRACKETS.sub(" ", text)) or _words(text)
    if not words or len(words) > MAX_WORDS:
        return None
    if any(_HAN_OR_KANA.search(word) for word in words):
        return _chinese("".join(words)) or _chinese_heading(text, is_heading=is_heading)
    return next(chain(_spaced(words, is_heading=is_heading), _spelled(words)), None)


def _words(text: str) -> list[str]:
    line = word_line(_SIGN.sub(" ", plain(_CAMEL.sub(" ", text))))
    words = [_STUCK.sub("", word) for word in line.split()]
    while len(words) > 1 and _COUNTING.fullmatch(words[0]) and "".join(words) not in _ENGLISH:
        words = words[1:]
    return words


def _spelled(words: Sequence[str]) -> Iterator[Label]:
    """A label whose letters stand apart."""
    kind = _ENGLISH.get("".join(words)) if all(len(word) == 1 for word in words) else None
    if kind is not None:
        yield Label(kind)


def _spaced(words: Sequence[str], *, is_heading: bool) -> Iterator[Label]:
    for start in range(len(words)):
        for end in range(min(start + _LONGEST, len(words)), start, -1):
            said = " ".join(words[start:end])
            before, behind = words[:start], words[end:]
            label = _english(said, before, behind, is_heading=is_heading)
            label = label or _vietnamese(said, before, behind)
            if label is not None:
                yield label


def _english(
    said: str, before: Sequence[str], behind: Sequence[str], *, is_heading: bool
) -> Label | None:
    said = next((form for form in _forms(said) if form in _ENGLISH), "")
    if not said or not _is_own(said, before):
        return None
    kind = _ENGLISH[said]
    if len(behind) <= MAX_WORDS and all(word in BEHIND for word in behind):
        return Label(kind)
    is_one_of_two = behind[0] in {"and", "or"} and len(behind) <= MAX_BEHIND
    if is_one_of_two and said not in CAUTIOUS:
        return Label(kind)
    goes_on = is_heading and len(behind) <= MAX_BEHIND and behind[0] not in COMPOUNDS
    is_plain = kind in {Kind.NAME, Kind.ROLE} and said not in CAUTIOUS
    return Label(kind, rest=" ".join(behind)) if goes_on and is_plain else None


def _forms(said: str) -> Iterator[str]:
    """The ways in which a word may be written: with other marks, or in parts as in `e-mail`."""
    yield said
    if not said.isascii():
        yield _unmarked(said)
    if " " in said:
        yield said.replace(" ", "")


def _is_own(said: str, before: Sequence[str]) -> bool:
    if all(word in OWN for word in before):
        return True
    if said in CAUTIOUS or len(before) > MAX_BEFORE:
        return False
    return not OTHERS.intersection(before) and before[-1] not in WAYS


def _vietnamese(said: str, before: Sequence[str], behind: Sequence[str]) -> Label | None:
    said = _UNMARKED.get(said, said)
    kind = _VIETNAMESE.get(said)
    if kind is None or any(word not in {"cái", "các", "những", "số"} for word in before):
        return None
    if said in CAUTIOUS:
        return Label(kind) if all(word in OWN_VI for word in behind) else None
    is_own = len(behind) <= MAX_BEHIND and not OTHERS_VI.intersection(behind)
    return Label(kind) if is_own else None


def _chinese(text: str) -> Label | None:
    for word, kind in _CHINESE.items():
        before, found, behind = text.rpartition(word)
        if not found or (behind and not _OWN_ZH.fullmatch(behind)):
            continue
        is_own = _OWN_ZH.fullmatch(before) is not None
        is_short = len(before) <= MAX_SIGNS and not _OTHERS_ZH.search(before)
        if is_own or (is_short and word not in CAUTIOUS):
            return Label(kind)
    return None


def _chinese_heading(text: str, *, is_heading: bool) -> Label | None:
    """A label with a value behind a blank."""
    head, _, rest = text.strip().partition(" ")
    label = _chinese(head) if is_heading and rest else None
    is_plain = label is not None and label.kind in {Kind.NAME, Kind.ROLE}
    return Label(label.kind, rest=rest) if label is not None and is_plain else None
