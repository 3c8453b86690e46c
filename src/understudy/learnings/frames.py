"""Frames of statements: the topic, verb, value and polarity of a verb with its phrases."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from enum import StrEnum, auto
from typing import Final, TypedDict

from understudy.core.dataclass import dataclass
from understudy.learnings.clause_words import (
    LISTS,
    NUMERIC,
    VERBS,
    TaggedWord,
    WordClass,
    action_of,
    has_han,
    is_time,
    is_vietnamese,
    stem,
)
from understudy.learnings.equations import singular
from understudy.learnings.opposites import affirmed, contraries, opposed

# The verb of an equation, such as `The port is 80`.
BE: Final = "be"
USE: Final = "use"
PREFER: Final = "prefer"
NEED: Final = "need"
LIVE: Final = "live"
# Slots of values that are not places.
WHEN: Final = "when"
LANGUAGE: Final = "language"
# A shorter number after `at` is an hour.
MIN_YEAR_DIGITS: Final = 3
# The characters at the end of two Chinese phrases that make one purpose.
MIN_END: Final = 2
_NAMES: Final = re.compile(r"name\Z|\Atên\b|名字?\Z|代号\Z")
PREPOSITIONS: Final = frozenset({WordClass.PURPOSES, WordClass.PLACES})


class Language(StrEnum):
    """The languages that are told apart."""

    CHINESE = auto()
    VIETNAMESE = auto()
    OTHER = auto()


class StatementFlags(TypedDict):
    """Whether a statement denies, and whether it adds a value to others."""

    is_denied: bool
    is_added: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A statement taken apart."""

    # The key that conflicting statements share, for the index.
    about: str
    topic: tuple[str, ...]
    verb: str = BE
    # The class of the preposition before the value.
    slot: str = ""
    value: tuple[str, ...] = ()
    # The value before a change, such as Jenkins in `moved from Jenkins to Buildkite`.
    former: tuple[str, ...] = ()
    role: WordClass = WordClass.CONTENT
    is_denied: bool = False
    is_added: bool = False
    # Whether the value is an adjective or a participle, of which a subject has several.
    is_quality: bool = False
    # Whether it names a purpose, such as `for tickets`.
    has_purpose: bool = False
    # The script or language of the text; values of two languages cannot be compared.
    language: Language = Language.OTHER

    @property
    def semantic(self) -> str:
        """One text for all wordings of the statement."""
        head = [it for it in ("" if self.verb == BE else self.verb, *self.topic) if it]
        marks = ("not",) * self.is_denied + ((self.slot,) if self.slot else ())
        value = " ".join((*marks, *self.value))
        return f"{' '.join(head)}={value}" if value else " ".join(head)


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicate:
    """A verb with its subject, object and prepositional phrases."""

    # Words of the subject; none where the speaker is the subject.
    named: tuple[str, ...]
    name: str
    role: WordClass
    direct: tuple[str, ...]
    # The restrictions of the statement, such as `for tickets`.
    limits: tuple[str, ...]
    # The other phrases, each with the class of its preposition.
    placed: tuple[tuple[str, tuple[str, ...]], ...]
    flags: StatementFlags

    @property
    def subject(self) -> str:
        """The words of the subject."""
        return " ".join(self.named)

    @property
    def agent(self) -> tuple[str, ...]:
        """What follows `by`."""
        return next((said for slot, said in self.placed if slot == "by"), ())

    def others(self, *, last: int | None = None) -> list[str]:
        """The words of the phrases up to the last, with the classes of their prepositions."""
        return [word for slot, said in self.placed[:last] for word in (slot, *said)]

    def frame(self, *, about: str, topic: Iterable[str], value: Iterable[str] = ()) -> Frame:
        """A frame of this verb."""
        return Frame(
            about=about, topic=tuple(topic), verb=self.name, value=tuple(value), role=self.role, **self.flags
        )  # fmt: skip


def predicate(
    subject: str | None,
    verb: TaggedWord,
    rest: Sequence[TaggedWord],
    flags: StatementFlags,
    *,
    is_passive: bool = False,
) -> Frame:
    """The frame of a verb with the words that follow it."""
    role = verb.role if verb.role in VERBS else WordClass.OF_PLACE
    words = list(rest)
    if role in {WordClass.OF_OBJECT, WordClass.OF_MANY}:
        words = [it for at in range(len(words)) for it in _as_purpose(words, at)]
    whole, phrases = until(words, lambda it: it.role in PREPOSITIONS)
    if role is WordClass.CHANGES and verb.text.isalpha() and verb.text.isascii() and not phrases:
        # `move the desk` names nothing that the desk becomes.
        role = role if verb.text.startswith("bec") else WordClass.OF_PLACE
    parts = _phrases(phrases)
    it = Predicate(
        named=tuple(subject.split()) if subject else (),
        name=verb.form or stem(verb.text),
        role=role,
        direct=tuple(content_of(whole)),
        limits=tuple(word for slot, said in parts if not slot for word in said),
        placed=tuple((slot, said) for slot, said in parts if slot),
        flags=flags,
    )
    if role is WordClass.OF_AGENT or _has_agent(it, is_passive=is_passive):
        return _owned(it)
    if role is WordClass.CHANGES:
        return _changed(it)
    if role is WordClass.OF_PLACE:
        return _placed(it)
    return _of_object(it)


def _has_agent(it: Predicate, *, is_passive: bool) -> bool:
    """Whether a verb of place has an object and so a doer, as in `The intern writes the minutes`."""
    if it.role is not WordClass.OF_PLACE or not it.named:
        return False
    if is_passive:
        return bool(it.agent)
    return bool(it.direct) and not (it.placed or is_time(it.direct) or has_number(it.direct))


def _owned(it: Predicate) -> Frame:
    """The frame of a verb whose subject is the value, such as `lead`."""
    thing, agent = (it.named, it.agent) if it.agent else (it.direct, it.named)
    topic = _sorted((*thing, *it.limits))
    is_many = it.role is WordClass.OF_PLACE and it.name != "run"
    name = "own" if it.name == "run" else it.name
    role = WordClass.OF_MANY if is_many else WordClass.OF_AGENT
    made = it.frame(about=" ".join((name, *topic)), topic=topic, value=agent)
    return replace(made, verb=name, role=role)


def name_of(thing: str) -> str:
    """The subject that an equation with the name of a thing has."""
    if _NAMES.search(thing):
        return thing
    if is_vietnamese(thing):
        return f"tên {thing}"
    return f"{thing}名字" if has_han(thing) else f"{thing} name"


def noun_of_verb(subject: str) -> tuple[str, str] | None:
    """The thing and the verb in a subject such as `report due date`."""
    for noun, verb in LISTS.pairs("nouns_of_verbs").items():
        thing = subject.removesuffix(noun).rstrip()
        if thing and thing != subject:
            head, _, last = thing.rpartition(" ")
            return f"{head} {singular(last)}".lstrip(), verb
    return None


def _changed(it: Predicate) -> Frame:
    """The frame of a change, whose value is what follows `to`."""
    former = next((said for slot, said in it.placed if slot == "from"), ())
    to = [said for slot, said in it.placed if slot != "from"]
    value, moved = (to[-1], it.direct) if to else (it.direct, ())
    thing = " ".join((*_sorted(it.limits), *(it.named or moved)))
    if it.name == "rename" and thing:
        about = name_of(thing)
        return replace(it.frame(about=about, topic=about.split(), value=value), verb=BE)
    noun = noun_of_verb(thing)
    if noun and (it.named or moved):
        about, name = noun
        made = it.frame(about=about, topic=about.split(), value=value)
        return replace(made, verb=name, slot=slot_of("at", value), former=former)
    moves = it.name == LIVE and not former and not it.limits
    name = BE if it.named or moved else LIVE if moves else USE
    about = it.subject or thing
    if not about:
        about = name if moves else f"{name} {_head(former or value)}"
    made = it.frame(about=about, topic=(*it.named, *moved, *it.limits), value=value)
    slot = WHEN if is_time(value) else ""
    return replace(made, verb=name, slot=slot, former=former)


def _placed(it: Predicate) -> Frame:
    """The frame of a verb whose value is a place, a time, a duration or a means."""
    if not it.placed:
        return _unplaced(it)
    form, value = it.placed[-1]
    if form == "with" and len(it.placed) == 1 and not it.named and action_of(it.name):
        # Who tests with a tool uses it for testing.
        limits = (*it.limits, *it.direct, it.name)
        return _of_object(
            replace(it, name=USE, role=WordClass.OF_OBJECT, direct=value, limits=limits, placed=())
        )
    slot = slot_of(form, value)
    if it.name == LIVE and it.named:
        made = it.frame(about=it.subject, topic=(*it.named, *it.limits), value=value)
        return replace(made, verb=BE, role=WordClass.CONTENT, slot=slot)
    topic = _sorted((*it.named, *it.direct, *it.others(last=-1), *it.limits))
    about = it.subject or " ".join(it.direct) or it.name
    return replace(it.frame(about=about, topic=topic, value=value), slot=slot)


def _unplaced(it: Predicate) -> Frame:
    """The frame of a verb of place without a place."""
    if it.direct and is_time(it.direct):
        # `We bill customers monthly` bills customers, not a time.
        at = next(
            i for i, word in enumerate(it.direct) if is_time([word]) or NUMERIC.fullmatch(word)
        )
        thing, when = it.direct[:at], it.direct[at:]
        about = it.subject or " ".join(thing) or it.name
        made = it.frame(about=about, topic=_sorted((*it.named, *thing, *it.limits)), value=when)
        return replace(made, slot=WHEN)
    if it.limits and (has_number(it.limits) or not (it.direct or it.named)):
        thing = (*it.named, *it.direct)
        made = it.frame(about=" ".join(thing) or it.name, topic=_sorted(thing), value=it.limits)
        return replace(made, slot="for")
    if has_number(it.direct):
        return _of_object(it)
    direct, is_denied = affirmed(it.direct, denied=it.flags["is_denied"])
    about = it.subject or " ".join((it.name, *direct))
    made = it.frame(about=about, topic=_sorted((*it.named, *direct, *it.limits)))
    return replace(made, is_denied=is_denied)


def _of_object(it: Predicate) -> Frame:
    """The frame of a verb whose object is the value."""
    if it.name == USE:
        it = replace(it, limits=tuple(action_of(word) or word for word in it.limits))
    former = next((said for slot, said in it.placed if slot == "over"), ())
    head = "" if it.name in LISTS.set("single") else _head(it.direct)
    if former:
        # Whichever of the two is chosen, the choice is between them.
        between = "~" if opposed(it.direct, former) else " ".join(_sorted((*it.direct, *former)))
        head = between if it.name == PREFER else _head(former)
    about = it.subject or " ".join(_sorted(it.limits)) or f"{it.name} {head}".rstrip()
    topic = _sorted((*it.named, *it.limits, *it.others()))
    made = it.frame(about=about, topic=topic, value=it.direct)
    return replace(made, has_purpose=bool(it.limits), former=former)


def _head(words: Sequence[str]) -> str:
    """The word that values which exclude each other share: the noun without its adjectives."""
    named = [it for it in words if not NUMERIC.fullmatch(it)]
    noun = [it for it in named if it not in contraries()] or named[:1]
    if not noun:
        return ""
    head = noun[0] if is_vietnamese(" ".join(named)) else noun[-1]
    return head[-MIN_END:] if has_han(head) else head


def _as_purpose(words: Sequence[TaggedWord], at: int) -> tuple[TaggedWord, ...]:
    """A word, or the beginning of a purpose: `to track`, 管理."""
    word, purpose = words[at], TaggedWord("to", WordClass.PURPOSES)
    if word.text == "to" and at + 1 < len(words) and words[at + 1].role in VERBS:
        return (purpose,)
    if not at or not has_han(word.text):
        return (word,)
    # What follows a foreign name in Chinese is what it is used for: 用 MySQL 存订单.
    is_behind_name = word.role is WordClass.CONTENT and words[at - 1].text.isascii()
    return (purpose, word) if word.role in VERBS or is_behind_name else (word,)


def _phrases(words: Iterable[TaggedWord]) -> list[tuple[str, tuple[str, ...]]]:
    """The prepositional phrases: the class of the preposition, empty for a purpose, and its words."""
    found: list[tuple[str, list[str]]] = []
    for word in words:
        if word.role in PREPOSITIONS:
            found.append((word.form if word.role is WordClass.PLACES else "", []))
        elif word.role is not WordClass.SPEAKERS:
            found[-1][1].append(singular(word.text))
    return [(_of_language(slot, tuple(said)), tuple(said)) for slot, said in found if said]


def _of_language(slot: str, said: tuple[str, ...]) -> str:
    is_language = slot in {"at", "with"} and any(it in LISTS.set("languages") for it in said[-1:])
    return LANGUAGE if is_language or (slot and said[:1] == ("tiếng",)) else slot


def slot_of(form: str, said: Sequence[str]) -> str:
    """The class of a preposition, which a time or a language after it may change."""
    is_hour = len(said) == 1 and said[0].isdigit() and len(said[0]) < MIN_YEAR_DIGITS
    is_when = form == "at" and (is_hour or is_time(said) or said[0] in {"every", "each"})
    return WHEN if is_when else _of_language(form, tuple(said))


def until(
    words: Sequence[TaggedWord], ends: Callable[[TaggedWord], bool]
) -> tuple[list[TaggedWord], list[TaggedWord]]:
    """The words before the first that ends them, and the rest."""
    at = next((i for i, it in enumerate(words) if ends(it)), len(words))
    return list(words[:at]), list(words[at:])


def content_of(words: Iterable[TaggedWord]) -> list[str]:
    """The words of a phrase without prepositions and the speaker."""
    return [
        singular(it.text)
        for it in words
        if it.role not in PREPOSITIONS and it.role is not WordClass.SPEAKERS
    ]


def _sorted(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(words)))


def has_number(words: Iterable[str]) -> bool:
    """Whether one of the words is a number, perhaps with a unit."""
    return any(map(NUMERIC.fullmatch, words))
