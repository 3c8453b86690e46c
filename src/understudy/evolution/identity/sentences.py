"""Finds sentences that set an agent's identity, in the supported languages."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import chain
from typing import Final

from understudy.core.dataclass import dataclass
from understudy.core.lazy import lazy_pattern
from understudy.evolution.identity.labels import WORDS, IdentityKind
from understudy.evolution.requests.grammar import LANGUAGES

# Maximum part of a line that may belong to a sentence continued below.
MAX_BEFORE_CHARS: Final = 60
MAX_VALUE_CHARS: Final = 200

_REST: Final = r"(?P<value>[^.;!?\n\u3002\uff01\uff1b]{1,200})"
# Up to the next comma.
_PART: Final = r"(?P<value>[^.,;!?\n\u3002\uff0c\u3001\uff01\uff1b]{1,200})"
# The same, with the rest of the sentence.
_PART_OF: Final = rf"{_PART}(?=(?P<more>[^.;!?\n\u3002\uff01\uff1b]{{0,200}}))"
# The same, with a following part that has another name.
_NAMED: Final = r"(?P<value>[^.,;!?\n]{1,100}(?:,[^.;!?\n]{0,100}(?-i:[A-Z])[^.;!?\n]{0,100})?)"
_OURS: Final = (
    r"\b(?:(?:your|my|its|our)(?: (?:new|full|real|core|main|sole|first|true|only|primary|official))*"
    r"|(?:the|this|your|our|my) (?:agent|bot|assistant|ai|model)(?:'?s)?(?: (?:new|full|real|core|main|true))*)"
)
_IS: Final = r"(?: is| will be| shall be| should be| becomes|'s)(?: now)?"
_BE: Final = (
    r"\b(?:you are|you're|i am|i'm|we are|we're|(?:the|this) (?:agent|bot|assistant) is)"
    r"(?:,? (?:now|really|actually|henceforth|simply|just|still|today|also|always|truly|from now on),?){0,3}"
    r"(?: ?[:=\u2013\u2014-])?"
)
_LA: Final = r"\b(?:bạn|tôi|mình|em|ban|toi|minh)(?: (?:bây giờ|hiện|nay|chính|giờ|thật ra))? l[àa]"
_SHI: Final = (
    r"[你我您](?:现在|現在|以后|以後|就|其实|其實|从今以后|永远|永遠)*"
    r"(?:是|乃是)(?!否|不是|在|为了|為了|因|说|說|指|用|怎|什|如)"
)
_SOMEBODY_ZH: Final = "他|她|它|用户|用戶|客户|客戶|对方|對方|大家|别人|別人|人|停|好"
_COMPARATIVE: Final = lazy_pattern(r"\b(?P<stem>\w{2,20}?)(?P<y>i?)er\b")
# Nouns of manner.
_MANNERS: Final = frozenset(
    [
        "bit",
        "little",
        "lot",
        "touch",
        "tad",
        "kind",
        "sort",
        "type",
        "one",
        "calm",
        "voice",
        "listener",
        "helper",
        "friend",
        "companion",
        "presence",
        "fan",
        "person",
        "guest",
        "partner",
        "speaker",
        "pleasure",
        "delight",
        "way",
        "same",
        "first",
        "last",
        "opposite",
        "best",
        "board",
        "team",
    ]
)
_PHRASE_ENDS: Final = lazy_pattern(
    r"[,.:]| (?:of|who|that|which|with|in|for|and|to|at|on|when|but|as|or)\b"
)
# Those that may have a task.
_TASKED: Final = lazy_pattern(
    r"\b(?:helper|friend|companion|partner|listener|speaker|person|guest)s?"
    r" (?:who|that|which|(?:for|to)(?! (?:all|people|users?|every\w*|any\w*|the user)\b))\b"
)
_ROLE_VI: Final = lazy_pattern(
    r"(?:một|1|mot) (?!người|chút|phần|nguoi)|(?:vị |viên )?(?:trợ lý|luật sư|bác sĩ|nhân viên|chuyên gia|giám đốc"
    r"|kỹ sư|giáo viên|quản lý|tư vấn|cố vấn|đại diện|sếp|chủ tịch)",
    re.IGNORECASE,
)
_ROLE_ZH: Final = lazy_pattern(
    r"(?:一?[个個名位])|.*(?:师|師|员|員|家|官|者|长|長|客服|助手|助理|经理|經理|顾问|顧問|医生|醫生|老板|老闆)$"
)
_MANNER_ZH: Final = lazy_pattern(r".*(?:的|的人|的时候|的時候|地|得)$|(?:很|非常|最|更)")
_ARTICLE: Final = lazy_pattern(r"(?:a|an|the|một)\s+|一?[个個名位]\s*", re.IGNORECASE)
_APPOSITION: Final = lazy_pattern(r",\s*(?:a|an|the)\s+", re.IGNORECASE)
# The end of a line on which such a sentence has only begun.
_UNFINISHED: Final = lazy_pattern(
    r"(?:\b(?:your|my|its|our|the|this|agent|agents|bot|assistant|new|full|real|name|role|job|title|purpose|mission"
    r"|is|will|be|shall|now|you|i|we|are|am|a|an|as|by|to|at|on|me|us|call|yourself|called|named|really|just|from"
    r"|bạn|tôi|mình|tên|là|của|một)|'(?:s|re|m)|[你我您叫是称稱为為的字])$",
    re.IGNORECASE,
)
_QUOTES: Final = "\"'\u201c\u2018\u00ab\u300c"
_EDGE: Final = r"(?:(?<![\w-])(?=\w)|(?<=\w)(?![\w-]))"
# The end of a name, and what may follow it.
_NAME_ENDS: Final = lazy_pattern(
    r"(?:\s*[,\uff0c]\s*(?:and |và )?|\s+(?:and|và)\s+|\s+[-\u2013]\s+|\s*\u2014\s*)"
)
_TONGUES: Final = "English|Vietnamese|Chinese|French|German|Spanish|Japanese|Korean"
_NAMES_ANOTHER: Final = lazy_pattern(
    rf"\b(?!(?:I|{_TONGUES})\b)[A-Z]|\b(?:aka|alias|known|calls?|called|names?|named|nicknamed|myself|formerly|was|là|gọi|tên)\b|[叫称稱名号號是]"
)


def _is_name(value: str) -> bool:
    """Whether a value looks like a name: capitalised, quoted, or in a script without capitals."""
    first = value[:1]
    return (first.isalpha() and not first.islower()) or first in _QUOTES


def _is_role(value: str) -> bool:
    plain = value.casefold()
    said = _PHRASE_ENDS.split(plain, maxsplit=1)[0].split()
    if _TASKED.search(plain) is not None:
        return True
    return (
        bool(said)
        and said[-1] not in _MANNERS
        and said[0] not in {"bit", "little", "lot", "touch", "tad"}
    )


def _is_reached(value: str) -> bool:
    return (
        any(sign.isdigit() or sign in "@/" for sign in value)
        or re.search(r"\w\.\w", value) is not None
    )


def _is_vietnamese_role(value: str) -> bool:
    return _ROLE_VI.match(value) is not None


def _is_chinese_name(value: str) -> bool:
    return _MANNER_ZH.match(value) is None and not _is_chinese_role(value)


def _is_chinese_role(value: str) -> bool:
    return _MANNER_ZH.match(value) is None and _ROLE_ZH.match(value) is not None


def _is_anything(value: str) -> bool:
    return bool(value)


@dataclass(frozen=True, slots=True)
class Saying:
    """A sentence pattern that sets an identity field, and when its value counts."""

    kind: IdentityKind
    pattern: re.Pattern[str]
    counts: Callable[[str], bool]


def _saying(
    kind: IdentityKind, pattern: str, counts: Callable[[str], bool] = _is_anything
) -> Saying:
    return Saying(kind, lazy_pattern(pattern, re.IGNORECASE), counts)


# By language, each with a pattern without which none of them can match.
SAYINGS: Final[Mapping[str, tuple[re.Pattern[str], tuple[Saying, ...]]]] = {
    "en": (
        lazy_pattern(
            r"\b(?:name|yourself|(?:re)?named|called|calls?|go by|goes by|known?|become|sign|speak|answers?|respond|reply"
            r"|act|pose|appear|serve|work|role|job|title|position|profession|purpose|mission|mandate|exist|made|built"
            r"|created|reach|contact|text|phone|message|email|write"
            r"|you are|you're|i am|i'm|we are|we're|agent is|bot is|assistant is)\b",
            re.IGNORECASE,
        ),
        (
            _saying(IdentityKind.NAME, rf"{_OURS} (?:nick)?name{_IS} {_REST}"),
            _saying(IdentityKind.NAME, rf"(?:^\W*|[.;!?] )(?:(?:the|new|real|full) )*name(?: of (?:the|this) (?:agent|bot|assistant))?{_IS} {_REST}", _is_name),
            _saying(IdentityKind.NAME, rf"(?P<value>[^.,;:!?]{{1,60}}?) is {_OURS} name\b"),
            _saying(IdentityKind.NAME, rf"\b(?:call|name|rename) yourself(?: to| as)? {_REST}"),
            _saying(IdentityKind.NAME, rf"\b(?:introduce|present) yourself as {_REST}"),
            _saying(IdentityKind.NAME, rf"\b(?:you|i|it)(?: are|'re| were| am|'m| is| was| have been| has been)(?: now)? (?:re)?(?:called|named)(?: to| as)? {_REST}"),
            _saying(IdentityKind.NAME, rf"\b(?:calls? (?:me|you)|goe?s? by|known? (?:you )?as|answers? to|become) {_REST}", _is_name),
            _saying(IdentityKind.NAME, rf"\b(?:sign(?: off)?|speak|answer|respond|reply|write|act|pose|appear) as {_REST}", _is_name),
            _saying(IdentityKind.NAME, rf"{_BE} {_NAMED}", _is_name),
            _saying(IdentityKind.ROLE, rf"{_BE} (?:a|an|the) {_PART_OF}", _is_role),
            _saying(IdentityKind.ROLE, rf"{_BE} [^.,;!?\n]{{1,80}}, (?:a|an|the) {_PART_OF}", _is_role),
            # After a capitalised name.
            _saying(IdentityKind.ROLE, rf"{_BE} (?-i:[A-Z])[^.,;!?\n]{{0,80}}?(?:,? and| ?[\u2013\u2014-]) (?:a|an|the) {_PART_OF}", _is_role),
            _saying(IdentityKind.ROLE, rf"\b(?:act|serve|work) as (?:a|an|the) {_PART_OF}", _is_role),
            _saying(IdentityKind.ROLE, rf"{_OURS} (?:role|job|(?:job )?title|position|profession){_IS} {_REST}"),
            _saying(IdentityKind.PURPOSE, rf"{_OURS} (?:purpose|mission|mandate){_IS} {_REST}"),
            _saying(IdentityKind.PURPOSE, rf"\b(?:you|i) (?:exist|were (?:made|built|created)|was (?:made|built|created)) to {_REST}"),
            _saying(
                IdentityKind.CONTACT,
                r"\b(?:reach|contact|call|text|phone|message|email|write to) (?:me|us)(?: at| on| via| under)? (?P<value>[^\s,;!?]{1,200})",
                _is_reached,
            ),
        ),
    ),
    "vi": (
        lazy_pattern(r"\b(?:tên|là|xưng|vai trò|mục đích|sứ mệnh|nhiệm vụ|la)\b", re.IGNORECASE),
        (
            _saying(IdentityKind.NAME, rf"\b(?:tên (?:mới |thật )?(?:của )?(?:bạn|tôi|mình) là|(?:bạn|tôi|mình) tên(?: là)?) {_REST}"),
            _saying(IdentityKind.NAME, rf"\b(?:gọi (?:tôi|mình|bạn) là|(?:tự )?xưng (?:tên )?là) {_REST}", _is_name),
            _saying(IdentityKind.NAME, rf"{_LA} {_REST}", _is_name),
            _saying(IdentityKind.ROLE, rf"{_LA} {_PART_OF}", _is_vietnamese_role),
            _saying(IdentityKind.ROLE, rf"\bvai trò (?:của )?(?:bạn|tôi|mình) là {_REST}"),
            _saying(IdentityKind.PURPOSE, rf"\b(?:mục đích|sứ mệnh|nhiệm vụ) (?:của )?(?:bạn|tôi|mình) là {_REST}"),
        ),
    ),
    "zh": (
        lazy_pattern("[你我您叫称稱]"),
        (
            _saying(IdentityKind.NAME, rf"[你我您]的?(?:新|真)?(?:名字|姓名)(?:是|叫做?){_REST}"),
            _saying(IdentityKind.NAME, rf"[你我您](?:现在|現在|以后|以後|就)*叫做?(?!{_SOMEBODY_ZH}){_REST}"),
            _saying(IdentityKind.NAME, r"(?P<value>[^.,;:!?\u3002\uff0c]{1,20}?)(?:就)?是[你我您]的?(?:新)?(?:名字|姓名)"),
            _saying(IdentityKind.NAME, rf"(?:叫我|称我为|稱我為|自称|自稱|称自己为|稱自己為|叫自己){_REST}"),
            _saying(IdentityKind.NAME, rf"{_SHI}{_PART_OF}", _is_chinese_name),
            _saying(IdentityKind.ROLE, rf"{_SHI}{_PART_OF}", _is_chinese_role),
            _saying(IdentityKind.ROLE, rf"[你我您]的?(?:角色|职位|職位|职务|職務|工作)是{_REST}"),
            _saying(IdentityKind.PURPOSE, rf"[你我您]的?(?:目的|使命|宗旨|任务|任務|职责|職責)是{_REST}"),
        ),
    ),
}  # fmt: skip


def said_in(line: str) -> Iterator[tuple[IdentityKind, str]]:
    """The identity fields in the sentences of a line, in its original case."""
    return ((kind, value) for kind, value, _ in _found_in(line))


def said_over(line: str, following: str) -> tuple[tuple[IdentityKind, str], ...]:
    """The identity fields of a sentence that begins at the end of a line and ends on the next."""
    before = line[-MAX_BEFORE_CHARS:].rstrip()
    if _UNFINISHED.search(before) is None:
        return ()
    found = _found_in(f"{before} {following[:MAX_VALUE_CHARS]}")
    return tuple((kind, value) for kind, value, start in found if start >= len(before))


def _found_in(line: str) -> Iterator[tuple[IdentityKind, str, int]]:
    line = line.replace("\u2019", "'").replace("\u02bc", "'")
    for sign, sayings in SAYINGS.values():
        if sign.search(line) is None:
            continue
        for saying in sayings:
            for found in saying.pattern.finditer(line):
                value = found["value"].strip()
                if saying.counts(value) and not _is_only_manner(found):
                    yield saying.kind, _bare(saying.kind, value), found.start("value")


def _is_only_manner(found: re.Match[str]) -> bool:
    """Whether the whole sentence only describes manner; a task may come last."""
    more = found.groupdict().get("more")
    return more is not None and is_manner(found["value"] + more)


def _bare(kind: IdentityKind, value: str) -> str:
    """A role without its article; a name without the role after it, which is found separately."""
    if kind is IdentityKind.ROLE:
        return _ARTICLE.sub("", value, count=1) if _ARTICLE.match(value) else value
    return name_in(_APPOSITION.split(value, maxsplit=1)[0]) if kind is IdentityKind.NAME else value


@dataclass(frozen=True, slots=True)
class _Manners:
    """The words of manner in one language, each class as a pattern."""

    adjectives: re.Pattern[str]
    nouns: re.Pattern[str]
    trades: re.Pattern[str]
    asking: re.Pattern[str]
    any_of: re.Pattern[str]

    def are_asked_for(self, said: str) -> bool:
        asks = self.adjectives.search(said) and self.asking.search(said)
        rest = self.any_of.sub(" ", self.asking.sub(" ", said))
        return bool(asks) and not any(map(str.isalnum, rest))

    def are_all_of(self, said: str) -> bool:
        is_one = self.nouns.search(said) or (
            self.trades.search(said) and self.adjectives.search(said)
        )
        return bool(is_one) and not any(map(str.isalnum, self.any_of.sub(" ", said)))


@cache
def _manners(language: str) -> _Manners:
    # A hyphen is no word boundary: `tax-friendly`. Chinese has no word boundaries at all.
    edge = "" if language == "chinese" else _EDGE

    def one_of(*groups: str) -> re.Pattern[str]:
        words = chain(*(WORDS(f"manners.{language}.{group}") for group in groups))
        # Longest first: some are prefixes of others.
        ordered = sorted(words, key=len, reverse=True)
        return lazy_pattern(f"{edge}(?:{'|'.join(map(re.escape, ordered))}){edge}")

    return _Manners(
        adjectives=one_of("adjectives"),
        nouns=one_of("nouns"),
        trades=one_of("trades"),
        asking=one_of("asking"),
        any_of=one_of("adjectives", "nouns", "trades", "beside"),
    )


@cache
def _speaks() -> re.Pattern[str]:
    """The pattern of sentences about how an agent speaks."""
    adjectives = (*WORDS("manners.english.adjectives"), *WORDS("manners.vietnamese.adjectives"))
    spoken = (*adjectives, "always", "never", "very", "rất", "luôn")
    return lazy_pattern(
        r"(?:(?:i|you|we|my|your|an?|the|tôi|bạn|mình)\b"
        rf"|(?:{'|'.join(map(re.escape, spoken))})(?![\w-])"
        r"|[我你您]?(?:说话|說話|语气|語氣|语言|語言|用|很|总是|總是|喜欢|喜歡|会|會))",
        re.IGNORECASE,
    )


def is_manner(said: str) -> bool:
    """Whether these words only describe manner."""
    plain = said.casefold()
    return any(_manners(language).are_all_of(plain) for language in LANGUAGES)


def asks_for_manner(said: str) -> bool:
    """Whether a sentence asks for another manner and nothing else: `be a bit funnier`."""
    plain = _COMPARATIVE.sub(_as_more, said.casefold())
    return any(_manners(language).are_asked_for(plain) for language in LANGUAGES)


def _as_more(found: re.Match[str]) -> str:
    """`funnier` as `more funny`; other words as they are."""
    stem = found["stem"]
    known = WORDS.set("manners.english.adjectives")
    bases = (f"{stem}y",) if found["y"] else (stem, f"{stem}e", stem[:-1])
    return next((f"more {base}" for base in bases if base in known), found[0])


def name_in(value: str) -> str:
    """A name without the rest of its sentence; all of it if that may be another name."""
    end = _NAME_ENDS.search(value)
    if end is None:
        return value
    rest = value[end.end() :]
    is_end = _speaks().match(rest) is not None and _NAMES_ANOTHER.search(rest) is None
    return value[: end.start()] if is_end else value
