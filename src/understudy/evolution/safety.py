"""What no text may hold that becomes part of a prompt: commands, hidden signs, secrets."""

from collections.abc import Iterator
from itertools import islice
from typing import Final

from understudy.core.errors import FieldError, coded_error
from understudy.core.invisible_characters import hidden_in
from understudy.guard.scan import scan_text
from understudy.learnings.guard import SecretGuard

# So many are told of one text.
MAX_FINDINGS: Final = 20
POINTER: Final = "/content"


def check_safe(new: str, secrets: SecretGuard, *, code: str) -> None:
    """Refuse a text that holds any of it, with every finding."""
    errors = tuple(islice(_unsafe(new, secrets), MAX_FINDINGS))
    if errors:
        detail = "; ".join(error.detail for error in errors)
        raise coded_error(f"evolution/{code}", errors=errors, detail=detail)


def wrong(code: str, detail: str) -> FieldError:
    """What is wrong with the text of a file."""
    return FieldError(pointer=POINTER, code=code, detail=detail)


def _unsafe(new: str, secrets: SecretGuard) -> Iterator[FieldError]:
    # Read as the strictest of files: all of it becomes part of the prompt.
    for found in scan_text(new):
        yield wrong(found.rule_id, f"line {found.line}: it {found.reason}")
    if hidden_in(new, besides="\n\r\t"):
        yield wrong("hidden_character", "it holds a character that nobody sees")
    why = secrets.reason(new)
    if why is not None:
        yield wrong(why, "it holds what looks like a secret")
