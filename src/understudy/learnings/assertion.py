"""Assertions: whether a text plainly says a statement, and whether it does so in its writer's words."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, islice, pairwise
from typing import Final

from understudy.learnings.labels import handed_over_texts, records
from understudy.learnings.pastes import hands_over_paste
from understudy.learnings.quotations import own_words, pasted, sentences
from understudy.learnings.sentence_context import Passages, asks, is_in_doubt
from understudy.learnings.statement_match import Span, exact_places, places, plain

_MARKS: Final = re.compile('["`“”„«»\u2039\u203a「」『』《》]')
# The most occurrences that are checked in a repetitive text.
MAX_OCCURRENCES: Final = 100
# A list of `key: value` lines with so many keys that are no labels is data.
LEAST_DATA: Final = 2
# A longer statement is a text, which nobody says in passing.
MAX_SENTENCES: Final = 8
_ENDS: Final = " \n.;,!\u3002\uff01"
# A line that stands like code.
_INDENTED: Final = re.compile(r"^(?: {4}|\t)[^\n]*", re.MULTILINE)
# A line of code, a comment of a program, a row of a table, a command; no item of a list.
_OF_MACHINES: Final = re.compile(
    r"^(?:(?: {4}|\t)(?![ \t]*(?:[-+*•]|\d{1,3}[.)])[ \t])|[ \t]*(?://|/\*|\||\$ [a-z]|>>> ))[^\n]*",
    re.MULTILINE,
)
_ENDED: Final = re.compile(r"[.!?;:\u3002\uff01\uff1f]$")


def is_said_by_user(statement: str, request: str) -> bool:
    """Whether a request plainly says a statement, in its words or a light paraphrase.

    A question states nothing, and neither does an order with the text that it is about.
    """
    if asks(statement) or hands_over(statement):
        return False
    return asserts(statement, vouched_for(statement, request))


def hands_over(said: str) -> bool:
    """Whether a part of a text is handed over in it: `write a haiku from this abstract: …`."""
    return hands_over_paste(said) or any(handed_over_texts(said))


def is_typed_by_user(statement: str, request: str) -> bool:
    """Whether a request plainly says a statement, and nothing in it speaks of another's text.

    Stricter than `is_said_by_user`, because texts are pasted without quotation marks, too.
    """
    # Behind a pasted block, the writer's own words cannot be told from the rest of it.
    first_block = min((start for start, _ in pasted(request)), default=len(request))
    own = _INDENTED.sub("\n", request[:first_block])
    return not hands_over_paste(own) and asserts(statement, own_words(own), is_own=True)


def vouched_for(content: str, text: str) -> str:
    """A text without its quotations and lines of code; with the quotations where the statement has
    quotation marks."""
    own = own_words(text, with_marked=bool(_MARKS.search(content)))
    for start, end in reversed([*records(own, least=LEAST_DATA)]):
        own = own[:start] + own[end:]
    return _OF_MACHINES.sub("\n", own)


def asserts_exactly(statement: str, text: str) -> bool:
    """Whether a text asserts the statement word for word."""
    return _is_asserted(
        plain(statement).strip(_ENDS).replace("\n", " "), _Text.of(text), exact_places
    )


def stands_undoubted(part: str, text: str) -> bool:
    """Whether a part of a text is neither asked, denied, supposed, reported nor taken back there."""
    said = plain(part).strip(_ENDS).replace("\n", " ")
    return _is_asserted(said, _Text.of(text), _literal_places)


def _literal_places(part: str, sentence: str) -> Iterator[Span]:
    start = sentence.find(part)
    if start >= 0:
        yield Span(start, start + len(part))


def asserts(statement: str, text: str, *, is_own: bool = False) -> bool:
    """Whether a text asserts each sentence of the statement, word for word or nearly so.

    With `is_own`, only where the text does not pass the statement on from somebody else.
    """
    wanted = plain(statement).strip(_ENDS)
    parts = {wanted[start:end].strip(_ENDS) for start, end in sentences(wanted)}
    if not 0 < len(parts) <= MAX_SENTENCES:
        return False
    read = _Text.of(text)
    return all(_is_asserted(part, read, _all_places, is_own=is_own) for part in parts)


@dataclass(frozen=True, slots=True)
class _Text:
    """A plain text, its passages, and the spans of its sentences with their indexes."""

    passages: Passages
    parts: tuple[tuple[str, int, int], ...]

    @classmethod
    def of(cls, text: str) -> "_Text":
        passages = Passages.of(plain(text))
        spans, where = passages.spans, passages.text
        alone = [(where[start:end].strip(), at, at) for at, (start, end) in enumerate(spans)]
        # A sentence may be wrapped onto the next line.
        wrapped = [
            (f"{first} {second}", at, at + 1)
            for at, ((first, _, _), (second, _, _)) in enumerate(pairwise(alone))
            if not _ENDED.search(first) and second[:1].islower()
        ]
        return cls(passages, (*alone, *wrapped))


def _is_asserted(
    statement: str,
    read: _Text,
    places: Callable[[str, str], Iterator[Span]],
    *,
    is_own: bool = False,
) -> bool:
    found = (
        (sentence, span, first, last)
        for sentence, first, last in read.parts
        for span in places(statement, sentence)
    )
    return bool(statement) and any(
        not is_in_doubt(sentence, *span)
        and not read.passages.are_in_doubt(first, last)
        and not (is_own and read.passages.may_be_anothers(first, last, sentence[: span.start]))
        for sentence, span, first, last in islice(found, MAX_OCCURRENCES)
    )


def _all_places(statement: str, sentence: str) -> Iterator[Span]:
    return chain(exact_places(statement, sentence), places(statement, sentence))
