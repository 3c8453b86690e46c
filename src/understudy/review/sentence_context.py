"""Sentences of a text with the doubts about them: within, before and after."""

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cache
from typing import Final

from understudy.learnings.quotations import sentences
from understudy.patterns.word_lists import WordLists

WORDS: Final = WordLists("understudy.review")
# The most characters of a sentence without an end that are searched to either side.
SENTENCE_CHARS: Final = 400
# A line of this length without an end continues on the next.
WRAPPED_CHARS: Final = 60
MAX_LINES_BACK: Final = 3
# A sentence of so few words is about its neighbour.
FEW_BEFORE: Final = 2
FEW_AFTER: Final = 3

# A number with a point or a colon in it is one word; so is a word with an apostrophe.
WORD: Final = re.compile(r"\d+(?:[.,:/]\d+)+|\w+(?:['’]\w+)*")
_ENDED: Final = re.compile(r"[.!?;\u3002\uff01\uff1f\uff1b]\s*$")
# Doubts of several words, or joined by a hyphen.
_DOUBT_PHRASES: Final = (
    r"\bused to\b|\bno-one\b|\bpeut-être\b|\bsoi-disant\b|\bcho rằng\b|\bnói rằng\b|\bphủ nhận\b|\bnghe nói\b"
    r"|\bcó lẽ\b|\bhình như\b|\btrước đây\b|\bcó thể\b|\btheo lời\b"
)  # fmt: skip
# ASCII and full width.
_QUESTION_MARKS: Final = ("\\?", "\uff1f")
# Reminders and repetitions, which are no doubts.
_REMINDERS: Final = re.compile(
    r"\bi(?:['’]ve| have)? (?:just )?(?:said|mentioned|told you|wrote)\b|\bje (?:l['’]ai )?dit\b|\btôi (?:đã )?nói\b|我[刚剛]?[说說]|"
    r"\b(?:do not|don['’]t|never) forget\b|\bn['’]oublie[rz]? pas\b|\bđừng quên\b|别忘了?|別忘了?|不要忘记?"
)

# A sentence with one of these is about the next sentence ...
_POINTS_ON: Final = re.compile(
    r"\b(?:following|follows?|below|next|this|these|here|suivante?s?|ci-dessous|ceci|voici|sau đây|dưới đây|điều này)\b"
    r"|以下|下面|如下|下列|[:\uff1a,\uff0c]\W*$|\b(?:that|que|rằng|dass)\W*$"
)  # fmt: skip
# ... and with one of these, about all sentences after it.
_POINTS_FAR_ON: Final = re.compile(
    r"\b(?:following|follows|below|suivante?s?|ci-dessous|sau đây|dưới đây)\b|以下|下面|如下|下列"
)
# A sentence that begins so is about the sentence before it.
_POINTS_BACK: Final = re.compile(
    r"\W*(?:(?:but|and|no|well|actually|sorry|mais|nhưng)\W+)*"
    r"(?:(?:all of )?(?:that|this|it|these|those|everything|none)\b|which\b|c['’]est\b|ce\b|cela\b|ça\b"
    r"|đó\b|điều (?:đó|này)\b|但?[这那這此以上])"
)
# A line that ends so continues on the next.
_RUNS_ON: Final = re.compile(
    r"\b(?:a|an|the|that|of|to|and|or|is|are|if|when|while|because|le|la|les|de|que|et|là|rằng|của|và)\s*$"
)


def words(text: str) -> list[str]:
    """The words of a text in order."""
    return WORD.findall(text)


def doubts(text: str) -> int:
    """The number of negations, questions, suppositions and reports in a text."""
    plain = _REMINDERS.sub(" ", text)
    return sum(map(_is_doubt, words(plain))) + len(_doubt_signs().findall(plain))


@dataclass(frozen=True, slots=True)
class Passages:
    """The sentences of a normalised text, and their doubts."""

    text: str
    spans: tuple[tuple[int, int], ...]
    # The offset after which everything is in doubt.
    doubted_from: int

    @classmethod
    def of(cls, text: str) -> "Passages":
        """The passages of a text."""
        spans = tuple(sentences(text))
        far = (end for start, end in spans if _doubts_what_follows(text[start:end]))
        return cls(text, spans, next(far, len(text) + 1))

    def doubts_around(self, start: int, end: int) -> int:
        """The number of doubts about a span of the text."""
        first, last = self._at(start), self._at(end - 1)
        left = max(self.spans[first][0], start - SENTENCE_CHARS)
        right = min(self.spans[last][1], end + SENTENCE_CHARS)
        own = doubts(self.text[left:right])
        return own + self._before(first) + self._after(last) + (start >= self.doubted_from)

    def _at(self, place: int) -> int:
        """The index of the sentence at an offset."""
        return max(0, bisect_right(self.spans, place, key=lambda span: span[0]) - 1)

    def _before(self, index: int) -> int:
        """The doubts of earlier sentences about this one."""
        found = 0
        for back in range(index - 1, max(-1, index - 1 - MAX_LINES_BACK), -1):
            start, end = self.spans[back]
            said = self.text[max(start, end - SENTENCE_CHARS) : end]
            if _POINTS_ON.search(said) or _denies(said, FEW_BEFORE):
                return found + doubts(said)
            if not _runs_on(said):
                break
            found += doubts(said)
        return found

    def _after(self, index: int) -> int:
        """The doubts of the next sentence about this one."""
        if index + 1 >= len(self.spans):
            return 0
        start, end = self.spans[index + 1]
        said = self.text[start : min(end, start + SENTENCE_CHARS)]
        is_about = _POINTS_BACK.match(said) or _denies(said, FEW_AFTER)
        return doubts(said) if is_about else 0


def _doubts_what_follows(said: str) -> bool:
    # Only sentences that point forward are split into words.
    return _POINTS_FAR_ON.search(said) is not None and doubts(said[:SENTENCE_CHARS]) > 0


def _denies(said: str, most: int) -> bool:
    found = words(said)
    return 0 < len(found) <= most and not WORDS.set("doubts.denials").isdisjoint(found)


def _runs_on(said: str) -> bool:
    """Whether a line continues on the next."""
    if _ENDED.search(said):
        return False
    return len(said) >= WRAPPED_CHARS or _RUNS_ON.search(said) is not None


@cache
def _doubts() -> frozenset[str]:
    return frozenset().union(
        *(WORDS(f"doubts.{language}") for language in ("english", "french", "vietnamese"))
    )


@cache
def _doubt_signs() -> re.Pattern[str]:
    return re.compile("|".join((_DOUBT_PHRASES, *WORDS("doubts.chinese"), *_QUESTION_MARKS)))


def _is_doubt(word: str) -> bool:
    bare = word.replace("’", "'")
    return bare in _doubts() or bare.endswith("n't") or bare.startswith("n'")
