"""The structural layer: an opaque value next to a cue word that announces a secret.

No vendor prefix is needed. The cue may be a name in code or configuration, a header, a flag, a
column or a word in a sentence; the value may follow it directly or be close to it. The weaker the
cue, the more random the value must look.
"""

import re
import string
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from understudy.patterns.linear import Span
from understudy.patterns.search import PatternMatch
from understudy.redaction.assignments import (
    CLOSING_QUOTES,
    FIRST_LOOK,
    Tie,
    read_value,
    tie_behind,
    to_end,
)
from understudy.redaction.cues import Cue, cue_at
from understudy.redaction.opaque import WORDS, is_jumble, looks_random
from understudy.redaction.values import is_assigned_secret, is_mixed, is_opaque, is_said_password

# Maximum distance between a cue and a value without a separator.
_REACH: Final = 64
_BEFORE: Final = 48
# `ENV NAME value` and the like: the space after the name assigns.
_SETS: Final = re.compile(
    r"(?:\bENV|\bsetx?(?: -\w+)?|\bSetEnv|\bsecrets? set|\bconfig set|\bputenv)\s+\Z"
)
# Words between the name of a secret and what says it, as in `pw for the nas is …`.
_PURPOSE: Final = re.compile(
    r"(?:,?[ \t]+[^\W_][\w'’/.-]{0,23}){0,8},?|(?:[\u4e00-\u9fff\uff0c]|, ?){1,12}"
)
# A word that begins a purpose. After another word the name is part of a longer one: `password manager`.
_FOR: Final = re.compile(
    r"(?i),?[ \t]+(?:for|4|of|to|on|at|in|from|that|which|i|we|u|you|they|he|she|it|used|was|is|est|ist|has|had|hasn['’]?t"
    r"|für|von|zum?r?|op|voor|till?|för|của|cho|để|wifi)\b|[\u4e00-\u9fff]"
)
_PURPOSE_TIE: Final = re.compile(
    r"(?i)(?:[ \t]*[:=\uff1a][ \t]*"
    r"|[ \t]+(?:là|la|bằng|thành|is|was|to(?: be)?|still|reads?|ist|lautet|est|es|é|è|adalah|это)[ \t]+"
    r"|[是为為成][ \t]*)(?:(?:now|still|also|actually)[ \t]+)?([\"'`“「])?"
)
# What follows a name that is not part of a longer one, as in `the password policy`.
_NO_MORE: Final = re.compile(
    r"\W{0,3}(?:\Z|\n|(?<=[.,:;!?)])\s|\s(?:and|when|till|until|pour|für)\b)"
)
_CHANGE: Final = re.compile(r"(?i)\b(?:change|set|reset|update|rotate|switche?)")
# What announces a value right behind the name of a password: a user name, or `with`.
_LOGIN: Final = re.compile(
    r"(?i)(?:\b(?:with|using|w/)\s(?:the\s|this\s)?|\b(?:user(?:name)?|login|log in|acc(?:ount)?|tk|tài khoản)\b[^\n]{1,32}"
    r"|(?:账[号户]|用户名?)[^\n]{1,32}|\s/\s?)\Z"
)
_VALUE: Final = r"[\"'`“]?([!#-&(-~]{5,64}?)[\"'`”]?[.,;]?"
_NEXT: Final = re.compile(rf"[ \t]{_VALUE}(?=\s|\Z)")
# `use … as the vpn password`, `dùng … làm mật khẩu`, `用…作为密码`
_AS: Final = re.compile(
    rf"(?i)(?<!\S){_VALUE}(?:\s(?:as|was|is|for|est|ist|als|comme|làm|là)\s(?:(?:my|the|our|your|ur|his|her|their|a|le|la|mon|das|mein)\s)?(?:[\w-]{{1,20}}\s){{0,3}}"
    r"|\s?(?:作为|当|做)[\u4e00-\u9fff]{0,6})\Z"
)
# `… was rotated. The new one is …`
_IT: Final = re.compile(
    rf"(?i)[^\n]{{0,80}}?\b(?:it|this|that|c(?=['’]est)|nó|(?:the|its|whose)\svalue|(?:new|current|temp(?:orary)?)\sone)(?:['’]s|['’]est|\s(?:is|was|là|reads|equals)|\s?[:=])\s(?:now\s)?{_VALUE}(?=\s|\Z)"
)
# Measures, numbered parts, header names, compound adjectives, and names of formats and products.
_ORDINARY: Final = re.compile(
    r"(?i)\d{1,4}-?(?:days?|weeks?|months?|years?|hours?|min(?:ute)?s?|char(?:acter)?s?|bits?|bytes?|times|digits?)"
    r"|(?:reset|policy|field|form|page|step|rule|test|version|phase|option|section|chapter|table|figure|input|user|host|port)"
    r"[-_]?\d{1,4}|x-[\w-]+|[\w-]+-(?:based|backed|only|style|like|compatible|ready|bound|specific)"
    r"|(?:oauth|web|auth|https?|tls|ssl|rfc)[-_/]?\d+\w{0,3}|\d?[a-z]*\d{0,2}password"
)
# The password in a URL is found by a rule for URLs, which keeps the host.
_USER_INFO: Final = re.compile(r"[^\s/@:]*:[^\s/@]+@")
_GLUED: Final = re.compile(r"(?:(?!%[0-9A-Fa-f]{2})[!#$%^*?@]+[A-Za-z0-9+/_.~=-]+)+")
_TOKEN: Final = re.compile(r"[A-Za-z0-9+/_.~=-]{10,}")
_TOKEN_CHARACTERS: Final = string.ascii_letters + string.digits + "+/_.~=-"
# A possible password of a person, up to its end in any script.
_SAID: Final = re.compile(
    r"(?<![^\s\"'`(\[{<|:\uff1a\uff0c,\u2010-\u2bff\u3000-\u9fff\uac00-\ud7af])[!-&*-;=?@A-Z^_a-z~\[\]{}]{8,64}"
)
# A cheap prefilter for both.
_PRINTED: Final = re.compile(r"[!-~]{8}")
# A cheap prefilter for ends of sentences.
_SENTENCE_MARK: Final = re.compile(r"[.!?;。\n]")
_SENTENCE_END: Final = re.compile(r"[.!?;](?=\s)|。|(?<!:)\n\s*\n")
_HARMLESS_LEAD: Final = re.compile(
    r"(?i)(?:sha-?\d*|md5|commit|hash|digest|checksum|fingerprint|etag|uuid|guid|integrity|crc32|revision|rev"
    r"|version|image|pod|container|file|path|url|branch|tag|blob|fixed in|merge|cherry-pick|reverts?|nonce|kid|arn"
    r"|[a-z]{2,12}[ _-]?id|编号|mã đơn|public key|certificate|ssh-(?:rsa|ed25519)|ecdsa-[\w-]+|base64,)[\"'`=:#\s(]{0,4}\Z"
)
_ARN: Final = re.compile(r"\barn:[\w-]{0,20}:[\w:/*-]{0,100}\Z")
_CALLED: Final = re.compile(r"[A-Za-z_$][\w$.:>?-]*[(\[]?")


def named_values(match: PatternMatch) -> Iterator[Span]:
    text = match.string
    start, end = match.span()
    is_inside = match.taken[0] <= start < match.taken[1]
    cue = None if is_inside else cue_at(text, start, end)
    if cue is None or (text.startswith("://", start - 3) and _USER_INFO.match(text, start)):
        return
    found = _assigned(text, start, end, cue)
    if not found:
        further = _assigned_further(text, start, end, cue) or _beside(text, start, end, cue)
        found = further or found
    if found:
        yield found
    elif found is None:
        yield from _near(text, start, end, cue)


def _assigned(text: str, start: int, end: int, cue: Cue) -> Span | tuple[()] | None:
    """The value assigned to the cue; empty if there is one that is no secret, None without any."""
    if text[max(0, start - 2) : start] in {"::", "</"}:
        return None
    if text[start - 1 : start] == ":" and _ARN.search(text, max(0, start - 120), start):
        # The value is the name of a secret that is stored elsewhere.
        return ()
    is_said = cue.is_password and not cue.name.isascii()
    tie = tie_behind(text, start, end) or (Tie(text="", at=end) if is_said else None)
    if tie is None:
        return None
    is_flag = text.startswith(" ", end) and (
        text.startswith("-", start) or _SETS.search(text, max(0, start - 12), start) is not None
    )
    firmly = is_flag or tie.is_firm
    # A variable, or a cue that needs no separator in its language, is tied to the next value
    # anyway.
    if not (firmly or is_said or cue.is_variable or tie.is_tie):
        return None
    span = read_value(text, start, tie, cue)
    if span is None:
        return None
    value = text[span[0] : span[1]]
    is_listed = "," in tie.text and not tie.is_direct
    if not firmly and is_listed and not (looks_random(value, least=6) or is_mixed(value)):
        return None
    called = not tie.closing and _is_called(text, *span)
    if is_assigned_secret(value, cue, firmly=firmly, quoted=bool(tie.closing), called=called):
        return to_end(text, *span, tie.closing)
    return None if is_listed or not firmly else ()


def _assigned_further(text: str, start: int, end: int, cue: Cue) -> Span | None:
    """The secret after its cue with a purpose in between, as in `mật khẩu wifi là …`."""
    is_head = cue.name.casefold() in WORDS.set("passwords_head_first")
    if not (cue.is_password or cue.grade == 2) or not (is_head or _FOR.match(text, end, end + 12)):
        return None
    for found in _PURPOSE_TIE.finditer(text, end, end + _REACH):
        if not _PURPOSE.fullmatch(text, end, found.start()):
            continue
        if found[0].strip() == "to" and not _CHANGE.search(text, max(0, start - _BEFORE), end):
            continue
        closing = CLOSING_QUOTES.get(found[1], found[1]) if found[1] else ""
        tie = Tie(text=found[0], at=found.end(), closing=closing)
        span = read_value(text, start, tie, cue)
        if (
            span
            and not _is_called(text, *span)
            and _is_said(text, *span, cue, quoted=bool(closing))
        ):
            return to_end(text, *span, closing)
    return None


def _beside(text: str, start: int, end: int, cue: Cue) -> Span | None:
    """The secret right behind its cue, before it, or in the next sentence about it."""
    if not (cue.is_password or cue.grade == 2):
        return None
    found = None
    low = max(0, start - _REACH)
    if cue.is_password and (cue.grade == 2 or _LOGIN.search(text, low, start)):
        found = _NEXT.match(text, end, end + _REACH)
    if found is None and (_FOR.match(text, end, end + 12) or _NO_MORE.match(text, end)):
        found = _AS.search(text, low, start) or _IT.match(text, end, end + 2 * _REACH)
    if found is None or _ORDINARY.fullmatch(found[1]) or _is_called(text, *found.span(1)):
        return None
    return found.span(1) if _is_said(text, *found.span(1), cue) else None


def _is_said(text: str, start: int, end: int, cue: Cue, *, quoted: bool = False) -> bool:
    """Whether a sentence says this value as the secret: every name of a password is as good."""
    sure = replace(cue, grade=2) if cue.is_password else cue
    return is_assigned_secret(text[start:end], sure, firmly=False, quoted=quoted, called=False)


def _is_called(text: str, start: int, end: int) -> bool:
    """Whether the value is the name of a function or container."""
    if text[end - 1] not in "([" and text[end : end + 1] not in {"(", "["}:
        return False
    is_name = _CALLED.fullmatch(text, start, end) is not None
    return is_name and not (looks_random(text[start:end], least=6) or is_jumble(text[start:end]))


def _near(text: str, start: int, end: int, cue: Cue) -> Iterator[Span]:
    """Random values nearby in the same sentence: after the cue, else before it."""
    if not _PRINTED.search(text, max(0, start - _BEFORE), end + _REACH):
        return
    stops = _sentence_ends(text, end, end + _REACH)
    after = list(_near_secrets(text, end, stops[0][0] if stops else end + _REACH, cue))
    if after:
        yield from after
        return
    low = max(0, start - _BEFORE)
    stops = _sentence_ends(text, low, start)
    yield from _near_secrets(text, stops[-1][1] if stops else low, start, cue)


def _sentence_ends(text: str, low: int, high: int) -> list[Span]:
    if _SENTENCE_MARK.search(text, low, high) is None:
        return []
    return [match.span() for match in _SENTENCE_END.finditer(text, low, high)]


def _near_secrets(text: str, low: int, high: int, cue: Cue) -> Iterator[Span]:
    reached = 0
    for token in _TOKEN.finditer(text, low, high):
        # A plain word, unless the edge of the window cuts it.
        if low < token.start() and token.end() < high and token[0].isalpha() and token[0].islower():
            continue
        span = _whole_token(text, *token.span())
        if text[span[0] - 1 : span[0]] == "%":
            # Encoded: the view that decodes it finds the whole secret.
            continue
        if _is_near_secret(text, *span, cue):
            yield to_end(text, *span)
            reached = span[1]
    if reached or not (cue.grade == 2 or cue.is_password):
        return
    for said in _SAID.finditer(text, low, min(high + FIRST_LOOK, len(text))):
        if said.start() >= high:
            return
        start, end = said.start(), said.start() + len(said[0].rstrip(".,;:!?*_-)]}"))
        if is_said_password(
            text[start:end],
            is_next=cue.name.lower() != "pass" and start - low <= 2,
            is_password=cue.is_password,
        ):
            yield start, end


def _whole_token(text: str, start: int, end: int) -> Span:
    """The whole token where the edge of the window cut it, without a trailing stop."""
    before = text[max(0, start - FIRST_LOOK) : start]
    first = start - len(before) + len(before.rstrip(_TOKEN_CHARACTERS))
    rest = _TOKEN.match(text, first, end + FIRST_LOOK)
    end = max(end, rest.end()) if rest else end
    glued = _GLUED.match(text, end, end + FIRST_LOOK)
    end = glued.end() if glued else end
    while end > first and text[end - 1] in ".-":
        end -= 1
    return first, end


def _is_near_secret(text: str, start: int, end: int, cue: Cue) -> bool:
    # An upper-case variable name is no word of a sentence.
    grade = 2 if "_" in cue.name and cue.name.isupper() else cue.grade
    if end - start < 12 or not is_opaque(text[start:end], grade):
        return False
    return _HARMLESS_LEAD.search(text, max(0, start - 24), start) is None


def glued_to_marker(match: PatternMatch) -> Iterator[Span]:
    """Text glued to a marker belonged to the redacted secret."""
    start, end = match.span()
    rest = match["rest"]
    if rest[0] == "%" and rest[1:3].isalnum():
        return
    is_named = match.string[start - 1 : start] in {"=", ":", '"', "'"} and not rest.isalpha()
    if is_named or looks_random(rest, least=5) or is_mixed(rest) or is_jumble(rest):
        yield start, end
