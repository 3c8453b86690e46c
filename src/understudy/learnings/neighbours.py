"""Neighbours: the learnings nearest to a statement, and how the statement relates to each."""

import hashlib
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Final, Protocol

from understudy.learnings.model import Learning
from understudy.sessions.learning_scopes import LearningScope

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

# As many as nearly always include the one that says the same or the contrary.
MOST_NEIGHBOURS: Final = 8


class Nearest(Protocol):
    """Ranks the prompt-visible learnings of scopes by their likeness to a text, best first."""

    def __call__(
        self,
        unit: "Unit",
        text: str,
        scopes: Collection[LearningScope] | None,
        *,
        now_ms: int,
        limit: int,
    ) -> tuple[tuple[Learning, float], ...]: ...


def no_neighbours(
    unit: "Unit",
    text: str,
    scopes: Collection[LearningScope] | None,
    *,
    now_ms: int,
    limit: int,
) -> tuple[tuple[Learning, float], ...]:
    """Find nothing, where nothing is compared."""
    return ()


def digest_of(known: Iterable[Learning]) -> str:
    """The digest of the learnings that a statement was compared with."""
    named = sorted(f"{it.learning_id}:{it.version}" for it in known)
    return hashlib.sha256("\n".join(named).encode()).hexdigest()
