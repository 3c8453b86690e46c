"""The words without which no text names a secret, and where they stand."""

from collections.abc import Iterator
from typing import Final

from understudy.redaction import words

_SHORT: Final = (
    "pw",
    "psw",
    "mdp",
    "pass",
    "p4ss",
    "p@ss",
    "pa$$",
    "pa55",
    "p455",
)


def _fewest() -> Iterator[str]:
    """Each word that holds no other: where that is missing, so is it."""
    endings = {ending.split()[-1] for ending in words.SENSITIVE_ENDINGS}
    known = {it.lower() for it in (*endings, *words.CUES_ABROAD, *_SHORT)}
    return (it for it in sorted(known) if not any(o in it for o in known if o != it))


CUES: Final = tuple(_fewest())


def cue_places(text: str) -> list[int]:
    """Where such words begin, in order."""
    # The only letter that becomes two in lower case.
    plain = text.replace("İ", "i").lower()
    return sorted(at for cue in CUES if cue in plain for at in _places(plain, cue))


def _places(text: str, cue: str) -> Iterator[int]:
    at = text.find(cue)
    while at >= 0:
        yield at
        at = text.find(cue, at + 1)
