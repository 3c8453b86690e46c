"""Statements taken apart: topic, verb, value and polarity, in English, Vietnamese and Chinese.

`We use Jira for tickets` has the topic *tickets*, the verb *use* and the value *Jira*; another value
of the same topic is a conflict, and so is the denial of the same value.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import Final

from understudy.core.lazy import lazy_pattern
from understudy.learnings.clause_words import (
    HAN_DAY,
    LISTS,
    NUMERIC,
    VERBS,
    TaggedWord,
    WordClass,
    apart,
    has_han,
    is_time,
    is_vietnamese,
    known_verb,
    lemmas,
    spelled,
    stem,
    tagged,
)
from understudy.learnings.equations import (
    CONDITION,
    MIN_SUBJECT,
    MIN_VALUE,
    POINTERS,
    singular,
    splits,
    subject_of,
    weight,
)
from understudy.learnings.frames import (
    BE,
    LIVE,
    PREFER,
    PREPOSITIONS,
    USE,
    Frame,
    Language,
    StatementFlags,
    content_of,
    has_number,
    name_of,
    noun_of_verb,
    predicate,
    slot_of,
    until,
)
from understudy.learnings.normal_form import exact_words, plain, unmasked
from understudy.learnings.opposites import affirmed, contradictories, contraries, masked, synonyms

# A longer text is no single statement.
MAX_CHARS: Final = 400
_SKIPPED: Final = frozenset(
    {WordClass.DROPPED, WordClass.DENIALS, WordClass.AFTER_DENIAL, WordClass.ADDITIONS}
)
# Prepositions that restrict an equation; others are part of its value.
_RESTRICTING: Final = frozenset({"for", "when", "during", "while", "cho", "khi", "用于"})
_DEFINITE: Final = lazy_pattern(
    r"(?:the|my|our|your|their|his|her|the one) |.*(?:者|人|员|师|长|经理|主管|主任|总监|教练|助理|秘书|代表|顾问|主席|会计|厨)\Z"
    r"|(?:người|phó|giám đốc|quản lý|chủ|thư ký|đại diện) |(?:giám đốc|quản lý|thư ký)\Z|(?:\w+ )?trưởng\b"
    r"|.* của (?:tôi|chúng tôi|chúng ta|mình|nhóm)\Z"
)
_DETERMINED: Final = lazy_pattern(
    r"(?:the|my|our|your|their|this|that|these|those|a|an|các|những) "
)
# Forms of address before a Vietnamese name.
_TITLE: Final = lazy_pattern(r"(?:anh|chị|ông|bà|cô|thầy|chú|bạn) \w")
# Forms of address after a Chinese name.
_HAN_TITLE: Final = lazy_pattern(
    r"[^\W\da-z的]{1,2}(?:老师|医生|大夫|先生|女士|教授)|[^\W\da-z的][工总导姐哥叔姨]|[小老阿][^\W\da-z的]"
)

# What somebody or something is one of, which does not exclude another class.
_ROLE: Final = lazy_pattern(r"(?:the|our|this|your) ")
_INDEFINITE: Final = lazy_pattern(r"(?:not )?(?:an?|một) (?!\d)|一[个名位种]")
# A clause after one of these is not the main one.
_CONJUNCTIONS: Final = frozenset(
    {"when", "whenever", "while", "if", "because", "so", "khi", "nếu", "vì"}
)
_CLEFT: Final = lazy_pattern(
    r"(?:what|which|where|who|how|the one|thứ mà|thứ|cái mà|nơi mà|nơi|người mà) (?=\w)"
)
_OF: Final = lazy_pattern(r"(?P<head>[^,;]+?) (?:of|for) (?P<owner>[^,;]+)")
_POSSESSIVE: Final = lazy_pattern(
    r"(?:\A|(?<= ))(?:my|our|your|their|his|her|its|this|that|these|those|the|an?|each|every|current|này|các|những) "
    r"| (?:của )?(?:chúng tôi|chúng ta|bọn mình|nhóm mình|tôi|mình)\b| của (?:nhóm|đội|công ty|cả nhóm)\b| này\b| của(?= )"
    r"|(?:我们|我|咱们|你们|你|您|他们)的?(?=[^们])|(?:这个|那个|该|本)(?=.)|(?<=.)的(?=.)"
)
_QUALITY: Final = lazy_pattern(
    r"\w{3,}(?:ed|[tkdvsz]en|ing|able|ible|ful|less|ous|ive|al|ic|[^\Waeiou]y|ary|ant|ent)|.*的"
)
_PERSONS: Final = (
    "friend|colleague|coworker|co-worker|teammate|neighbou?r|cousin|client|customer|intern|student|teacher|developer|engineer|employee"
    "|manager|user|guy|woman|man|person|relative|uncle|aunt"
)
# What holds for some of several leaves room for the others: `one of the offices is in Oslo`.
_SOME: Final = lazy_pattern(
    r"\W*(?:(?:one of|some|someone|somebody|several|another|(?:two|three|four|five) of|một trong|ai đó|có người)\b"
    r"|其中一|有些|有人|(?:(?:(?:我们?|咱们)(?:的|有)?)一|有一?)[个位名](?!月|小时|星期|人)|一[位名]|一个(?:朋友|同事|同学|邻居|客户|用户|员工|学生|老师)"
    rf"|an? (?:\w+ ){{0,3}}?(?:{_PERSONS})\b|an? (?:\w+ ){{1,3}}?of (?:mine|ours)\b"
    r"|an? (?:\w+ ){1,3}?(?:happened|occurred|took|was|were|ran|failed|started|ended)\b"
    r"|(?:có )?một (?:người|khách|đồng nghiệp|bạn|anh|chị|cô|em|nhân viên|học sinh)\b)",
    re.IGNORECASE,
)
_CODE: Final = lazy_pattern(r"[=(){}\[\]<>≤≥≠?\"“”`\\]|:(?!\d)|(?<!\d):")
_DIGITS: Final = lazy_pattern(r"[\d.,:/-]+")
_UNDONE: Final = lazy_pattern(r"un(?!i|d)\w{3,}ed")
_PREFERRED: Final = lazy_pattern(
    r"\A(?:preferred|favou?rite) (?=\w)|(?<=\w) (?:ưa thích|yêu thích)\Z|\A(?:首选|偏好|最喜欢)(?=\w)"
)
_PREFERENCES: Final = frozenset({"preference", "sở thích", "偏好"})
_HOMES: Final = frozenset({"home", "nhà", "家"})
_PREFERS: Final = TaggedWord(PREFER, WordClass.OF_OBJECT, PREFER)
_LIVES: Final = TaggedWord(LIVE, WordClass.OF_PLACE, LIVE)
_AT: Final = TaggedWord("at", WordClass.PLACES, "at")
_FOR: Final = TaggedWord("", WordClass.PURPOSES)
# The letters of a subject before a verb other than `is`: `CI runs on`.
MIN_NAME: Final = 2
# Verbs whose passive has the speaker as its agent.
_PASSIVE: Final = frozenset({USE, PREFER, "need", "support"})
_AS: Final = frozenset({"as", "làm", "作为", "当"})
# Verbs that mean `operate`, and never `manage`.
_OPERATES: Final = frozenset({"chạy", "运行", "跑"})
_LAST_NAME: Final = lazy_pattern(r"\A(.+?) (?:(?:có |được đặt )?tên|được gọi)\Z")
_NAME_ELSEWHERE: Final = lazy_pattern(r"\Atên |名字?\Z|代号\Z")
# How or how often a thing is called, which gives it no name: `the hook is called twice`.
_MANNER: Final = lazy_pattern(r"\d+×?|often|early|late|again|every|\w{3,}ly")
_PARTICIPLE: Final = lazy_pattern(r"\w+(?:ed|en|wn|pt|nt|lt|ld|un|id|ought|aught|ept|ing)")


@lru_cache(maxsize=4096)
def frame_of(content: str) -> Frame | None:
    """The statement in a text, taken apart; None where no grammar is known for it."""
    if len(content) > MAX_CHARS:
        return _long_equation(plain(content))
    line = spelled(content)
    frame = _equation(line) or _cleft(line) or _clause(tagged(apart(line)), line)
    if frame is None:
        return None
    is_added = frame.is_added or bool(_SOME.match(content))
    frame = replace(frame, language=_language_of(line), is_added=is_added)
    if frame.verb != BE:
        return replace(frame, about=masked(frame.about))
    is_name = any(_is_capitalised(it, content) for it in frame.value[:1])
    return replace(frame, is_quality=False) if is_name and frame.is_quality else frame


def _language_of(line: str) -> Language:
    if has_han(line):
        return Language.CHINESE
    return Language.VIETNAMESE if is_vietnamese(line) else Language.OTHER


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
        is_class = (bool(_INDEFINITE.match(after)) and not _ROLE.match(before)) or (
            " " not in before and is_vietnamese(line)
        )
        named = before
        if _is_swapped(before, after):
            named, rest = _without_denial(after), _flags(tagged(apart(before)))[1]
        subject = _subject(named)
        if subject is None or not rest:
            continue
        as_verb = _nominal(subject, rest, flags)
        if as_verb:
            return as_verb
        said = "".join(it.text for it in rest)
        if weight(said) < MIN_VALUE and not said.isdigit():
            continue
        frame = _valued(subject, rest, flags)
        is_class = is_class and frame.topic[-1:] not in {(it,) for it in LISTS("attributes")}
        return replace(frame, is_quality=True) if is_class and frame.verb == BE else frame
    return None


def _nominal(subject: str, rest: list[TaggedWord], flags: StatementFlags) -> Frame | None:
    """The frame of a noun that stands for a verb: `my preferred editor is`, `the due date of it is`."""
    if rest[0].role not in PREPOSITIONS:
        wished = "" if subject in _PREFERENCES else _PREFERRED.sub("", subject)
        if wished != subject:
            purpose = [_FOR, TaggedWord(wished)] if wished else []
            return predicate(None, _PREFERS, [*rest, *purpose], flags)
    elif subject in _HOMES and rest[0].role is WordClass.PLACES:
        return predicate(None, _LIVES, rest, flags)
    noun = noun_of_verb(subject)
    if noun is None or weight(noun[0]) < MIN_SUBJECT:
        return None
    verb = known_verb(noun[1]) or TaggedWord(noun[1], WordClass.OF_PLACE, noun[1])
    is_bare = verb.role is WordClass.OF_PLACE and rest[0].role not in PREPOSITIONS
    return predicate(noun[0], verb, [_AT, *rest] if is_bare else rest, flags)


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
    if _is_person(before) != _is_person(rest):
        return _is_person(before) and bool(_DEFINITE.match(rest))
    return (
        bool(_DEFINITE.match(rest))
        and not any(map(_DIGITS.fullmatch, rest.split()))
        and not _DETERMINED.match(before)
        and len(before.split()) <= 3
        and not _POSSESSIVE.search(before)
    )


def _is_person(text: str) -> bool:
    return bool(_TITLE.match(text) or _HAN_TITLE.fullmatch(text))


def _subject(before: str, *, least: int = MIN_SUBJECT) -> str | None:
    before = " ".join(unmasked(before.split()))
    of = _OF.fullmatch(before)
    if of:
        before = f"{of['owner']} {of['head']}"
    before = plain(" ".join(_POSSESSIVE.sub(" ", before).split()))
    before = _LAST_NAME.sub(r"tên \1", before)
    return None if before in POINTERS else subject_of(before, least=least)


def _flags(words: Iterable[TaggedWord]) -> tuple[StatementFlags, list[TaggedWord]]:
    """Whether the words deny and add, and the words that are left."""
    said = list(words)
    flags: StatementFlags = {
        "is_denied": any(it.role is WordClass.DENIALS for it in said),
        "is_added": any(it.role is WordClass.ADDITIONS for it in said),
    }
    return flags, [it for it in said if it.role not in _SKIPPED]


def _valued(subject: str, rest: list[TaggedWord], flags: StatementFlags) -> Frame:
    """The frame of a subject and what is said of it with `is`."""
    if _UNDONE.fullmatch(rest[0].text):
        # `unlocked` denies `locked`.
        rest = [TaggedWord(rest[0].text[2:]), *rest[1:]]
        flags = {**flags, "is_denied": not flags["is_denied"]}
    if rest[0].form == "call" and len(rest) > 1:
        return _called(subject, rest[1:], flags)
    return _participle(subject, rest, flags) or _quality(subject, rest, flags)


def _called(subject: str, rest: list[TaggedWord], flags: StatementFlags) -> Frame:
    """The frame of `is called`: a name is no quality, even if it is written like one."""
    frame = _valued(name_of(subject), rest, flags)
    return replace(frame, is_quality=bool(_MANNER.fullmatch(rest[0].text)))


def _participle(subject: str, rest: list[TaggedWord], flags: StatementFlags) -> Frame | None:
    """The frame of `is` with a participle or another word that stands like a verb."""
    first, after = rest[0], rest[1].role if len(rest) > 1 else None
    passive = _passive(first.text)
    if passive:
        # `Cheques are accepted` has no agent: the speaker accepts them.
        return predicate(None, passive, [*map(TaggedWord, subject.split()), *rest[1:]], flags)
    if after is None:
        return None
    is_verb = first.role is WordClass.CHANGES or (
        first.role is WordClass.OF_AGENT and after is not WordClass.PLACES
    )
    if is_verb:
        return predicate(subject, first, rest[1:], flags)
    if first.role is not WordClass.PLACES and first.text in {*synonyms(), *contradictories()}:
        value, is_denied = affirmed((first.text,), denied=flags["is_denied"])
        topic = tuple(sorted({*subject.split(), *content_of(rest[1:])}))
        return Frame(
            about=subject, topic=topic, value=value, is_denied=is_denied, is_added=flags["is_added"], is_quality=True
        )  # fmt: skip
    if is_time([rest[1].text]) and _PARTICIPLE.fullmatch(first.text):
        verb = first if first.role in VERBS else TaggedWord(first.text, WordClass.OF_PLACE)
        return predicate(subject, verb, [_AT, *rest[1:]], flags, is_passive=True)
    is_for_long = after is WordClass.PURPOSES and has_number(it.text for it in rest[2:])
    if (after is WordClass.PLACES or is_for_long) and _PARTICIPLE.fullmatch(first.text):
        verb = first if first.role in VERBS else TaggedWord(first.text, WordClass.OF_PLACE)
        return predicate(subject, verb, rest[1:], flags, is_passive=True)
    if after is WordClass.PLACES and first.text in LISTS.set("before_prepositions"):
        verb = TaggedWord(first.text, WordClass.OF_PLACE, first.text)
        return predicate(subject, verb, rest[1:], flags)
    return None


def _quality(subject: str, rest: list[TaggedWord], flags: StatementFlags) -> Frame:
    """The frame of `is` with a name, a number, an adjective or a place."""
    first, slot = rest[0], ""
    if first.role is WordClass.PLACES and len(rest) > 1:
        rest = [it._replace(text=singular(it.text)) for it in rest[1:]]
        slot = slot_of(first.form, [it.text for it in rest])
    said, limits = until(rest, lambda it: it.text in _RESTRICTING)
    if not said:
        slot, said, limits = "for", limits[1:] or limits, []
    topic = (*subject.split(), *content_of(limits))
    value, is_denied = affirmed(tuple(it.text for it in said), denied=flags["is_denied"])
    # In these languages an adjective does not stand behind `is`, least of all an English one.
    is_name = value[0].isascii() and _NAME_ELSEWHERE.search(subject)
    is_quality = not slot and not is_name and topic[-1] not in LISTS.set("attributes")
    return Frame(
        about=subject, topic=topic, slot=slot, value=value, is_denied=is_denied, is_added=flags["is_added"],
        is_quality=is_quality and _is_quality(value[0]),
    )  # fmt: skip


def _passive(word: str) -> TaggedWord | None:
    """The verb with an object that a participle belongs to."""
    is_judged = word in synonyms() or word in contradictories()
    verbs = map(known_verb, lemmas(word) if word.endswith("ed") and not is_judged else ())
    return next((it for it in verbs if it and it.form in _PASSIVE), None)


def _is_capitalised(word: str, content: str) -> bool:
    """Whether a word that is not the first is written like a name."""
    at = content.casefold().find(f" {word}")
    return at >= 0 and content[at + 1].isupper() and not content.isupper()


def _is_quality(word: str) -> bool:
    return (
        bool(_QUALITY.fullmatch(word))
        or word == "part"
        or word in contraries()
        or word in synonyms()
    )


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
    rest, is_flipped = _affirmative(_with_language(rest))
    flags["is_denied"] ^= is_flipped
    if rest[0].role is WordClass.SPEAKERS and not any(it.role in VERBS for it in rest):
        # A preposition of place is the verb in Vietnamese and Chinese.
        rest = [rest[0], _LIVES, *rest[1:]] if rest[1:] and rest[1].form == "at" else rest
    at = _verb_at(rest)
    if at is None or _is_state(rest):
        is_plain = next(splits(line), None) is None
        return (_located(rest, flags) or _bag(rest, flags)) if is_plain else None
    verb, before, after = rest[at], rest[:at], rest[at + 1 :]
    if verb.text in _OPERATES and after and after[0].role not in PREPOSITIONS:
        after = [_AT, *after]
    if at == 0 or any(it.role is WordClass.SPEAKERS for it in before):
        direct, purpose = until(after, lambda it: it.text in _AS)
        used_as = _subject(" ".join(it.text for it in purpose[1:]))
        if verb.form == USE and direct and used_as and at + 1 + len(direct) < len(rest):
            # `We use Vim as our editor` names the editor.
            return _quality(used_as, direct, flags)
        fronted = [it for it in before if it.role is not WordClass.SPEAKERS]
        is_when = is_time(it.text for it in fronted)
        limits = [_AT if is_when else _FOR, *fronted] if fronted else []
        return predicate(None, verb, [*after, *limits], flags)
    named, phrases = until(before[1:], lambda it: it.role in PREPOSITIONS and it.text != "of")
    named = [before[0], *named]
    times = [it for it in named if NUMERIC.fullmatch(it.text) and is_time([it.text])]
    phrases += [_AT, *times] if times else []
    subject = _subject(" ".join(it.text for it in named if it not in times), least=MIN_NAME)
    if subject is None:
        return None
    if verb.form == "call" and after:
        return _called(subject, after, flags)
    if verb.form == USE and has_han(verb.text):
        # In Chinese the purpose stands where English has the subject.
        return predicate(None, verb, [*after, *phrases, _FOR, TaggedWord(subject)], flags)
    return predicate(subject, verb, [*after, *phrases], flags)


def _is_state(words: list[TaggedWord]) -> bool:
    """Whether the last word says how the rest is, as in Vietnamese and Chinese: 备份已启用."""
    last, known = words[-1].text, {*synonyms(), *contradictories()}
    return (
        len(words) > 1
        and last in known
        and (has_han(last) or is_vietnamese(last))
        and not any(it.role is WordClass.SPEAKERS for it in words)
    )


def _with_language(words: list[TaggedWord]) -> list[TaggedWord]:
    """The words with a language behind their verb, as in English, where Chinese has 用中文回答."""
    languages = LISTS.set("languages")
    for at, (word, following) in enumerate(pairwise(words)):
        others = [*words[:at], *words[at + 2 :]]
        is_means = word.form == USE and has_han(word.text) and following.text in languages
        if is_means and any(it.role is WordClass.OF_PLACE for it in others):
            return [*others, _AT, following]
    return words


def _affirmative(words: list[TaggedWord]) -> tuple[list[TaggedWord], bool]:
    """The words with a verb such as `forbid` as `allow`, and whether that changed them."""
    for at, word in enumerate(words):
        for form in () if word.text.endswith("ed") else (word.text, *lemmas(word.text)):
            verb = known_verb(contradictories().get(form, ""))
            if verb:
                return [*words[:at], verb, *words[at + 1 :]], True
    return words, False


def _located(words: list[TaggedWord], flags: StatementFlags) -> Frame | None:
    """The frame of a sentence whose preposition or last word is its verb."""
    named, placed = until(words, lambda it: it.role is WordClass.PLACES)
    if _is_state(words):
        named, placed = words[:-1], words[-1:]
    is_plain = placed[1:] or _is_state(words)
    if not is_plain or has_number(it.text for it in named):
        return None
    last = named[-1].text if named else ""
    if len(named) > 1 and last.endswith(("ed", "ing")):
        named = [*named[:-1], TaggedWord(stem(last))]
    subject = _subject(" ".join(it.text for it in named))
    if subject is None or _PARTICIPLE.fullmatch(subject):
        return None
    return _valued(subject, placed, flags)


def _verb_at(words: Sequence[TaggedWord]) -> int | None:
    """The place of the verb: after the speaker, or the first known verb, or the first word of an order."""
    main, _ = until(words[:-1], lambda it: it.text in _CONJUNCTIONS)
    speaker = next((i for i, it in enumerate(main) if it.role is WordClass.SPEAKERS), None)
    first = next((i for i, it in enumerate(words) if i and it.role in VERBS), None)
    is_fronted = words[0].role in PREPOSITIONS
    if speaker is not None and (is_fronted or first is None or speaker < first):
        after = next((i for i in range(speaker + 1, len(words)) if words[i].role in VERBS), None)
        times = speaker + 1
        while times + 1 < len(words) and is_time([words[times].text]):
            times += 1
        is_far = after is None or after > times + 1
        return times if is_far and words[times].role not in PREPOSITIONS else after
    if first is not None:
        # A noun may look like a verb: `the test run takes`.
        following = first + 1
        is_noun = words[first].role is WordClass.OF_PLACE
        if is_noun and following < len(words) - 1 and words[following].role in VERBS:
            return following
        is_order = words[0].text == words[0].form or first == len(words) - 1
        return 0 if words[0].role in VERBS and words[0].text.isascii() and is_order else first
    return 0 if words[0].role in VERBS else None


def _bag(rest: list[TaggedWord], flags: StatementFlags) -> Frame | None:
    """The frame of a sentence whose verb is not known: its numbers and days are its value."""
    said, is_denied = affirmed(tuple(singular(it.text) for it in rest), denied=flags["is_denied"])
    value = tuple(it for it in said if NUMERIC.fullmatch(it) or HAN_DAY.fullmatch(it))
    topic = tuple(plain(" ".join(it for it in said if it not in value)).split())
    if (len(topic) < 2 and not has_han("".join(topic))) or any(
        ":" in it and "-" in it for it in value
    ):
        return None
    return Frame(
        about=" ".join(topic), topic=topic, verb="", value=value,
        is_denied=is_denied, is_added=flags["is_added"],
    )  # fmt: skip


def plain_key(content: str) -> str:
    """The words of a text that no grammar is known for, with numbers in one form."""
    line = plain(content)
    said = exact_words(spelled(content)) if len(content) <= MAX_CHARS else exact_words(line)
    numbers = LISTS.pairs("numbers.values")
    return " ".join(numbers.get(it, it) for it in said) or line or " ".join(content.split())
