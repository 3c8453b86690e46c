"""Semantic keys: when two statements are obviously the same, and what is obviously their subject.

`The project codename is Atlas.` and `project codename: atlas` are one statement; with another name
in place of Atlas, or denied, it is a contradiction. So are two texts that differ in one count or
one negation alone. Whatever else says the same or the contrary is found among the neighbours.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from understudy.learnings.model import Relation
from understudy.learnings.normal_form import exact_words, plain, unmasked

# Raised with each change of the rules, so that stored keys are made anew: the duplicates and
# contradictions of a statement are found by its key.
KEY_RULES: Final = 5
# A longer text is no single statement, and a longer side of a copula is a clause of its own.
MAX_CHARS: Final = 400
MAX_SUBJECT_WORDS: Final = 6
MAX_VALUE_WORDS: Final = 8
# Chinese has no blanks: so many characters count as one word.
HAN_PER_WORD: Final = 2
# In the subject of a statement without a copula, in the place of its one number.
NUMBER: Final = "\ufdd0"
# They stand for something said elsewhere, so what they are compares with nothing.
_PRONOUN: Final = re.compile(
    "it|this|that|these|those|there|they|he|she|what|who|which|if|when|where"
    "|它|这|那|nó|đó|đây|này|nếu|khi|如果"
)
_ARTICLES: Final = frozenset({"a", "an", "the", "my", "our", "your", "các", "những"})
_POSSESSORS: Final = re.compile(
    r"^(?:the )?(?:user|team)['\u2019]s |^(?:我们?|团队|用户)的| của (?:tôi|chúng tôi|mình)\b"
)
_COPULA: Final = re.compile(
    r"\s*=\s*|\s*:\s+|\s+(?:is|are|am|là)\s+|(?<=[\u4e00-\u9fff\w])(?<![不但可还凡总])(?:就?是)(?!不是|否)"
)
_AUXILIARY: Final = re.compile(r"\b(?:do|does|did) not\b")
_DENIALS: Final = frozenset({"not", "no", "never", "không", "chưa", "đừng", "chẳng"})
_HAN_DENIAL: Final = re.compile(r"[不没別别]有?|不要|未")
_CONTRACTED: Final = re.compile(
    r"\b(is|are|do|does|did|was|were|has|have|can|could|should|would|wo|ca)n['\u2019]t\b"
)
_FORMS: Final = {"wo": "will", "ca": "can"}
_PARTICIPLE: Final = re.compile(r"[a-z]{3,}ed")
_NUMBER: Final = re.compile(r"[-$€£¥₫]?\d[\d.,:/]*[%°]?")
_HAN: Final = re.compile(r"[\u3400-\u9fff]")
_NUMBERS: Final = {
    word: str(value)
    for words in (
        "zero one two three four five six seven eight nine ten",
        "không_số một hai ba bốn năm sáu bảy tám chín mười",
    )
    for value, word in enumerate(words.split())
}
_HAN_NUMBERS: Final = re.compile("[一二两三四五六七八九十](?=[个位次天小分条台名点种])")


@dataclass(frozen=True, slots=True)
class Key:
    """The normalised statement, and its subject where one is recognised."""

    semantic: str
    subject: str | None


@dataclass(frozen=True, slots=True)
class _Parts:
    """A statement taken apart: what it is about, what it says of that, and whether it denies it."""

    subject: tuple[str, ...]
    value: tuple[str, ...]
    is_denied: bool
    has_copula: bool
    # Whether the value may be one of several: `the docs are …`, `Max is …`.
    is_property: bool = False


def key_of(content: str) -> Key:
    """The key of a statement; ignores blanks, case, punctuation, articles and possessives."""
    if len(content) > MAX_CHARS:
        return Key(" ".join(exact_words(plain(content))) or " ".join(content.split()), None)
    parts = _parts_of(content)
    subject, value = " ".join(parts.subject), " ".join(parts.value)
    denial = "not " if parts.is_denied else ""
    if parts.has_copula:
        return Key(semantic=f"{subject}={denial}{value}", subject=subject)
    said = denial + subject.replace(NUMBER, value, 1)
    return Key(
        semantic=said or plain(content) or " ".join(content.split()), subject=subject or None
    )


def obvious_relation(one: str, other: str) -> Relation:
    """How two statements relate as far as their keys tell."""
    if key_of(one).semantic == key_of(other).semantic:
        return Relation.SAME
    return Relation.CONTRADICTS if contradict(one, other) else Relation.UNKNOWN


def contradict(one: str, other: str) -> bool:
    """Whether two statements obviously have another value of one subject, or one denies the other."""
    if max(len(one), len(other)) > MAX_CHARS:
        return False
    first, second = _parts_of(one), _parts_of(other)
    if (first.subject, first.has_copula) != (second.subject, second.has_copula):
        return False
    if first.is_denied != second.is_denied:
        return first.value == second.value
    return not first.is_denied and first.value != second.value and _exclude(first, second)


def _exclude(one: _Parts, other: _Parts) -> bool:
    """Whether two values of one sort cannot both hold: two numbers, or two names of one shape.

    What several things are, or what is done to one, are properties that go together.
    """
    first, second = one.value, other.value
    numbers = [any(map(_NUMBER.fullmatch, it)) for it in (first, second)]
    if len(first) != len(second) or numbers[0] != numbers[1]:
        return False
    is_framed = len(first) > 2 and (first[0], first[-1]) == (second[0], second[-1])
    if len(first) > 1 and first[0] != second[0] and first[-1] != second[-1]:
        return False
    is_property = any(it.is_property or _PARTICIPLE.fullmatch(it.value[-1]) for it in (one, other))
    return bool(first) and (all(numbers) or is_framed or not is_property)


@lru_cache(maxsize=4096)
def _parts_of(content: str) -> _Parts:
    line = _CONTRACTED.sub(lambda it: f"{_FORMS.get(it[1], it[1])} not", plain(content))
    line = _AUXILIARY.sub("not", line)
    line = _HAN_NUMBERS.sub(
        lambda it: f"{unicodedata.numeric(it[0].replace('两', '二')):.0f}",
        _POSSESSORS.sub(" ", line).strip(),
    )
    found = _COPULA.search(line)
    if found is not None:
        subject, before = _words(line[: found.start()])
        value, after = _words(line[found.end() :])
        is_short = (
            0 < _length(subject) <= MAX_SUBJECT_WORDS and 0 < _length(value) <= MAX_VALUE_WORDS
        )
        is_pronoun = bool(subject) and _PRONOUN.fullmatch(subject[0]) is not None
        if (
            is_short
            and not is_pronoun
            and not before
            and after < 2
            and _COPULA.search(line, found.end()) is None
        ):
            is_property = _is_property(line, found, subject) and not _is_name(content, value)
            return _Parts(subject, value, after == 1, has_copula=True, is_property=is_property)
    words, denials = _words(line)
    numbers = tuple(it for it in words if _NUMBER.fullmatch(it))
    if len(numbers) == 1 and _counts(words, words.index(numbers[0])):
        return _Parts(
            tuple(NUMBER if it in numbers else it for it in words),
            numbers,
            denials == 1,
            has_copula=False,
        )
    return _Parts(words, (), denials == 1, has_copula=False)


def _counts(words: Sequence[str], at: int) -> bool:
    """Whether a number counts what stands behind it: `3 ovens`; in `gate 3 is …` it is a name."""
    return len(words) / 2 <= at < len(words) - 1


def _is_name(content: str, value: tuple[str, ...]) -> bool:
    """Whether a value is written as a name: `Codename is Atlas`."""
    found = re.search(re.escape(value[0]), content, re.IGNORECASE)
    return found is not None and found[0][:1].isupper()


def _is_property(line: str, copula: re.Match[str], subject: tuple[str, ...]) -> bool:
    """Whether a subject may have several such values: several things, or a person by name."""
    said = copula[0].strip()
    if said == "are":
        return True
    is_named = len(subject) == 1 and line[: copula.start()].strip() == subject[0]
    return said == "is" and is_named


def _words(line: str) -> tuple[tuple[str, ...], int]:
    """The words of a line without articles and negations, and how many negations there were."""
    kept, denials = list[str](), 0
    for word in unmasked(exact_words(line)):
        bare, found = _HAN_DENIAL.subn("", word)
        if word in _DENIALS or found:
            denials += found or 1
        if word not in _DENIALS and word not in _ARTICLES and bare:
            kept.append(_NUMBERS.get(bare, bare))
    return tuple(kept), denials


def _length(words: Iterable[str]) -> int:
    """How many words there are; of Chinese, two characters count as one."""
    return sum(-(-len(it) // HAN_PER_WORD) if _HAN.search(it) else 1 for it in words)
