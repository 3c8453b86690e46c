"""Rollouts as the daemon shows them: where a promoted skill stands, and what speaks for it."""

from typing import Literal, TypeAlias

from understudy.learnings.model import Verification
from understudy.sessions.learning_scopes import LearningScope
from understudy.skills.diff import FileDiff
from understudy.skills.runtime_settings import RuntimeSettings
from understudy.wire.base import Omitted, View

Stage: TypeAlias = Literal["draft", "verified", "canary", "active", "revoked"]
EvidenceKind: TypeAlias = Literal["verification", "canary"]
Proof: TypeAlias = Literal["attested", "executed"]
TrialState: TypeAlias = Literal["pending", "passed", "failed"]
Verdict: TypeAlias = Literal["succeeded", "failed", "undecided"]
JudgedBy: TypeAlias = Literal["marker", "judge", "status"]
EventName: TypeAlias = Literal[
    "promote", "rollout_result", "revoke", "rollback", "hold", "release", "demote"
]
Action: TypeAlias = Literal["promote", "result", "trial", "hold", "release", "revoke", "rollback"]


class RolloutSummary(View):
    """A promoted skill as it stands; the counts are those of its current definition."""

    skill_name: str
    source_learning_id: str
    source_scope: LearningScope
    status: Stage
    description: str
    when_to_use: Omitted[str] = None
    version: Omitted[str] = None
    # What it tells an agent to do.
    instructions: str
    runtime: RuntimeSettings
    definition_fingerprint: str
    # Of the files that an active one has.
    digest: str
    verification_status: Verification
    successful_run_count: int
    distinct_session_count: int
    # The newest 200 of so many as `successful_run_count` says, in a list too.
    verifier_run_ids: list[str]
    real_daemon_verified: bool
    # The commit that the workspace stood at when it was last executed with success, if it has one.
    last_verified_workspace_digest: str | None = None
    # How many of the runs carried this very definition out.
    executed_run_count: int
    canary_success_count: int
    canary_failure_count: int
    attempt: int
    revision: int
    promoted_at_ms: int
    promoted_by: str
    updated_at_ms: int
    held_reason: Omitted[str] = None
    # Whether the daemon took it back because it did worse than its baseline.
    is_demoted: bool
    revoked_at_ms: Omitted[int] = None
    revoked_reason: Omitted[str] = None
    # The newest of both, oldest first: up to 20 in a list, up to 200 of one skill.
    evidence_refs: list["RolloutEvidence"]
    lifecycle_events: list["LifecycleEventView"]
    # Where its files lie on the daemon's machine whenever it is active; only an admin is told.
    skill_path: Omitted[str] = None
    skill_root: Omitted[str] = None
    actions: list[Action]


class RolloutEvidence(View):
    """What one run showed of a definition."""

    evidence_id: str
    kind: EvidenceKind
    proof: Proof
    run_id: str
    session_id: str
    success: bool
    note: str
    definition_fingerprint: str
    attempt: int
    actor: str
    recorded_at_ms: int
    trial_id: Omitted[str] = None
    # The commit that the workspace stood at, where it was executed.
    workspace_digest: Omitted[str] = None


class LifecycleEventView(View):
    """One thing that happened to a rollout."""

    event: EventName
    recorded_at_ms: int
    from_status: Omitted[Stage] = None
    to_status: Stage
    rollout_kind: Omitted[EvidenceKind] = None
    run_id: Omitted[str] = None
    session_id: Omitted[str] = None
    success: Omitted[bool] = None
    definition_fingerprint: Omitted[str] = None
    reason: Omitted[str] = None
    actor: str


class MissingView(View):
    """Something that keeps a rollout from its next stage."""

    code: str
    detail: str


class CaveatView(View):
    """Something that will not do here what it says, or not for ever; nothing is refused for it."""

    code: Literal["unknown_tool", "tool_allowed_and_blocked", "unknown_route", "source_ends"]
    message: str
    # Where in what was asked for.
    pointer: str


class NextStageView(View):
    """Where a rollout goes next, and what is missing for it; nothing when it may go there now."""

    status: Stage
    missing: list[MissingView]


class OutcomeCountsView(View):
    """What became of runs that used a skill; those that somebody stopped say nothing of it."""

    succeeded: int
    failed: int
    abandoned: int


class TallyView(View):
    """How many of a number of runs succeeded; no rate where there were none."""

    successes: int
    tries: int
    rate: Omitted[float] = None


class UsesView(View):
    """Who is offered the current definition, and what became of the runs that used it."""

    # Of the sessions that may know of it at all.
    offered_percent: int
    canary: OutcomeCountsView
    active: OutcomeCountsView
    # What an active skill is measured by, and what its newest runs show.
    baseline: TallyView
    recent: TallyView


class RolloutView(RolloutSummary):
    """A promoted skill with where it goes next, and how it fares."""

    next: Omitted[NextStageView] = None
    uses: UsesView
    warnings: list[CaveatView]


class SnapshotView(View):
    """A rollout as it was before it changed."""

    number: int
    recorded_at_ms: int
    status: Stage
    source_learning_id: str
    description: str
    when_to_use: Omitted[str] = None
    version: Omitted[str] = None
    instructions: str
    runtime: RuntimeSettings
    definition_fingerprint: str
    attempt: int
    promoted_at_ms: int
    promoted_by: str
    held_reason: Omitted[str] = None
    is_demoted: bool
    revoked_at_ms: Omitted[int] = None
    revoked_reason: Omitted[str] = None


class RolloutDiff(View):
    """What changed from one state of a rollout to another, in the files that it has or would have."""

    from_number: int
    to_number: int
    from_status: Stage
    to_status: Stage
    from_fingerprint: str
    to_fingerprint: str
    files: list[FileDiff]


class ReplayedRun(View):
    """How one run of a case went."""

    run_id: str
    verdict: Verdict
    judged_by: JudgedBy
    # Why it is no success.
    reason: str
    tool_calls: int
    # Calls that the recording had no answer for.
    unrecorded_calls: int
    input_tokens: int
    output_tokens: int
    took_ms: int


class ReplayedCase(View):
    """A recorded run, and how its input went without the skill and with it."""

    recorded: ReplayedRun
    without_skill: ReplayedRun
    with_skill: ReplayedRun
    # Whether something that worked before, or may have, does not with the skill.
    is_regression: bool


class ReplayTotals(View):
    """All runs of one side together."""

    successes: int
    tries: int
    tool_calls: int
    unrecorded_calls: int
    input_tokens: int
    output_tokens: int
    took_ms: int


class ReplayReportView(View):
    """What a replay came to."""

    cases: list[ReplayedCase]
    recorded: ReplayTotals
    without_skill: ReplayTotals
    with_skill: ReplayTotals
    # Between these the rate of success with the skill lies, in 95 of 100 such replays.
    wilson_lower_bound: float
    wilson_upper_bound: float
    # The recorded runs that fare worse with the skill.
    regressions: list[str]
    is_clean: bool


class TrialCaseView(View):
    """A case of a replay, and the runs that its input got."""

    run_id: str
    marker: Omitted[str] = None
    # Only one trial looked at by itself tells them.
    without_run_id: Omitted[str] = None
    with_run_id: Omitted[str] = None


class TrialView(View):
    """One execution of a definition by the daemon itself, and what came of it."""

    trial_id: str
    skill_name: str
    kind: EvidenceKind
    state: TrialState
    definition_fingerprint: str
    attempt: int
    # What it had to contain, also where that was taken from the trial before; left out where
    # anything that is not blank will do.
    expected_output_contains: Omitted[str] = None
    # Why it failed, or counts for nothing.
    reason: Omitted[str] = None
    run_id: Omitted[str] = None
    session_id: Omitted[str] = None
    # With some it is a replay.
    cases: list[TrialCaseView]
    report: Omitted[ReplayReportView] = None
    actor: str
    created_at_ms: int
    ended_at_ms: Omitted[int] = None
