"""Use cases of rollouts: promote, show, take evidence, hold, take back, and roll back."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Final

from understudy.core.errors import coded_error
from understudy.core.page import Page, PageRequest
from understudy.core.principal import Principal
from understudy.core.records import OMIT, extended
from understudy.learnings.guard import NO_LITERALS, SecretGuard
from understudy.rollout.caveats import NO_CAVEATS, Caveat, Caveats, source_caveats
from understudy.rollout.changes import RolloutChanges, RolloutTransactions
from understudy.rollout.definition import Promotion, check_definition
from understudy.rollout.evidence import Counts, EvidenceSums, sums_of_one
from understudy.rollout.files import bundle_of
from understudy.rollout.guards import GuardReason, missing
from understudy.rollout.model import (
    EVERYTHING,
    NEXT,
    EvidenceRecord,
    IsTaken,
    LifecycleEvent,
    PolicyOf,
    Rollout,
    RolloutFilter,
    Snapshot,
    Stage,
    lock_to_revoke,
    require_fingerprint,
    require_rollout,
)
from understudy.rollout.name_clashes import hold_name
from understudy.rollout.promotion import Promoter, case_of
from understudy.rollout.regression import Uses, uses_of
from understudy.rollout.results import Result, record
from understudy.rollout.rollback import MOST_SNAPSHOTS, roll_back, target_of
from understudy.rollout.trials.trial import Markers
from understudy.skills.diff import FileDiff, compare

if TYPE_CHECKING:
    from understudy.review.policy import PromotionSettings
    from understudy.storage.unit import Unit, Units


# How many events and pieces of evidence a rollout is shown with, by itself and in a list. The
# other events have pages of their own, and the counts are of all evidence.
SHOWN: Final = 200
SHOWN_IN_LIST: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class NextStage:
    """The next stage of promoting, and the missing conditions; none if it may advance now."""

    status: Stage
    missing: tuple[GuardReason, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedRollout:
    """A rollout with its evidence."""

    record: Rollout
    counts: Counts
    # The newest runs that verified the definition.
    verifier_run_ids: tuple[str, ...] = ()
    # The newest evidence of the current attempt, oldest first.
    evidence: tuple[EvidenceRecord, ...] = ()
    # The newest events, oldest first.
    events: tuple[LifecycleEvent, ...] = ()
    # None for a rollout that is active or revoked.
    next: NextStage | None = None

    @property
    def missing(self) -> tuple[GuardReason, ...]:
        """The missing conditions of the next stage."""
        return () if self.next is None else self.next.missing

    @property
    def workspace_digest(self) -> str | None:
        """The HEAD commit of the workspace at the last successful execution."""
        shown = (it.workspace_digest for it in reversed(self.evidence) if it.success)
        return next(filter(None, shown), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutDetail(CountedRollout):
    """A rollout with everything that one answer shows."""

    uses: Uses
    # Settings without effect on this daemon, and the expiry of the source learning.
    warnings: tuple[Caveat, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingStep:
    """A rollout that waits for a person."""

    record: Rollout
    # The stage that it may go to now; None if the daemon holds it.
    next: Stage | None


Change = Callable[[RolloutChanges, Rollout], Rollout]


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutService:
    """Everything a person does with rollouts, each in one transaction."""

    units: "Units"
    transactions: RolloutTransactions
    policy_of: PolicyOf
    is_taken: IsTaken
    guard: SecretGuard = NO_LITERALS
    caveats: Caveats = NO_CAVEATS

    def get(self, skill_name: str) -> RolloutDetail:
        """One rollout, or `NotFound`."""
        with self.units.read() as unit:
            return self._detail(unit, require_rollout(unit, skill_name))

    def page(
        self, request: PageRequest, *, narrowed: RolloutFilter = EVERYTHING
    ) -> Page[CountedRollout]:
        """Rollouts by name."""
        with self.units.read() as unit:
            found = unit.rollouts.page(request, narrowed=narrowed)
            items = _counted(unit, found.items, self.policy_of(unit), most=SHOWN_IN_LIST)
        return Page(items=tuple(items), next_cursor=found.next_cursor)

    def waiting(self, unit: "Unit") -> tuple[WaitingStep, ...]:
        """The rollouts that may advance now, and those that the daemon holds, by name."""
        rules = self.policy_of(unit)
        verified = unit.rollouts.verified_by_a_run(NEXT)
        sums = unit.rollouts.sums_of(verified)
        steps = [
            WaitingStep(record=it, next=ahead.status)
            for it in verified
            if (ahead := _next(unit, it, rules, sums[it.skill_name])) and not ahead.missing
        ]
        held = [
            WaitingStep(record=it, next=None)
            for it in unit.rollouts.flagged(limit=SHOWN)
            if it.is_live and it.held_reason is not None and not it.is_held_by_hand
        ]
        return tuple(sorted((*steps, *held), key=lambda it: it.record.skill_name))

    def events(self, skill_name: str, request: PageRequest) -> Page[LifecycleEvent]:
        """The events of a rollout, oldest first."""
        with self.units.read() as unit:
            require_rollout(unit, skill_name)
            return unit.rollouts.events(skill_name, request)

    def history(self, skill_name: str, request: PageRequest) -> Page[Snapshot]:
        """The snapshots of a rollout, newest first."""
        with self.units.read() as unit:
            require_rollout(unit, skill_name)
            return unit.rollouts.snapshots(skill_name, request)

    def at(self, skill_name: str, number: int | None = None) -> Rollout:
        """A rollout at a revision: the current record, or a snapshot."""
        with self.units.read() as unit:
            rollout = require_rollout(unit, skill_name)
            if number is None or number == rollout.revision:
                return rollout
            snapshot = unit.rollouts.snapshot(skill_name, number)
            if snapshot is None:
                raise coded_error(
                    "rollout/rollout_snapshot_not_found", skill_name=skill_name, number=number
                )
            return snapshot.record

    def before(self, later: Rollout) -> Rollout:
        """The newest earlier state with another definition; the same state without one."""
        with self.units.read() as unit:
            other = unit.rollouts.last_other(later.skill_name, later.revision, later.fingerprint)
        return later if other is None else other.record

    def promote(self, principal: Principal, learning_id: str, wanted: Promotion) -> RolloutDetail:
        """Start the rollout of a procedure, or move it to another stage; a repeat changes nothing."""
        definition = check_definition(wanted, self.guard)
        self.transactions.mounts.check(definition)
        with self._changing(principal) as changes:
            rollout = self._promoter(changes, principal).promote(
                learning_id, definition, wanted.status
            )
        return self._shown(rollout)

    def advance(
        self,
        principal: Principal,
        skill_name: str,
        *,
        to: Stage | None = None,
        fingerprint: str | None = None,
    ) -> RolloutDetail:
        """Move a rollout to its next stage, or to another, with the definition that it has."""
        with self._changing(principal) as changes:
            # Nobody changes the definition while the name is held.
            hold_name(changes.unit, skill_name)
            found = require_rollout(changes.unit, skill_name)
            require_fingerprint(found, fingerprint)
            target = to or NEXT.get(found.status)
            if target is None:
                raise coded_error(f"rollout/no_next_stage:{found.status}", skill_name=skill_name)
            rollout = self._promoter(changes, principal).promote(
                found.source_learning_id, found.definition, target
            )
        return self._shown(rollout)

    def record_result(self, principal: Principal, skill_name: str, result: Result) -> RolloutDetail:
        """Record a run as evidence; the same run again changes nothing."""
        marker = Markers(self.guard).check(result.expected_output_contains)
        checked = replace(result, expected_output_contains=marker)

        def change(changes: RolloutChanges, rollout: Rollout) -> Rollout:
            return record(changes, rollout, checked, self.policy_of(changes.unit))

        return self._change(principal, skill_name, change)

    def hold(
        self, principal: Principal, skill_name: str, *, reason: str | None = None
    ) -> RolloutDetail:
        """Hold a rollout: it cannot advance until it is released."""
        given = self._reason(reason)
        return self._change(principal, skill_name, lambda changes, it: changes.hold(it, given))

    def release(
        self, principal: Principal, skill_name: str, *, reason: str | None = None
    ) -> RolloutDetail:
        """Release a held rollout."""
        given = self._reason(reason)
        return self._change(principal, skill_name, lambda changes, it: changes.release(it, given))

    def revoke(
        self, principal: Principal, skill_name: str, *, reason: str | None = None
    ) -> RolloutDetail:
        """Revoke a promoted skill; refused if it is revoked already."""
        given = self._reason(reason)
        with self._changing(principal) as changes:
            found = lock_to_revoke(changes.unit, skill_name)
            if found is None:
                raise coded_error("rollout/rollout_not_found", skill_name=skill_name)
            if not found.is_live:
                raise coded_error("rollout/rollout_revoked:twice", skill_name=found.skill_name)
            rollout = changes.revoke(found, given)
        return self._shown(rollout)

    def rollback(
        self,
        principal: Principal,
        skill_name: str,
        *,
        reason: str | None = None,
        to_version: str | None = None,
    ) -> RolloutDetail:
        """Activate an earlier active version of an active or revoked skill."""
        given = self._reason(reason)
        with self._changing(principal) as changes:
            rollout = roll_back(
                changes, skill_name, given, to_version=to_version, is_taken=self.is_taken
            )
        return self._shown(rollout)

    def rollback_preview(
        self, skill_name: str, *, to_version: str | None = None
    ) -> "RollbackPreview":
        """What a rollback would do now; raises the same error as the rollback."""
        with self.units.read() as unit:
            now_ms = self.transactions.clock.now_ms()
            rollout, target = target_of(unit, skill_name, to_version, now_ms=now_ms)
            versions = unit.rollouts.active_snapshots(skill_name, limit=MOST_SNAPSHOTS)
        return RollbackPreview(
            target=target.number,
            versions=tuple(
                RollbackVersion(
                    number=each.number,
                    version=each.record.definition.version,
                    definition_fingerprint=each.record.fingerprint,
                    replaced_at_ms=each.recorded_at_ms,
                )
                for each in versions
                if not rollout.is_live or each.record.tried != rollout.tried
            ),
            diff=_diff(rollout, target.record),
        )

    def _promoter(self, changes: RolloutChanges, principal: Principal) -> Promoter:
        return Promoter(
            changes=changes,
            by=principal,
            rules=self.policy_of(changes.unit),
            is_taken=self.is_taken,
        )

    def _change(self, principal: Principal, skill_name: str, change: Change) -> RolloutDetail:
        with self._changing(principal) as changes:
            rollout = change(changes, require_rollout(changes.unit, skill_name, lock=True))
        return self._shown(rollout)

    @contextmanager
    def _changing(self, principal: Principal) -> Iterator[RolloutChanges]:
        """Changes in one unit; candidates and notices are written at its end."""
        with self.units.write() as unit:
            changes = self.transactions.within(unit, principal.actor)
            yield changes
            changes.tell()

    def _shown(self, rollout: Rollout) -> RolloutDetail:
        """The detail of a changed rollout, read after the commit, so that no lock is held for it."""
        with self.units.read() as unit:
            return self._detail(unit, rollout)

    def _detail(self, unit: "Unit", rollout: Rollout) -> RolloutDetail:
        rules = self.policy_of(unit)
        (told,) = _counted(unit, [rollout], rules, most=SHOWN)
        return extended(
            RolloutDetail,
            told,
            uses=uses_of(unit, rollout, rules, sums_of_one(unit, rollout)),
            warnings=(*self.caveats(rollout.definition), *source_caveats(unit, rollout)),
        )

    def _reason(self, reason: str | None) -> str | None:
        return self.guard.checked_reason(reason, strictly=True)


def _next(
    unit: "Unit", rollout: Rollout, rules: "PromotionSettings", sums: EvidenceSums
) -> NextStage | None:
    target = NEXT.get(rollout.status)
    if target is None:
        return None
    reasons = missing(rollout.status, target, case_of(unit, rollout, rules, sums))
    return NextStage(status=target, missing=reasons)


def _counted(
    unit: "Unit", rollouts: Sequence[Rollout], rules: "PromotionSettings", *, most: int
) -> list[CountedRollout]:
    """The rollouts with their evidence.

    The number of queries does not grow with the rollouts, except for the replays that a policy
    requires.
    """
    sums = unit.rollouts.sums_of(rollouts)
    verifiers = unit.rollouts.verifiers_of(rollouts, limit=SHOWN)
    evidence = unit.rollouts.newest_evidence(rollouts, limit=most)
    events = unit.rollouts.recent_events([it.skill_name for it in rollouts], limit=most)
    return [
        CountedRollout(
            record=rollout,
            counts=sums[rollout.skill_name].every,
            verifier_run_ids=verifiers[rollout.skill_name],
            evidence=evidence[rollout.skill_name],
            events=events[rollout.skill_name],
            next=_next(unit, rollout, rules, sums[rollout.skill_name]),
        )
        for rollout in rollouts
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutDiff:
    """The diff between two revisions of a rollout, of the files that it has or would have."""

    from_number: int
    to_number: int
    from_status: Stage
    to_status: Stage
    from_fingerprint: str
    to_fingerprint: str
    files: tuple[FileDiff, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackVersion:
    """A version that was active, as a rollback can name it."""

    # Its revision in the history.
    number: int
    version: Annotated[str | None, OMIT] = None
    definition_fingerprint: str
    replaced_at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackPreview:
    """What a rollback would activate, and the diff to the current definition."""

    # The revision of the version that would be active again.
    target: int
    # The versions that can be named, newest first.
    versions: tuple[RollbackVersion, ...]
    diff: RolloutDiff


def compared(
    rollouts: RolloutService, skill_name: str, *, old: int | None, new: int | None
) -> RolloutDiff:
    """The diff between two revisions; by default since the last other definition."""
    later = rollouts.at(skill_name, new)
    earlier = rollouts.before(later) if old is None else rollouts.at(skill_name, old)
    return _diff(earlier, later)


def _diff(earlier: Rollout, later: Rollout) -> RolloutDiff:
    return RolloutDiff(
        from_number=earlier.revision,
        to_number=later.revision,
        from_status=earlier.status,
        to_status=later.status,
        from_fingerprint=earlier.fingerprint,
        to_fingerprint=later.fingerprint,
        files=compare(bundle_of(earlier.definition), bundle_of(later.definition)).files,
    )
