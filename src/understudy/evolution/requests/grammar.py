"""Grammars of requests, read from `grammars.toml`.

They are matched against the words of one sentence: in lower case, with one space between words
where the script has spaces, and a comma where a clause ends.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import chain, product
from typing import Any, Final

from understudy.core.dataclass import dataclass
from understudy.patterns.rule_book import RuleBook
from understudy.patterns.word_lists import read_toml

# Joins the words of a hyphenated name into one; counts as a letter: `after-call-notes`.
JOINT: Final = "\ua78f"
# Emoji that may accompany a request; others may mean a joke.
SMILES: Final = ("👍", "✅", "🙏", "🙂", "😀", "😄", "😊", "☺", "👌", "🎉")
# Matches nothing.
NOTHING: Final = re.compile(r"(?!)")
LANGUAGES: Final = ("english", "vietnamese", "chinese")


@dataclass(frozen=True, kw_only=True)
class Grammar:
    """The parts of a request, in their possible order.

    Repeatable parts (leads, polite words) and question endings are plain words; the others are
    patterns, in which only signs and words repeat without limit.
    """

    language: str
    # The separator between words; empty for scripts without spaces.
    blank: str
    # A sentence without a match is not about skills.
    about: re.Pattern[str]
    leads: tuple[str, ...]
    # Tasks that may be requested first in the same sentence, up to the connecting word.
    tasks: tuple[str, ...]
    modals: tuple[str, ...]
    asks: tuple[str, ...]
    connectors: tuple[str, ...]
    polite: tuple[str, ...]
    # Endings of a request in question form, and those that only ask unless a modal verb came first.
    soft_questions: tuple[str, ...]
    particles: tuple[str, ...]
    # The definite object of a polite question.
    definite: re.Pattern[str]
    # The description or name of the skill: words in it are not part of the request.
    describes: re.Pattern[str]
    # Words that make it no request, or none for now.
    vetoes: re.Pattern[str]
    # The beginning of a later sentence that cancels it.
    cancels: re.Pattern[str]

    def names_it(self, text: str) -> bool:
        """Whether a text mentions skills in this language at all."""
        return self.about.search(text) is not None


@cache
def grammar_of(language: str) -> Grammar:
    """The grammar of a language."""
    table, book = _table(language)

    def listed(field: str) -> tuple[str, ...]:
        return book.regexes(table[field])

    def phrases(field: str) -> tuple[str, ...]:
        return tuple(chain(*(_phrases(item, table["blank"]) for item in table[field])))

    # Words need boundaries; a script without spaces has none.
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
    """The phrasings of a request about a named object; `{name}` stands for the name."""
    table, book = _table(language)
    return book.regexes(table["named"].get(request, ()))


@cache
def _table(language: str) -> tuple[Mapping[str, Any], RuleBook]:
    table = read_toml("understudy.evolution.requests", "grammars.toml")[language]
    return table, RuleBook(table, joint=JOINT)


def _phrases(item: str | Sequence[str], blank: str) -> Iterator[str]:
    """A phrase, or all combinations of its parts; alternatives are separated by bars."""
    parts = (item,) if isinstance(item, str) else item
    return (blank.join(choice) for choice in product(*(part.split("|") for part in parts)))


def words(*choices: str) -> re.Pattern[str]:
    """A pattern for one of these words."""
    return re.compile(rf"\b(?:{'|'.join(choices)})\b")


def signs(*choices: str) -> re.Pattern[str]:
    """A pattern for one of these, in a script without spaces."""
    return re.compile("|".join(choices))
