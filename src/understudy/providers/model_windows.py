"""Context windows of models: configured, known by the family of the model, or assumed."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, lru_cache
from importlib.resources import files
from typing import Final

# Assumed for a model of no known family: the least that hosted models of the last generations have.
DEFAULT_WINDOW: Final = 128_000
# No model has a longer name; the rest of one is not looked at.
MAX_NAME_CHARS: Final = 200
# Words and numbers of a name: `gpt-4.1-mini` is gpt, 4.1, mini.
_TOKEN: Final = re.compile(r"[a-z]+|[0-9]+(?:\.[0-9]+)*")
# Where the name proper may begin: after a host or maker such as `openai/`, `ft:` or `anthropic.`.
_BEGIN: Final = re.compile(r"(?:^|[/:@~]|\.(?=[a-z]))")
Tokens = tuple[str, ...]


class WindowSource(StrEnum):
    """Where a context window is from."""

    CONFIGURED = "configured"  # the route in the config file
    KNOWN = "known"  # the table of model families
    DEFAULT = "default"  # assumed


@dataclass(frozen=True, slots=True)
class ContextWindow:
    """How many tokens a model takes, and how that is known."""

    tokens: int
    source: WindowSource


def context_window(model: str) -> ContextWindow:
    """The context window of a model by its name."""
    known = known_window(model)
    if known is not None:
        return ContextWindow(known, WindowSource.KNOWN)
    return ContextWindow(DEFAULT_WINDOW, WindowSource.DEFAULT)


@lru_cache(maxsize=256)
def known_window(model: str) -> int | None:
    """The window of the longest family that the name begins with; None for an unknown model."""
    windows = _windows()
    found = (family for name in names_of(model) for family in _prefixes(name) if family in windows)
    longest = max(found, key=len, default=None)
    return None if longest is None else windows[longest]


def names_of(model: str) -> Iterator[Tokens]:
    """The name as tokens, from each place where it may begin."""
    name = model[:MAX_NAME_CHARS].casefold()
    return (tokens_of(name[at.end() :]) for at in _BEGIN.finditer(name))


def tokens_of(name: str) -> Tokens:
    """The words and numbers of a name in lower case."""
    return tuple(_TOKEN.findall(name))


def _prefixes(name: Tokens) -> Iterator[Tokens]:
    return (name[:end] for end in range(1, len(name) + 1))


@cache
def _windows() -> Mapping[Tokens, int]:
    """The windows of the table by the tokens of the family."""
    text = files("understudy.providers").joinpath("model_windows.toml").read_text("utf-8")
    return {
        tokens_of(family): window
        for maker in tomllib.loads(text).values()
        for family, window in maker["windows"].items()
    }
