"""Unified diffs of context files, with limits of time and length."""

from collections.abc import Sequence
from itertools import islice
from typing import Final

from understudy.core.line_diff import Effort, unified

# About a tenth of a second, and as much as a person would read.
MAX_STEPS: Final = 150_000
MAX_LINES: Final = 2_000
# The limit for all diffs of a page.
PAGE_STEPS: Final = 2 * MAX_STEPS
# The size of a text costs time too, and room in the answer.
CHARS_A_STEP: Final = 16
CUT: Final = "[cut]"


def text_diff(old: str | None, new: str, name: str) -> str:
    """A unified diff; empty when nothing differs. `old` is None for a new file."""
    return _shown(Effort(MAX_STEPS), old, new, name)


def text_diff_within(effort: Effort, old: str | None, new: str, name: str) -> str | None:
    """A diff within a shared effort; None where too little of it is left."""
    if not effort.spend((len(old or "") + len(new)) // CHARS_A_STEP):
        return None
    diff = _shown(effort, old, new, name)
    # A diff that ran out of effort is coarser than it would be alone.
    return diff if effort.left >= 0 else None


def _shown(effort: Effort, old: str | None, new: str, name: str) -> str:
    lines = list(islice(unified(_lines(old or ""), _lines(new), effort), MAX_LINES + 1))
    if not lines:
        return ""
    shown = [*lines[:MAX_LINES], CUT] if len(lines) > MAX_LINES else lines
    was = "/dev/null" if old is None else f"a/{name}"
    return "\n".join([f"--- {was}", f"+++ b/{name}", *shown])


def _lines(text: str) -> Sequence[str]:
    return text.splitlines()
