"""The search of the documentation: sections that contain every word of a query, by score."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from understudy.console.documentation.content import DocsSection

MAX_QUERY_CHARS: Final = 200
MAX_WORDS: Final = 8
MAX_RESULTS: Final = 40
# The score of a word by where it occurs: page title, section heading, text.
IN_TITLE: Final = 12
IN_HEADING: Final = 8
MOST_IN_TEXT: Final = 4
EXCERPT_CHARS: Final = 180


@dataclass(frozen=True, slots=True, kw_only=True)
class DocsResult:
    """A section that matches, with an excerpt around the first word."""

    section: DocsSection
    excerpt: str


class DocsIndex:
    """The sections with their text case-folded for searching."""

    def __init__(self, sections: Iterable[DocsSection]) -> None:
        self._entries = [
            (each, each.title.casefold(), each.heading.casefold(), each.text.casefold())
            for each in sections
        ]

    def search(self, query: str) -> list[DocsResult]:
        """The sections that contain every word, by score."""
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
    """With `no-referrer`, a form has `Origin: null`, and the same-site check needs the origin."""
    return query[:MAX_QUERY_CHARS].casefold().split()[:MAX_WORDS]


def _score(words: Sequence[str], title: str, heading: str, text: str) -> int:
    """The score of a section; 0 when one of the words is missing."""
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
