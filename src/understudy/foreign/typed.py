"""What of a text in the place of the user a person typed, and what a client put there."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

# Blocks that clients put among typed words.
_OPENING: Final = re.compile(
    r"<(system-reminder|session-start-hook|user-prompt-submit-hook|task-notification"
    r"|(?:ide|bash|command|local-command)[_-][a-z_-]{1,40}|environment_context"
    r"|user_instructions|INSTRUCTIONS|turn_aborted)\b[^<>]{0,200}>"
)
# Lines that clients write instead of a person.
_NOT_TYPED: Final = ("[Request interrupted", "Caveat: The messages below")


class TypedWords(NamedTuple):
    """The typed words, and what was injected around them."""

    typed: str
    injected: tuple[str, ...] = ()


def words_of(text: str) -> TypedWords:
    """Take a text apart; a block without an end is all injected."""
    if text.lstrip().startswith(_NOT_TYPED):
        return TypedWords("", (text.strip(),))
    typed, injected, at = [], [], 0
    for start, end in _blocks(text):
        typed.append(text[at:start])
        injected.append(text[start:end].strip())
        at = end
    typed.append(text[at:])
    return TypedWords("".join(typed).strip(), tuple(injected))


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    at = 0
    while (found := _OPENING.search(text, at)) is not None:
        close = f"</{found[1]}>"
        end = text.find(close, found.end())
        at = len(text) if end < 0 else end + len(close)
        yield found.start(), at
