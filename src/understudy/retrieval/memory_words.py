"""Whether an input asks for what is remembered, whatever it is about."""

from understudy.retrieval.normalise import flatten, unify
from understudy.retrieval.vocabulary import WORDS


def asks_for_memory(query: str) -> bool:
    """Whether it speaks of remembering, in English, French, Vietnamese or Chinese."""
    flat, unified = flatten(query), unify(query).casefold()
    written = "".join(each if each.isalnum() else " " for each in unified)
    return (
        _holds(flat, "memory.words", "memory.phrases")
        or _holds(written, "memory.accented_words", "memory.accented_phrases")
        or any(piece in unified for piece in WORDS("memory.chinese"))
    )


def _holds(text: str, words: str, phrases: str) -> bool:
    found = text.split()
    spaced = f" {' '.join(found)} "
    return not WORDS.set(words).isdisjoint(found) or any(
        f" {phrase} " in spaced for phrase in WORDS(phrases)
    )
