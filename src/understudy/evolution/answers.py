"""Messages that are an answer to an offer and nothing else, but for polite words around it."""

import re
from collections.abc import Iterable
from functools import cache
from typing import Final

from understudy.evolution.reading import plain, word_line
from understudy.i18n.catalogue import phrases
from understudy.learnings.quoting import pasted

MAX_CHARS: Final = 200

# Words around an answer that change nothing about it.
POLITE: Final = (
    *("please", "pls", "thanks", "thank you", "thx", "ok", "okay", "yes", "just", "then", "now"),
    *("for now", "this time", "well", "alright"),
    *("vâng", "dạ", "ừ", "được", "làm ơn", "xin", "hãy", "nhé", "nha", "đi", "ạ", "cảm ơn"),
    *("cám ơn", "cảm ơn bạn"),
    *("请", "請", "好", "好的", "行", "吧", "谢谢", "謝謝", "谢谢你", "麻烦", "是的", "就", "那", "那就"),
)  # fmt: skip
# Around a yes.
AGREEING: Final = (
    *("yeah", "yep", "sure", "great", "perfect", "nice", "go ahead", "go ahead and", "of course"),
    *("đồng ý", "có", "tốt", "giúp tôi", "giúp mình"),
    *("可以", "同意", "帮我", "幫我", "当然", "很好"),
    *("👍", "✅", "🙏"),
)  # fmt: skip
# Around a no. Those with a comma would turn it round without one: `no, skip`.
REFUSING: Final = (
    *("no ,", "no thanks", "nope", "nah"),
    *("không ,", "không cần ,", "thôi"),
    *("不 ,", "不用 ,", "不要 ,", "不了", "不用了", "算了"),
)  # fmt: skip


def is_accepting(text: str) -> bool:
    """Whether the whole message accepts an offer."""
    return _answers(text, "consent.save", (*POLITE, *AGREEING))


def is_declining(text: str) -> bool:
    """Whether the whole message declines an offer."""
    return _answers(text, "consent.skip", (*POLITE, *REFUSING))


def _answers(text: str, key: str, around: tuple[str, ...]) -> bool:
    if len(text) > MAX_CHARS or _shows_something(text):
        return False
    line = plain(text)
    # A question is no answer.
    return "?" not in line and _pattern(key, around).fullmatch(word_line(line)) is not None


def _shows_something(text: str) -> bool:
    """Whether it holds what was written elsewhere: a quotation, a page, code."""
    return bool(pasted(text)) or "```" in text


@cache
def _pattern(key: str, around: tuple[str, ...]) -> re.Pattern[str]:
    said = _any(phrase for spoken in phrases(key).values() for phrase in spoken)
    polite = _any(around)
    return re.compile(f"(?:(?:{polite})(?: ,)? )*(?:{said})(?:(?: ,)? (?:{polite}))*")


def _any(choices: Iterable[str]) -> str:
    lines = {_line(choice) for choice in choices}
    return "|".join(re.escape(line) for line in sorted(lines, key=len, reverse=True))


def _line(choice: str) -> str:
    comma = " ," if choice.endswith(",") else ""
    return word_line(plain(choice)) + comma
