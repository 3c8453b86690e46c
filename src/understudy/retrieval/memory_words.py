"""Whether an input asks for what is remembered, whatever it is about."""

from typing import Final

from understudy.retrieval.normalise import flatten, unify

# Compared without case and accents.
WORDS: Final = frozenset(
    {
        *("memory", "memories", "remember", "remembered", "recall", "learning", "learnings"),
        *("memoire", "appris", "souviens", "souvenirs"),
    }
)
PHRASES: Final = ("learned context", "durable learning")
# With their accents: without them `nhớ` is `nhỏ`, small, and `nho`, a grape.
ACCENTED_WORDS: Final = frozenset({"nhớ"})
ACCENTED_PHRASES: Final = ("ký ức", "kí ức", "đã học")
# Chinese has no blanks between words, so these are looked for anywhere.
PIECES: Final = (
    *("记得", "记忆", "记住", "回忆", "想起", "学到", "记录下"),
    *("記得", "記憶", "記住", "回憶", "學到", "記錄下"),
)


def asks_for_memory(query: str) -> bool:
    """Whether it speaks of remembering, in English, French, Vietnamese or Chinese."""
    flat, unified = flatten(query), unify(query).casefold()
    written = "".join(each if each.isalnum() else " " for each in unified)
    return (
        _holds(flat, WORDS, PHRASES)
        or _holds(written, ACCENTED_WORDS, ACCENTED_PHRASES)
        or any(piece in unified for piece in PIECES)
    )


def _holds(text: str, words: frozenset[str], phrases: tuple[str, ...]) -> bool:
    found = text.split()
    spaced = f" {' '.join(found)} "
    return not words.isdisjoint(found) or any(f" {phrase} " in spaced for phrase in phrases)
