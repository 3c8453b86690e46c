"""What a request for a skill is made of; the words of each language are data.

They are matched against the words of one sentence: in lower case, with one blank between them where
the script has blanks, and a comma where a clause ends.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Grammar:
    """The parts that a request is made of, in the order in which they may come."""

    # Between two words; empty for scripts that write none.
    blank: str
    # The sign without which a sentence is not about skills.
    about: tuple[str, ...]
    leads: tuple[str, ...]
    modals: tuple[str, ...]
    asks: tuple[str, ...]
    connectors: tuple[str, ...]
    polite: tuple[str, ...]
    # How a wish ends that is put as a question, and what only asks unless a modal verb came first.
    soft_questions: tuple[str, ...]
    particles: tuple[str, ...]
    # Anything at hand that a polite question is about.
    definite: re.Pattern[str]
    # Words with which it is no request, or not one for now.
    vetoes: re.Pattern[str]
    # How a later sentence begins that takes it back.
    cancels: re.Pattern[str]

    def names_it(self, text: str) -> bool:
        """Whether a plain text speaks of skills in this language at all."""
        return any(sign in text for sign in self.about)


def words(*choices: str) -> re.Pattern[str]:
    """One of these words."""
    return re.compile(rf"\b(?:{'|'.join(choices)})\b")


def signs(*choices: str) -> re.Pattern[str]:
    """One of these, in a script without blanks."""
    return re.compile("|".join(choices))
