"""Normalises text as a reader sees it: width, case, look-alikes and invisible characters."""

import re
import unicodedata
from functools import lru_cache
from typing import Final

from understudy.core.invisible_characters import is_unseen
from understudy.core.text import short_pieces
from understudy.guard.deobfuscation import folded, in_latin
from understudy.learnings.normal_form import HAN_AND_KANA

_WORD: Final = re.compile(r"\S+")
# Characters that end a clause; a run of them counts once.
_ENDS: Final = frozenset(",.;:!\n\u2026\u3002\u3001")
_APOSTROPHES: Final = frozenset("'\u2019\u02bc")
_CLAUSES: Final = re.compile(r" ?,[ ,]*")
_APART: Final = re.compile(f"[{HAN_AND_KANA}]")


def plain(text: str) -> str:
    """The text in NFKC and lower case without invisible characters; whitespace stays."""
    if text.isascii() and text.isprintable():
        return text.casefold()
    return _WORD.sub(_one_form, _seen(text))


def as_seen(line: str) -> str:
    """A line as a reader sees it: HTML entities decoded, look-alikes as Latin letters. Case stays.

    Invisible characters are removed before and after, as an entity may decode to one.
    """
    if line.isascii() and line.isprintable() and "&" not in line:
        return line
    return _seen(in_latin(folded(_seen(line))))


def word_line(text: str) -> str:
    """The words of a plain text with one blank between them, and a comma where a clause ends.

    Characters of scripts without blanks are words of their own; `don't` is the word `dont`.
    """
    # Blanks are collapsed first: the comma pattern is quadratic in a run of blanks.
    apart = " ".join("".join(map(_spaced, text)).split())
    return " ".join(_CLAUSES.sub(" , ", apart).split()).strip(" ,")


def _seen(text: str) -> str:
    return "".join(each for each in text if each.isspace() or not is_unseen(each))


def _one_form(word: re.Match[str]) -> str:
    # Normalised again after case folding, which can separate marks from letters.
    return "".join(_nfkc(_nfkc(piece).casefold()) for piece in short_pieces(word[0]))


def _nfkc(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


@lru_cache(maxsize=4096)
def _spaced(sign: str) -> str:
    if sign in _ENDS:
        return ","
    if sign in _APOSTROPHES:
        return ""
    category = unicodedata.category(sign)
    if category.startswith("P") or sign == "`":
        return " "
    return f" {sign} " if category == "So" or _APART.match(sign) else sign
