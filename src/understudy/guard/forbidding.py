"""Tells what prose names only to forbid it, as in "never run `x`": nobody is told to do that."""

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Final

from understudy.guard.regions import regions_of
from understudy.guard.rule import FileKind
from understudy.guard.view import View

_DOES: Final = (
    r"(?:run|use|execute|type|enter|print|copy|read|open|paste|write|call|start|show|send|share|suggest|propose|commit"
    r"|running|using|executing|运行|执行|使用|输入|打印|复制|读取"
    r"|chạy|dùng|sử\s+dụng|thực\s+thi|sao\s+chép|đọc)"
)
# The word that forbids, and right behind it what is forbidden.
_FORBIDS: Final = re.compile(
    r"(?i)(?:\b(?:never|do(?:es)?\s+not|don['’]t|must\s+(?:not|never)|should\s+(?:not|never)|may\s+not|avoid)"
    r"\s+(?:ever\s+)?|不要|切勿|禁止|请勿|不得|绝不要?|(?:không\s+bao\s+giờ|đừng|không\s+được)\s+)"
    + _DOES
    + r"(?:\s+(?:or|hoặc)\s+"
    + _DOES
    + r"\b)*"
)
_ORDERS: Final = re.compile("(?i)" + _DOES)
_BANNED: Final = re.compile(r"(?i)\b(?:forbidden|prohibited|banned)\s+(?:commands?|actions?)\b")
# What makes of a ban a condition, or of its end an order.
_TURNS: Final = re.compile(
    r"(?i)\b(?:but|unless|except|without|until|before|after|only|later|instead|rather|then|if|when|yet|first|always)\b"
    r"|除非|但|而是|之前|之后|以外|trừ\s+khi|nhưng|trước\s+khi|sau\s+khi"
)
_SENTENCE: Final = re.compile(r"[.;:!?](?=[\s*_\"”)]|$)|。")
_ASKS: Final = re.compile(r"(?i)\b(?:may|can|should|could|shall)\s+(?:I|we|you|one)\b[^.!?]*$")
_NO: Final = re.compile(r"(?i)^[^.!?`]*\?[\s*_\"”]*(?:$|no\b)")
_STARTS_NO: Final = re.compile(r"(?i)^[\s*_>\"“-]*no\b")
_ITEM: Final = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)])\s")
_CODE: Final = re.compile(r"`[^`]*`")
# Nobody forbids in longer lines, nor in longer lists.
_MAX_LINE: Final = 2_000
_MAX_ITEMS: Final = 30
# Words between the ban and what it is about.
_MAX_WORDS: Final = 10


class Forbidding:
    """One view of a text: which of the commands in it are named only to forbid them."""

    def __init__(self, view: View, kind: FileKind) -> None:
        self._view = view
        self._kind = kind

    @cached_property
    def _regions(self) -> Sequence[int]:
        return regions_of(self._view, self._kind)

    def covers(self, start: int, end: int) -> bool:
        """Whether these bytes of the text are code in a sentence or a list that forbids it."""
        if self._kind not in (FileKind.MANIFEST, FileKind.DOCUMENT):
            return False
        index = self._view.index_at(start)
        line = self._view.lines[index]
        if len(line) > _MAX_LINE or "``" in line or self._regions[index] >= 0:
            return False
        first, last = (self._view.column(index, offset) for offset in (start, end))
        code = next((one.span() for one in _CODE.finditer(line) if one.end() > first), None)
        if code is None or first < code[0] - 1 or last > code[1]:
            return False
        before, after = _CODE.sub("`", line[: code[0]]), line[code[1] :]
        return (
            _is_banned(before, after)
            or (bool(_ASKS.search(before)) and self._is_denied(index, after))
            or (self._is_in_banned_list(index) and not _TURNS.search(_CODE.sub("", line)))
        )

    def _is_denied(self, index: int, after: str) -> bool:
        """Whether the question is answered with a no, there or on the next line that says something."""
        answer = _NO.match(after)
        if not answer or not answer[0].rstrip(' *_"”').endswith("?"):
            return bool(answer)
        below = (line for line in self._view.lines[index + 1 : index + 4] if line.strip())
        return bool(_STARTS_NO.match(next(below, "")))

    def _is_in_banned_list(self, index: int) -> bool:
        lines = self._view.lines
        if not _ITEM.match(lines[index]):
            return False
        for above in range(index - 1, max(index - 1 - _MAX_ITEMS, -1), -1):
            line = lines[above].rstrip(" *_")
            if line and not _ITEM.match(line):
                return (
                    line.endswith(":")
                    and len(line) < _MAX_LINE
                    and (_is_banned(line[:-1], "") or bool(_BANNED.search(line)))
                    and not _TURNS.search(line)
                )
        return False


def _is_banned(before: str, after: str) -> bool:
    """Whether the sentence forbids what stands between these two parts of its line."""
    clause = _SENTENCE.split(before)[-1]
    bans = list(_FORBIDS.finditer(clause))
    if not bans:
        return False
    between = clause[bans[-1].end() :]
    rest = _SENTENCE.split(_CODE.sub("", after))[0]
    return (
        len(between.split()) <= _MAX_WORDS
        and not _ORDERS.search(between)
        and not _TURNS.search(f"{between} {rest}")
    )
