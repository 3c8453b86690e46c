"""Grammars of requests: the parts that a request is made of, read from `grammars.toml`.

They are matched against the words of one sentence: in lower case, with one blank between them where
the script has blanks, and a comma where a clause ends.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, product
from typing import Any, Final

from understudy.patterns.rule_book import RuleBook
from understudy.patterns.word_lists import read_toml

# Joins the words of a name that is written as one, and is a letter: `after-call-notes`.
JOINT: Final = "\ua78f"
# Beside a wish these only smile; others may be in jest.
SMILES: Final = ("👍", "✅", "🙏", "🙂", "😀", "😄", "😊", "☺", "👌", "🎉")
# Describes nothing.
NOTHING: Final = re.compile(r"(?!)")
LANGUAGES: Final = ("english", "vietnamese", "chinese")


@dataclass(frozen=True, kw_only=True)
class Grammar:
    """The parts that a request is made of, in the order in which they may come.

    What may come again and again (leads, polite words) and what ends a question are plain words; the
    others are patterns, in which nothing but signs and words is repeated without end.
    """

    language: str
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


@cache
def grammar_of(language: str) -> Grammar:
    """The grammar of a language."""
    table, book = _table(language)

    def listed(field: str) -> tuple[str, ...]:
        return book.regexes(table[field])

    def phrases(field: str) -> tuple[str, ...]:
        return tuple(chain(*(_phrases(item, table["blank"]) for item in table[field])))

    # Words stand between blanks; a script without blanks has none to look for.
    one_of = words if table["blank"] else signs
    return Grammar(
        language=language,
        blank=table["blank"],
        about=signs(*listed("about")),
        leads=phrases("leads"),
        tasks=listed("tasks"),
        modals=listed("modals"),
        asks=listed("asks"),
        connectors=listed("connectors"),
        polite=(*phrases("polite"), *SMILES),
        soft_questions=phrases("soft_questions"),
        particles=phrases("particles"),
        definite=one_of(*listed("definite")),
        describes=re.compile(book.regex(table["describes"])),
        vetoes=one_of(*listed("vetoes")),
        cancels=re.compile(book.regex(table["cancels"])),
    )


@cache
def named_asks(language: str, request: str) -> tuple[str, ...]:
    """How a request about something with a name is put; `{name}` stands for the name."""
    table, book = _table(language)
    return book.regexes(table["named"].get(request, ()))


@cache
def _table(language: str) -> tuple[Mapping[str, Any], RuleBook]:
    table = read_toml("understudy.evolution.requests", "grammars.toml")[language]
    return table, RuleBook(table, joint=JOINT)


def _phrases(item: str | Sequence[str], blank: str) -> Iterator[str]:
    """A phrase, or all phrases that take one choice of each part; choices stand between bars."""
    parts = (item,) if isinstance(item, str) else item
    return (blank.join(choice) for choice in product(*(part.split("|") for part in parts)))


def words(*choices: str) -> re.Pattern[str]:
    """One of these words."""
    return re.compile(rf"\b(?:{'|'.join(choices)})\b")


def signs(*choices: str) -> re.Pattern[str]:
    """One of these, in a script without blanks."""
    return re.compile("|".join(choices))
