"""Context windows of models: configured, known by model family, or assumed."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, lru_cache
from importlib.resources import files
from typing import Final

# For unknown families: the least that recent hosted models have.
DEFAULT_WINDOW: Final = 128_000
# Longer names are truncated.
MAX_NAME_CHARS: Final = 200
# Words and numbers of a name: `gpt-4.1-mini` is gpt, 4.1, mini.
_TOKEN: Final = re.compile(r"[a-z]+|[0-9]+(?:\.[0-9]+)*")
# Starts of the name proper: after a host or vendor such as `openai/`, `ft:` or `anthropic.`.
_BEGIN: Final = re.compile(r"(?:^|[/:@~]|\.(?=[a-z]))")
Tokens = tuple[str, ...]


class WindowSource(StrEnum):
    """The source of a context window."""

    CONFIGURED = "configured"  # the route in the config file
    KNOWN = "known"  # the table of model families
    DEFAULT = "default"  # assumed


@dataclass(frozen=True, slots=True)
class ContextWindow:
    """A number of tokens, and its source."""

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
    """The window of the longest family prefix of the name; None for an unknown model."""
    windows = _windows()
    found = (family for name in names_of(model) for family in _prefixes(name) if family in windows)
    longest = max(found, key=len, default=None)
    return None if longest is None else windows[longest]


def names_of(model: str) -> Iterator[Tokens]:
    """The tokens of the name, from each possible start."""
    name = model[:MAX_NAME_CHARS].casefold()
    return (tokens_of(name[at.end() :]) for at in _BEGIN.finditer(name))


def tokens_of(name: str) -> Tokens:
    """The words and numbers of a name in lower case."""
    return tuple(_TOKEN.findall(name))


def _prefixes(name: Tokens) -> Iterator[Tokens]:
    return (name[:end] for end in range(1, len(name) + 1))


@cache
def _windows() -> Mapping[Tokens, int]:
    """The table of windows, by the tokens of the family."""
    text = files("understudy.providers").joinpath("model_windows.toml").read_text("utf-8")
    return {
        tokens_of(family): window
        for maker in tomllib.loads(text).values()
        for family, window in maker["windows"].items()
    }
