"""Promoting: a procedure becomes a draft, and a draft goes from stage to stage."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from understudy.core.errors import FieldError, UnderstudyError, coded_error
from understudy.core.principal import Principal
from understudy.core.text import short_digest
from understudy.learnings.decisions import require_learning
from understudy.learnings.model import Kind, Learning, LearningStatus, Tier
from understudy.learnings.taint import path_of_statement
from understudy.rollout.changes import RolloutChanges
from understudy.rollout.evidence import EvidenceSums, sums_of_one
from understudy.rollout.guards import GUARDS, GuardReason, RolloutCase, missing
from understudy.rollout.model import (
    LIVE,
    Definition,
    IsTaken,
    Rollout,
    RolloutEventName,
    Stage,
    get_or_revoked_remnant,
)
from understudy.rollout.name_clashes import hold_name
from understudy.rollout.replay.report import NO_REPLAYS, replay_standing
from understudy.sessions.learning_scopes import ScopeKind

if TYPE_CHECKING:
    from understudy.review.policy import PromotionSettings
    from understudy.storage.unit import Unit


# Transitions that another operation than promoting makes.
OTHER_WAYS: Final[Mapping[tuple[Stage, Stage], str]] = {
    **{(stage, Stage.REVOKED): "; revoke takes it back" for stage in LIVE},
    (Stage.REVOKED, Stage.ACTIVE): "; rollback has it in force again",
}
# Stages that start a new attempt when they go back to draft.
_WITH_EVIDENCE = frozenset({Stage.VERIFIED, Stage.CANARY, Stage.REVOKED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Promoter:
    """Promotes procedures in one unit, for one person."""

    changes: RolloutChanges
    by: Principal
    rules: "PromotionSettings"
    is_taken: IsTaken

    @property
    def unit(self) -> "Unit":
        """The unit of the changes."""
        return self.changes.unit

    def promote(self, learning_id: str, definition: Definition, wanted: Stage | None) -> Rollout:
        """Start the rollout of a definition, or move it to the wanted stage."""
        # Lock order: names before rows.
        hold_name(self.unit, definition.skill_name)
        # Lock order: the learning before its rollout, as when a learning is revoked.
        learning = require_learning(self.unit, learning_id, lock=True)
        reasons = source_blockers(learning, now_ms=self.changes.now_ms)
        if reasons:
            raise _source_error(reasons)
        there = self._there(learning, definition.skill_name)
        if there is None or not there.is_live:
            self._require_room(learning, definition.skill_name)
        if there is None:
            return self._begin(learning, definition, wanted)
        return self._move(there, learning, definition, wanted)

    def _there(self, learning: Learning, skill_name: str) -> Rollout | None:
        """The locked rollout of this name; refused if it is live for another learning."""
        # Checked before it is locked, so that a refused caller does not wait for the lock.
        found = get_or_revoked_remnant(self.unit, skill_name)
        if found is not None:
            _require_ours(found, learning)
            found = get_or_revoked_remnant(self.unit, skill_name, lock=True)
        if found is not None:
            _require_ours(found, learning)
        return found

    def _require_room(self, learning: Learning, skill_name: str) -> None:
        other = self.unit.rollouts.live_name_of(learning.learning_id)
        if other is not None:
            raise coded_error(
                "rollout/already_promoted", skill_name=other, learning_id=learning.learning_id
            )
        namesake = self.unit.rollouts.live_called(skill_name)
        if namesake is not None:
            raise coded_error("rollout/skill_already_exists", skill_name=namesake)
        self._require_free(skill_name)

    def _require_free(self, skill_name: str) -> None:
        if self.is_taken(self.unit, skill_name):
            raise coded_error("rollout/skill_already_exists", skill_name=skill_name)

    def _begin(self, learning: Learning, definition: Definition, wanted: Stage | None) -> Rollout:
        if wanted not in {None, Stage.DRAFT}:
            raise coded_error("rollout/rollout_starts_in_draft", pointer="/status")
        rollout = Rollout(
            skill_name=definition.skill_name,
            source_learning_id=learning.learning_id,
            source_scope=learning.scope,
            status=Stage.DRAFT,
            definition=definition,
            digest=self.changes.transactions.mounts.digest(definition),
            promoted_at_ms=self.changes.now_ms,
            promoted_by=self.by.user_id,
            updated_at_ms=self.changes.now_ms,
            attempt_began_at_ms=self.changes.now_ms,
            stage_began_at_ms=self.changes.now_ms,
            derived_from_untrusted=learning.derived_from_untrusted,
            untrusted_path=path_of_statement(self.unit, learning),
        )
        if not self.changes.begin(rollout):
            raise coded_error("rollout/skill_already_exists", skill_name=definition.skill_name)
        return rollout

    def _move(
        self, there: Rollout, learning: Learning, definition: Definition, wanted: Stage | None
    ) -> Rollout:
        is_other = definition.fingerprint != there.fingerprint
        if there.status is Stage.ACTIVE and is_other:
            raise coded_error(
                "rollout/active_definition_change",
                definition_fingerprint=there.fingerprint,
                skill_name=there.skill_name,
                fingerprint=short_digest(there.fingerprint),
            )
        target = wanted or (Stage.ACTIVE if there.status is Stage.ACTIVE else Stage.DRAFT)
        if (there.status, target) not in GUARDS:
            raise _step_error(there.status, target)
        if target is there.status and not is_other:
            return there
        is_anew = _begins_anew(there, definition, target)
        if is_anew:
            there = self.changes.end_attempt(there)
        moved = self._moved(there, learning, definition, is_anew=is_anew)
        case = case_of(self.unit, moved, self.rules, sums_of_one(self.unit, moved))
        reasons = missing(there.status, target, case)
        if reasons:
            raise _guard_error(there, target, reasons)
        if target is Stage.ACTIVE:
            # A skill of the same name may have been added since the draft.
            self._require_free(there.skill_name)
            # The activating person has read it, so the taint mark ends here.
            moved = replace(moved, derived_from_untrusted=False)
        return self.changes.change(there, replace(moved, status=target), RolloutEventName.PROMOTE)

    def _moved(
        self, there: Rollout, learning: Learning, definition: Definition, *, is_anew: bool
    ) -> Rollout:
        """The rollout with the new definition, still in its stage."""
        moved = replace(
            there, definition=definition, digest=self.changes.transactions.mounts.digest(definition)
        )
        if there.status is Stage.REVOKED:
            return replace(
                self._anew(moved),
                source_learning_id=learning.learning_id,
                source_scope=learning.scope,
                promoted_at_ms=self.changes.now_ms,
                promoted_by=self.by.user_id,
                revoked_at_ms=None,
                revoked_reason=None,
                is_demoted=False,
                derived_from_untrusted=learning.derived_from_untrusted,
                untrusted_path=path_of_statement(self.unit, learning),
            )
        return self._anew(moved) if is_anew else moved

    def _anew(self, rollout: Rollout) -> Rollout:
        """The rollout in a new attempt, without evidence; a hold by a person stays."""
        return replace(
            rollout,
            attempt=rollout.revision + 1,
            attempt_began_at_ms=self.changes.now_ms,
        )


def case_of(
    unit: "Unit", rollout: Rollout, rules: "PromotionSettings", sums: EvidenceSums
) -> RolloutCase:
    """The case of a rollout that its guards decide on."""
    counts = sums.under(executed_only=rules.require_executed_evidence)
    replays = replay_standing(unit, rollout) if rules.require_replay else NO_REPLAYS
    return RolloutCase(rollout=rollout, counts=counts, rules=rules, replays=replays)


def _begins_anew(there: Rollout, definition: Definition, target: Stage) -> bool:
    """Whether a new attempt starts: the rollout goes back to draft, or its definition changes."""
    is_back = target is Stage.DRAFT and there.status in _WITH_EVIDENCE
    return is_back or definition.fingerprint != there.fingerprint


def _require_ours(found: Rollout, learning: Learning) -> None:
    if found.is_live and found.source_learning_id != learning.learning_id:
        raise coded_error("rollout/skill_already_exists", skill_name=found.skill_name)


BLOCKERS: Final[tuple[tuple[GuardReason, Callable[[Learning, int], bool]], ...]] = (
    (
        GuardReason(code="source_not_procedure", detail="only a procedure becomes a skill"),
        lambda it, _: it.kind is not Kind.PROCEDURE,
    ),
    (
        GuardReason(code="source_not_active", detail="the learning is not active"),
        lambda it, _: it.status is not LearningStatus.ACTIVE,
    ),
    (
        GuardReason(code="source_not_active_tier", detail="the learning is not of the active tier"),
        lambda it, _: it.publish_tier is not Tier.ACTIVE,
    ),
    (
        GuardReason(code="source_expired", detail="the time of the learning is over"),
        lambda it, now_ms: it.is_expired(now_ms),
    ),
    (
        GuardReason(
            code="source_not_workspace", detail="only a learning of the workspace is promoted"
        ),
        lambda it, _: it.scope.kind is not ScopeKind.WORKSPACE,
    ),
)


def source_blockers(learning: Learning, *, now_ms: int) -> tuple[GuardReason, ...]:
    """The reasons that keep a learning from being promoted; empty when it may be."""
    return tuple(reason for reason, is_so in BLOCKERS if is_so(learning, now_ms))


def _source_error(reasons: Sequence[GuardReason]) -> UnderstudyError:
    """The error of a learning that cannot be promoted."""
    errors = _field_errors("/source_learning_id", reasons)
    detail = "; ".join(error.detail for error in errors)
    return coded_error("rollout/source_not_promotable", errors=errors, detail=detail)


def _step_error(current: Stage, target: Stage) -> UnderstudyError:
    """The error of a transition that promoting does not make."""
    ways = ", ".join(to for came, to in GUARDS if came is current is not to) or "nowhere"
    hint = OTHER_WAYS.get((current, target), "")
    detail = f"promoting leads from {current} to {ways}, not to {target}{hint}"
    return coded_error("rollout/invalid_rollout_step", pointer="/status", detail=detail)


def _guard_error(
    rollout: Rollout, target: Stage, reasons: Sequence[GuardReason]
) -> UnderstudyError:
    """The error that lists what is missing for the next stage."""
    return coded_error(
        "rollout/rollout_not_ready",
        errors=_field_errors("/status", reasons),
        skill_name=rollout.skill_name,
        target=target,
        missing="; ".join(reason.detail for reason in reasons),
    )


def _field_errors(pointer: str, reasons: Sequence[GuardReason]) -> tuple[FieldError, ...]:
    return tuple(FieldError(pointer=pointer, code=it.code, detail=it.detail) for it in reasons)
