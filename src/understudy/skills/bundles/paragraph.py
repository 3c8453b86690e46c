"""The first paragraph of prose in a Markdown text."""

import re
from typing import Final

MAX_CHARS: Final = 1024
# Headings, lists, quotes, tables, rules, pictures, comments and indented code are not prose.
_NOT_PROSE: Final = re.compile(
    r"#{1,6}\s|[-*+]\s|\d{1,9}[.)]\s|>|\||!\[|<|(?:[-*_]\s*){3,}$|[=-]+\s*$|\t|    "
)
_FENCE: Final = re.compile(r" {0,3}(```|~~~)")


def first_paragraph(markdown: str) -> str:
    """The lines of the first paragraph, joined; empty without one."""
    found: list[str] = []
    fence: str | None = None
    for line in markdown.splitlines():
        mark = _FENCE.match(line)
        if mark and (fence is None or mark[1] == fence):
            fence = mark[1] if fence is None else None
            plain = ""
        else:
            plain = "" if fence or _NOT_PROSE.match(line) else line.strip()
        if plain:
            found.append(plain)
        elif found:
            break
    return " ".join(" ".join(found).split())[:MAX_CHARS].rstrip()
