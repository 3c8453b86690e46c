"""A database with learnings in it, asked as a prompt asks."""

from collections.abc import Iterable
from typing import Final

from understudy.core.bell import Bell
from understudy.learnings.keys import key_of
from understudy.learnings.model import (
    Kind,
    Learning,
    LearningSource,
    LearningStatus,
    PolicyDecision,
)
from understudy.retrieval.choice import Learned
from understudy.retrieval.learned import learn_context
from understudy.sessions.learning_scopes import LearningScope
from understudy.sessions.model import Session
from understudy.storage.engine import open_engine
from understudy.storage.migrate import migrate
from understudy.storage.unit import Units

NOW_MS: Final = 1_750_000_000_000
BATCH: Final = 2_000


class LearnedStore:
    """Learnings in the store, found through the very code that builds prompts."""

    name = "learnings"

    def __init__(self, url: str) -> None:
        self._engine = open_engine(url)
        migrate(self._engine)
        self._units = Units(self._engine, enqueue=lambda *_: None, bell=Bell())

    def fill(self, learnings: Iterable[Learning]) -> None:
        """Store and index some learnings."""
        with self._units.write() as unit:
            for learning in learnings:
                unit.learnings.add(learning)

    def ask(self, query: str | None, session_id: str) -> Learned:
        """What the prompt of a session would be told."""
        with self._units.read() as unit:
            return learn_context(unit, session(session_id), query, NOW_MS)

    def close(self) -> None:
        """Let go of the database."""
        self._engine.dispose()


def learning(
    learning_id: str,
    content: str,
    scope: LearningScope,
    at_ms: int = 0,
    *,
    said_in: str | None = None,
) -> Learning:
    """A fact that somebody published by hand, said in a session."""
    key = key_of(content)
    return Learning(
        learning_id=learning_id,
        scope=scope,
        kind=Kind.FACT,
        content=content,
        semantic_key=key.semantic,
        subject_key=key.subject,
        created_at_ms=at_ms,
        published_at_ms=at_ms,
        status=LearningStatus.ACTIVE,
        source=LearningSource(session_id=said_in),
        policy_decision=PolicyDecision.MANUAL,
        policy_actor="operator",
    )


def session(session_id: str) -> Session:
    """A session without persona and projects."""
    return Session(
        session_id=session_id,
        agent_id="default",
        owner_id="bench",
        created_at_ms=0,
        updated_at_ms=0,
    )
