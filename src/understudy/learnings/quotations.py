"""Sentences of a text, and which parts of it are quotations, code, pasted pages or mails."""

import re
import unicodedata
from collections.abc import Iterator
from itertools import chain
from typing import Final

from understudy.core.text import preview
from understudy.learnings.non_statements import starts_order
from understudy.learnings.normal_form import HAN_AND_KANA
from understudy.learnings.phrases import HAN, MAX_LEAD_CHARS, WORDS, begins

Span = tuple[int, int]

_LINE: Final = re.MULTILINE | re.IGNORECASE
_TAGS: Final = (
    "html|head|body|title|meta|link|script|style|div|span|p|br|hr|a|b|i|u|em|strong|small|h[1-6]|ul|ol|li|dl|dt|dd|table"
    "|thead|tbody|tr|td|th|form|input|button|img|pre|code|blockquote|section|article|main|nav|header|footer|font|center"
    "|iframe|svg|textarea|label|mark|sup|sub|del|ins|details|summary|figure|figcaption|xml|item|entry|quote|document"
)  # fmt: skip
# Known HTML tags, and others that close or have attributes; `List<String>` is no tag.
TAG: Final = re.compile(
    rf"<(?:/\s?[a-z][\w:-]{{0,40}}|(?:{_TAGS})(?:\s[^<>]{{0,400}})?/?|[a-z][\w:-]{{0,40}}\s[^<>=]{{1,80}}=[^<>]{{0,400}}"
    r"|!--|!doctype[^<>]{0,80})\s?>?",
    re.IGNORECASE,
)  # fmt: skip
# A code fence that is not closed on its own line.
_FENCE: Final = re.compile(
    r"^[ \t>]{0,16}(?P<fence>`{3,}+|~{3,}+)(?![^\n]*(?P=fence))[^\n]*"
    r"(?:\n(?![ \t>]{0,16}(?P=fence))[^\n]*)*+(?:\n[^\n]*)?",
    re.MULTILINE,
)
_QUOTED_LINES: Final = re.compile(r"^[ \t]{0,16}>[^\n]*(?:\n[ \t]{0,16}>[^\n]*)*+", re.MULTILINE)
_HEADER: Final = (
    r"(?:from|sent|to|cc|date|subject|reply-to|de|envoyé|à|objet|từ|gửi|đến|tiêu đề|ngày|chủ đề"
    r"|发件人|收件人|發件人|收件人|主题|主題|日期|抄送|发送时间)[ \t]{0,4}[:\uff1a][^\n]{0,400}"
)
# The beginning of a line that a program logged: a date and time, a time with seconds, a level.
_LOGGED: Final = re.compile(
    r"^[ \t]{0,8}[\[(]?(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\d\d:\d\d:\d\d"
    r"|(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL)\b)[^\n]*",
    re.MULTILINE,
)
# The start of a forwarded or quoted mail, which extends to the end of the text.
_MAIL: Final = re.compile(
    r"^[ \t>]{0,16}(?:"
    r"-{2,}[ \t]?(?:original|forwarded)[^\n]{0,80}|begin forwarded message[^\n]{0,20}"
    r"|-{2,}[ \t]?(?:message d'origine|message transféré|thư được chuyển tiếp|原始邮件|转发的邮件|转发邮件)[^\n]{0,80}"
    r"|(?:on|le|vào)\b[^\n]{4,200}\b(?:wrote|a écrit|đã viết)[ \t]?[:\uff1a][ \t]*$|[^\n]{2,100}写道[:\uff1a][ \t]*$"
    rf"|{_HEADER}\n[ \t>]{{0,16}}{_HEADER}"
    r")",
    _LINE,
)  # fmt: skip
# The start of a JSON object, with the rest of its paragraph.
_OBJECT: Final = re.compile(r"[{]\s*[\"'][^\"'\n]{1,80}[\"']\s*:(?:[^\n]|\n(?![^\S\n]*\n))*+")
_OWN_PARAGRAPH: Final = r"(?:[^{close}\n]|\n(?!\s*\n))*+(?:[{close}]|(?=\n)|\Z)"
# Opening and closing quotation marks; an unclosed quotation ends with its paragraph.
_MARKS: Final = (("“„", "”“"), ("«", "»"), ("\u2039", "\u203a"), ("「", "」"), ("『", "』"))
_INLINE: Final = (
    re.compile(r"(?<!\d)\"" + _OWN_PARAGRAPH.format(close='"')),
    *(re.compile(f"[{opens}]" + _OWN_PARAGRAPH.format(close=closes)) for opens, closes in _MARKS),
    re.compile(r"(?<!\w)['\u2018](?=\w)[^\n]{1,400}?['\u2019](?!\w)"),
    re.compile(r"`[^`\n]*+`?"),
)
# A quotation of so few words without a colon is a name or a term.
NAME_WORDS: Final = 2
NAME_SIGNS: Final = 6
# Around the parts of a request that others wrote.
OTHERS: Final = "\u27e6\u27e7"
_NO_MARKS: Final = {ord(mark): " " for mark in OTHERS}
# With the Chinese full stop, exclamation mark, question mark and semicolon.
SENTENCE_END: Final = re.compile(r"[.!?;](?=\s|$)|[\n\u3002\uff01\uff1f\uff1b]")
_WORD: Final = re.compile(r"\w+")
# The share of the words of a statement that a sentence adds to those quoted before it.
MIN_SHARE: Final = 0.25
MAX_QUOTES: Final = 3
QUOTE_CHARS: Final = 400
_INITIAL: Final = re.compile(r"[A-Z]\.")
_ACRONYM: Final = re.compile(r"(?:[A-Z]\.)+[A-Z]")
# The last word before a dot, without what stands before it in a text without blanks.
_LAST_WORD: Final = re.compile(rf"[^\s{HAN_AND_KANA}\uff0c\u3001\uff08]+$")


def pasted(text: str) -> tuple[Span, ...]:
    """The spans of pasted blocks, in order; they may overlap."""
    return tuple(sorted(_blocks(text)))


def quoted(text: str) -> tuple[Span, ...]:
    """The spans of pasted blocks, JSON objects and quotations within lines, in order."""
    return tuple(sorted(chain(_blocks(text), _objects(text), _between_marks(text))))


def own_words(text: str, *, with_marked: bool = False) -> str:
    """The text without pasted blocks and quotations; `with_marked` keeps the quotations."""
    blocks = set(pasted(text))
    others = chain(blocks, _objects(text)) if with_marked else quoted(text)
    kept, at = [], 0
    for start, end in sorted(others):
        if start > at:
            kept.append(text[at:start])
        # A paragraph break, so that the texts around a block do not become one sentence.
        kept.append("\n\n" if (start, end) in blocks else "\n")
        at = max(at, end)
    return "".join((*kept, text[at:]))


def with_others_marked(text: str) -> str:
    """The text with its pasted blocks and quotations between marks, for a model that reads it."""
    plain = text.translate(_NO_MARKS)
    marked, at = [], 0
    for start, end in quoted(plain):
        if end > at:
            others = plain[max(start, at) : end]
            marked += [plain[at : max(start, at)], OTHERS[0], others, OTHERS[1]]
            at = end
    return "".join((*marked, plain[at:]))


def _blocks(text: str) -> Iterator[Span]:
    for block in (_FENCE, _QUOTED_LINES):
        yield from (found.span() for found in block.finditer(text))
    logged = [found.span() for found in _LOGGED.finditer(text)]
    if len(logged) > 1:
        yield logged[0][0], logged[-1][1]
    mail = _MAIL.search(text)
    if mail is not None:
        yield mail.start(), len(text)
    tags = [found.span() for found in TAG.finditer(text)]
    if tags:
        yield tags[0][0], tags[-1][1] if len(tags) > 1 else len(text)


def _objects(text: str) -> Iterator[Span]:
    """The spans of JSON objects, each up to the last brace of its paragraph."""
    for found in _OBJECT.finditer(text):
        yield found.start(), text.rfind("}", *found.span()) + 1 or found.end()


def _between_marks(text: str) -> Iterator[Span]:
    for marks in _INLINE:
        for found in marks.finditer(text):
            if not _is_name(found[0]):
                yield found.span()


def _is_name(said: str) -> bool:
    has_colon = ":" in said or "\uff1a" in said
    is_short = len(said.split()) <= NAME_WORDS and len(HAN.findall(said)) <= NAME_SIGNS
    return is_short and not has_colon


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """The spans of the sentences of a text; a line break ends a sentence."""
    stops = (it for it in SENTENCE_END.finditer(text) if not is_abbreviated(text, it))
    start = 0
    for end in (*(stop.end() for stop in stops), len(text)):
        if text[start:end].strip():
            yield start, end
        start = end


def is_abbreviated(text: str, stop: re.Match[str]) -> bool:
    """Whether the dot of a stop belongs to an abbreviation, an acronym or an initial."""
    if stop[0] != ".":
        return False
    word = _LAST_WORD.search(text[max(0, stop.start() - 12) : stop.start()])
    written = word[0].lstrip("(\"'“") if word else ""
    last, rest = written.casefold(), text[stop.end() : stop.end() + MAX_LEAD_CHARS].lstrip()
    following = rest[:1]
    if last in WORDS.set("abbreviations.titles"):
        return bool(following)
    if last in WORDS.set("abbreviations.numbered") and following.isdigit():
        return True
    if _ACRONYM.fullmatch(written) or last in WORDS.set("abbreviations.either"):
        return following.isalnum() and (following.islower() or not _begins_sentence(rest))
    if last in WORDS.set("abbreviations.others"):
        return following.islower() or following.isdigit()
    if len(last) != 1 or not written.isupper() or not following.isupper():
        return False
    # An initial stands at the start, before or behind another one, or behind a comma or a word
    # such as `by`; what is ordered behind `we go with B` belongs to no name.
    before = text[max(0, stop.start() - 24) : stop.start() - 1].split()[-1:]
    if not before or _INITIAL.match(rest):
        return True
    is_led = before[0].endswith((".", ",")) or before[0].casefold() in WORDS.set("open.ends")
    return is_led and not _begins_sentence(rest)


def _begins_sentence(text: str) -> bool:
    """Whether a text behind a dot is a sentence of its own: `U.S. Please draft it`."""
    starts = ("turns.starts", "turns.questions", "turns.pleads", "starts.words")
    return starts_order(text) or any(begins(name, text) for name in starts)


def best_sentence(statement: str, text: str) -> tuple[str, float]:
    """The sentence with the largest share of the words of a statement, and that share."""
    wanted = set(plain_words(statement))
    best, share = "", 0.0
    for start, end in sentences(text):
        words = plain_words(text[start:end])
        found = len(wanted.intersection(words)) / len(wanted) if wanted else 0.0
        if found > share:
            best, share = " ".join(words), found
    return best, share


def quotes_for(statement: str, text: str) -> tuple[str, ...]:
    """The few sentences of a text that together have most of the words of a statement, in order."""
    wanted = _parts(statement)
    found = {(start, end): _parts(text[start:end]) for start, end in sentences(text)}
    left, chosen = wanted, list[Span]()
    # One word alone may be any word.
    least = max(MIN_SHARE * len(wanted), min(2, len(wanted)))
    while found and left and len(chosen) < MAX_QUOTES:
        best = max(found, key=lambda span: (len(left & found[span]), -span[0]))
        if len(left & found[best]) < least:
            break
        chosen.append(best)
        left -= found[best]
    return tuple(preview(text[start:end], QUOTE_CHARS) for start, end in sorted(chosen))


def _parts(text: str) -> set[str]:
    """The words of a text, and each sign of a script without blanks."""
    words = plain_words(text)
    return {it for it in words if not HAN.search(it)}.union(*(HAN.findall(it) for it in words))


def plain_words(text: str) -> list[str]:
    """The words of a text in order, in lower case and normal width."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def is_in_own_words(content: str, request: str) -> bool:
    """Whether the words of a statement stand in a request outside its quotations."""
    own = own_words(request)
    return own == request or set(plain_words(content)) <= set(plain_words(own))
