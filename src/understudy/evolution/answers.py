"""Messages that are an answer to an offer and nothing else, but for polite words around it."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import groupby
from operator import itemgetter
from typing import Final

from understudy.evolution.reading import plain, word_line
from understudy.evolution.requests.grammar import SMILES
from understudy.i18n.catalogue import phrases
from understudy.learnings.quoting import pasted

MAX_CHARS: Final = 200
Words = tuple[str, ...]
# By their first words.
Choices = Mapping[str, tuple[Words, ...]]

# Words around an answer that change nothing about it.
POLITE: Final = (
    *("please", "pls", "thanks", "thank you", "thx", "ok", "okay", "yes", "just", "then", "now"),
    *("for now", "this time", "well", "alright"),
    *("vâng", "dạ", "ừ", "được", "làm ơn", "xin", "hãy", "nhé", "nha", "đi", "ạ", "cảm ơn"),
    *("cám ơn", "cảm ơn bạn"),
    *("请", "請", "好", "好的", "行", "吧", "谢谢", "謝謝", "谢谢你", "麻烦", "是的", "就", "那"),
)  # fmt: skip
# Around a yes.
AGREEING: Final = (
    *("yeah", "yep", "sure", "great", "perfect", "nice", "go ahead", "go ahead and", "of course"),
    *("yup", "sounds good", "sounds great", "i approve", "approved", "i agree", "agreed", "i accept"),
    *("absolutely", "definitely"),
    *("đồng ý", "có", "tốt", "giúp tôi", "giúp mình"),
    *("可以", "同意", "帮我", "幫我", "当然", "很好", "嗯", "没问题", "沒問題"),
    *SMILES,
)  # fmt: skip
# Around a no. Those with a comma would turn it round without one: `no, skip`.
REFUSING: Final = (
    *("no ,", "no thanks", "nope", "nah"),
    *("không ,", "không cần ,", "thôi"),
    *("不 ,", "不用 ,", "不要 ,", "不了", "不用了", "算了"),
)  # fmt: skip

# Each says no to a question that was asked; alone it does not say to which.
BARE: Final = (
    *("no", "nope", "nah", "not now", "not today", "not this time", "rather not", "id rather not"),
    *("no need",),
    *("không", "khong", "không cần", "không cần đâu", "thôi", "khỏi", "để sau"),
    *("不", "不用", "不用了", "不了", "不要", "不必", "不必了", "不需要", "算了"),
)  # fmt: skip
# Around it; no `ok` and no `yes`, which would say the opposite.
THANKING: Final = (
    *("please", "thanks", "thank you", "thx", "sorry", "well", "for now"),
    *("dạ", "ạ", "nhé", "cảm ơn", "cám ơn", "cảm ơn bạn", "xin lỗi"),
    *("谢谢", "謝謝", "谢谢你", "吧", "先", "暂时", "暫時", "抱歉"),
)  # fmt: skip


def words_to_answer(locale: str) -> dict[str, str]:
    """What people are told to reply: the first phrases of a language, by what they mean."""
    return {means: phrases(f"consent.{means}")[locale][0] for means in ("save", "skip")}


def is_accepting(text: str) -> bool:
    """Whether the whole message accepts an offer."""
    return _answers(text, _phrases("consent.save"), (*POLITE, *AGREEING))


def is_declining(text: str) -> bool:
    """Whether the whole message declines an offer."""
    return _answers(text, _phrases("consent.skip"), (*POLITE, *REFUSING))


def is_bare_no(text: str) -> bool:
    """Whether the whole message is a no, to whatever was asked."""
    return _answers(text, _choices(BARE), (*THANKING, *BARE))


def _answers(text: str, said: Choices, around: tuple[str, ...]) -> bool:
    if len(text) > MAX_CHARS or _shows_something(text):
        return False
    line = plain(text)
    # A question is no answer.
    return "?" not in line and _is_said(tuple(word_line(line).split()), said, around)


def _shows_something(text: str) -> bool:
    """Whether it holds what was written elsewhere: a quotation, a page, code."""
    return bool(pasted(text)) or "```" in text


def _is_said(words: Words, said: Choices, around: tuple[str, ...]) -> bool:
    """Whether the words are one of the phrases, with any number of those around it."""
    polite = _choices((",", *around))
    # Each place is looked at once, however the words before it may be split.
    places = _reached(words, {0}, polite)
    answered = {end for start in places for end in _ends(words, start, said)}
    return len(words) in _reached(words, answered, polite)


def _reached(words: Words, places: set[int], choices: Choices) -> set[int]:
    reached = {*places}
    while places:
        places = {end for start in places for end in _ends(words, start, choices)} - reached
        reached |= places
    return reached


def _ends(words: Words, start: int, choices: Choices) -> Iterator[int]:
    first = words[start] if start < len(words) else ""
    for choice in choices.get(first, ()):
        if words[start : start + len(choice)] == choice:
            yield start + len(choice)


@cache
def _choices(said: tuple[str, ...]) -> Choices:
    return _by_first({*map(words_of, said)})


@cache
def _phrases(key: str) -> Choices:
    return _by_first({words_of(said) for spoken in phrases(key).values() for said in spoken})


def _by_first(choices: Iterable[Words]) -> Choices:
    ordered = sorted(choices)
    return {first: tuple(group) for first, group in groupby(ordered, key=itemgetter(0))}


def words_of(choice: str) -> Words:
    """The words of a phrase, and the comma at its end that belongs to it."""
    comma = (",",) if choice.endswith(",") else ()
    return (*word_line(plain(choice)).split(), *comma)
