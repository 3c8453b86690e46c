"""Statements taken apart: topic, verb, value and polarity, in English, Vietnamese and Chinese.

`We use Jira for tickets` has the topic *tickets*, the verb *use* and the value *Jira*; another value
of the same topic is a conflict, and so is the denial of the same value.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from understudy.learnings.clause_words import (
    LISTS,
    NUMERIC,
    VERBS,
    TaggedWord,
    WordClass,
    apart,
    has_han,
    is_time,
    known_verb,
    lemmas,
    spelled,
    tagged,
)
from understudy.learnings.equations import (
    CONDITION,
    MIN_VALUE,
    POINTERS,
    singular,
    splits,
    subject_of,
    weight,
)
from understudy.learnings.normal_form import exact_words, plain, unmasked
from understudy.learnings.opposites import affirmed, contradictories, contraries, synonyms

# A longer text is no single statement.
MAX_CHARS: Final = 400
# The verb of an equation, such as `The port is 80`.
BE: Final = "be"
USE: Final = "use"
# A shorter number after `at` is an hour.
MIN_YEAR_DIGITS: Final = 3
_SKIPPED: Final = frozenset(
    {WordClass.DROPPED, WordClass.DENIALS, WordClass.AFTER_DENIAL, WordClass.ADDITIONS}
)
_PREPOSITIONS: Final = frozenset({WordClass.PURPOSES, WordClass.PLACES})
# Prepositions that restrict an equation; others are part of its value.
_RESTRICTING: Final = frozenset({"for", "when", "during", "while", "cho", "khi", "用于"})
_DEFINITE: Final = re.compile(
    r"(?:the|my|our|your|their|his|her|người|the one) |.*(?:者|人|员|师|长|经理|主管)\Z"
)
_DETERMINED: Final = re.compile(r"(?:the|my|our|your|their|this|that|these|those|a|an|các|những) ")
# Forms of address before a Vietnamese name.
_TITLE: Final = re.compile(r"(?:anh|chị|ông|bà|cô|thầy|chú|bạn) \w")
_CLEFT: Final = re.compile(
    r"(?:what|which|where|who|how|the one|thứ mà|thứ|cái mà|nơi mà|nơi|người mà) (?=\w)"
)
_OF: Final = re.compile(r"(?P<head>[^,;]+?) (?:of|for) (?P<owner>[^,;]+)")
_POSSESSIVE: Final = re.compile(
    r"(?:\A|(?<= ))(?:my|our|your|their|his|her|its|this|that|these|those|the|an?|each|every|current|này|các|những) "
    r"| (?:của )?(?:chúng tôi|chúng ta|bọn mình|nhóm mình|tôi|mình)\b| của (?:nhóm|đội|công ty|cả nhóm)\b| này\b| của(?= )"
    r"|(?:我们|我|咱们|你们|你|您|他们)的?(?=[^们])|(?:这个|那个|该|本)(?=.)|(?<=.)的(?=.)"
)
_QUALITY: Final = re.compile(
    r"\w{3,}(?:ed|[tkdvsz]en|ing|able|ible|ful|less|ous|ive|al|ic|[^\Waeiou]y|ary|ant|ent)|.*的"
)
_CODE: Final = re.compile(r"[=(){}\[\]<>≤≥≠?\"“”`\\]|:(?!\d)|(?<!\d):")
_UNDONE: Final = re.compile(r"un(?!i|d)\w{3,}ed")
_PREFERRED: Final = re.compile(
    r"\A(?:preferred|favou?rite) (?=\w)|(?<=\w) (?:ưa thích|yêu thích)\Z|\A(?:首选|偏好|最喜欢)(?=\w)"
)
_PARTICIPLE: Final = re.compile(r"\w+(?:ed|en|wn|pt|nt|lt|ld|un|id|ought|aught|ept|ing)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A statement taken apart."""

    # What conflicting statements share, and an index finds them by.
    about: str | None
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
    # Whether it says what for, such as `for tickets`.
    has_purpose: bool = False

    @property
    def semantic(self) -> str:
        """One text for all wordings of the statement."""
        head = [it for it in ("" if self.verb == BE else self.verb, *self.topic) if it]
        marks = ("not",) * self.is_denied + ((self.slot,) if self.slot else ())
        value = " ".join((*marks, *self.value))
        return f"{' '.join(head)}={value}" if value else " ".join(head)


@lru_cache(maxsize=4096)
def frame_of(content: str) -> Frame | None:
    """The statement in a text, taken apart; None where no grammar is known for it."""
    if len(content) > MAX_CHARS:
        return _long_equation(plain(content))
    line = spelled(content)
    frame = _equation(line) or _cleft(line) or _clause(tagged(apart(line)), line)
    if frame is None or frame.about is None:
        return frame
    if frame.verb == BE:
        is_name = bool(frame.is_quality and _is_capitalised(frame.value[0], content))
        return replace(frame, is_quality=False) if is_name else frame
    return replace(
        frame, about=" ".join("~" if it in contraries() else it for it in frame.about.split())
    )


def _long_equation(line: str) -> Frame | None:
    """The frame of an equation in a text too long for a statement; its value stays as it is."""
    for before, after in splits(line):
        subject = subject_of(before)
        if subject:
            value = tuple(exact_words(after))
            return Frame(about=subject, topic=tuple(subject.split()), value=value)
    return None


def _equation(line: str) -> Frame | None:
    """The frame of `subject is value`, `value is the subject` and `subject: value`."""
    for before, after in splits(line):
        if any(_CLEFT.match(it) or _is_speakers_clause(it) for it in (before, after)):
            return None
        flags, rest = _flags(tagged(apart(after)))
        named = before
        if _is_swapped(before, after):
            named, rest = _without_denial(after), _flags(tagged(apart(before)))[1]
        subject = _subject(named)
        if subject is None or not rest:
            continue
        wished = _PREFERRED.sub("", subject)
        if wished != subject and rest[0].role not in _PREPOSITIONS:
            verb = TaggedWord("prefer", WordClass.OF_OBJECT, "prefer")
            return _predicate(
                None, verb, [*rest, TaggedWord("", WordClass.PURPOSES), TaggedWord(wished)], flags
            )
        said = "".join(it.text for it in rest)
        if weight(said) < MIN_VALUE and not said.isdigit():
            continue
        return _valued(subject, rest, flags)
    return None


def _without_denial(text: str) -> str:
    return " ".join(
        it.text for it in tagged(apart(text)) if it.role not in _SKIPPED - {WordClass.DROPPED}
    )


def _is_speakers_clause(text: str) -> bool:
    """Whether a text is a Chinese clause that stands for a thing, such as 我们用的."""
    return text.endswith("的") and any(it.role is WordClass.SPEAKERS for it in tagged(apart(text)))


def _is_swapped(before: str, after: str) -> bool:
    """Whether the value stands before the subject, as in `Ana is the release manager`."""
    rest = _without_denial(after)
    if before in POINTERS:
        return False
    if _TITLE.match(before) and not _TITLE.match(rest):
        return True
    return (
        bool(_DEFINITE.match(rest))
        and not has_number(rest.split())
        and not _DETERMINED.match(before)
        and len(before.split()) <= 3
        and not _POSSESSIVE.search(before)
    )


def _subject(before: str) -> str | None:
    before = " ".join(unmasked(before.split()))
    of = _OF.fullmatch(before)
    if of:
        before = f"{of['owner']} {of['head']}"
    before = plain(" ".join(_POSSESSIVE.sub(" ", before).split()))
    return None if before in POINTERS else subject_of(before)


def _flags(words: Iterable[TaggedWord]) -> tuple[dict[str, bool], list[TaggedWord]]:
    """Whether the words deny and add, and the words that are left."""
    said = list(words)
    flags = {
        "is_denied": any(it.role is WordClass.DENIALS for it in said),
        "is_added": any(it.role is WordClass.ADDITIONS for it in said),
    }
    return flags, [it for it in said if it.role not in _SKIPPED]


def _valued(subject: str, rest: list[TaggedWord], flags: dict[str, bool]) -> Frame:
    """The frame of a subject and what is said of it with `is`."""
    first = rest[0]
    if _UNDONE.fullmatch(first.text):
        # `unlocked` denies `locked`.
        first = TaggedWord(first.text[2:])
        rest, flags = [first, *rest[1:]], {**flags, "is_denied": not flags["is_denied"]}
    after_first = rest[1:2]
    if (
        first.role is WordClass.OF_AGENT
        and after_first
        and after_first[0].role is not WordClass.PLACES
    ):
        return _predicate(subject, first, rest[1:], flags)
    judged, is_denied = affirmed((first.text,), denied=flags["is_denied"])
    if (
        after_first
        and first.role is not WordClass.PLACES
        and first.text in {*synonyms(), *contradictories()}
    ):
        topic = _sorted((*subject.split(), *_content(rest[1:])))
        return Frame(
            about=subject,
            topic=topic,
            value=judged,
            is_denied=is_denied,
            is_added=flags["is_added"],
            is_quality=True,
        )
    if (
        after_first
        and after_first[0].role is WordClass.PLACES
        and _PARTICIPLE.fullmatch(first.text)
    ):
        verb = (
            first if first.role in VERBS else TaggedWord(first.text, WordClass.OF_PLACE, first.text)
        )
        return _predicate(subject, verb, rest[1:], flags, is_passive=True)
    if first.role in VERBS and first.role is WordClass.CHANGES and after_first:
        return _predicate(subject, first, rest[1:], flags)
    if (
        after_first
        and after_first[0].role is WordClass.PLACES
        and first.role is WordClass.CONTENT
        and _QUALITY.fullmatch(first.text) is None
        and len(rest) > 2
        and first.text.islower()
        and first.text in LISTS.set("before_prepositions")
    ):
        verb = TaggedWord(first.text, WordClass.OF_PLACE, first.text)
        return _predicate(subject, verb, rest[1:], flags)
    if first.form == "call" and after_first:
        return _valued(f"{subject} name", rest[1:], flags)
    slot = ""
    if first.role is WordClass.PLACES and len(rest) > 1:
        slot, rest = _slot(first.form, [it.text for it in rest[1:]]), rest[1:]
    value, limits = _until(rest, lambda it: it.text in _RESTRICTING)
    topic = (*subject.split(), *_content(limits))
    said = tuple(it.text for it in value)
    said, is_denied = affirmed(said, denied=flags["is_denied"])
    return Frame(
        about=subject, topic=topic, slot=slot, value=said, is_denied=is_denied, is_added=flags["is_added"],
        is_quality=not slot and len(said) == 1 and topic[-1] not in LISTS.set("attributes") and _is_quality(said[0]),
    )  # fmt: skip


def _slot(form: str, said: Iterable[str]) -> str:
    words = list(said)
    is_hour = len(words) == 1 and words[0].isdigit() and len(words[0]) < MIN_YEAR_DIGITS
    return "when" if form == "at" and (is_hour or is_time(words)) else form


def _is_capitalised(word: str, content: str) -> bool:
    """Whether a word that is not the first is written like a name."""
    at = content.casefold().find(f" {word}")
    return at >= 0 and content[at + 1].isupper() and not content.isupper()


def _is_quality(word: str) -> bool:
    return bool(_QUALITY.fullmatch(word)) or word in contraries() or word in synonyms()


def _cleft(line: str) -> Frame | None:
    """The frame of `Argo CD is what we deploy with`: the clause with the value in its place."""
    for before, after in splits(line):
        is_first = bool(_CLEFT.match(before)) or _is_speakers_clause(before)
        said, named = (before, after) if is_first else (after, before)
        words = [
            it
            for it in tagged(apart(_CLEFT.sub("", said, count=1)))
            if it.role is not WordClass.DROPPED
        ]
        speaker = next((i for i, it in enumerate(words) if it.role is WordClass.SPEAKERS), None)
        if speaker is None or speaker + 1 >= len(words):
            continue
        verb = next((i for i in range(speaker, len(words)) if words[i].role in VERBS), speaker + 1)
        at = len(words) if words[-1].role is WordClass.PLACES else verb + 1
        return _clause([*words[:at], *tagged(apart(named)), *words[at:]], line)
    return None


def _clause(words: list[TaggedWord], line: str) -> Frame | None:
    """The frame of a sentence with another verb than `is`."""
    flags, rest = _flags(words)
    if (
        not rest
        or (rest[0].text in POINTERS and rest[0].role is not WordClass.SPEAKERS)
        or CONDITION.match(line)
        or _CODE.search(line)
    ):
        return None
    rest, is_flipped = _affirmative(rest)
    flags["is_denied"] ^= is_flipped
    at = _verb_at(rest)
    if at is None:
        is_plain = next(splits(line), None) is None
        return (_located(rest, flags) or _bag(rest, flags)) if is_plain else None
    verb, before = rest[at], rest[:at]
    if at == 0 or any(it.role is WordClass.SPEAKERS for it in before):
        fronted = [it for it in before if it.role is not WordClass.SPEAKERS]
        limits = [TaggedWord("", WordClass.PURPOSES), *fronted] if fronted else []
        return _predicate(None, verb, [*rest[at + 1 :], *limits], flags)
    named, phrases = _until(before[1:], lambda it: it.role in _PREPOSITIONS and it.text != "of")
    named = [before[0], *named]
    times = [it for it in named if NUMERIC.fullmatch(it.text)]
    phrases += [TaggedWord("at", WordClass.PLACES, "at"), *times] if times else []
    subject = _subject(" ".join(it.text for it in named if it not in times))
    return (
        None if subject is None else _predicate(subject, verb, [*rest[at + 1 :], *phrases], flags)
    )


def _affirmative(words: list[TaggedWord]) -> tuple[list[TaggedWord], bool]:
    """The words with a verb such as `forbid` as `allow`, and whether that changed them."""
    for at, word in enumerate(words):
        for form in () if word.text.endswith("ed") else (word.text, *lemmas(word.text)):
            verb = known_verb(contradictories().get(form, ""))
            if verb:
                return [*words[:at], verb, *words[at + 1 :]], True
    return words, False


def _located(words: list[TaggedWord], flags: dict[str, bool]) -> Frame | None:
    """The frame of a sentence whose preposition is its verb, as in Vietnamese and Chinese."""
    named, placed = _until(words, lambda it: it.role is WordClass.PLACES)
    is_plain = len(placed) > 1 and not has_number(it.text for it in named)
    subject = _subject(" ".join(it.text for it in named)) if is_plain else None
    if subject is None or _PARTICIPLE.fullmatch(subject):
        return None
    return _valued(subject, placed, flags)


def _verb_at(words: Sequence[TaggedWord]) -> int | None:
    """The place of the verb: after the speaker, or the first known verb, or the first word of an order."""
    speaker = next((i for i, it in enumerate(words[:-1]) if it.role is WordClass.SPEAKERS), None)
    first = next((i for i, it in enumerate(words) if i and it.role in VERBS), None)
    is_fronted = words[0].role in _PREPOSITIONS
    if speaker is not None and (is_fronted or first is None or speaker < first):
        after = next((i for i in range(speaker + 1, len(words)) if words[i].role in VERBS), None)
        return speaker + 1 if after is None or after > speaker + 2 else after
    if first is not None:
        # A noun may look like a verb: `the test run takes`.
        following = first + 1
        is_noun = words[first].role is WordClass.OF_PLACE
        if is_noun and following < len(words) - 1 and words[following].role in VERBS:
            return following
        return 0 if words[0].role in VERBS and words[0].text == words[0].form else first
    return 0 if words[0].role in VERBS else None


def _predicate(
    subject: str | None,
    verb: TaggedWord,
    rest: list[TaggedWord],
    flags: dict[str, bool],
    *,
    is_passive: bool = False,
) -> Frame:
    """The frame of a verb with its object and prepositional phrases."""
    role = verb.role if verb.role in VERBS else WordClass.OF_PLACE
    name = verb.form or verb.text
    if role is WordClass.OF_OBJECT:
        rest = [it for at in range(len(rest)) for it in _as_purpose(rest, at)]
    whole, phrases = _until(rest, lambda it: it.role in _PREPOSITIONS)
    parts = _phrases(phrases)
    limits = [word for slot, said in parts if not slot for word in said]
    placed = [(slot, said) for slot, said in parts if slot]
    direct = _content(whole)
    named = tuple(subject.split()) if subject else ()
    made = Frame(about=subject or name, topic=(), verb=name, role=role, **flags)  # type: ignore[arg-type]
    agents = [said for slot, said in placed if slot == "by"]
    if (
        role is WordClass.OF_PLACE
        and subject
        and (agents if is_passive else direct and not placed and not is_time(direct))
    ):
        role, name = (WordClass.OF_AGENT, "own") if name == "run" else (WordClass.OF_AGENT, name)
        made = replace(
            made, verb=name, role=WordClass.OF_AGENT if name == "own" else WordClass.OF_MANY
        )
    if role is WordClass.OF_AGENT:
        thing, agent = (named, agents[0]) if agents else (direct, named)
        topic = _sorted((*thing, *limits))
        return replace(made, about=" ".join((name, *topic)), topic=topic, value=tuple(agent))
    if role is WordClass.CHANGES:
        former = next((said for slot, said in placed if slot == "from"), ())
        to = [said for slot, said in placed if slot != "from"]
        value = tuple(to[-1]) if to else tuple(direct)
        moved = () if not to else tuple(direct)
        moves = name == "live" and not former and not limits
        verb_name = BE if subject or moved else name if moves else USE
        about = subject or " ".join(_sorted((*moved, *limits))) or verb_name
        return replace(
            made, about=about, topic=(*named, *moved, *limits), verb=verb_name,
            value=value, former=tuple(former),
        )  # fmt: skip
    if role in {WordClass.OF_OBJECT, WordClass.OF_MANY} or not placed:
        others = [word for slot, said in placed for word in (slot, *said)]
        if role is WordClass.OF_PLACE and direct and is_time(direct):
            return replace(made, topic=_sorted((*named, *limits)), slot="when", value=tuple(direct))
        if role is WordClass.OF_PLACE and limits and not (direct or subject):
            return replace(made, slot="for", value=tuple(limits))
        if role is WordClass.OF_PLACE and not has_number(direct):
            return replace(
                made,
                about=subject or " ".join((name, *direct)),
                topic=_sorted((*named, *direct, *limits)),
                value=(),
            )
        about = subject or " ".join(_sorted(limits)) or name
        return replace(
            made,
            about=about,
            topic=_sorted((*named, *limits, *others)),
            value=tuple(direct),
            has_purpose=bool(limits),
        )
    form, last = placed[-1]
    slot, value = _slot(form, last), tuple(last)
    others = [word for other, said in placed[:-1] for word in (other, *said)]
    if name == "live" and subject:
        return replace(
            made, topic=(*named, *limits), verb=BE, role=WordClass.CONTENT, slot=slot, value=value
        )
    about = subject or (" ".join(direct) if direct else name)
    return replace(
        made,
        about=about,
        topic=_sorted((*named, *direct, *others, *limits)),
        slot=slot,
        value=tuple(value),
    )


def _as_purpose(words: Sequence[TaggedWord], at: int) -> tuple[TaggedWord, ...]:
    """A word, or the beginning of a purpose: `to track`, 管理."""
    word, purpose = words[at], TaggedWord("to", WordClass.PURPOSES)
    if word.text == "to" and at + 1 < len(words) and words[at + 1].role in VERBS:
        return (purpose,)
    return (purpose, word) if at and word.role in VERBS and has_han(word.text) else (word,)


def _bag(rest: list[TaggedWord], flags: dict[str, bool]) -> Frame | None:
    """The frame of a sentence whose verb is not known: its numbers are its value."""
    said, is_denied = affirmed(tuple(singular(it.text) for it in rest), denied=flags["is_denied"])
    topic = tuple(plain(" ".join(it for it in said if not NUMERIC.fullmatch(it))).split())
    value = tuple(it for it in said if NUMERIC.fullmatch(it))
    if (len(topic) < 2 and not has_han("".join(topic))) or any(":" in it for it in value):
        return None
    return Frame(
        about=" ".join(topic), topic=topic, verb="", value=value,
        is_denied=is_denied, is_added=flags["is_added"],
    )  # fmt: skip


def _phrases(words: Iterable[TaggedWord]) -> list[tuple[str, list[str]]]:
    """The prepositional phrases: the class of the preposition, empty for a purpose, and its words."""
    found: list[tuple[str, list[str]]] = []
    for word in words:
        if word.role in _PREPOSITIONS:
            found.append((word.form if word.role is WordClass.PLACES else "", []))
        elif word.role is not WordClass.SPEAKERS:
            found[-1][1].append(singular(word.text))
    return [it for it in found if it[1]]


def _until(
    words: Sequence[TaggedWord], ends: Callable[[TaggedWord], bool]
) -> tuple[list[TaggedWord], list[TaggedWord]]:
    """The words before the first that ends them, and the rest."""
    at = next((i for i, it in enumerate(words) if ends(it)), len(words))
    return list(words[:at]), list(words[at:])


def _content(words: Iterable[TaggedWord]) -> list[str]:
    return [
        singular(it.text)
        for it in words
        if it.role not in _PREPOSITIONS and it.role is not WordClass.SPEAKERS
    ]


def _sorted(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(words)))


def has_number(words: Iterable[str]) -> bool:
    return any(map(NUMERIC.fullmatch, words))


def plain_key(content: str) -> str:
    """The words of a text that no grammar is known for, with numbers in one form."""
    line = plain(content)
    said = exact_words(spelled(content)) if len(content) <= MAX_CHARS else exact_words(line)
    numbers = LISTS.pairs("numbers.values")
    return " ".join(numbers.get(it, it) for it in said) or line or " ".join(content.split())
