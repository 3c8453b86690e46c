"""The relation of two statements: the same in other words, in conflict, or neither."""

import re
from collections.abc import Iterable, Sequence
from enum import StrEnum, auto
from typing import Final

from understudy.learnings.clause_words import LISTS, NUMERIC, WordClass, has_han, is_hour, is_time
from understudy.learnings.frames import (
    BE,
    LANGUAGE,
    MIN_END,
    NEED,
    PREFER,
    USE,
    WHEN,
    Frame,
    has_number,
)
from understudy.learnings.opposites import opposed
from understudy.learnings.statements import frame_of, plain_key

# The most words of a value that another excludes; Chinese has two characters in a word.
MAX_VALUE_WORDS: Final = 6
HAN_PER_WORD: Final = 2
_DIGITS: Final = re.compile(r"[\d.,:/-]+")


class StatementRelation(StrEnum):
    """How two statements relate."""

    SAME = auto()
    CONFLICT = auto()
    UNRELATED = auto()


def relation(one: str, other: str) -> StatementRelation:
    """Whether two statements say the same, contradict each other, or go together."""
    first, second = frame_of(one), frame_of(other)
    if first is None or second is None:
        return (
            StatementRelation.SAME
            if plain_key(one) == plain_key(other)
            else StatementRelation.UNRELATED
        )
    if first.semantic == second.semantic:
        return StatementRelation.SAME
    return StatementRelation.CONFLICT if _conflict(first, second) else StatementRelation.UNRELATED


def _conflict(one: Frame, other: Frame) -> bool:
    """Whether one frame denies the other, or has another value that excludes the other's."""
    if one.about != other.about:
        return False
    is_change = WordClass.CHANGES in {one.role, other.role}
    if (one.former and one.former == other.value) or (other.former and other.former == one.value):
        return not (one.is_denied or other.is_denied)
    if frozenset(one.topic) != frozenset(other.topic):
        return _differ_in_topic(one, other)
    if one.verb == other.verb and opposed((one.slot,), (other.slot,)):
        return one.value == other.value and one.is_denied == other.is_denied
    if not is_change and (one.verb, one.slot) != (other.verb, other.slot):
        return False
    if one.value == other.value:
        return one.is_denied != other.is_denied
    flags = (one.is_denied, other.is_denied, one.is_added, other.is_added)
    is_plain = not is_change and one.slot == other.slot and one.slot in {"", WHEN}
    is_one_kind = is_plain or is_time(one.value) == is_time(other.value)
    is_comparable = one.language is other.language and not (_is_long(one) or _is_long(other))
    return not any(flags) and is_one_kind and is_comparable and _excludes(one, other)


def _is_long(frame: Frame) -> bool:
    """Whether a value is rather a sentence of its own than a name, a number or a place."""
    length = sum(len(it) if has_han(it) else HAN_PER_WORD for it in frame.value)
    return length > MAX_VALUE_WORDS * HAN_PER_WORD


def _differ_in_topic(one: Frame, other: Frame) -> bool:
    """Whether two frames with the same value conflict in their topic."""
    said = [(it.verb, it.value, it.is_denied) for it in (one, other)]
    if said[0] != said[1] or one.verb == BE:
        return False
    is_means = one.verb == PREFER and any(
        it in one.topic and it in other.topic for it in ("with", LANGUAGE)
    )
    return is_means or opposed(one.topic, other.topic)


def _excludes(one: Frame, other: Frame) -> bool:
    """Whether two values of one topic cannot both hold."""
    first, second = one.value, other.value
    if opposed(first, second):
        return True
    if one.slot == other.slot == WHEN and is_hour(first) != is_hour(second):
        # What is at noon can be on Fridays.
        return False
    numbers = [has_number(it) for it in (first, second)]
    if all(numbers):
        return _is_one_measure(one, other)
    if any(numbers) and one.verb != BE and one.slot != WHEN:
        return False
    if set(first) <= set(second) or set(second) <= set(first):
        return False
    if one.slot == "at" and one.verb in LISTS.set("several_places"):
        return False
    if one.is_quality or other.is_quality or WordClass.OF_MANY in {one.role, other.role}:
        return False
    if one.role is other.role is WordClass.OF_OBJECT and one.verb not in LISTS.set("single"):
        # Without a purpose several things are used or preferred at once.
        if one.has_purpose or (one.topic and one.verb not in {USE, PREFER, NEED}):
            return True
        return (one.verb == PREFER and _shared_head(first, second)) or _shared_end(first, second)
    return bool(first and second)


def _is_one_measure(one: Frame, other: Frame) -> bool:
    """Whether two values with numbers measure the same: `34 years old` and `180 cm` do not."""
    first, second = (set(_names(it.value)) - {""} for it in (one, other))
    if first <= second or second <= first or one.slot:
        return True
    is_measure = all(has_number(it.value[:1]) for it in (one, other))
    return not is_measure and BE in {one.verb, other.verb}


def _shared_head(one: Sequence[str], other: Sequence[str]) -> bool:
    return len(one) > 1 and len(other) > 1 and (one[-1] == other[-1] or one[0] == other[0])


def _shared_end(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two Chinese phrases end alike, as with the purpose in 用卡车送货."""
    ends = {it[-1][-MIN_END:] for it in (one, other) if it and has_han(it[-1])}
    return (
        len(one) == len(other) == 1
        and len(ends) == 1
        and len(min(*one, *other, key=len)) > MIN_END
        and has_han(one[-1])
        and has_han(other[-1])
    )


def _names(words: Iterable[str]) -> list[str]:
    """The words without numbers; a number with a unit leaves its unit."""
    return [_DIGITS.sub("", it) if NUMERIC.fullmatch(it) else it for it in words]
