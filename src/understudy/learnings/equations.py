"""Equations: statements that name a subject and its value, such as `project codename: atlas`."""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from understudy.core.dataclass import dataclass
from understudy.core.lazy import lazy_pattern
from understudy.learnings.normal_form import HAN_AND_KANA, unmasked, words

MIN_SUBJECT: Final = 3
MIN_VALUE: Final = 2
_ARTICLE: Final = lazy_pattern(r"\A(?:the|le|la|les|l) ")
# Pronouns and articles, which are no subject by themselves.
POINTERS: Final = frozenset(
    {
        "a", "an", "it", "the", "this", "that", "these", "those", "he", "she", "we", "you", "they", "there", "here",
        "what", "who", "which", "where", "why", "how", "ce", "cela", "ceci", "ça", "il", "elle", "ils", "elles", "nous",
        "vous", "nó", "họ", "đây", "đó", "kia", "cái này", "cái đó", "它", "他", "她", "它们", "他们", "她们", "我", "你", "您",
        "我们", "你们", "这", "那", "這", "此", "其", "这个", "那个", "這個", "那個", "这里", "那里", "什么", "谁",
    }
)  # fmt: skip
# Conditional clauses: the text after one is no subject.
CONDITION: Final = lazy_pattern(
    r"(?:if|when|whenever|while|unless|until|because|although|though|whether|si|quand|lorsque|nếu|khi|vì)\b"
    r"|如果|假如|只要|除非|因为|虽然|当"
)
# Plural endings of the last word of a subject; the first match counts.
_PLURALS: Final = (
    (lazy_pattern(r"(?<=..)ies\Z"), "y"),
    (lazy_pattern(r"(?<=ss|[sc]h)es\Z|(?<=.x)es\Z"), ""),
    (lazy_pattern(r"(?<=..[^siu])s\Z"), ""),
)
_IRREGULAR: Final = {
    "goes": "go",
    "does": "do",
    "apis": "api",
    "caches": "cache",
    "news": "news",
    "series": "series",
}
# One token with a sign between words, such as `colour:blue`.
_GLUED_COLON: Final = (
    r"(?:^|(?<= ))[^\W_][\w.'’-]*?(?P<sign>(?<=[^\W\d_]):)(?=[^\W\d_])[\w.'’,;!?-]*(?= |$)"
)
_GLUED_EQUALS: Final = (
    r"(?:^|(?<= ))[^\W_][\w.'’-]*(?P<sign>=)[-+$€£¥]?[^\W_][\w.'’,;!?%°$€£¥₫+#-]*(?= |$)"
)
# Headers of mails and requests, which are labels and no subjects.
_HEADERS: Final = lazy_pattern(
    r"(?:x|content|accept|sec|if|proxy|list|access-control)-[\w-]+|from|to|cc|bcc|subject|date|sent"
    r"|re|fw|fwd|reply-to|return-path|received|message-id|in-reply-to|mime-version|user-agent"
    r"|https?|ftp|mailto|urn|arn|def\b.*|lambda\b.*|elif\b.*"
)
# Asides in brackets, quotations and code, innermost first.
_ASIDE: Final = lazy_pattern(
    r"\([^()]*\)|\[[^\[\]]*\]|\{[^{}]*\}|`[^`]*`|\"[^\"]*\"|“[^“”]*”|«[^«»]*»|「[^「」]*」|『[^『』]*』"
)
_ASIDE_DEPTH: Final = 3
# Replaces each character of an aside, so that offsets stay.
_HIDDEN: Final = "\0"
_WRAPPED: Final = lazy_pattern(
    r"\([^()]*\)|\"[^\"]*\"|“[^“”]*”|«[^«»]*»|「[^「」]*」|\*\*[^*]*\*\*"
)


def subject_of(before: str, *, least: int = MIN_SUBJECT) -> str | None:
    """The subject of an equation in one form; None for pronouns and conditions."""
    named = _ARTICLE.sub("", " ".join(unmasked(words(before))), count=1) if before else ""
    if weight(named) < least or named in POINTERS or CONDITION.match(named):
        return None
    head, _, last = named.rpartition(" ")
    return f"{head} {singular(last)}".lstrip()


def singular(word: str) -> str:
    """An English word without the ending of its plural."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    for plural, ending in _PLURALS:
        if plural.search(word):
            return plural.sub(ending, word)
    return word


def weight(named: str) -> int:
    """The number of letters and digits; a wide character (CJK) counts as two."""
    return sum(_letter_weight(character) for character in named)


@lru_cache(maxsize=4096)
def _letter_weight(character: str) -> int:
    if character == " ":
        return 0
    return 2 if unicodedata.east_asian_width(character) == "W" else 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Delimiter:
    """A delimiter between a subject and its value."""

    # Alternatives; the group `sign`, if there is one, is the part that delimits.
    patterns: tuple[re.Pattern[str], ...]
    # A subject that matches this as a whole is rejected.
    no_subject: re.Pattern[str] | None = None

    def place(self, line: str) -> tuple[int, int] | None:
        """The span of its first occurrence."""
        found = (pattern.search(line) for pattern in self.patterns)
        places = [it.span("sign" if it.re.groups else 0) for it in found if it]
        return min(places, default=None)


def _word(word: str, *, unless_after: str = "") -> Delimiter:
    """A word between blanks as a delimiter, except after the words in `unless_after`."""
    before = "".join(rf"(?<!\b{other})" for other in unless_after.split())
    return Delimiter(patterns=(lazy_pattern(rf"{before} {word} "),))


# In order of precedence; the first occurrence of each counts.
DELIMITERS: Final = (
    _word("is"),
    _word("are"),
    _word("est"),
    _word("sont"),
    _word("là", unless_after="nghĩa tức hay hoặc nhất"),
    Delimiter(patterns=(lazy_pattern(r"(?<![但还還可要于於总總凡若或只倒而既不])[就都也正]?是(?![否的])"),)),
    Delimiter(
        patterns=(
            lazy_pattern(r"(?<= )=(?= )|(?<=[^\W_])=(?= )|(?<= )=(?=[^\W_])"),
            lazy_pattern(_GLUED_EQUALS),
            lazy_pattern(rf"(?<=[{HAN_AND_KANA}])=(?=[^\s=])"),
        ),
    ),
    Delimiter(
        patterns=(
            # Not a colon between numbers, such as a time.
            lazy_pattern(r"(?!(?<=\d): \d)(?!(?<=\d ): \d)(?<!:):(?= )"),
            lazy_pattern(_GLUED_COLON),
            lazy_pattern(rf"(?<=[{HAN_AND_KANA}]):(?=\w)|(?<=\w):(?=[{HAN_AND_KANA}])"),
        ),
        no_subject=_HEADERS,
    ),
)  # fmt: skip


def splits(line: str) -> Iterator[tuple[str, str]]:
    """The splits of a normalised text into subject and value, by precedence."""
    if _WRAPPED.fullmatch(line):
        line = line.strip('()"“”«»「」* ')
    outline = _outline(line)
    for delimiter in DELIMITERS:
        place = delimiter.place(outline)
        if place is None:
            continue
        before, after = line[: place[0]], line[place[1] :]
        if delimiter.no_subject and delimiter.no_subject.fullmatch(before.strip()):
            continue
        yield before, after


def _outline(line: str) -> str:
    """The text with its asides masked, of the same length."""
    for _ in range(_ASIDE_DEPTH):
        line = _ASIDE.sub(lambda aside: _HIDDEN * len(aside[0]), line)
    return line
