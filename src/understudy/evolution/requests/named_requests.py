"""Messages in which a user asks in their own words to delete a skill, or to publish a folder as one."""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final

from understudy.evolution.reading import plain, word_line
from understudy.evolution.requests.grammar import (
    LANGUAGES,
    NOTHING,
    Grammar,
    grammar_of,
    named_asks,
    signs,
)
from understudy.evolution.requests.skill_requests import asks_for
from understudy.evolution.wording import MAX_CHARS
from understudy.learnings.wording import HAN_AND_KANA

# What a polite question is about is always at hand: a skill by name, or the one just spoken of.
_AT_HAND: Final = re.compile("")
# Nobody types a longer name.
MAX_NAME_CHARS: Final = 200
# No name of a file or folder, nor part of another.
_PART: Final = rf"[^\W{HAN_AND_KANA}]"
_AS_WRITTEN: Final = rf"(?<!{_PART})(?<![/\\.~-]){{}}(?!{_PART}|[/\\-]|\.\w)"
_HYPHENATED: Final = re.compile(r"\w+(?:-\w+)+")


def asks_to_delete(text: str, slug: str, *, is_spoken_of: bool = False) -> bool:
    """Whether the writer asks that this skill be deleted.

    They call it a skill, or write its hyphens; only where it `is_spoken_of` is it `the skill`.
    """
    if not _words(slug):
        return False
    requests = ("delete", "delete_it") if is_spoken_of else ("delete",)
    if any(_asks(text, _grammars(request, (slug,))) for request in requests):
        return True
    return _asks(text, _grammars_of_bare_name(slug))


def asks_to_publish(text: str, path: str) -> bool:
    """Whether the writer asks that this folder be published, by its path or as the one spoken of."""
    names = (path, path.rstrip("/").rpartition("/")[2])
    return _asks(text, _grammars("publish", names))


def _asks(text: str, grammars: Sequence[Grammar]) -> bool:
    return len(text) <= MAX_CHARS and asks_for(text, grammars)


# Two kinds in three languages make no more: the same name is mostly asked about again.
@lru_cache(maxsize=32)
def _grammars(request: str, names: tuple[str, ...]) -> tuple[Grammar, ...]:
    """The grammars of a request about something with one of these names."""
    return tuple(_grammar(language, request, names) for language in LANGUAGES)


@lru_cache(maxsize=32)
def _grammars_of_bare_name(slug: str) -> tuple[Grammar, ...]:
    """The ways to name a skill by its slug alone; none for a slug that is a plain word."""
    written = plain(slug)
    if _HYPHENATED.fullmatch(written) is None:
        return ()
    about = re.compile(_AS_WRITTEN.format(re.escape(written)))
    grammars = (_grammar(language, "delete_bare", (slug,)) for language in LANGUAGES)
    # Nothing may follow the name: the name itself must be what is written so.
    return tuple(
        replace(it, about=about, connectors=(), modals=grammar_of(it.language).modals)
        for it in grammars
    )


def _grammar(language: str, request: str, names: Sequence[str]) -> Grammar:
    named = {_words(name) for name in names if len(name) <= MAX_NAME_CHARS} - {""}
    # Of no name there is none: an empty choice would be one that always fits.
    name = "|".join(re.escape(each) for each in sorted(named)) or r"(?!)"
    grammar = grammar_of(language)
    about = named_asks(language, f"{request}_about")
    return replace(
        grammar,
        about=signs(*about) if about else grammar.about,
        tasks=(),
        # What is there is at stake: of questions only those count that nobody asks to hear
        # whether one may.
        modals=named_asks(language, "modals") or grammar.modals,
        asks=tuple(ask.replace("{name}", f"(?:{name})") for ask in named_asks(language, request)),
        # In English others would make it something else: `for Bob`.
        connectors=named_asks(language, "connectors") or grammar.connectors,
        definite=_AT_HAND,
        describes=NOTHING,
    )


def _words(name: str) -> str:
    return word_line(plain(name))
