"""A text as the rules read it, which knows the line of the file that each place came from."""

import re
from array import array
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

_END: Final = re.compile(b"\n")


# Not slotted: what is worked out from the lines is kept.
@dataclass(frozen=True, kw_only=True)
class View:
    """Lines, and the number in the file of the first line that each was made of."""

    lines: Sequence[str]
    numbers: Sequence[int]
    # Without its quotes, so that what is only quoted can no longer be told from what is said.
    is_bare: bool = False

    @cached_property
    def text(self) -> bytes:
        """The lines as one text."""
        return "\n".join(self.lines).encode("utf-8", "replace")

    @cached_property
    def _starts(self) -> Sequence[int]:
        starts = array("L", (0,))
        starts.extend(found.end() for found in _END.finditer(self.text))
        return starts

    def index_at(self, offset: int) -> int:
        """Which line of this view holds the byte."""
        return bisect_right(self._starts, offset) - 1

    def number_at(self, offset: int) -> int:
        """The line of the file that the byte came from."""
        return self.numbers[self.index_at(offset)]

    def changed(self, change: Callable[[str], str], *, is_bare: bool = False) -> "View":
        """The same lines, read in another way, which neither makes a line nor ends one."""
        text = "\n".join(self.lines)
        other = change(text)
        if other == text:
            return self
        return View(lines=other.split("\n"), numbers=self.numbers, is_bare=self.is_bare or is_bare)
