"""Detects labels of an agent's identity, such as `Your new name`."""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cache, lru_cache
from itertools import chain
from typing import Final

from understudy.core.dataclass import dataclass
from understudy.evolution.visible_text import plain, word_line
from understudy.learnings.normal_form import HAN_AND_KANA
from understudy.patterns.word_lists import WordLists

WORDS: Final = WordLists("understudy.evolution.identity")
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
# Enumeration at the start of a line: numbers and letters.
_COUNTING: Final = re.compile(r"\d+|[a-z]|[ivx]{2,4}|[一二三四五六七八九十]")
_STUCK: Final = re.compile(r"\d+(?=[^\W\d])")


class IdentityKind(StrEnum):
    """The kinds of identity fields."""

    NAME = "name"
    ROLE = "role"
    PURPOSE = "purpose"
    CONTACT = "contact"
    IDENTITY = "identity"


@dataclass(frozen=True, slots=True)
class IdentityLabel:
    """The kind of a label, and the words after it that are no part of it."""

    kind: IdentityKind
    rest: str = ""


@cache
def _kinds(language: str) -> Mapping[str, IdentityKind]:
    """The kind of each label of a language."""
    return {word: kind for kind in IdentityKind for word in WORDS(f"fields.{language}.{kind}")}


@cache
def _cautious() -> frozenset[str]:
    """Words that also describe tone: labels only alone, or with a possessive."""
    languages = ("english", "vietnamese", "chinese")
    contacts = (WORDS(f"fields.{language}.{IdentityKind.CONTACT}") for language in languages)
    return WORDS.set("labels.cautious").union(*contacts)


@cache
def _own_chinese() -> re.Pattern[str]:
    return re.compile(f"(?:{'|'.join(WORDS('labels.own_chinese'))})*")


@cache
def _others_chinese() -> re.Pattern[str]:
    return re.compile("|".join(WORDS("labels.others_chinese")))


def _unmarked(text: str) -> str:
    apart = unicodedata.normalize("NFD", text.replace("đ", "d"))
    return "".join(sign for sign in apart if unicodedata.category(sign) != "Mn")


@cache
def _unmarked_labels() -> Mapping[str, str]:
    """Vietnamese labels by their spelling without marks; a single short word would be ambiguous."""
    return {_unmarked(word): word for word in _kinds("vietnamese") if " " in word}


@cache
def _longest() -> int:
    """The length of the longest label in words, plus one: its letters may be spaced."""
    return 1 + max(len(word.split()) for word in (*_kinds("english"), *_kinds("vietnamese")))


@lru_cache(maxsize=4096)
def label_of(text: str, *, is_heading: bool = False) -> IdentityLabel | None:
    """The label that a text is; None if it is none. A heading may continue after its label."""
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
    while (
        len(words) > 1 and _COUNTING.fullmatch(words[0]) and "".join(words) not in _kinds("english")
    ):
        words = words[1:]
    return words


def _spelled(words: Sequence[str]) -> Iterator[IdentityLabel]:
    """A label with spaced letters."""
    kind = _kinds("english").get("".join(words)) if all(len(word) == 1 for word in words) else None
    if kind is not None:
        yield IdentityLabel(kind)


def _spaced(words: Sequence[str], *, is_heading: bool) -> Iterator[IdentityLabel]:
    for start in range(len(words)):
        for end in range(min(start + _longest(), len(words)), start, -1):
            said = " ".join(words[start:end])
            before, behind = words[:start], words[end:]
            label = _english(said, before, behind, is_heading=is_heading)
            label = label or _vietnamese(said, before, behind)
            if label is not None:
                yield label


def _english(
    said: str, before: Sequence[str], behind: Sequence[str], *, is_heading: bool
) -> IdentityLabel | None:
    kinds = _kinds("english")
    said = next((form for form in _forms(said) if form in kinds), "")
    if not said or not _is_own(said, before):
        return None
    kind = kinds[said]
    if len(behind) <= MAX_WORDS and _behind().issuperset(behind):
        return IdentityLabel(kind)
    is_one_of_two = behind[0] in {"and", "or"} and len(behind) <= MAX_BEHIND
    if is_one_of_two and said not in _cautious():
        return IdentityLabel(kind)
    goes_on = (
        is_heading and len(behind) <= MAX_BEHIND and behind[0] not in WORDS.set("labels.compounds")
    )
    is_plain = kind in {IdentityKind.NAME, IdentityKind.ROLE} and said not in _cautious()
    return IdentityLabel(kind, rest=" ".join(behind)) if goes_on and is_plain else None


@cache
def _behind() -> frozenset[str]:
    """Words after a label that add nothing to it."""
    return WORDS.set("labels.own") | WORDS.set("labels.behind")


def _forms(said: str) -> Iterator[str]:
    """The possible spellings of a word: with other marks, or split as in `e-mail`."""
    yield said
    if not said.isascii():
        yield _unmarked(said)
    if " " in said:
        yield said.replace(" ", "")


def _is_own(said: str, before: Sequence[str]) -> bool:
    if WORDS.set("labels.own").issuperset(before):
        return True
    if said in _cautious() or len(before) > MAX_BEFORE:
        return False
    others, ways = WORDS.set("labels.others"), WORDS.set("labels.ways")
    return not others.intersection(before) and before[-1] not in ways


def _vietnamese(said: str, before: Sequence[str], behind: Sequence[str]) -> IdentityLabel | None:
    said = _unmarked_labels().get(said, said)
    kind = _kinds("vietnamese").get(said)
    if kind is None or any(word not in {"cái", "các", "những", "số"} for word in before):
        return None
    if said in _cautious():
        is_own = WORDS.set("labels.own_vietnamese").issuperset(behind)
        return IdentityLabel(kind) if is_own else None
    is_own = len(behind) <= MAX_BEHIND and not WORDS.set("labels.others_vietnamese").intersection(
        behind
    )
    return IdentityLabel(kind) if is_own else None


def _chinese(text: str) -> IdentityLabel | None:
    for word, kind in _kinds("chinese").items():
        before, found, behind = text.rpartition(word)
        if not found or (behind and not _own_chinese().fullmatch(behind)):
            continue
        is_own = _own_chinese().fullmatch(before) is not None
        is_short = len(before) <= MAX_SIGNS and not _others_chinese().search(before)
        if is_own or (is_short and word not in _cautious()):
            return IdentityLabel(kind)
    return None


def _chinese_heading(text: str, *, is_heading: bool) -> IdentityLabel | None:
    """A label with its value after a space."""
    head, _, rest = text.strip().partition(" ")
    label = _chinese(head) if is_heading and rest else None
    is_plain = label is not None and label.kind in {IdentityKind.NAME, IdentityKind.ROLE}
    return IdentityLabel(label.kind, rest=rest) if label is not None and is_plain else None
