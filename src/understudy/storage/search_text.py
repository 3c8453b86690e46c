"""Text in one case, so that a search finds it however it was written, on any database."""

import unicodedata
from typing import Final

# Between the parts of a record that is searched; in none of them, so nothing spans two.
SEPARATOR: Final = "\x1f"
# No database takes a NUL.
_ODD: Final = str.maketrans(dict.fromkeys(("\0", SEPARATOR), "\ufffd"))


def folded(text: str) -> str:
    """The text in one case and one form, without what a database cannot keep."""
    whole = text.encode(errors="replace").decode()
    return unicodedata.normalize("NFC", whole).casefold().translate(_ODD)


def search_text(*parts: str) -> str:
    """Everything that a record is to be found by."""
    return SEPARATOR.join(map(folded, parts))
