"""Under which scopes the index of terms holds a learning.

A learning that no search may find is not in the index at all, so it neither takes the place of one
that may be found nor shows in how common a word is. One that could reach a prompt is there once more
under a key of its own, because a prompt must find its learnings among any number of provisional ones,
and under one for the session that it was said in, because what was said together belongs together.
"""

from typing import Final

from understudy.learnings.model import Learning
from understudy.learnings.visibility import prompt_blockers, search_blockers
from understudy.sessions.learning_scopes import LearningScope

_PROMPT: Final = "prompt"
# At the beginning of time nothing is past its own; that is judged when it is read.
_ALWAYS: Final = 0


def prompt_key(scope: LearningScope) -> str:
    """What the index calls the part of a scope that could reach a prompt."""
    return f"{_PROMPT}:{scope.key}"


def talk_key(scope: LearningScope, session_id: str) -> str:
    """What the index calls the part of it that was said in one session."""
    return f"{prompt_key(scope)}:{session_id}"


def index_scopes(learning: Learning) -> tuple[str, ...]:
    """The keys to index a learning under; none for one that is not to be found.

    This only narrows down what is read. What is read is judged again, by the same table.
    """
    if search_blockers(learning, now_ms=_ALWAYS):
        return ()
    if prompt_blockers(learning, now_ms=_ALWAYS):
        return (learning.scope.key,)
    talk = learning.source.session_id
    return (
        learning.scope.key,
        prompt_key(learning.scope),
        *([] if talk is None else [talk_key(learning.scope, talk)]),
    )
