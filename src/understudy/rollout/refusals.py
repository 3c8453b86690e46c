"""Why a rollout says no, in words and codes."""

from collections.abc import Iterable, Mapping
from typing import Final

from understudy.core.errors import FieldError, UnderstudyError, coded_error
from understudy.rollout.guards import GUARDS, GuardReason
from understudy.rollout.model import Rollout
from understudy.rollout.stages import LIVE, Stage

# Steps that something else than promoting takes.
OTHER_WAYS: Final[Mapping[tuple[Stage, Stage], str]] = {
    **{(stage, Stage.REVOKED): "; revoke takes it back" for stage in LIVE},
    (Stage.REVOKED, Stage.ACTIVE): "; rollback has it in force again",
}


def bad_definition(problems: Iterable[FieldError]) -> UnderstudyError:
    """What was sent describes no skill."""
    errors = tuple(problems)
    return coded_error("rollout/invalid_definition", errors=errors, detail=errors[0].detail)


def secret_definition(problems: Iterable[FieldError]) -> UnderstudyError:
    """What looks like secret material is told to no model."""
    errors = tuple(problems)
    return coded_error("rollout/secret_definition", errors=errors, detail=errors[0].detail)


def bad_source(reasons: Iterable[GuardReason]) -> UnderstudyError:
    """Not every learning can become a skill."""
    errors = tuple(
        FieldError(pointer="/source_learning_id", code=reason.code, detail=reason.detail)
        for reason in reasons
    )
    return coded_error(
        "rollout/source_not_promotable",
        errors=errors,
        detail="; ".join(error.detail for error in errors),
    )


def unknown_step_error(current: Stage, target: Stage) -> UnderstudyError:
    """Promoting does not lead from there to here."""
    ways = ", ".join(to for came, to in GUARDS if came is current is not to)
    return coded_error(
        "rollout/invalid_rollout_step",
        pointer="/status",
        detail=f"promoting leads from {current} to {ways or 'nowhere'}, not to {target}"
        + OTHER_WAYS.get((current, target), ""),
    )


def guarded(rollout: Rollout, target: Stage, reasons: Iterable[GuardReason]) -> UnderstudyError:
    """Something is missing for the next stage."""
    errors = tuple(
        FieldError(pointer="/status", code=reason.code, detail=reason.detail) for reason in reasons
    )
    missing = "; ".join(error.detail for error in errors)
    return coded_error(
        "rollout/rollout_not_ready",
        errors=errors,
        skill_name=rollout.skill_name,
        target=target,
        missing=missing,
    )


def verification_required_error(why: str) -> UnderstudyError:
    """A failed run verifies nothing."""
    return coded_error("rollout/verification_failed", pointer="/run_id", detail=why)


def trial_refused_error(rollout: Rollout) -> UnderstudyError:
    """What is in force or taken back is tried no more."""
    hint = "promote it again first" if rollout.status is Stage.REVOKED else "runs use it as it is"
    return coded_error(
        "rollout/rollout_not_on_trial",
        skill_name=rollout.skill_name,
        status=rollout.status,
        hint=hint,
    )


def bad_params(detail: str) -> UnderstudyError:
    """What the skill is to work on cannot be passed on."""
    return coded_error("rollout/invalid_params", pointer="/params", detail=detail)


def worktree_unavailable_error(detail: str) -> UnderstudyError:
    """There is no folder to work in."""
    return coded_error("rollout/worktree_missing", detail=detail)
