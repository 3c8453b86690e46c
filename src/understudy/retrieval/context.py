"""What the next run of a session would be given to remember, as the prompt would choose it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from understudy.memory.policy import RunMemoryPolicy
from understudy.retrieval.choice import Learned
from understudy.retrieval.learned import learn_context
from understudy.retrieval.recovered import Recovered, recover
from understudy.sessions.learning_scopes import LearningScope, visible_scopes
from understudy.sessions.model import Session
from understudy.skills.catalogue_entry import CatalogueEntry

if TYPE_CHECKING:
    from understudy.storage.unit import Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryContext:
    """What a session sees, and what of it a prompt would tell."""

    session: Session
    learning_scopes: tuple[LearningScope, ...]
    query: str | None
    policy: RunMemoryPolicy
    learned: Learned
    recovered: Recovered
    skills: tuple[CatalogueEntry, ...] = ()


def memory_context(
    unit: "Unit",
    session: Session,
    *,
    query: str | None,
    policy: RunMemoryPolicy,
    now_ms: int,
    skills: tuple[CatalogueEntry, ...] = (),
) -> MemoryContext:
    """Look, and change nothing: no counter, no record."""
    return MemoryContext(
        session=session,
        learning_scopes=visible_scopes(unit, session),
        query=query,
        policy=policy,
        learned=learn_context(unit, session, query, now_ms),
        recovered=recover(unit, session.session_id, query, policy, now_ms),
        skills=skills,
    )
