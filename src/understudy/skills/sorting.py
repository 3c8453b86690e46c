"""The order of lists of skills."""

import unicodedata
from functools import lru_cache
from typing import Final

from understudy.skills.model import Skill

SORTED_CHARS: Final = 200


@lru_cache(maxsize=8_192)
def sort_name(name: str) -> str:
    """A name as lists are sorted by it: in one case, short enough, and fit for a cursor."""
    whole = name.encode(errors="replace").decode()
    folded = unicodedata.normalize("NFC", whole).casefold()
    return "".join(filter(str.isprintable, folded))[:SORTED_CHARS]


def list_key(skill: Skill) -> tuple[str, str]:
    """By what lists are sorted, and where their pages begin; the store sorts by the same."""
    return (sort_name(skill.name), skill.slug)
