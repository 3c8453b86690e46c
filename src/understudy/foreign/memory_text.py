"""The entries of a memory file that an agent wrote, as statements."""

import re
from collections.abc import Iterator
from typing import Final

from understudy.learnings.labels import labelled_statements
from understudy.learnings.model import Kind
from understudy.learnings.remember import kind_of

MAX_ENTRIES: Final = 500
_FRONT_MATTER: Final = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_FENCE: Final = re.compile(r"^(```|~~~).*?^\1[^\n]*$", re.DOTALL | re.MULTILINE)
_BULLET: Final = re.compile(r"\s{0,8}(?:[-*+•]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")
# Headings, rules, links to other files alone, comments; and what Hermes writes between entries.
_NO_ENTRY: Final = re.compile(r"\s*(?:#.*|[-=*_§\s]*|\[[^\]]*\]\([^)]*\)\.?|<!--.*)")


def entries_of(text: str) -> Iterator[tuple[Kind, str]]:
    """The entries: each bullet with its lines, and each paragraph."""
    for number, entry in enumerate(_entries(text)):
        if number >= MAX_ENTRIES:
            return
        labelled = next(labelled_statements(entry), None)
        yield (labelled.kind, labelled.content) if labelled else (kind_of(entry), entry)


def _entries(text: str) -> Iterator[str]:
    whole = text.replace("\r\n", "\n").replace("\n§\n", "\n\n").removeprefix("\ufeff")
    entry: list[str] = []
    for line in [*_FENCE.sub("", _FRONT_MATTER.sub("", whole)).split("\n"), ""]:
        bullet = _BULLET.match(line)
        is_end = bullet is not None or _NO_ENTRY.fullmatch(line) is not None
        if is_end and entry:
            yield " ".join(entry)
            entry = []
        if bullet is not None:
            entry = [line[bullet.end() :].strip()]
        elif not is_end:
            entry.append(line.strip())
