"""Rule books: rules as TOML data, with shared pattern parts and examples that test each rule."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

_PART: Final = re.compile(r"@\{(\w+)\}")
_CHARACTER_CLASS: Final = re.compile(r"\[[^\]]+\]")
# Removed from examples; splits them in the file, so that no scanner reports the book as a leak.
_JOINT: Final = "<>"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvenRule:
    """A rule with examples that it must and must not match; the tests walk them."""

    id: str
    matches: Sequence[str] = ()
    misses: Sequence[str] = ()


class RuleBook:
    """The tables of a TOML file with rules, whose table `[words]` names parts that patterns share.

    A pattern refers to a part as `@{name}`; a part may use the parts before it. `computed` are
    parts that code makes, such as the alternatives of a word list.
    """

    def __init__(self, tables: Mapping[str, Any], **computed: str) -> None:
        self.tables = tables
        self._parts = dict(computed)
        for name, regex in self.tables.get("words", {}).items():
            self._parts[name] = self.regex(regex)

    def regex(self, text: str) -> str:
        """A pattern with its shared parts expanded."""
        return _PART.sub(self._spelled_out, text)

    def regexes(self, texts: Iterable[str]) -> tuple[str, ...]:
        """Several patterns with their shared parts expanded."""
        return tuple(map(self.regex, texts))

    def _spelled_out(self, part: re.Match[str]) -> str:
        regex = self._parts[part[1]]
        return regex if _CHARACTER_CLASS.fullmatch(regex) else f"(?:{regex})"


def examples(texts: Iterable[str]) -> tuple[str, ...]:
    """Examples without the joints that hide them from scanners."""
    return tuple(text.replace(_JOINT, "") for text in texts)
