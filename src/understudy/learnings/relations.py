"""The relation of two statements: the same in other words, in conflict, or neither."""

import re
from collections.abc import Iterable, Sequence
from enum import StrEnum, auto
from typing import Final

from understudy.learnings.clause_words import NUMERIC, WordClass, has_han, is_time
from understudy.learnings.opposites import opposed
from understudy.learnings.statements import BE, USE, Frame, frame_of, has_number, plain_key

# The characters at the end of two Chinese phrases that make one purpose.
MIN_END: Final = 3
_DIGITS: Final = re.compile(r"[\d.,:/-]+")


class Relation(StrEnum):
    """How two statements relate."""

    SAME = auto()
    CONFLICT = auto()
    UNRELATED = auto()


def relation(one: str, other: str) -> Relation:
    """Whether two statements say the same, contradict each other, or go together."""
    first, second = frame_of(one), frame_of(other)
    if first is None or second is None:
        return Relation.SAME if plain_key(one) == plain_key(other) else Relation.UNRELATED
    if first.semantic == second.semantic:
        return Relation.SAME
    return Relation.CONFLICT if _conflict(first, second) else Relation.UNRELATED


def _conflict(one: Frame, other: Frame) -> bool:
    """Whether one frame denies the other, or has another value that excludes the other's."""
    if one.about != other.about:
        return False
    is_change = WordClass.CHANGES in {one.role, other.role}
    if (one.former and one.former == other.value) or (other.former and other.former == one.value):
        return not (one.is_denied or other.is_denied)
    if frozenset(one.topic) != frozenset(other.topic):
        return _differ_in_topic(one, other)
    if not is_change and (one.verb, one.slot) != (other.verb, other.slot):
        return False
    if one.value == other.value:
        return one.is_denied != other.is_denied
    flags = (one.is_denied, other.is_denied, one.is_added, other.is_added)
    is_one_kind = one.slot == other.slot == "when" or is_time(one.value) == is_time(other.value)
    return not any(flags) and is_one_kind and _excludes(one, other)


def _differ_in_topic(one: Frame, other: Frame) -> bool:
    """Whether two frames with the same value conflict by what they say it of."""
    said = [(it.verb, it.value, it.is_denied) for it in (one, other)]
    if said[0] != said[1] or one.verb == BE:
        return False
    is_means = one.verb == "prefer" and "with" in one.topic and "with" in other.topic
    return is_means or opposed(one.topic, other.topic)


def _excludes(one: Frame, other: Frame) -> bool:
    """Whether two values of one topic cannot both hold."""
    first, second = one.value, other.value
    if opposed(first, second):
        return True
    numbers = [has_number(it) for it in (first, second)]
    if all(numbers):
        return _is_equation(one, other) or _names(first) == _names(second) or one.slot != ""
    if any(numbers) and one.verb != BE:
        return False
    if set(first) <= set(second) or set(second) <= set(first):
        return False
    if one.is_quality or other.is_quality or WordClass.OF_MANY in {one.role, other.role}:
        return False
    if one.role is other.role is WordClass.OF_OBJECT:
        # Without a purpose several things are used or preferred at once.
        if one.has_purpose or (one.topic and one.verb != USE):
            return True
        return (one.verb == "prefer" and _shared_head(first, second)) or _shared_end(first, second)
    return bool(first and second)


def _is_equation(one: Frame, other: Frame) -> bool:
    return one.verb == BE or other.verb == BE


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
