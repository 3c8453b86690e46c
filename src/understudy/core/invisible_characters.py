"""Characters that nobody sees: they can hide words from whoever reads a text."""

import re
import unicodedata
from functools import lru_cache
from typing import Final

# Controls, format and bidi characters, halves of pairs, characters that only some fonts know.
_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
# Letters and marks that show nothing though their category says otherwise, as ranges.
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

# Joiners and selectors of a form, each behind something that it can join or form.
_SEEN: Final = r"[^\x00-\x7f\u200b-\u200f\ufe00-\ufe0f]"
_JOINING: Final = re.compile(
    rf"(?<={_SEEN})(?:[\ufe0e\ufe0f]?\u200d(?={_SEEN})|\u200c(?={_SEEN})|[\ufe0e\ufe0f])"
    r"|(?<=[0-9#*])\ufe0f(?=\u20e3)"
)


@lru_cache(maxsize=4096)
def is_unseen(character: str) -> bool:
    """Whether a character shows nothing; line breaks and tabs among them."""
    code = ord(character)
    return unicodedata.category(character) in _CATEGORIES or any(
        first <= code <= last for first, last in _RANGES
    )


def hidden_in(text: str, *, besides: str = "\n\t") -> str | None:
    """The first character of a text that hides something; None without any.

    Emoji and the scripts of Persia and India join what is seen with some of these: that is fine.
    """
    if text.isascii() and text.isprintable():
        return None
    hidden = (
        character
        for character in _JOINING.sub("", text)
        if is_unseen(character) and character not in besides
    )
    return next(hidden, None)
