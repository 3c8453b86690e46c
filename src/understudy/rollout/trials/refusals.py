"""Why a trial is not begun, or counts for nothing."""

from understudy.core.errors import Conflict, Invalid, NotFound, Unavailable
from understudy.rollout.model import EvidenceKind, Rollout
from understudy.rollout.stages import Stage


def no_trial(skill_name: str, trial_id: str) -> NotFound:
    """There is no such trial."""
    return NotFound(
        "trial_not_found",
        domain="rollout",
        detail=f"{skill_name} has no trial {trial_id!r}",
        params={"skill_name": skill_name},
    )


def not_on_trial(rollout: Rollout) -> Invalid:
    """What is in force or taken back is tried no more."""
    hint = "promote it again first" if rollout.status is Stage.REVOKED else "runs use it as it is"
    return Invalid(
        "rollout_not_on_trial",
        domain="rollout",
        detail=f"{rollout.skill_name} is {rollout.status}; {hint}",
    )


def other_kind(rollout: Rollout, kind: EvidenceKind) -> Invalid:
    """Each stage has its own trials."""
    return Invalid(
        "wrong_trial_kind",
        domain="rollout",
        pointer="/kind",
        detail=f"{rollout.skill_name} is {rollout.status}; there is no {kind} trial in that stage",
    )


def too_many(skill_name: str, most: int) -> Conflict:
    """Trials cost something; those that are under way come first."""
    return Conflict(
        "too_many_trials",
        domain="rollout",
        detail=f"{skill_name} has {most} trials under way; wait for one, or cancel its run",
        params={"most": most},
    )


def bad_params(detail: str) -> Invalid:
    """What the skill is to work on cannot be passed on."""
    return Invalid("invalid_params", domain="rollout", pointer="/params", detail=detail)


def secret_params(why: str) -> Invalid:
    """What the skill works on is told to a model, and kept."""
    return Invalid(
        "secret_params",
        domain="rollout",
        pointer="/params",
        detail=f"this looks like secret material ({why}), which no skill is given",
    )


def no_worktree(detail: str) -> Unavailable:
    """There is no folder to work in."""
    return Unavailable("worktree_missing", domain="rollout", detail=detail)
