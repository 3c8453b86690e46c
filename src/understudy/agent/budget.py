"""How much of the model's window the conversation may fill."""

import math
from typing import Final

from understudy.core.tokens import TOKENS_PER_BYTE, estimate_tokens

AUTOCOMPACT_THRESHOLD: Final = 167_000
BUFFER: Final = 13_000
RESERVED_OUTPUT: Final = 4_096
CUT: Final = "\n[… cut to save room …]\n"


def list_tokens(tokens: int) -> int:
    """What messages take together: a third more than their texts, for what stands between them."""
    return math.ceil(tokens * 4 / 3)


def prompt_limit(context_window: int | None) -> int:
    """How many tokens a prompt may have before its older part is summarised."""
    limit = AUTOCOMPACT_THRESHOLD - BUFFER
    if context_window is None:
        return limit
    # A small window cannot spare the whole buffer; a tenth of it has to do.
    buffer = min(BUFFER, context_window // 10)
    reserved = min(RESERVED_OUTPUT, context_window // 4)
    return max(0, min(limit, context_window - reserved - buffer))


def clip(text: str, tokens: int) -> str:
    """The beginning and the end of a text that is longer than so many tokens."""
    if estimate_tokens(text) <= tokens:
        return text
    raw = text.encode(errors="replace")
    room = max(0, int(tokens / TOKENS_PER_BYTE) - len(CUT.encode()))
    head, tail = room * 2 // 3, room // 3
    start, end = raw[:head], raw[len(raw) - tail :]
    return start.decode(errors="ignore") + CUT + end.decode(errors="ignore")
