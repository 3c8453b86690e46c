"""Finds packages to be installed whose names are one slip away from a well-known one."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache, lru_cache
from typing import Final

from understudy.guard.search import compiled
from understudy.guard.view import View
from understudy.patterns.linear import spans_of
from understudy.patterns.word_lists import WordLists

WORDS: Final = WordLists("understudy.guard")
_INSTALLERS: Final = r"\b(?:pip|uv|poetry|pdm|npm|pnpm|yarn|bun|npx)"
# What installs packages of which kind, and the part that names them.
_INSTALLS: Final = (
    (
        "python",
        re.compile(
            r"(?i)\b(?:pip[\d.]*|pipx|uv\s+(?:pip|tool|add)|uv|poetry|pdm)\s+(?:install|add|inject)\s+([^\n;&|`#]{1,400})"
        ),
    ),
    (
        "node",
        re.compile(r"(?i)\b(?:npm|pnpm|yarn|bun)\s+(?:install|i|add)\s+([^\n;&|`#]{1,400})"),
    ),
    ("node", re.compile(r"(?i)\bnpx\s+(?:-\S+\s+)?(\S{1,80})")),
)
# Shorter names are near to each other by chance.
_MIN_LETTERS: Final = 5
_NAME: Final = re.compile(r"(?:^|(?<=[\s\"']))([A-Za-z][\w.-]{3,40}?)(?=[\s\"'=<>~!@\[,]|$)")
_REQUIREMENT: Final = re.compile(
    r"^\s{0,8}([A-Za-z][\w.-]{3,40})\s{0,4}(?:\[[\w,]{0,40}\])?\s{0,4}(?:[=<>~!].{0,80})?$"
)
_DEPENDENCY: Final = re.compile(r"^\s{0,16}\"([A-Za-z][\w.-]{3,40})\"\s{0,4}:\s{0,4}\"[\^~]?\d")

_LISTS: Final = (
    ("requirements.txt", "python", _REQUIREMENT),
    ("package.json", "node", _DEPENDENCY),
)


def typosquats(view: View, path: str) -> Iterator[int]:
    """The lines of the file that install such a package."""
    is_list = path.endswith(tuple(ending for ending, _, _ in _LISTS))
    indexes = range(len(view.lines)) if is_list else _with_installers(view)
    for index in indexes:
        if any(_is_slip(name, kind) for kind, name in _installed(view.lines[index], path)):
            yield view.numbers[index]


def _with_installers(view: View) -> Iterable[int]:
    """The lines that name a program which installs packages; few do."""
    found = spans_of(compiled(_INSTALLERS), view.text)
    return dict.fromkeys(view.index_at(spans[0][0]) for spans in found)


def _installed(line: str, path: str) -> Iterator[tuple[str, str]]:
    """The kind and name of each package that the line installs."""
    for kind, pattern in _INSTALLS:
        for found in pattern.finditer(line):
            yield from ((kind, name) for name in _NAME.findall(found[1]))
    for ending, kind, pattern in _LISTS:
        named = pattern.match(line) if path.endswith(ending) else None
        if named:
            yield kind, named[1]


# The same few names are on many lines.
@lru_cache(maxsize=4096)
def _is_slip(name: str, kind: str) -> bool:
    name = name.lower().replace("_", "-")
    if any(name in _packages(known) for known in ("python", "node", "real")):
        return False
    near = {right for short in _shortened(name) for right in _near(kind).get(short, ())}
    return any(_is_one_slip(name, right) for right in near)


def _shortened(name: str) -> Iterator[str]:
    """A name, and it without each of its letters: names one slip apart have one of these in common."""
    yield name
    for at in range(len(name)):
        yield name[:at] + name[at + 1 :]


@cache
def _near(kind: str) -> Mapping[str, Collection[str]]:
    """The packages by each way to shorten their names."""
    near: dict[str, set[str]] = defaultdict(set)
    for right in _packages(kind):
        for short in _shortened(right):
            near[short].add(right)
    return near


@cache
def _packages(kind: str) -> frozenset[str]:
    return WORDS.set(f"packages.{kind}")


def _is_one_slip(name: str, right: str) -> bool:
    """Whether one letter was dropped, added, changed or swapped with the next."""
    start = next((at for at, (a, b) in enumerate(zip(name, right, strict=False)) if a != b), None)
    if len(right) < _MIN_LETTERS:
        return False
    if start is None:
        # A mark or an s at the end (boto, boto3) is how real packages differ.
        return name[-1:].isalpha() and right[-1:].isalpha() and name != right + "s"
    rest, other = name[start:], right[start:]
    return (
        rest[1:] == other
        or rest == other[1:]
        or (rest[1:] == other[1:] and rest[0].isalpha() and other[0].isalpha())
        or (rest[:2] == other[1::-1] and rest[2:] == other[2:])
    )
