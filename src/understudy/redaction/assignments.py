"""Finds the separator between a cue word and its value, and the bounds of the value."""

import re
from typing import Final, NamedTuple

from understudy.patterns.linear import Span
from understudy.redaction.cues import Cue
from understudy.redaction.opaque import WORDS, key_grade

# Values are first read up to this length; a longer one is followed only if it is a secret.
FIRST_LOOK: Final = 160
_CONNECTORS: Final = (
    "is|was|are|be|to|as|equals|equal|value|will|now|set|use|using|of|for|default|string|text|data|content"
    "|là|bằng|thành|đổi|mới|của|tôi|đang|dùng|hiện|tại|est|es|ist|lautet|é|è|это|adalah|este"
)
_CONNECTORS_ABROAD: Final = "设置成|改成了|改为了|改为|是|值|为|為|改成|设为|設為|设置为|设成|换成|更新为|等于|如下|は|が|を|现在|的|新|当前|目前|就|用|使用|을|를|은|는|이|가"
# Signs between a name and its value, if another separator follows: a sign that touches the value
# may be its first character.
_SIGNS: Final = (
    r"[!#$%&*+./?@^_~<\-\u2010-\u2bff\U0001f300-\U0001faff]{1,4}(?=[\s\"'`=:|>\[\u201c\u300c])"
)
_SIGNS_APART: Final = (
    r"[!#$%&*+./?@^_~<>=:|\-\u2010-\u2bff\U0001f300-\U0001faff]{1,4}(?=[\s\"'`\u201c\u300c])"
)
_WHOLE_TAG: Final = r"</?[A-Za-z][\w:-]{0,20}\s?/?>"
_SEPARATOR: Final = re.compile(
    rf"(?:!?\[CDATA\[|{_WHOLE_TAG}|[ \t\"'`\\\[\](){{}}=:>|,;\u2018\u201c\u00ab\u300c\u300e\u3010]|-+>|→|⇒|{_SIGNS}"
    rf"|\r?\n(?=[ \t\"'-])|(?<=[:=>|-])\r?\n{{1,2}}"
    rf"|-?(?i:{_CONNECTORS})(?![A-Za-z0-9_@])|{_CONNECTORS_ABROAD}){{1,40}}+"
)
# An assignment sign, with the opening quote of the value or nothing before the value.
_DIRECT: Final = re.compile(
    r"(?:\\{0,3}[\"'`])?[\])]?\s{0,8}(?:[:?+.|]?={1,3}>?|:(?![:=])|-+>|→|⇒)[ \t]{0,12}"
    r"(?:[bfru@&$]{0,2}(\\{0,3}(?:\"\"\"|'''|[\"'`])))?"
)
# Beginnings of a further separator.
_MORE: Final = re.compile(
    rf"[\[({{]+\s*(?:\\{{0,3}}[\"'`]|\s)|[|>][+-]?\s*\n|\r?\n|<!\[CDATA|{_WHOLE_TAG}|{_SIGNS_APART}"
    rf"|-?(?i:{_CONNECTORS})(?![A-Za-z0-9_@])[ \t:]|{_CONNECTORS_ABROAD}|[ \t\u2018\u201c\u00ab\u300c\u300e\u3010]"
)
_OPENING: Final = re.compile(r"[=:>,({\[|][\s({\[]{0,8}\\{0,3}[\"'`]")
_INNER_NAME: Final = re.compile(
    r"(?i)(?:value|content|data|default|string|text|plain)\\{0,3}[\"'`]"
)
# `name: Type = value` in code.
_TYPED: Final = re.compile(
    r"[\"']?\s{0,2}:\s{0,2}&?(?:'static )?[A-Za-z_][\w.<>\[\]|*]{0,30}\s{0,2}(?==[\s\"'])"
)
_TAG_END: Final = re.compile(r"(?:\s[^<>\n]{0,80})?>\s{0,40}(<!\[CDATA\[)?")
_ASSIGNS: Final = re.compile(r"[=:>]|→|⇒")
_TIES: Final = re.compile(
    rf"(?i:\b(?:is|was|are|equals|be|là|bằng|thành|to|est|es|ist|lautet|это|é|è)\b)|{_CONNECTORS_ABROAD}"
    r"|[|,(\t\u2018\u201c\u00ab\u300c\u300e\u3010]|[ \t][\"'`]\Z| - |\] "
)
_QUOTED: Final = re.compile(r"\\{0,3}(?:\"\"\"|'''|[\"'`])\Z")
_ENV_LINE: Final = re.compile(
    r"(?:^|\n|\\n)[ \t+-]*(?:export |set |ENV |\$env:|- |[#;*] ?){0,2}\**\Z"
)
_STOPS: Final = r"\s\"'`。、「」『』【】\u2018\u2019\u201c\u201d…\ufffd\u3400-\u9fff\u3040-\u30ff\uac00-\ud7af\uff0c\uff1b"
_BARE: Final = re.compile(rf"(?:[^{_STOPS}<>|]|<(?![A-Za-z/!<])|>(?=[^{_STOPS}<>|])){{3,160}}")
_LINE: Final = re.compile(
    rf"(?:[^{_STOPS}<]|<(?!/?(?:br|p|div|td|tr|th|code|b|li|ul|span|strong|em|pre|a|i|string|value)\b ?/?>)){{3,160}}"
)
# Ends of a bare value, which on a line of its own may be longer.
_CUT: Final = re.compile(r"[,;&)\]}]|\\[nrt\"']")
_PASSWORD_CUT: Final = re.compile(
    r"[,;&](?=[\w .-]{1,40}[=:])|[,;](?=[A-Z][A-Za-z ]+:)|[)\]}](?=[,;:.)\]}]|\Z)|\\[nrt\"']"
)
_LINE_CUT: Final = re.compile(r"[,;&](?=[A-Za-z][A-Za-z _]{2,30}=)|\\[nrt\"']")
_REST: Final = re.compile(r"[!#-%(*+\--:=?-\[^_a-z{~]+")
_NEXT_NAME: Final = re.compile(r" {0,2}=[ \t]")
_NESTED: Final = re.compile(r"[?&]?([A-Za-z_][\w.-]{1,40})[=:]")
CLOSING_QUOTES: Final = {"“": "”", "\u2018": "’", "«": "»", "「": "」", "『": "』"}
_PAIRS: Final = {")": "(", "]": "[", "}": "{"}


class Tie(NamedTuple):
    """The separator between a cue and a value."""

    text: str
    # The offset of the value.
    at: int
    # The closing delimiter, if the value has an opening one.
    closing: str = ""
    is_direct: bool = False

    @property
    def is_firm(self) -> bool:
        """Whether a sign assigns the value."""
        return self.is_direct or _ASSIGNS.search(self.text) is not None

    @property
    def is_tie(self) -> bool:
        """Whether it connects cue and value at all; a comma before a new line only lists."""
        return _TIES.search(self.text) is not None and not ("," in self.text and "\n" in self.text)


def tie_behind(text: str, start: int, end: int) -> Tie | None:
    """The separator after the cue from `start` to `end`; None without one."""
    if text[start - 1 : start] == "<" and (tag := _TAG_END.match(text, end)):
        closing = "]]>" if tag[1] else "</"
        if text.find(closing, tag.end(), tag.end() + 4 * FIRST_LOOK) < 0:
            return None
        return Tie(text=tag[0], at=tag.end(), closing=closing, is_direct=True)
    typed = _TYPED.match(text, end, end + 60)
    first = typed.end() if typed else end
    direct = _DIRECT.match(text, first)
    if direct and (direct[1] or not _MORE.match(text, direct.end())):
        return Tie(
            text=text[first : direct.end()],
            at=direct.end(),
            closing=direct[1] or "",
            is_direct=True,
        )
    separator = _SEPARATOR.match(text, first, end + FIRST_LOOK)
    if separator is None:
        return None
    at = _first_opening(text, first, separator.end())
    quote = _QUOTED.search(text, max(first, at - 6), at) if text[at - 1] in "\"'`" else None
    closing = quote[0] if quote else CLOSING_QUOTES.get(text[at - 1], "")
    return Tie(text=text[first:at], at=at, closing=closing)


def _first_opening(text: str, start: int, end: int) -> int:
    """The end of the first quote that opens a value: what follows belongs to the value."""
    for opening in _OPENING.finditer(text, start, end):
        if not _INNER_NAME.match(text, opening.end()):
            return opening.end()
    return end


def read_value(text: str, start: int, tie: Tie, cue: Cue) -> Span | None:
    """The span of the value after the separator."""
    at = tie.at
    nested = _NESTED.match(text, at, at + 48)
    if nested and (key_grade(nested[1]) or nested[1].lower() in WORDS.set("loose_cues")):
        return None
    if tie.closing and (quoted := _closed(text, tie)):
        return quoted
    is_line = tie.is_direct and _ENV_LINE.search(text, max(0, start - 16), start) is not None
    bare = (_LINE if is_line else _BARE).match(text, at)
    if bare is None:
        return None
    cuts = _LINE_CUT if is_line else _PASSWORD_CUT if cue.is_password else _CUT
    cut = cuts.search(text, at, bare.end())
    end = cut.start() if cut else bare.end()
    if "\n" in tie.text and (text[end - 1 : end] == ":" or _NEXT_NAME.match(text, end)):
        # The next line begins with another name.
        return None
    return _trimmed(text, at, end, ".,;:" if is_line else ".,;:!?*_")


def _trimmed(text: str, at: int, end: int, marks: str) -> Span | None:
    """The span without trailing punctuation and unbalanced closing brackets."""
    while end > at:
        last = text[end - 1]
        opener = _PAIRS.get(last)
        if last not in marks and (
            not opener or text.count(opener, at, end) >= text.count(last, at, end)
        ):
            break
        end -= 1
    return (at, end) if end > at else None


def _closed(text: str, tie: Tie) -> Span | None:
    """The value up to its closing delimiter, or the first-look limit."""
    at, closing = tie.at, tie.closing
    end = text.find(closing, at, at + FIRST_LOOK)
    while end > 0 and len(closing) == 1 and _is_escaped(text, end):
        end = text.find(closing, end + 1, at + FIRST_LOOK)
    line = text.find("\n", at, at + FIRST_LOOK)
    if end > at and (line < 0 or end < line or len(closing) > 1):
        return at, end
    if end < 0 and line < 0 and len(text) - at > FIRST_LOOK:
        return at, at + FIRST_LOOK
    return None


def _is_escaped(text: str, at: int) -> bool:
    return text[at - 1] == "\\" and text[at - 2] != "\\"


def to_end(text: str, start: int, end: int, closing: str = "") -> Span:
    """Extend a value that exceeds the first look to its end."""
    if end - start < FIRST_LOOK - 8:
        return start, end
    closed = text.find(closing, end) if closing else -1
    if closed >= 0 and "\n" not in text[end:closed]:
        return start, closed
    rest = _REST.match(text, end)
    return start, rest.end() if rest else end
