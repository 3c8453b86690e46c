"""Divides a file into what belongs together: a fenced block, a paragraph, a whole script."""

import re
from collections.abc import Sequence
from typing import Final

from understudy.guard.rule import FileKind
from understudy.guard.view import View

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
