"""Whether a text says what a sentence says: carefully, so that a doubt counts as a no.

Either the sentence stands there word for word, or all of its telling words do, in their order and
next to each other in one sentence. A passage around it that denies, asks, supposes or reports says
nothing, and neither does one whose neighbour does so about it.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from understudy.learnings.labels import COLONS, LABELS, TURN_ORDERS
from understudy.learnings.sentences import sentences
from understudy.review.sentence_context import WORD, WORDS, Passages, doubts, words

MIN_TERMS: Final = 2
# Other words that may stand between telling words.
MAX_OTHERS: Final = 2
# A text that repeats itself is not looked through for ever.
MAX_OCCURRENCES: Final = 100

_LABELS: Final = "|".join(map(re.escape, LABELS))
_INNER: Final = ".,:/-@'’_"
# What a statement may be followed by: an end, the next label, an order, or what adds nothing to it.
_CLOSED: Final = re.compile(
    rf"\s*(?:$|\n|[.,;:!?)\]}}\"”»\u203a」』》\u2026|*`\u3002\uff01\uff1f\uff1b\uff0c\u3001\uff1a\uff09]|[-\u2013\u2014]+\s"
    rf"|\W?(?:{_LABELS})\s?[{COLONS}]|(?:{'|'.join(TURN_ORDERS)})\b"
    r"|(?:again|already|always|currently|indeed|now|nowadays|please|thanks|thank|today|too|merci|maintenant|nhé|ạ|了|哦|啊)(?!\w))"
)  # fmt: skip
# Scripts that are written without blanks, where a word ends nowhere in particular.
_ENDS_NOWHERE: Final = re.compile(r"[\u0e00-\u0eff\u2e80-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")


def is_said_exactly(sentence: str, text: str) -> bool:
    """Whether a text has the sentence word for word, and means it."""
    wanted, where = _normal(sentence).replace("\n", " "), _normal(text)
    return bool(wanted) and _has_exactly(wanted, where, Passages.of(where))


def is_said(sentence: str, text: str) -> bool:
    """The same, or whether one sentence of the text has its telling words in order."""
    wanted, where = _normal(sentence).replace("\n", " "), _normal(text)
    if not wanted:
        return False
    passages = Passages.of(where)
    return _has_exactly(wanted, where, passages) or _has_terms(wanted, where, passages)


def _has_exactly(wanted: str, where: str, passages: Passages) -> bool:
    own = doubts(wanted)
    return any(
        passages.doubts_around(start, start + len(wanted)) <= own
        for start in _occurrences(wanted, where)
    )


def _has_terms(wanted: str, where: str, passages: Passages) -> bool:
    asked = words(wanted)
    stops = WORDS.set("fillers.stop_words")
    terms = [word for word in asked if word not in stops]
    if len(set(terms)) < MIN_TERMS:
        return False
    own, between = doubts(wanted), WORDS.set("fillers.ties").union(stops.intersection(asked))
    return any(
        _in_order(terms, where[start:end], between) and passages.doubts_around(start, end) <= own
        for start, end in sentences(where)
    )


def _normal(text: str) -> str:
    """Case and blanks do not matter, line ends do, and neither does the end of a sentence."""
    lines = (" ".join(line.split()) for line in text.casefold().splitlines())
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip(" \n.;,")


def _occurrences(wanted: str, text: str) -> Iterator[int]:
    """Where something stands in a text as whole words, and nothing is added to it."""
    start, on_one_line = -1, text.replace("\n", " ")
    for _ in range(MAX_OCCURRENCES):
        start = on_one_line.find(wanted, start + 1)
        if start < 0:
            return
        end = start + len(wanted)
        before, after = text[max(0, start - 2) : start][::-1], text[end : end + 2]
        if _goes_on(before, wanted[0]) or _goes_on(after, wanted[-1]):
            continue
        if _CLOSED.match(text, end):
            yield start


def _goes_on(beyond: str, edge: str) -> bool:
    """Whether a word or a number goes on beyond its edge."""
    if not edge.isalnum() or _ENDS_NOWHERE.match(edge):
        return False
    nearest = beyond[:1]
    if nearest and nearest in _INNER:
        nearest = beyond[1:2]
    return nearest.isalnum() and not _ENDS_NOWHERE.match(nearest)


def _in_order(terms: Sequence[str], sentence: str, between: frozenset[str]) -> bool:
    """Whether all terms stand in a sentence, one after the other, with next to nothing between."""
    placed = list(WORD.finditer(sentence))
    said = [word[0] for word in placed]
    if not set(terms) <= set(said):
        return False
    starts = [at for at, word in enumerate(said) if word == terms[0]][:MAX_OCCURRENCES]
    lasts = (_reached(terms, said, start, between) for start in starts)
    return any(_CLOSED.match(sentence, placed[at].end()) for at in lasts if at is not None)


def _reached(
    terms: Sequence[str], said: Sequence[str], start: int, between: frozenset[str]
) -> int | None:
    """Where the last term stands if all follow each other from a place on."""
    at, others = start, 0
    for term in terms[1:]:
        at += 1
        while at < len(said) and said[at] != term:
            if said[at] not in between:
                others += 1
                if others > MAX_OTHERS or said[at] not in WORDS.set("fillers.adverbs"):
                    return None
            at += 1
        if at == len(said):
            return None
    return at
