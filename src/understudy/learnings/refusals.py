"""Why the learning plane says no, in words and codes."""

from understudy.core.errors import UnderstudyError, coded_error
from understudy.learnings.model import Learning, LearningStatus


def learning_not_live_error(target: Learning) -> UnderstudyError:
    """What was revoked or superseded cannot be superseded."""
    if target.status is LearningStatus.REVOKED:
        return coded_error("learnings/learning_revoked", learning_id=target.learning_id)
    return coded_error(
        "learnings/learning_superseded",
        learning_id=target.learning_id,
        superseded_by=target.superseded_by,
    )


def looks_secret(code: str, *, pointer: str, why: str) -> UnderstudyError:
    """What looks like secret material is never learned."""
    return coded_error(
        f"learnings/{code}",
        pointer=pointer,
        why=why,
    )
