"""Finds the addressees of a person's message by the names in its text."""

from collections.abc import Iterator, Sequence
from typing import Final

# A text with more of them is no conversation.
MAX_MENTIONS: Final = 100
MENTION: Final = "@"


def addressed_in(text: str, names: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """The members that a text begins with or mentions as `@name`, in order, without duplicates.

    `names` holds the id and the display name of each member. Case is ignored, the longest name
    counts, and a name that two members share matches nobody.
    """
    known = _Names(names)
    folded = text.casefold().lstrip()
    starts = (0, *_mentions(folded))
    found = (known.at(folded, start) for start in starts)
    return tuple(dict.fromkeys(member_id for member_id in found if member_id is not None))


def _mentions(folded: str) -> Iterator[int]:
    """The positions after an at sign that is no part of a word, as in an e-mail address."""
    at = folded.find(MENTION)
    for _ in range(MAX_MENTIONS):
        if at < 0:
            return
        if at == 0 or not folded[at - 1].isalnum():
            yield at + 1
        at = folded.find(MENTION, at + 1)


class _Names:
    """Members by their ids and names, longest first."""

    def __init__(self, names: Sequence[tuple[str, str]]) -> None:
        self._owners: dict[str, set[str]] = {}
        for member_id, display_name in names:
            for name in (member_id, display_name):
                if folded := name.strip().casefold():
                    self._owners.setdefault(folded, set()).add(member_id)
        self._lengths = sorted({len(name) for name in self._owners}, reverse=True)

    def at(self, folded: str, start: int) -> str | None:
        """The one member whose name is at a position as whole words."""
        for length in self._lengths:
            end = start + length
            owners = self._owners.get(folded[start:end])
            if owners is None or (end < len(folded) and folded[end].isalnum()):
                continue
            return next(iter(owners)) if len(owners) == 1 else None
        return None
