"""Invisible characters: they can hide words from people who read a text."""

import re
import unicodedata
from functools import lru_cache
from typing import Final

# Control, format and bidi characters, surrogates, private-use characters.
_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
# Letters and marks that render as nothing despite their category, as ranges.
_RANGES: Final = (
    (0x034F, 0x034F),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x2060, 0x206F),
    (0x2800, 0x2800),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFFC),
    (0xE0000, 0xE0FFF),
)

# Joiners and variation selectors, each after a character that it can join or vary.
_SEEN: Final = r"[^\x00-\x7f\u200b-\u200f\ufe00-\ufe0f]"
_JOINING: Final = re.compile(
    rf"(?<={_SEEN})(?:[\ufe0e\ufe0f]?\u200d(?={_SEEN})|\u200c(?={_SEEN})|[\ufe0e\ufe0f])"
    r"|(?<=[0-9#*])\ufe0f(?=\u20e3)"
)


@lru_cache(maxsize=4096)
def is_unseen(character: str) -> bool:
    """Whether a character is invisible; line breaks and tabs are, too."""
    code = ord(character)
    return unicodedata.category(character) in _CATEGORIES or any(
        first <= code <= last for first, last in _RANGES
    )


def hidden_in(text: str, *, besides: str = "\n\t") -> str | None:
    """The first invisible character that hides something; None without any.

    Emoji and scripts of Persia and India use joiners and selectors to render: those are fine.
    """
    if text.isascii() and text.isprintable():
        return None
    hidden = (
        character
        for character in _JOINING.sub("", text)
        if is_unseen(character) and character not in besides
    )
    return next(hidden, None)
