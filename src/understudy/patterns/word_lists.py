"""Word lists as data: TOML files beside the code that reads them."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple


class WordLists(NamedTuple):
    """The lists of one TOML file of a package; the file is read when a list is first used.

    A list is an array of phrases, or a text of words with blanks between them. The name of a list
    inside a table has a dot: `stop_words.french`.
    """

    package: str
    file: str = "words.toml"

    def __call__(self, name: str) -> tuple[str, ...]:
        """A list in the order of the file."""
        return _items(self, name)

    def set(self, name: str) -> frozenset[str]:
        """A list as a set."""
        return _set(self, name)

    def pairs(self, name: str) -> Mapping[str, str]:
        """A list of `from:to` items as a mapping."""
        return _pairs(self, name)


def read_toml(package: str, file: str) -> dict[str, Any]:
    """Parse a TOML file that is shipped with a package."""
    return tomllib.loads(files(package).joinpath(file).read_text("utf-8"))


@cache
def _tables(package: str, file: str) -> dict[str, Any]:
    return read_toml(package, file)


@cache
def _items(lists: WordLists, name: str) -> tuple[str, ...]:
    found: Any = _tables(*lists)
    for key in name.split("."):
        found = found[key]
    return tuple(found.split() if isinstance(found, str) else found)


@cache
def _set(lists: WordLists, name: str) -> frozenset[str]:
    return frozenset(_items(lists, name))


@cache
def _pairs(lists: WordLists, name: str) -> Mapping[str, str]:
    return dict(item.split(":") for item in _items(lists, name))
