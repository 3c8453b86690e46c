"""Inputs that ask for what is remembered, by the grammars in `memory_requests.toml`."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from understudy.core.dataclass import dataclass
from understudy.patterns.rule_book import RuleBook
from understudy.patterns.word_lists import WordLists, read_toml
from understudy.retrieval.terms import flatten, unify

_PACKAGE: Final = "understudy.retrieval"
_FILE: Final = "memory_requests.toml"
_WORDS: Final = WordLists(_PACKAGE, _FILE)
_LANGUAGES: Final = ("english", "vietnamese", "chinese")
# A long input asks in its beginning or at its end; between them is what it is about.
_END_CHARS: Final = 2_000
# A longer sentence is data.
_MOST_WORDS: Final = 60
# What may stand before a question that is the whole input.
_GREETING_CHARS: Final = 20
_QUOTED: Final = re.compile(r"`[^`\n]{1,500}`|\"[^\"\n]{1,500}\"|“[^”\n]{1,500}”|«[^»\n]{1,500}»")
_SENTENCE: Final = re.compile(r"[^.!?;。\n]*(?:\.(?=\S)[^.!?;。\n]*)*[.!?;。\n]?")
_TOKEN: Final = re.compile(r"[^\W_]+(?:[-_./@:\\#+][^\W_]+|_+|\(\))*|[,:、—–]|\?|§")
_IDENTIFIER: Final = re.compile(r"[_./@:\\#+(]|\d[^\W\d_]|[^\W\d_]\d")
_PLACEHOLDER: Final = "§"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryGrammar:
    """How one language asks for memories, and which sentences do not."""

    asks: re.Pattern[str]
    asks_alone: re.Pattern[str]
    vetoes: re.Pattern[str]

    def matches(self, sentence: str, *, is_first: bool) -> bool:
        """Whether the sentence asks for memories in this language."""
        asks = self.asks.search(sentence) or (is_first and self.asks_alone.search(sentence))
        return bool(asks) and not self.vetoes.search(sentence)


def asks_for_memory(query: str) -> bool:
    """Whether a query asks for memories, in English, French, Vietnamese or Chinese."""
    if len(query) > 2 * _END_CHARS:
        query = f"{query[:_END_CHARS]}\n{query[-_END_CHARS:]}"
    if not _WORDS.set("french.words").isdisjoint(flatten(query).split()):
        return True
    grammars = [_grammar(language) for language in _LANGUAGES]
    is_first = True
    for sentence in _sentences(query):
        if any(it.matches(sentence, is_first=is_first) for it in grammars):
            return True
        is_first = is_first and len(sentence) <= _GREETING_CHARS
    return False


def _sentences(text: str) -> Iterator[str]:
    """The sentences as grammars read them: words in lower case between single blanks."""
    unified = _QUOTED.sub(_PLACEHOLDER, unify(text).replace("’", "'")).casefold()
    unified = unified.translate(_simplified())
    for short, whole in _WORDS.pairs("contractions.pairs").items():
        unified = unified.replace(short, whole.replace("_", " "))
    for sentence in _SENTENCE.findall(unified):
        words = [_word(token) for token in _TOKEN.findall(sentence)]
        if words:
            yield " ".join(words[:_MOST_WORDS])


def _word(token: str) -> str:
    if not token[0].isalnum():
        return token if token in {"?", _PLACEHOLDER} else ","
    return _PLACEHOLDER if token.isascii() and _IDENTIFIER.search(token) else token


@cache
def _simplified() -> dict[int, str]:
    return {ord(old): new for old, new in _WORDS.pairs("traditional.pairs").items()}


@cache
def _grammar(language: str) -> MemoryGrammar:
    table = read_toml(_PACKAGE, _FILE)[language]
    book = RuleBook(table)
    ends = (r"(?<!\S)(?:", r")(?!\S)") if table["is_spaced"] else ("(?:", ")")

    def one_of(field: str) -> re.Pattern[str]:
        return re.compile("|".join(book.regexes(table[field])).join(ends))

    return MemoryGrammar(
        asks=one_of("asks"), asks_alone=one_of("asks_alone"), vetoes=one_of("vetoes")
    )
