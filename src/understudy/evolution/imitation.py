"""Finds headings in a text by which it would pass for another part of the system text."""

import re
from collections.abc import Iterator
from typing import Final

from understudy.agents.model import CONTEXT_FILES
from understudy.evolution.reading import as_seen, plain

# The sections of the system text; a test compares them with those that there are.
SECTIONS: Final = (
    "Base instructions",
    "Persona",
    "Context files",
    # What people would take for them.
    "Context",
    "Self-Evolution",
    "Skills",
    "Skill creation",
    "learned_context",
    "recovered_memory",
)
# Also in a list or a quotation.
_LEAD: Final = r"(?:[\s>]|[-+*]\s|\d{1,3}[.)]\s)*+"
_HEADING: Final = re.compile(
    rf"{_LEAD}(?:#{{1,6}}|<h[1-6][^>]{{0,100}}>)(?P<title>.*?)(?:</h[1-6]>\s*)?"
)
# Bold as a whole, which stands as a heading as well.
_BOLD: Final = re.compile(
    rf"{_LEAD}(?:\*\*|__|<b>|<strong>)(?P<title>(?:(?!\*\*|__|<).)++)"
    r"(?:\*\*|__|</b>|</strong>)[\s:.*_]*"
)
# What changes only how the words within it look.
_DRESS: Final = re.compile(r"[*`~]|</?[a-z][^<>]*>")
_UNDERLINE: Final = re.compile(r"\s{0,3}(?:=+|-+)\s*")
# What may stand around the words of a heading.
_AROUND: Final = " \t#*_`~:\"'<>/[]()."
_NAMES: Final = frozenset(plain(name) for name in CONTEXT_FILES)
_TITLES: Final = frozenset(plain(title).replace("_", " ").replace("-", " ") for title in SECTIONS)


def imitating_lines(text: str, own: str) -> Iterator[int]:
    """The lines, from 1, that stand as the heading of another file or of a section.

    A file may begin with its own name.
    """
    lines = [plain(as_seen(line)) for line in text.splitlines()]
    for index, line in enumerate(lines):
        heading = _HEADING.fullmatch(line) or _BOLD.fullmatch(line)
        below = lines[index + 1] if index + 1 < len(lines) else ""
        if heading is not None:
            title = heading["title"]
        elif line.strip() and _UNDERLINE.fullmatch(below):
            title = line
        else:
            continue
        if _imitates(_DRESS.sub("", title).strip(_AROUND), plain(own)):
            yield index + 1


def _imitates(title: str, own: str) -> bool:
    first = title.split(maxsplit=1)[0].strip(_AROUND) if title else ""
    if first in _NAMES:
        return first != own
    return title.replace("_", " ").replace("-", " ") in _TITLES
