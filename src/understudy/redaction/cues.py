"""Cue words that announce a secret, and how strong they are."""

from dataclasses import dataclass
from functools import cache, lru_cache
from string import ascii_letters

from understudy.redaction.opaque import WORDS, endings, is_password_key, key_grade, name_words


@dataclass(frozen=True, slots=True, kw_only=True)
class Cue:
    """A cue word that announces a secret."""

    name: str
    # 2 if a value under this name is a secret, 1 if the value must also look like one.
    grade: int
    is_password: bool

    @property
    def is_variable(self) -> bool:
        """Whether it is written like a name in code, so that it is no word of a sentence."""
        is_name = "_" in self.name or self.name[1:] != self.name[1:].lower()
        return is_name and (self.grade == 2 or self.is_password)


def cue_at(text: str, start: int, end: int) -> Cue | None:
    """The cue from `start` to `end`, read with the word before it; None if it is no cue."""
    if not text[end - 1].isascii():
        # Several such words without a break: the last one counts.
        start = max(start, end - 24)
    if end - start > 128:
        return None
    return _cue(_word_before(text, start), text[start:end])


def _word_before(text: str, start: int) -> str:
    """The word before `start`, separated by one space; empty without one."""
    if text[start - 1 : start] not in {" ", "\t"}:
        return ""
    before = text[max(0, start - 24) : start - 1]
    word = before[len(before.rstrip(ascii_letters)) :]
    return word[-20:] if len(word) >= 2 else ""


@lru_cache(maxsize=4096)
def _cue(previous: str, name: str) -> Cue | None:
    plain = name.lower()
    if plain in WORDS.set("password_short"):
        return Cue(name=name, grade=2, is_password=True)
    abroad = next((word for word in _cues_abroad() if plain.endswith(word)), None)
    if abroad:
        return Cue(name=abroad, grade=2, is_password=abroad in WORDS.set("passwords_abroad"))
    full = f"{previous} {name}" if previous else name
    grade = max(key_grade(full), key_grade(name)) if _is_open(full) else 0
    if grade == 0 and _is_loose(full, name):
        grade = 1
    return Cue(name=name, grade=grade, is_password=is_password_key(name)) if grade else None


@cache
def _cues_abroad() -> tuple[str, ...]:
    return tuple(sorted(map(str.lower, WORDS("cues_abroad")), key=len, reverse=True))


def _is_open(full: str) -> bool:
    compact = "".join(name_words(full))
    return not compact.endswith(endings("harmless"))


def _is_loose(full: str, name: str) -> bool:
    """Whether it is a weak cue, which counts only with a value that looks like a secret."""
    last = (name_words(name) or [""])[-1]
    return last in WORDS.set("loose_cues") and _is_open(full)
