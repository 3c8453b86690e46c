"""How a connected agent is answered when it writes to its memory."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

SETTING: Final = "memory_writes"


class MemoryWriteAnswer(StrEnum):
    """The answer to a write that waits for review."""

    DENY = "deny"  # the agent goes on without it
    ASK = "ask"  # the person at the agent's terminal may allow it there
    DEFER = "defer"  # the agent stops, and repeats the call when it is resumed


def answer_of(document: Mapping[str, Any]) -> MemoryWriteAnswer:
    """The answer in force; a damaged document denies."""
    try:
        return MemoryWriteAnswer(document.get(SETTING, MemoryWriteAnswer.DENY))
    except ValueError:
        return MemoryWriteAnswer.DENY
