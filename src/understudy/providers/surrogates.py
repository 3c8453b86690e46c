"""Texts from a provider as real Unicode: JSON can name half of a surrogate pair, nothing stores it."""

from typing import Final

from understudy.providers.base import OnDelta

REPLACEMENT: Final = "\ufffd"


def clean(text: str) -> str:
    """The text with its pairs joined and every half that stays alone replaced."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class Speaker:
    """Says a text piece by piece, so that the pieces join to exactly the cleaned text."""

    def __init__(self, on_delta: OnDelta) -> None:
        self._on_delta = on_delta
        self._half = ""

    def say(self, piece: str) -> None:
        """Say a piece, except for a half at its end that the next one may complete."""
        piece = self._half + piece
        self._half = piece[-1:] if "\ud800" <= piece[-1:] <= "\udbff" else ""
        if self._half:
            piece = piece[:-1]
        if piece:
            self._on_delta(clean(piece))

    def end(self) -> None:
        """Say what was waiting for its other half."""
        if self._half:
            self._half = ""
            self._on_delta(REPLACEMENT)
