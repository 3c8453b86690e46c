"""Deobfuscation: undoes homoglyphs, invisible characters and HTML entities that hide a word."""

import html
import re
import unicodedata
from collections.abc import Mapping
from functools import cache
from typing import Final

from understudy.core.text import short_pieces
from understudy.patterns.word_lists import WordLists

# Zero-width characters and the soft hyphen between ASCII characters: a joiner in an emoji, in
# Persian or in Arabic is left as it is.
_INVISIBLE: Final = (
    "\u00ad\u034f\u180e\u200b-\u200f\u2060-\u2064\ufeff\ufe00-\ufe0f\u3164\u115f\u1160"
)
_HIDDEN: Final = re.compile(f"(?<=[!-~])[{_INVISIBLE}]+(?=[!-~])")
_EDGE: Final = re.compile(f"^[{_INVISIBLE}]+(?=[!-~])|(?<=[!-~])[{_INVISIBLE}]+$")
_ODD_BLANKS: Final = re.compile("[\x0b\x0c\x85\u2028\u2029]")
_ENTITY: Final = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z]{2,31});")
_WORD: Final = re.compile(r"[^\W\d_]+")


def folded(line: str) -> str:
    """A line with homoglyphs, invisible characters and HTML entities replaced by their meaning."""
    if not line.isascii():
        line = _composed(line)
        line = _EDGE.sub("", _HIDDEN.sub("", line))
        line = _WORD.sub(_of_one_script, line)
    if "&" in line:
        # Twice: an entity may decode to the `&` of another.
        line = _ENTITY.sub(_decoded, _ENTITY.sub(_decoded, line))
    return without_odd_blanks(line)


def in_latin(text: str) -> str:
    """A text with all Latin homoglyphs replaced, even in words of mixed scripts."""
    return text.translate(_to_latin())


def without_odd_blanks(text: str) -> str:
    """A text with blanks for characters that only some programs take for a line break."""
    return _ODD_BLANKS.sub(" ", text)


def _composed(line: str) -> str:
    pieces = short_pieces(line)
    return "".join(unicodedata.normalize("NFKC", piece) for piece in pieces).replace("\n", " ")


def _of_one_script(word: re.Match[str]) -> str:
    text = word[0]
    has_latin = any(sign.isascii() for sign in text)
    return in_latin(text) if has_latin and not text.isascii() else text


def _decoded(entity: re.Match[str]) -> str:
    return html.unescape(entity[0]).replace("\n", " ").replace("\r", " ")


@cache
def _to_latin() -> Mapping[int, str]:
    pairs = WordLists("understudy.guard").pairs("lookalikes")
    return {ord(sign): latin for latin, signs in pairs.items() for sign in signs}
