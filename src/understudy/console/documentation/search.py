"""The search of the documentation: sections that hold every word of a query, the best first."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from understudy.console.documentation.content import DocsSection

MAX_QUERY_CHARS: Final = 200
MAX_WORDS: Final = 8
MAX_RESULTS: Final = 40
# Where a word is found counts: in the title of a page, in the heading of a section, in its text.
IN_TITLE: Final = 12
IN_HEADING: Final = 8
MOST_IN_TEXT: Final = 4
EXCERPT_CHARS: Final = 180


@dataclass(frozen=True, slots=True, kw_only=True)
class DocsResult:
    """A section that was found, with the text around the first word."""

    section: DocsSection
    excerpt: str


class DocsIndex:
    """The sections in a form that is quick to look through."""

    def __init__(self, sections: Iterable[DocsSection]) -> None:
        self._entries = [
            (each, each.title.casefold(), each.heading.casefold(), each.text.casefold())
            for each in sections
        ]

    def search(self, query: str) -> list[DocsResult]:
        """The sections with every word, by how prominent the words are."""
        words = words_of(query)
        if not words:
            return []
        found = [
            (score, -at, section, text)
            for at, (section, title, heading, text) in enumerate(self._entries)
            if (score := _score(words, title, heading, text))
        ]
        found.sort(reverse=True, key=lambda each: each[:2])
        return [
            DocsResult(section=section, excerpt=_excerpt(section.text, text, words))
            for _, _, section, text in found[:MAX_RESULTS]
        ]


def words_of(query: str) -> list[str]:
    """The words that are looked for."""
    return query[:MAX_QUERY_CHARS].casefold().split()[:MAX_WORDS]


def _score(words: Sequence[str], title: str, heading: str, text: str) -> int:
    """How prominent the words are; 0 when one of them is missing."""
    total = 0
    for word in words:
        points = (
            IN_TITLE * (word in title)
            + IN_HEADING * (word in heading)
            + min(text.count(word), MOST_IN_TEXT)
        )
        if not points:
            return 0
        total += points
    return total


def _excerpt(text: str, folded: str, words: Sequence[str]) -> str:
    at = min((place for word in words if (place := folded.find(word)) >= 0), default=0)
    start = max(0, at - EXCERPT_CHARS // 3)
    shown = text[start : start + EXCERPT_CHARS].strip()
    return ("… " if start else "") + shown + (" …" if start + EXCERPT_CHARS < len(text) else "")
