"""How much of the model's window the conversation may fill."""

import math
from typing import Final

AUTOCOMPACT_THRESHOLD: Final = 167_000
BUFFER: Final = 13_000
RESERVED_OUTPUT: Final = 4_096
TOKENS_PER_BYTE: Final = 0.285


def estimate_tokens(text: str) -> int:
    """A quick upper guess of the tokens in a text."""
    return math.ceil(len(text.encode(errors="replace")) * TOKENS_PER_BYTE)


def history_budget(*, context_window: int | None, base_tokens: int) -> int:
    """Tokens left for earlier turns beside what must be in the prompt; never below zero."""
    budget = AUTOCOMPACT_THRESHOLD - BUFFER
    if context_window is not None:
        # A small window cannot spare the whole buffer; a tenth of it has to do.
        buffer = min(BUFFER, context_window // 10)
        budget = min(budget, context_window - min(RESERVED_OUTPUT, context_window // 4) - buffer)
    return max(0, budget - base_tokens)
