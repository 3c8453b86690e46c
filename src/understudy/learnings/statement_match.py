"""Where a sentence has the words of a statement: in their order, or in another that means the same."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final, NamedTuple

from understudy.learnings.labels import TURN_ORDERS
from understudy.learnings.normal_form import HAN_AND_KANA
from understudy.learnings.phrases import HAN
from understudy.patterns.word_lists import WordLists

WORDS: Final = WordLists("understudy.learnings", "statement_words.toml")
# The most words of a statement that is looked for in another order.
MAX_REORDERED: Final = 40
# The most occurrences of one pattern that are checked in a repetitive sentence.
MAX_OCCURRENCES: Final = 20
MAX_PHRASE: Final = 6
SELF, GROUP, VOID, COPULA, HAVE, DECIDE = "i", "we", "", "copula", "have", "decide"

_FOLDS: Final = (
    "i", "we", "void", "copula", "want", "prefer", "have", "will", "do", "decide", "very", "anymore", "email", "percent",
)  # fmt: skip
_TOKEN: Final = re.compile(
    rf"\d+(?:[.,:/]\d+)*|[{HAN_AND_KANA}]|[^\W\d_{HAN_AND_KANA}][^\W{HAN_AND_KANA}]*(?:\.\d+)*|[^\w\s]|_"
)
_CONTRACTIONS: Final = tuple(
    (re.compile(rf"{short}\b", re.IGNORECASE), long)
    for short, long in (
        (r"\b(?:the )?user's", "my"), (r"\b(?:the )?team's", "our"), (r"\bwon't", "will not"), (r"\b(?:can't|cannot)", "can not"),
        ("(?<=[a-z])n't", " not"), (r"\b(do|does|did|is|are|was|were|has|have|could|should|would)nt", r"\1 not"), (r"\bim\b", "i am"), (r"(?<=\bi)'m", " am"), ("(?<=[a-z])'re", " are"), ("(?<=[a-z])'ve", " have"),
        ("(?<=[a-z])'ll", " will"), ("(?<=[a-z])'d", " would"), (r"\blet's", "let us"),
        (r"(?<=\bit)'s|(?<=\bthat)'s|(?<=here)'s|(?<=\bhe)'s|(?<=\bshe)'s|(?<=\bwhat)'s|(?<=\bwho)'s", " is"),
    )
)  # fmt: skip
_AMERICAN: Final = {"our": "or", "ise": "ize", "tre": "ter"}
_BRITISH: Final = re.compile(r"(?<=\w\w)our|(?<=\w\w)(?:ise|tre)$")
_DOTTED: Final = re.compile(r"\b([ap])\.m\b\.?", re.IGNORECASE)
# Full-width signs with the blank that Chinese does without.
_WIDE_SIGNS: Final = str.maketrans(
    {"\uff01": "! ", "\uff0c": ", ", "\uff1a": ": ", "\uff1b": "; ", "\uff1f": "? "}
)
_POSSESSIVE: Final = re.compile(r"(?<=\w)'s\b|(?<=s)'(?=\s)", re.IGNORECASE)
_HAN_DIGITS: Final = "[零一二两三四五六七八九十百千万亿]"
_HAN_NUMBER: Final = re.compile(rf"(?<!{_HAN_DIGITS}){_HAN_DIGITS}{{1,16}}(?!{_HAN_DIGITS})")
_MYRIAD: Final = 10_000
_THOUSANDS: Final = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
# Signs that join the parts of a word or number, as in `10.5` and `db-2`.
_INNER: Final = ".,:/-@'_"
_ORDER: Final = re.compile(rf"\s*(?:{'|'.join(TURN_ORDERS)})\b", re.IGNORECASE)
_THEIRS: Final = frozenset(("their", "his", "her"))
_ARTICLES: Final = frozenset(("a", "an", "the", "my", "our"))
_NARROWING: Final = frozenset(("for", "cho"))
_BREAKS: Final = frozenset(",;:.!?()[]{}-\u2013\u2014\u2026\u3002\u3001|*=\"'`•>“”")


class FoldedWord(NamedTuple):
    """A word or sign of a sentence in its folded form, with its place."""

    form: str
    start: int
    end: int


class Span(NamedTuple):
    """The place in a sentence that says what a statement says."""

    start: int
    end: int


def plain(text: str) -> str:
    """A text in normal width, without contractions and possessive endings, with Arabic numerals."""
    text = unicodedata.normalize("NFKC", text.translate(_WIDE_SIGNS)).replace("\u2019", "'")
    for short, long in _CONTRACTIONS:
        text = short.sub(long, text)
    text = _DOTTED.sub(r"\1m", _THOUSANDS.sub("", _POSSESSIVE.sub("", text)))
    text = _HAN_NUMBER.sub(lambda found: _number(found[0]), text)
    return "\n".join(" ".join(line.split()) for line in text.splitlines())


def _number(numeral: str) -> str:
    """A Chinese numeral in digits; a numeral without scales is read digit by digit."""
    values = [int(unicodedata.numeric(sign)) for sign in numeral.replace("两", "二")]
    if max(values) < 10:
        return "".join(map(str, values))
    total = section = digit = 0
    for value in values:
        if value < 10:
            digit = value
        elif value < _MYRIAD:
            section, digit = section + (digit or 1) * value, 0
        else:
            total, section, digit = (total + section + digit or 1) * value, 0, 0
    return str(total + section + digit)


def tokens(text: str) -> list[FoldedWord]:
    """The folded words and signs of a plain text; words that change nothing have the form ''."""
    raw = [FoldedWord(found[0].casefold(), *found.span()) for found in _TOKEN.finditer(text)]
    made, at = [], 0
    while at < len(raw):
        size, form = _fold(raw, at)
        made.append(FoldedWord(form, raw[at].start, raw[at + size - 1].end))
        at += size
    return made


def _fold(raw: Sequence[FoldedWord], at: int) -> tuple[int, str]:
    """The number of tokens of the longest known phrase at an index, and its form."""
    folds, starts = _folds()
    if raw[at].form in starts:
        for size in range(min(MAX_PHRASE, len(raw) - at), 0, -1):
            form = folds.get(tuple(token.form for token in raw[at : at + size]))
            if form is not None:
                return size, form
    return 1, _stem(raw[at].form)


@cache
def _folds() -> tuple[dict[tuple[str, ...], str], frozenset[str]]:
    """The forms of phrases by their words, and the first words of all phrases."""
    made = {tuple(words.split()): digit for words, digit in WORDS.pairs("folds.numbers").items()}
    for name in _FOLDS:
        for phrase in WORDS(f"folds.{name}"):
            form = VOID if name == "void" else name
            made[tuple(_TOKEN.findall(phrase.casefold()))] = form
    return made, frozenset(words[0] for words in made)


def _stem(word: str) -> str:
    """An English word in American spelling without the ending of a plural or of the third person."""
    if len(word) < 4 or not word.isascii() or not word.isalpha():
        return word
    if word.endswith("ies"):
        word = f"{word[:-3]}y"
    elif word.endswith(("sses", "shes", "ches", "xes", "oes")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    return _BRITISH.sub(lambda found: _AMERICAN[found[0]], word)


def places(statement: str, sentence: str) -> Iterator[Span]:
    """The spans of a plain sentence that have all words of a plain statement, and no others."""
    said = tokens(sentence)
    forms = [token.form for token in _compared(tokens(statement))]
    if SELF in forms:
        # "The user likes their tea weak" for "I like my tea weak".
        forms = [form for form in forms if form not in _THEIRS]
    if not any(map(_tells, forms)):
        return
    # What somebody decided to do is what they do.
    extra = {*WORDS("classes.adverbs"), DECIDE}.difference(forms)
    kept = _compared([token for token in said if token.form not in extra])
    have = [token.form for token in kept]
    if not set(forms) <= set(have):
        return
    for pattern in _patterns(forms):
        for at in _found(pattern, have):
            part = kept[at : at + len(pattern)]
            span = Span(part[0].start, part[-1].end)
            if _is_whole(span, said, sentence, has_copula=COPULA in forms):
                yield Span(_start_with_voids(span.start, said), span.end)


def _start_with_voids(start: int, said: Sequence[FoldedWord]) -> int:
    """The start of the words that change nothing directly before an offset."""
    for token in reversed(said):
        if token.end <= start:
            if token.form:
                break
            start = token.start
    return start


def exact_places(statement: str, sentence: str) -> Iterator[Span]:
    """The spans of a plain sentence that are the statement word for word."""
    wanted, start = statement.casefold(), -1
    lowered = sentence.casefold()
    # Case folding that changes the length would move the offsets.
    if not wanted or wanted not in lowered or len(lowered) != len(sentence):
        return
    said = tokens(sentence)
    for _ in range(MAX_OCCURRENCES):
        start = lowered.find(wanted, start + 1)
        if start < 0:
            return
        span = Span(start, start + len(wanted))
        has_copula = any(it.form == COPULA and start <= it.start < span.end for it in said)
        if _is_whole(span, said, sentence, has_copula=has_copula):
            yield span


def _tells(form: str) -> bool:
    return form not in (SELF, GROUP, VOID, COPULA) and form[0].isalnum()


def _compared(made: Sequence[FoldedWord]) -> list[FoldedWord]:
    """The words that are compared: without signs and perfect tense."""
    return [
        it._replace(form=COPULA) if it.form in "=:" else it
        for it, after in zip(made, (*made[1:], None), strict=True)
        if it.form
        and (it.form not in _BREAKS or it.form in "=:")
        and not (it.form == HAVE and after is not None and after.form.endswith("ed"))
    ]


def _patterns(forms: list[str]) -> Iterator[list[str]]:
    """A statement in its own order, turned round its copula, and with its end in front."""
    yield forms
    if len(forms) > MAX_REORDERED:
        return
    if forms.count(COPULA) == 1:
        at = forms.index(COPULA)
        yield [*forms[at + 1 :], COPULA, *forms[:at]]
    prepositions = WORDS.set("classes.prepositions")
    for at in range(1, len(forms)):
        is_fronted = forms[0] in (SELF, GROUP) and at > 1
        if is_fronted or forms[at] in prepositions or forms[0] in prepositions:
            yield forms[at:] + forms[:at]


def _found(pattern: Sequence[str], have: Sequence[str]) -> Iterator[int]:
    """The indexes at which a list of words has a shorter one."""
    text, wanted = f" {' '.join(have)} ", f" {' '.join(pattern)} "
    place = -1
    for _ in range(MAX_OCCURRENCES):
        place = text.find(wanted, place + 1)
        if place < 0:
            return
        yield text.count(" ", 0, place)


def _is_whole(span: Span, said: Sequence[FoldedWord], sentence: str, *, has_copula: bool) -> bool:
    """Whether neither the first nor the last words go on beyond a span."""
    if _goes_on(sentence[max(0, span.start - 2) : span.start][::-1], sentence[span.start]):
        return False
    if _goes_on(sentence[span.end : span.end + 2], sentence[span.end - 1]):
        return False
    after = next((it.form for it in said if it.start >= span.end and it.form), None)
    # "It is free for students" does not say that it is free.
    if has_copula and after in _NARROWING:
        return False
    is_at_end = may_end(after) or _ORDER.match(sentence, span.end) is not None
    return is_at_end and _may_begin(span, said, sentence)


def _may_begin(span: Span, said: Sequence[FoldedWord], sentence: str) -> bool:
    """Whether the first words are a whole name: nothing before them says which one is meant."""
    before = [it for it in said if it.end <= span.start]
    first = next(it for it in said if it.end > span.start)
    told = [it.form for it in before if it.form]
    # A Vietnamese pronoun behind a noun is its possessor.
    word = sentence[first.start : first.end]
    is_subject = first.form in (SELF, GROUP) and (word.isascii() or HAN.match(word))
    if not told or told[-1] in _BREAKS or is_subject:
        return True
    if told[-1] in WORDS.set("classes.leads") or told[-1] in WORDS.set("classes.adverbs"):
        return True
    is_named = first.form and (not before or before[-1].form)
    edge = first if not first.form else before[-1]
    has_article = not is_named and sentence[edge.start : edge.end].casefold() in _ARTICLES
    return has_article and told[-1] not in WORDS.set("classes.follows")


def may_end(after: str | None) -> bool:
    if after is None or after in _BREAKS or after.endswith("ly"):
        return True
    return after in WORDS.set("classes.follows") or after in WORDS.set("classes.adverbs")


def _goes_on(beyond: str, edge: str) -> bool:
    """Whether a word or number continues beyond an offset."""
    if not edge.isalnum() or HAN.match(edge):
        return False
    nearest = beyond[:1]
    if nearest and nearest in _INNER:
        nearest = beyond[1:2]
    return nearest.isalnum() and not HAN.match(nearest)
