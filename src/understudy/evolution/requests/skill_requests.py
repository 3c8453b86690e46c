"""Detects messages in which a user asks for a skill, in any supported language."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import product
from typing import Final

from understudy.core.dataclass import dataclass
from understudy.core.lazy import lazy_pattern
from understudy.evolution.requests.grammar import (
    JOINT,
    LANGUAGES,
    Grammar,
    grammar_of,
    signs,
    words,
)
from understudy.evolution.visible_text import plain, word_line
from understudy.learnings.normal_form import HAN_AND_KANA
from understudy.learnings.quotations import pasted, quoted, sentences
from understudy.patterns.word_lists import WordLists

# Replaces a quotation; no word of any language.
QUOTED: Final = "\ufffc"
_LISTED: Final = lazy_pattern(r"\s*(?:[-+*\u2022\u00b7#|~]|//|/\*|\d{1,3}[.)\u3001])")
_LABEL: Final = lazy_pattern(r"[:\uff1a](?!//)(?<!\d[:\uff1a](?=\d))")
# A speaker's label on its own line: what follows is somebody else's text.
_SPEAKER: Final = lazy_pattern(
    r"\W*(?:user|human|system|assistant|agent|bot|model|tool)\W*", re.IGNORECASE
)
# A sentence with one of these introduces the text after it.
_PRESENTS: Final = lazy_pattern(
    r"\b(?:following|below|translat\w+|summari[sz]\w+|proofread\w*|paraphrase\w*|explain\w*|quot\w+"
    r"|says?|said|reads|wrote|ignore|pretend|imagine|suppose|examples?|e\.g"
    r"|sau đây|dưới đây|dịch|tóm tắt|giải thích|trích|ví dụ|giả sử|viết rằng|nói rằng)\b"
    r"|以下|下面|如下|翻译|翻譯|总结|總結|解释|解釋|引用|例如|比如|假设|假設|写道|寫道|说道|說道",
    re.IGNORECASE,
)
_WORDS: Final = WordLists("understudy.evolution")
_IN_ONE: Final = lazy_pattern(rf"(?<=[{HAN_AND_KANA},]) | (?=[{HAN_AND_KANA},])")
# The dot of a file name, which ends no clause.
_FILE_DOT: Final = lazy_pattern(
    r"(?<=\w)\.(?=(?:md|txt|csv|tsv|json|ya?ml|toml|xml|html?|pdf|docx?|xlsx?|pptx?|py|js|ts|sh|sql|log)\b)"
)
# Hyphenated names, or one or two quoted words, which stay in place.
_NAMES: Final = lazy_pattern(r"(?<!\w)\w+(?:[-_]\w+)++|(?<=[\"“«「『`])\w+(?: \w+)?(?=[\"”»」』`])")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a message, and whether it is the writer's own: up to where they show a text."""

    text: str
    is_own: bool


def sentences_of(text: str) -> Iterator[Sentence]:
    """The sentences of a message, without quotations."""
    is_own = True
    for line in _without_quotations(text).splitlines():
        own, rest, ends = _parts(line)
        if _SPEAKER.fullmatch(line):
            is_own = False
        for said in _sentences(own):
            yield Sentence(said, is_own)
            is_own = is_own and _PRESENTS.search(said) is None
        yield from (Sentence(said, is_own=False) for said in _sentences(rest))
        is_own = is_own and not ends


def _parts(line: str) -> tuple[str, str, bool]:
    """The writer's own part of a line, the listed part, and whether that continues below."""
    if _LISTED.match(line):
        return "", line, False
    label = _LABEL.search(line)
    if label is None:
        return line, "", False
    rest = line[label.end() :]
    return line[: label.start()], rest, not rest.strip()


def _sentences(text: str) -> Iterator[str]:
    return (text[start:end].strip() for start, end in sentences(text))


def _without_quotations(text: str) -> str:
    blocks = set(pasted(text))
    kept, at = [], 0
    for start, end in quoted(text):
        kept.append(text[at:start])
        kept.append("\n\n" if (start, end) in blocks else f" {QUOTED} ")
        at = max(at, end)
    return "".join((*kept, text[at:]))


MAX_SENTENCE_CHARS: Final = 400
# The beginning of a question without a question mark; `what a day` and `how nice` are none.
_QUESTION: Final = lazy_pattern(
    r"^\W*(?:(?:and|but|so|ok|okay|also|hi|hey|hello|well)\W+)*"
    r"(?:what(?! an? )|whats|why|who|whom|whose|where"
    r"|how(?! (?:nice|great|cool|lovely|neat|wonderful|awesome))"
    r"|(?:can|could|would|will|should|shall|may|does|did|is|are|was|were)(?:n['\u2019]?t)?"
    r" (?:i|you|we|they|he|she|it|this|that|these|those|there|the|any\w*|some\w*)"
    r"|(?:do|have|had)(?:n['\u2019]?t)? (?:i|you|we|they)"
    r"|tại sao|vì sao|làm sao|làm thế nào|khi nào)\b"
)
# The end of a question in Vietnamese.
_QUESTION_VI: Final = lazy_pattern(
    r"\b(?:gì|(?<!không )sao|thế nào|bao giờ|khi nào|ở đâu|bao nhiêu|không|chưa|hả|nhỉ)\W*$"
)
# Header, greeting or closing of a mail, on its own line.
_OF_MAILS: Final = lazy_pattern(
    r"^\W*(?:from|to|subject|re|fw|cc|date|best|cheers|love|(?:hi|hello|hey) \w+)\W*$"
)
# Maximum number of leads or polite words around a request.
MAX_WORDS: Final = 6


def grammars() -> tuple[Grammar, ...]:
    """The grammar of each supported language."""
    return tuple(map(grammar_of, LANGUAGES))


def asks_for_skill(text: str) -> bool:
    """Whether the writer asks to make a skill now; in doubt, no."""
    return asks_for(text, grammars())


def asks_for(text: str, grammars: Sequence[Grammar]) -> bool:
    """Whether the writer asks now for what these grammars describe."""
    # A fast check: nearly every message is about something else.
    shown = plain(text)
    spoken = [grammar for grammar in grammars if grammar.names_it(shown)]
    if not spoken:
        return False
    said = [Sentence(plain(each.text), each.is_own) for each in sentences_of(text)]
    for index, sentence in enumerate(said):
        for grammar in spoken:
            if sentence.is_own and _asks(grammar, sentence.text):
                return _is_beyond_doubt(grammar, said[:index], said[index + 1 :])
    return False


def _is_beyond_doubt(
    grammar: Grammar, before: Sequence[Sentence], after: Sequence[Sentence]
) -> bool:
    """Whether the rest of a message leaves the request unchanged."""
    if any(_leaves_doubt(sentence.text) for sentence in (*before, *after)):
        return False
    own = (later.text for later in after if later.is_own)
    return not any(grammar.cancels.match(_line(grammar, later)) for later in own)


def _leaves_doubt(sentence: str) -> bool:
    """Whether a sentence asks something, or refers to a text that a request may belong to.

    Next to such a sentence a request may be somebody else's: a mail to be answered, a line to be
    corrected. Nothing marks where such a text begins, so the whole message is in doubt.
    """
    return any(doubtful.search(sentence) for doubtful in _doubtful())


@cache
def _doubtful() -> tuple[re.Pattern[str], ...]:
    return (
        *(lazy_pattern(r"\?"), _QUESTION, _QUESTION_VI, signs(*_WORDS("doubts.question_signs"))),
        *(words(*_WORDS("doubts.text_words")), signs(*_WORDS("doubts.text_signs"))),
        *(words(*_WORDS("doubts.shown_words")), signs(*_WORDS("doubts.shown_signs")), _OF_MAILS),
    )


def _asks(grammar: Grammar, sentence: str) -> bool:
    if len(sentence) > MAX_SENTENCE_CHARS or not grammar.names_it(sentence):
        return False
    # A name is one word, unless its words are those of the request: `a well-tried skill`.
    named = _FILE_DOT.sub(JOINT, _NAMES.sub(_as_one, sentence))
    lines = dict.fromkeys((_line(grammar, named), _line(grammar, sentence)))
    return any(_asks_in(grammar, line, is_question="?" in sentence) for line in lines)


def _asks_in(grammar: Grammar, line: str, *, is_question: bool) -> bool:
    softly = next(_places_before(line, grammar, len(line), grammar.soft_questions), None)
    only_asks = next(_places_before(line, grammar, len(line), grammar.particles), None)
    end = next(place for place in (softly, only_asks, len(line)) if place is not None)
    asks = is_question or only_asks is not None
    found = _first_in(grammar, line, end, is_question=asks)
    if found is None or _is_vetoed(grammar, found):
        return False
    is_polite_question = bool(found["modal"] or softly is not None)
    if asks or is_polite_question:
        # "Could you …?" is a request if it has a definite object, and else a question about
        # ability.
        return is_polite_question and grammar.definite.search(line, found.start("ask")) is not None
    return True


def _first_in(grammar: Grammar, line: str, end: int, *, is_question: bool) -> re.Match[str] | None:
    """The shortest match of a request between leads and polite words.

    In a question a word that may be a lead or a modal verb is the verb: `可以`.
    """
    pattern = _pattern(grammar)
    places = product(_beginnings(line, grammar), _endings(line, grammar, end))
    tried = (pattern.fullmatch(line, start, stop) for start, stop in places if start < stop)
    found = (each for each in tried if each is not None)
    first = next(found, None)
    if first is None or first["modal"] or not is_question:
        return first
    return next((each for each in found if each["modal"]), first)


def _is_vetoed(grammar: Grammar, found: re.Match[str]) -> bool:
    task, tail = (found["task"] or "").replace(JOINT, " "), found["tail"] or ""
    # The task before a request must be no text either: it could contain anybody's request.
    if _leaves_doubt(task) or grammar.vetoes.search(task):
        return True
    ask, rest = (grammar.describes.sub(" ", part) for part in (found["ask"], tail))
    return grammar.vetoes.search(ask + rest.replace(JOINT, " ")) is not None


def _as_one(name: re.Match[str]) -> str:
    return JOINT.join(re.split(r"[-_ ]", name[0])) + JOINT


def _line(grammar: Grammar, sentence: str) -> str:
    line = word_line(sentence)
    return line if grammar.blank else _IN_ONE.sub("", line)


# More than the number of languages: some grammars contain a name.
@lru_cache(maxsize=64)
def _pattern(grammar: Grammar) -> re.Pattern[str]:
    """The pattern of a request: optional modal verb and first task, the request, its object."""
    blank = grammar.blank
    return lazy_pattern(
        f"(?:(?P<modal>{_any(grammar.modals)}){blank})?"
        f"(?:(?P<task>{_any(grammar.tasks)}){blank})?"
        f"(?P<ask>{_any(grammar.asks)})"
        f"(?P<tail>(?:{blank},)?{blank}(?:{_any(grammar.connectors)})(?:{blank}.*)?)?"
    )


def _any(choices: Sequence[str]) -> str:
    # An empty alternation would match everything.
    return "|".join(choices) or r"(?!)"


# Each position is visited once, however the words before it are split: no backtracking.
def _beginnings(line: str, grammar: Grammar) -> list[int]:
    """The positions after any leads, furthest first."""
    reached = _reached({0}, lambda start: _behind(line, grammar, start))
    return sorted(reached, reverse=True)


def _endings(line: str, grammar: Grammar, end: int) -> list[int]:
    """The positions before any trailing polite words, furthest from the end first."""
    return sorted(
        _reached({end}, lambda place: _places_before(line, grammar, place, grammar.polite))
    )


def _places_before(line: str, grammar: Grammar, end: int, choices: Iterable[str]) -> Iterator[int]:
    """The positions before one of these at the end of a line, and before its separator."""
    for choice in choices:
        if not line.endswith(f"{grammar.blank}{choice}", 0, end):
            continue
        start = end - len(choice) - len(grammar.blank)
        comma = f"{grammar.blank},"
        yield start - len(comma) if line.endswith(comma, 0, start) else start


def _behind(line: str, grammar: Grammar, start: int) -> Iterator[int]:
    comma = f"{grammar.blank},"
    for lead in grammar.leads:
        if not line.startswith(lead, start):
            continue
        end = start + len(lead)
        end += len(comma) if line.startswith(comma, end) else 0
        if line.startswith(grammar.blank, end):
            yield end + len(grammar.blank)


def _reached(places: set[int], onward: Callable[[int], Iterator[int]]) -> set[int]:
    reached = {*places}
    for _ in range(MAX_WORDS):
        places = {further for place in places for further in onward(place)} - reached
        reached |= places
    return reached
