"""One budget for everything that is recalled: notes are added in order while they still fit."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from understudy.core.tokens import size_of, tokens_in_bytes
from understudy.retrieval.frame import GAP, MARK_BYTES, Note, SectionFrame, heading

# All marks are equally long.
ANY_MARK: Final = "0" * 2 * MARK_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptBudget:
    """The tokens a prompt may have, and those that it has without anything recalled."""

    limit: int
    base: int

    @property
    def tokens(self) -> int:
        """What all recalled sections may take together."""
        return max(0, self.limit - self.base)


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """A section as far as it fits: the first `kept` notes; nothing at all when none does."""

    body: str = ""
    kept: int = 0
    tokens: int = 0


def note_tokens(frame: SectionFrame, note: Note) -> int:
    """What one more note takes in a section."""
    return tokens_in_bytes(size_of(GAP + frame.block(note, ANY_MARK)))


def pack(
    frame: SectionFrame, notes: Sequence[Note], *, tokens: int, mark: str, omitted: int = 0
) -> Packed:
    """The section with as many notes as fit; the first that does not fit ends it.

    `omitted` is how many were left out before; what is left out here is added to it.
    """
    best = Packed()
    parts = [frame.opening(mark)]
    # The line above the section and the blank one before it are its own cost as well.
    size = size_of(GAP + heading(frame.name) + GAP + parts[0])
    for kept, note in enumerate(notes, 1):
        parts.append(frame.block(note, mark))
        size += size_of(GAP + parts[-1])
        closing = frame.closing(omitted + len(notes) - kept)
        cost = tokens_in_bytes(size + (size_of(GAP + closing) if closing else 0))
        if cost > tokens:
            break
        best = Packed(kept=kept, tokens=cost)
    return _with_body(frame, parts, best, omitted + len(notes) - best.kept)


def _with_body(frame: SectionFrame, parts: Sequence[str], best: Packed, omitted: int) -> Packed:
    if not best.kept:
        return best
    shown = [*parts[: best.kept + 1], frame.closing(omitted)]
    body = GAP.join(part for part in shown if part)
    return Packed(body=body, kept=best.kept, tokens=best.tokens)
