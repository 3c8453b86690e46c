"""One spelling for letters: width, case and accents."""

import re
import unicodedata
from typing import Final

# Accents of Latin, Greek and Cyrillic letters; the marks of Thai or Japanese tell words apart.
_ACCENTS: Final = re.compile("[\u0300-\u036f]+")
# Letters with a stroke do not come apart into a letter and a mark.
_STROKES: Final = str.maketrans("đłøħŧı", "dlohti")
_NOT_A_LETTER: Final = re.compile(r"[\W_]+")


def unify(text: str) -> str:
    """The text with one form for each character, its case kept."""
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def fold(text: str) -> str:
    """The lower-case text without accents."""
    if text.isascii():
        return text
    apart = unicodedata.normalize("NFD", text)
    return unicodedata.normalize("NFC", _ACCENTS.sub("", apart)).translate(_STROKES)


def flatten(text: str) -> str:
    """Letters and digits in lower case without accents, one blank for anything between them."""
    return _NOT_A_LETTER.sub(" ", fold(unify(text).casefold())).strip()
