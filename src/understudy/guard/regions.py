"""Divides a file into what belongs together: a fenced block, a paragraph, a whole script."""

import re
from collections.abc import Sequence
from typing import Final

from understudy.guard.rule import FileKind
from understudy.guard.view import View

# What begins with one of these does not go on with the line before: a list, a table, a title, a field.
_BEGINS: Final = re.compile(r"\s*(?:[-*+]\s|\d{1,3}[.)]\s|[#|<]|[\w-]{1,40}:(?:\s|$))")
_ENDS: Final = re.compile(r"\s*(?:#|\||-{3}|$)")
_FENCE: Final = re.compile(r"\s{0,12}(?:[>*-]\s{0,3})?(`{3,}|~{3,})")


# Regions of prose are counted below zero, those of code from zero.
def regions_of(view: View, kind: FileKind) -> Sequence[int]:
    """For each line the number of the region it is in: negative where it is prose."""
    if kind not in (FileKind.MANIFEST, FileKind.DOCUMENT):
        return [0] * len(view.lines)
    regions: list[int] = []
    region, fence = 0, ""
    for line in view.lines:
        mark = _FENCE.match(line)
        if mark and not fence:
            region, fence = region + 1, mark[1][0]
        elif mark and mark[1][0] == fence:
            fence = ""
        elif not fence and not line.strip():
            region += 1
        regions.append(region if fence or mark else ~region)
    return regions


def unwrapped(view: View, kind: FileKind) -> bytes:
    """The text with each paragraph of prose on one line; every byte keeps its place."""
    regions = regions_of(view, kind)
    parts: list[str] = []
    for index, line in enumerate(view.lines):
        is_same = index > 0 and regions[index] == regions[index - 1] < 0
        goes_on = is_same and not (_BEGINS.match(line) or _ENDS.match(view.lines[index - 1]))
        # A quoted paragraph has its mark on each line.
        said = line.replace(">", " ", 1) if goes_on and line.lstrip().startswith(">") else line
        parts += (" " if goes_on else "\n", said)
    return "".join(parts[1:]).encode("utf-8", "replace")
