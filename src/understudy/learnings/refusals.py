"""Why the learning plane says no, in words and codes."""

from understudy.core.errors import Conflict, Invalid, NotFound
from understudy.learnings.model import Learning, LearningStatus


def candidate_not_found_error(candidate_id: str) -> NotFound:
    """There is no such candidate."""
    return NotFound(
        "candidate_not_found", domain="learnings", detail=f"no learning candidate {candidate_id!r}"
    )


def learning_not_found_error(learning_id: str) -> NotFound:
    """There is no such learning."""
    return NotFound("learning_not_found", domain="learnings", detail=f"no learning {learning_id!r}")


def already_rejected_error(candidate_id: str) -> Conflict:
    """A rejected candidate is not published."""
    return Conflict(
        "candidate_rejected",
        domain="learnings",
        detail=f"candidate {candidate_id} was rejected; propose it again to have it published",
        params={"candidate_id": candidate_id},
    )


def already_published_error(candidate_id: str, learning_id: str | None) -> Conflict:
    """A published candidate is not decided again."""
    return Conflict(
        "candidate_published",
        domain="learnings",
        detail=f"candidate {candidate_id} was published as {learning_id}; revoke that learning"
        " to take it back",
        params={"candidate_id": candidate_id, "learning_id": learning_id},
    )


def candidate_expired_error(candidate_id: str) -> Conflict:
    """A candidate past its time is not published."""
    return Conflict(
        "candidate_expired",
        domain="learnings",
        detail=f"the time of candidate {candidate_id} is over; propose it again",
        params={"candidate_id": candidate_id},
    )


def conflicts_with(other: Learning) -> Conflict:
    """Two learnings of one scope and kind do not say different things of one subject."""
    return Conflict(
        "learning_conflict",
        domain="learnings",
        detail=f"{other.learning_id} says something else about the same subject in this scope; "
        f'name it in "supersedes" to replace it',
        params={"learning_id": other.learning_id},
    )


def says_the_same(other: Learning) -> Conflict:
    """A replacement says something that no third learning says already."""
    return Conflict(
        "learning_duplicate",
        domain="learnings",
        detail=f"{other.learning_id} says this already; revoke the one you meant to replace",
        params={"learning_id": other.learning_id},
    )


def active_tier_required_error() -> Invalid:
    """What is provisional takes nobody's place."""
    return Invalid(
        "supersedes_needs_active_tier",
        domain="learnings",
        pointer="/publish_tier",
        detail="only a learning of the active tier can take the place of another",
    )


def other_scope(target: Learning) -> Conflict:
    """A learning is replaced in its own scope."""
    return Conflict(
        "supersede_scope_mismatch",
        domain="learnings",
        detail=f"{target.learning_id} belongs to {target.scope.key}, and is replaced there only",
        params={"learning_id": target.learning_id, "scope": target.scope.key},
    )


def learning_not_live_error(target: Learning) -> Conflict:
    """What was revoked or superseded cannot be superseded."""
    if target.status is LearningStatus.REVOKED:
        return Conflict(
            "learning_revoked",
            domain="learnings",
            detail=f"{target.learning_id} was revoked; there is nothing to replace",
            params={"learning_id": target.learning_id},
        )
    return Conflict(
        "learning_superseded",
        domain="learnings",
        detail=f"{target.learning_id} was superseded by {target.superseded_by}; replace that one",
        params={"learning_id": target.learning_id, "superseded_by": target.superseded_by},
    )


def daemon_owned() -> Invalid:
    """Only the daemon makes summaries of runs."""
    return Invalid(
        "run_summary_is_daemon_owned",
        domain="learnings",
        pointer="/kind",
        detail="only the daemon makes run summaries",
    )


def looks_secret(code: str, *, pointer: str, why: str) -> Invalid:
    """What looks like secret material is never learned."""
    return Invalid(
        code,
        domain="learnings",
        pointer=pointer,
        detail=f"this looks like secret material ({why}), which is never learned",
    )


def nothing_named() -> Invalid:
    """Everything at once has to be asked for by name."""
    return Invalid(
        "filter_required",
        domain="learnings",
        detail='name at least one filter, or say "all": true',
    )


def query_too_short(least: int) -> Invalid:
    """A sign or two is part of nearly every record."""
    return Invalid(
        "filter_required",
        domain="learnings",
        pointer="/query",
        detail=f"a query alone needs at least {least} letters or digits, for a shorter one finds"
        ' nearly everything; add another filter, or as an admin say "all": true',
    )


def too_many(limit: int) -> Conflict:
    """More than is done at once."""
    return Conflict(
        "too_many_matches",
        domain="learnings",
        detail=f"more than {limit} match; narrow the filter and do it in parts",
        params={"limit": limit},
    )


def too_many_named(limit: int) -> Invalid:
    """More are named than are decided at once."""
    return Invalid(
        "too_many_candidates",
        domain="learnings",
        pointer="/candidate_ids",
        detail=f"name at most {limit} candidates at once",
    )
