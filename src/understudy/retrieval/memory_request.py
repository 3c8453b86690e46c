"""Inputs that ask for what is remembered, by a closed list of phrases."""

import re
import unicodedata
from functools import cache
from typing import Final

from understudy.patterns.word_lists import WordLists

WORDS: Final = WordLists("understudy.retrieval", "memory_requests.toml")
# A long input asks in its beginning or at its end; between them is what it is about.
_END_CHARS: Final = 2_000
_QUOTED: Final = re.compile(r"`[^`\n]{1,500}`|\"[^\"\n]{1,500}\"|“[^”\n]{1,500}”|«[^»\n]{1,500}»")
_SENTENCE: Final = re.compile(r"[^.!?;\n\u3002\uff01\uff1f]+")


def asks_for_memory(query: str) -> bool:
    """Whether a query asks for memories: in English, Vietnamese, Chinese, or a word of French."""
    if len(query) > 2 * _END_CHARS:
        query = f"{query[:_END_CHARS]}\n{query[-_END_CHARS:]}"
    text = _QUOTED.sub(" ", unicodedata.normalize("NFC", query)).casefold()
    return any(
        _phrases("asks").search(sentence) and not _phrases("refusals").search(sentence)
        for sentence in _SENTENCE.findall(text)
    )


@cache
def _phrases(name: str) -> re.Pattern[str]:
    """The phrases of a list: of spaced scripts as whole words, of Chinese anywhere."""
    spaced = "|".join(re.escape(it) for it in WORDS(name) if it < "\u2e80")
    unspaced = "|".join(re.escape(it) for it in WORDS(name) if it >= "\u2e80")
    return re.compile(rf"(?<!\w)(?:{spaced})(?!\w)|{unspaced}")
