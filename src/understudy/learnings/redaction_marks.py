"""Where something was taken out of a text, by us or by others: a statement around it says nothing."""

import re
from typing import Final

from understudy.learnings.secret_words import VENDOR_PREFIX
from understudy.redaction.words import CUES_ABROAD

# Alone, or with what was taken out, in any kind of brackets.
_OPENING: Final = r"[\[<({«\u2039【「『《〈⟨%|]"
_REMOVED: Final = (
    "redacted|hidden|masked|censored|filtered|scrubbed|saniti[sz]ed|removed|omitted|withheld|concealed|obfuscated"
    "|masqué|caviardé|supprimé|đã ẩn|đã che|đã xóa|ẩn|已隐藏|已隱藏|已脱敏|已屏蔽|已遮盖|已删除|隐藏|脱敏|打码"
)  # fmt: skip
_BY_TOOLS: Final = "HIDDEN|MASKED|CENSORED|FILTERED|SCRUBBED|REMOVED|SECRET|PASSWORD"
# Signs that stand for each character of a secret.
_BLOT: Final = r"[*•●∙·█▇▓■◼▪▮⬛]"
_ASSIGNED: Final = r"[\"'`]?\s{0,2}[:=]\s{0,2}[\"'`]?"
_LINE_END: Final = r"[\"'`]?\s{0,8}[.;,]?\s{0,8}(?:\n|\Z)"

# What tools and people leave in place of a secret.
MARKS: Final = (
    re.compile(rf"(?i){_OPENING}\s?(?:redacted|caviardé|已脱敏)"),
    # Tools leave capitals; people write such words in small letters.
    re.compile(rf"(?:\[|\*{{2}})(?:{_BY_TOOLS})(?:[\]: _-]|\*{{2}})"),
    re.compile(r"(?<![A-Za-z])REDACTED(?![A-Za-z])"),
    re.compile(rf"(?i)(?:\.\.|…|{_BLOT}{{2}})\s?redacted\b|[~_-]{{2}}\s?redacted\s?[~_-]{{2}}"),
    re.compile(rf"\b(?:{VENDOR_PREFIX}[-_]|AIza|AKIA|ASIA|eyJ)(?:[\w-]{{0,16}}(?:\.{{3}}|…|{_BLOT}{{3}})[A-Za-z0-9]|(?i:redacted|hidden|masked))"),
)  # fmt: skip
_CUE: Final = (
    r"(?:(?<![a-z])(?:(?:api|access|private|secret|signing|encryption|auth)?[ _-]?keys?|pass(?:word|phrase|code)s?"
    r"|passwd|pwd|(?:client|shared)?[ _-]?secrets?|[a-z0-9_]{0,24}tokens?|bearer|authori[sz]ation|auth|credentials?|creds?"
    rf"|cookies?|pin|otp|pat|login)(?![a-z])|{'|'.join(CUES_ABROAD)})"
)
_NEAR: Final = re.compile(rf"(?i){_CUE}")
_RIGHT_BEFORE: Final = re.compile(rf"(?i){_CUE}\Z")
# What is one only where a word before it says that a secret is meant.
MARKS_BESIDE_CUE: Final = (
    # Some of a secret may be left at either end. Markdown closes what it opens.
    (re.compile(rf"(?<![\w*]){_BLOT}{{3,64}}(?:\w{{1,8}}(?![\w*])|(?![\w*]))"), _NEAR),
    (re.compile(rf"(?<![\w*])\w{{1,12}}-?{_BLOT}{{3,64}}\w{{0,8}}(?![\w*])"), _NEAR),
    (re.compile(rf"{_OPENING}[\w ]{{0,24}}?(?i:{_REMOVED})\W?\s?[\]>)}}»\u203a】」』》〉⟩#%|]"), _NEAR),
    (re.compile(rf"{_ASSIGNED}(?i:redacted|hidden|masked|censored|x{{4,64}}|\.{{3,64}}){_LINE_END}"), _RIGHT_BEFORE),
)  # fmt: skip
_CUE_CHARS: Final = 56
_SENTENCE_END: Final = re.compile(r"[.!?](?=\s)|[。\n]")


def has_redaction_mark(text: str) -> bool:
    """Whether something in the text says that a secret stood there."""
    if any(mark.search(text) for mark in MARKS):
        return True
    return any(
        cue.search(_sentence_before(text, found.start()))
        for mark, cue in MARKS_BESIDE_CUE
        for found in mark.finditer(text)
    )


def _sentence_before(text: str, at: int) -> str:
    """What stands shortly before a place, in the same sentence."""
    near = text[max(0, at - _CUE_CHARS) : at]
    return _SENTENCE_END.split(near)[-1]
