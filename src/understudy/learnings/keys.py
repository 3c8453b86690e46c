"""Semantic keys: when two statements are the same, and what a statement is about.

`The project codename is Atlas.` and `project codename: atlas` are one statement; with another
name in place of Atlas it is a contradiction.
"""

from typing import Final

from understudy.core.dataclass import dataclass
from understudy.learnings.statements import frame_of, plain_key

# Raised with each change of the rules, so that stored keys are made anew: the duplicates and
# contradictions of a statement are found by its key.
KEY_RULES: Final = 4


@dataclass(frozen=True, slots=True)
class Key:
    """The normalised statement, and its subject where one is recognised."""

    semantic: str
    subject: str | None


def key_of(content: str) -> Key:
    """The key of a statement; ignores blanks, case, punctuation, tense, articles and possessives."""
    frame = frame_of(content)
    if frame is not None:
        return Key(semantic=frame.semantic, subject=frame.about)
    return Key(semantic=plain_key(content), subject=None)
