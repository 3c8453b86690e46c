"""Words of Vietnamese, which is written in syllables: one in common is seldom a word in common."""

import re
import unicodedata
from functools import lru_cache
from itertools import pairwise
from typing import Final

# Letters that no other language of ours has.
_OURS: Final = re.compile("[ăâđêôơưạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹ]")
_SYLLABLE: Final = re.compile(r"[^\W\d_]+")
# A Vietnamese syllable without accents: few consonants, vowels, few consonants.
_PLAIN: Final = re.compile(
    r"(?:ngh?|[cgkpt]h|gi|qu|tr|[bcdghklmnpqrstvx])?[aeiouy]{1,3}(?:ng|nh|ch|[cmnpt])?"
)
_ACCENTS: Final = re.compile("[\u0300-\u036f]+")


def shares_word(query: str, content: str, alone: str = "") -> bool:
    """Whether two texts have a word in common; always, unless both are Vietnamese.

    A word is two neighbouring syllables, a name, a foreign word, or the one syllable `alone`.
    """
    asked, said = _syllables(query), _syllables(content)
    if not asked or not said:
        return True
    common = set(asked) & set(said)
    if any(_is_foreign(each) for each in common):
        return True
    if not _pairs(asked).isdisjoint(_pairs(said)):
        return True
    return alone in common


def _pairs(syllables: tuple[str, ...]) -> set[tuple[str, str]]:
    return set(pairwise(syllables))


def _is_foreign(syllable: str) -> bool:
    decomposed = unicodedata.normalize("NFD", syllable.replace("đ", "d"))
    return _PLAIN.fullmatch(_ACCENTS.sub("", decomposed)) is None


@lru_cache(maxsize=4_096)
def _syllables(text: str) -> tuple[str, ...]:
    """The syllables of a Vietnamese text; none of one in another language or without accents."""
    folded = unicodedata.normalize("NFC", text).lower()
    return tuple(_SYLLABLE.findall(folded)) if _OURS.search(folded) else ()
