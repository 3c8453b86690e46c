"""The learning plane in one line, for `status` and `doctor`."""

from collections.abc import Mapping
from typing import Any

from understudy.cli.screen import count


def learning_words(learning: Mapping[str, Any]) -> str | None:
    """The learning plane on one line: its mode, what waits, what is known."""
    if not learning:
        return None
    candidates, learnings = learning.get("candidates") or {}, learning.get("learnings") or {}
    escalated = candidates.get("escalated", 0)
    waiting = count(candidates.get("pending", 0) + escalated, "candidate")
    of_them = f" ({escalated} escalated)" if escalated else ""
    known = f"{learnings.get('active', 0)} active and {learnings.get('provisional', 0)} provisional"
    return f"mode {learning.get('mode')}; {waiting} to review{of_them}; {known} learnings"
