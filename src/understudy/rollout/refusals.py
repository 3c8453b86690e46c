"""Why a rollout says no, in words and codes."""

from collections.abc import Iterable, Mapping
from typing import Final

from understudy.core.errors import Conflict, FieldError, Invalid, NotFound, Unavailable
from understudy.core.text import short_digest
from understudy.rollout.guards import GUARDS, GuardReason
from understudy.rollout.model import EvidenceKind, Rollout
from understudy.rollout.stages import LIVE, Stage

# Steps that something else than promoting takes.
OTHER_WAYS: Final[Mapping[tuple[Stage, Stage], str]] = {
    **{(stage, Stage.REVOKED): "; revoke takes it back" for stage in LIVE},
    (Stage.REVOKED, Stage.ACTIVE): "; rollback has it in force again",
}


def rollout_not_found_error(skill_name: str) -> NotFound:
    """There is no such rollout."""
    return NotFound(
        "rollout_not_found", domain="rollout", detail=f"no promoted skill {skill_name!r}"
    )


def snapshot_not_found_error(skill_name: str, number: int) -> NotFound:
    """It was never kept as that."""
    return NotFound(
        "rollout_snapshot_not_found",
        domain="rollout",
        detail=f"{skill_name} has no snapshot {number}",
        params={"skill_name": skill_name},
    )


def bad_definition(problems: Iterable[FieldError]) -> Invalid:
    """What was sent describes no skill."""
    errors = tuple(problems)
    return Invalid("invalid_definition", domain="rollout", detail=errors[0].detail, errors=errors)


def secret_definition(problems: Iterable[FieldError]) -> Invalid:
    """What looks like secret material is told to no model."""
    errors = tuple(problems)
    return Invalid("secret_definition", domain="rollout", detail=errors[0].detail, errors=errors)


def bad_source(reasons: Iterable[GuardReason]) -> Invalid:
    """Not every learning can become a skill."""
    errors = tuple(
        FieldError(pointer="/source_learning_id", code=reason.code, detail=reason.detail)
        for reason in reasons
    )
    return Invalid(
        "source_not_promotable",
        domain="rollout",
        detail="; ".join(error.detail for error in errors),
        errors=errors,
    )


def already_promoted(learning_id: str, skill_name: str) -> Conflict:
    """A learning has one live skill at most."""
    return Conflict(
        "already_promoted",
        domain="rollout",
        detail=f"{learning_id} is promoted as {skill_name}; revoke that first",
        params={"skill_name": skill_name, "learning_id": learning_id},
    )


def name_taken(skill_name: str) -> Conflict:
    """Another skill has the name."""
    return Conflict(
        "skill_already_exists",
        domain="rollout",
        detail=f"there is a skill called {skill_name} already; choose another name",
        params={"skill_name": skill_name},
    )


def definition_is_fixed(rollout: Rollout) -> Conflict:
    """What is in force is changed by nobody."""
    return Conflict(
        "active_definition_change",
        domain="rollout",
        detail=f"{rollout.skill_name} is active with fingerprint {short_digest(rollout.fingerprint)};"
        " revoke it, and promote it again as a draft",
        params={"definition_fingerprint": rollout.fingerprint},
    )


def draft_required_error() -> Invalid:
    """A rollout begins at its beginning."""
    return Invalid(
        "rollout_starts_in_draft",
        domain="rollout",
        pointer="/status",
        detail="a rollout starts as a draft",
    )


def unknown_step_error(current: Stage, target: Stage) -> Invalid:
    """Promoting does not lead from there to here."""
    ways = ", ".join(to for came, to in GUARDS if came is current is not to)
    return Invalid(
        "invalid_rollout_step",
        domain="rollout",
        pointer="/status",
        detail=f"promoting leads from {current} to {ways or 'nowhere'}, not to {target}"
        + OTHER_WAYS.get((current, target), ""),
    )


def guarded(rollout: Rollout, target: Stage, reasons: Iterable[GuardReason]) -> Invalid:
    """Something is missing for the next stage."""
    errors = tuple(
        FieldError(pointer="/status", code=reason.code, detail=reason.detail) for reason in reasons
    )
    missing = "; ".join(error.detail for error in errors)
    return Invalid(
        "rollout_not_ready",
        domain="rollout",
        detail=f"{target}: {missing}",
        errors=errors,
        params={"skill_name": rollout.skill_name},
    )


def revoked_rollout_error(skill_name: str) -> Invalid:
    """Nothing more is shown for what was taken back."""
    return Invalid(
        "rollout_revoked",
        domain="rollout",
        detail=f"{skill_name} is revoked; promote it again first",
    )


def revoked_already(rollout: Rollout) -> Invalid:
    """It was taken back before."""
    return Invalid(
        "rollout_revoked",
        domain="rollout",
        detail=f"{rollout.skill_name} is revoked already; roll it back, or promote it again",
    )


def canary_required_error(rollout: Rollout) -> Invalid:
    """Canary results belong to the canary stage."""
    return Invalid(
        "rollout_not_in_canary",
        domain="rollout",
        pointer="/kind",
        detail=f"{rollout.skill_name} is {rollout.status}; canary results need the canary stage",
    )


def other_fingerprint(rollout: Rollout) -> Invalid:
    """The result is about another definition."""
    return Invalid(
        "fingerprint_mismatch",
        domain="rollout",
        pointer="/definition_fingerprint",
        detail=f"the definition of {rollout.skill_name} is {short_digest(rollout.fingerprint)} now",
    )


def bad_marker(most: int, pointer: str) -> Invalid:
    """What an output is to contain has to be something."""
    return Invalid(
        "invalid_marker",
        domain="rollout",
        pointer=pointer,
        detail=f"what an output has to contain has 1 to {most} characters that are not all blank",
    )


def given_marker(pointer: str) -> Invalid:
    """Who is given what to look for may just repeat it."""
    return Invalid(
        "invalid_marker",
        domain="rollout",
        pointer=pointer,
        detail="what the run is given contains the expected words already, those of this trial or"
        " of the one before, so an output that has them would show nothing",
    )


def secret_marker(pointer: str, why: str) -> Invalid:
    """What is looked for is kept and shown."""
    return Invalid(
        "secret_marker",
        domain="rollout",
        pointer=pointer,
        detail=f"this looks like secret material ({why}), which is not looked for",
    )


def of_a_trial(run_id: str) -> Invalid:
    """The daemon judged it already, by what was expected of it before it ran."""
    return Invalid(
        "evidence_of_a_trial",
        domain="rollout",
        pointer="/run_id",
        detail=f"run {run_id} belongs to a trial or replay, which the daemon judges itself",
    )


def run_goes_on(run_id: str) -> Invalid:
    """What is not over shows nothing yet."""
    return Invalid(
        "run_not_ended",
        domain="rollout",
        pointer="/run_id",
        detail=f"run {run_id} has not ended; wait for it",
    )


def verification_required_error(why: str) -> Invalid:
    """A failed run verifies nothing."""
    return Invalid("verification_failed", domain="rollout", pointer="/run_id", detail=why)


def execution_required_error(rollout: Rollout) -> Invalid:
    """The policy wants runs that carried this very definition out."""
    return Invalid(
        "evidence_not_executed",
        domain="rollout",
        pointer="/run_id",
        detail="the policy asks for executed evidence, and this run did not show by itself that"
        f" {rollout.skill_name} with fingerprint {short_digest(rollout.fingerprint)} works, since this"
        " attempt or stage of it began; start a trial",
        params={"skill_name": rollout.skill_name},
    )


def cannot_hold_error(rollout: Rollout) -> Conflict:
    """Only what is on its way can be held."""
    return Conflict(
        "rollout_not_on_its_way",
        domain="rollout",
        detail=f"{rollout.skill_name} is {rollout.status}; only a draft, verified or canary rollout"
        " is held",
        params={"status": str(rollout.status)},
    )


def cannot_roll_back_error(skill_name: str) -> Conflict:
    """It was never in force."""
    return Conflict(
        "no_rollback_snapshot",
        domain="rollout",
        detail=f"{skill_name} was never active; there is nothing to go back to",
        params={"skill_name": skill_name},
    )


def rollback_needs_revoked(rollout: Rollout) -> Conflict:
    """What is live is not rolled back."""
    return Conflict(
        "rollback_refused",
        domain="rollout",
        detail=f"{rollout.skill_name} is {rollout.status}; revoke it before you roll it back",
        params={"status": str(rollout.status)},
    )


def rollback_is_held(rollout: Rollout) -> Conflict:
    """What a person holds is put in force by nobody."""
    return Conflict(
        "rollback_refused",
        domain="rollout",
        detail=f"{rollout.skill_name} is held; release it before you roll it back",
        params={"status": str(rollout.status)},
    )


def source_is_gone(skill_name: str) -> Conflict:
    """What it was made from is not known any more."""
    return Conflict(
        "rollback_refused",
        domain="rollout",
        detail=f"no learning that {skill_name} was active for is an active procedure any more",
        params={"skill_name": skill_name},
    )


def changed_meanwhile(skill_name: str) -> Conflict:
    """Somebody else was quicker."""
    return Conflict(
        "rollout_changed_meanwhile",
        domain="rollout",
        detail=f"{skill_name} changed meanwhile; look again",
        params={"skill_name": skill_name},
    )


def trial_not_found_error(skill_name: str, trial_id: str) -> NotFound:
    """There is no such trial."""
    return NotFound(
        "trial_not_found",
        domain="rollout",
        detail=f"{skill_name} has no trial {trial_id!r}",
        params={"skill_name": skill_name},
    )


def trial_refused_error(rollout: Rollout) -> Invalid:
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


def worktree_unavailable_error(detail: str) -> Unavailable:
    """There is no folder to work in."""
    return Unavailable("worktree_missing", domain="rollout", detail=detail)
