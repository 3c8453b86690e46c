"""What a request for a skill is made of; the words of each language are data.

They are matched against the words of one sentence: in lower case, with one blank between them where
the script has blanks, and a comma where a clause ends.
"""

import re
from dataclasses import dataclass
from itertools import product
from typing import Final

# Joins the words of a name that is written as one, and is a letter: `after-call-notes`.
JOINT: Final = "\ua78f"
# Beside a wish these only smile; others may be in jest.
SMILES: Final = ("👍", "✅", "🙏", "🙂", "😀", "😄", "😊", "☺", "👌", "🎉")
# Describes nothing.
NOTHING: Final = re.compile(r"(?!)")


@dataclass(frozen=True, kw_only=True)
class Grammar:
    """The parts that a request is made of, in the order in which they may come.

    What may come again and again (leads, polite words) and what ends a question are plain words; the
    others are patterns, in which nothing but signs and words is repeated without end.
    """

    # Between two words; empty for scripts that write none.
    blank: str
    # Without it a sentence is not about skills.
    about: re.Pattern[str]
    leads: tuple[str, ...]
    # What may be asked first in the same sentence, up to the word that ties both.
    tasks: tuple[str, ...]
    modals: tuple[str, ...]
    asks: tuple[str, ...]
    connectors: tuple[str, ...]
    polite: tuple[str, ...]
    # How a wish ends that is put as a question, and what only asks unless a modal verb came first.
    soft_questions: tuple[str, ...]
    particles: tuple[str, ...]
    # Anything at hand that a polite question is about.
    definite: re.Pattern[str]
    # What the skill will do or be called: no word in there is about the wish.
    describes: re.Pattern[str]
    # Words with which it is no request, or not one for now.
    vetoes: re.Pattern[str]
    # How a later sentence begins that takes it back.
    cancels: re.Pattern[str]

    def names_it(self, text: str) -> bool:
        """Whether a plain text speaks of skills in this language at all."""
        return self.about.search(text) is not None


def joined(*parts: str) -> tuple[str, ...]:
    """All phrases that take one choice of each part; a part has its choices between bars."""
    return tuple(" ".join(choice) for choice in product(*(part.split("|") for part in parts)))


def words(*choices: str) -> re.Pattern[str]:
    """One of these words."""
    return re.compile(rf"\b(?:{'|'.join(choices)})\b")


def signs(*choices: str) -> re.Pattern[str]:
    """One of these, in a script without blanks."""
    return re.compile("|".join(choices))
