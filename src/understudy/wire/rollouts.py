"""Rollouts on the wire: the views that flatten a rollout and its definition, and request bodies."""

from typing import Annotated, Final

from pydantic import Field

from understudy.core.records import OMIT_EMPTY
from understudy.learnings.model import Verification
from understudy.rollout.caveats import Caveat
from understudy.rollout.guards import RolloutAction
from understudy.rollout.model import EvidenceKind, EvidenceRecord, LifecycleEvent, Stage
from understudy.rollout.regression import Uses
from understudy.rollout.replay.report import ReplayReport
from understudy.rollout.service import NextStage
from understudy.rollout.trials.trial import TrialState
from understudy.sessions.learning_scopes import LearningScope
from understudy.skills.runtime_settings import RuntimeSettings, SkillContext
from understudy.wire.base import Id, JsonObject, Lax, Omitted, RequestBody, View

MAX_TOOLS: Final = 200
MAX_CASES: Final = 20
Tools = Annotated[Lax[list[Id]], Field(max_length=MAX_TOOLS)]


class RolloutState(View):
    """The definition and the state of a rollout, as the rollout and its snapshots show them."""

    source_learning_id: str
    status: Stage
    description: str
    when_to_use: Omitted[str] = None
    version: Omitted[str] = None
    # The instructions for an agent.
    instructions: str
    runtime: RuntimeSettings
    definition_fingerprint: str
    attempt: int
    promoted_at_ms: int
    promoted_by: str
    held_reason: Omitted[str] = None
    # Whether the daemon revoked the skill because it did worse than its baseline.
    is_demoted: bool
    revoked_at_ms: Omitted[int] = None
    revoked_reason: Omitted[str] = None
    # Whether it may repeat untrusted text and nobody has activated it since; and the sources.
    derived_from_untrusted: bool = False
    untrusted_path: Annotated[tuple[str, ...], OMIT_EMPTY] = ()


class RolloutSummary(RolloutState):
    """A promoted skill in a list; the counts are those of its current definition."""

    skill_name: str
    source_scope: LearningScope
    # The digest of an active skill's files.
    digest: str
    verification_status: Verification
    successful_run_count: int
    distinct_session_count: int
    # The newest 200 of the `successful_run_count` runs, in a list too.
    verifier_run_ids: list[str]
    real_daemon_verified: bool
    # The workspace's commit when the skill was last executed with success, if it has one.
    last_verified_workspace_digest: str | None = None
    # How many of the runs executed exactly this definition.
    executed_run_count: int
    canary_success_count: int
    canary_failure_count: int
    revision: int
    updated_at_ms: int
    # The newest of both, oldest first: up to 20 in a list, up to 200 of one skill.
    evidence_refs: list[EvidenceRecord]
    lifecycle_events: list[LifecycleEvent]
    # Where the skill's files are on the daemon's machine while it is active; shown to admins only.
    skill_path: Omitted[str] = None
    skill_root: Omitted[str] = None
    actions: list[RolloutAction]
    # The next stage and what is missing for it; omitted where there is none.
    next: Omitted[NextStage] = None


class RolloutView(RolloutSummary):
    """A promoted skill with the outcomes of its uses, and settings without effect."""

    uses: Uses
    warnings: list[Caveat]


class SnapshotView(RolloutState):
    """A rollout as it was before it changed."""

    number: int
    recorded_at_ms: int


class TrialCaseView(View):
    """A case of a replay, and the runs of its input."""

    run_id: str
    marker: Omitted[str] = None
    # Only in the answer for one trial, not in a list.
    without_run_id: Omitted[str] = None
    with_run_id: Omitted[str] = None
    # The untrusted sources of the recorded run.
    untrusted_path: Annotated[tuple[str, ...], OMIT_EMPTY] = ()


class TrialView(View):
    """One execution of a definition by the daemon itself, and its result."""

    trial_id: str
    skill_name: str
    kind: EvidenceKind
    state: TrialState
    definition_fingerprint: str
    attempt: int
    # The marker that the output had to contain, also if it was taken from the trial before; omitted
    # where any output that is not blank passes.
    expected_output_contains: Omitted[str] = None
    # Why the trial failed, or is no evidence.
    reason: Omitted[str] = None
    run_id: Omitted[str] = None
    session_id: Omitted[str] = None
    # A trial with cases is a replay.
    cases: list[TrialCaseView]
    report: Omitted[ReplayReport] = None
    # Whether the skill, or a recorded run, has the taint mark; and the sources.
    derived_from_untrusted: bool = False
    untrusted_path: Annotated[tuple[str, ...], OMIT_EMPTY] = ()
    actor: str
    created_at_ms: int
    ended_at_ms: Omitted[int] = None


class PromoteSkill(RequestBody):
    """The promotion of a procedure; sent again, it moves the skill to another stage."""

    skill_name: Id
    """The name of the skill."""
    instructions: str
    """The instructions of the skill."""
    description: str | None = None
    """One sentence about the skill."""
    when_to_use: str | None = None
    """When an agent should use it."""
    version: str | None = None
    """The version that its front matter names."""
    allowed_tools: Tools = Field(default_factory=list)
    """The tools that it may use; empty: all."""
    blocked_tools: Tools = Field(default_factory=list)
    """The tools that it may not use."""
    context: Lax[SkillContext] = SkillContext.FORK
    """`fork` runs it in a session of its own, `inline` in the caller's."""
    agent_profile: str | None = None
    """The agent that a fork runs as."""
    provider: str | None = None
    """The route of a fork."""
    model: str | None = None
    """The model of a fork."""
    fallback_model: str | None = None
    """The model of a fork when the first one fails."""
    status: Lax[Stage] | None = None
    """The stage; by default a draft, while a skill that is active stays so."""


class AdvanceSkill(RequestBody):
    """The stage to advance to, with the current definition."""

    to: Lax[Stage] | None = None
    """The stage; by default the next one."""
    definition_fingerprint: Id | None = None
    """The definition that was read; the call is refused after a change."""


class RolloutResult(RequestBody):
    """A run that is evidence for or against the skill."""

    kind: Lax[EvidenceKind]
    """The kind of evidence."""
    run_id: Id
    """The run."""
    expected_output_contains: str
    """The marker that its last output has to contain."""
    definition_fingerprint: Id | None = None
    """The definition that was read; the call is refused after a change."""


class TrialCase(RequestBody):
    """A recorded run whose input is to run again."""

    run_id: Id
    """The recorded run."""
    marker: str | None = None
    """The marker that the outputs have to contain; by default that of the trial."""


class StartTrial(RequestBody):
    """The trial of exactly the current definition."""

    expected_output_contains: str | None = None
    """The marker that the output has to contain. By default that of the newest trial of this
    definition; if none had one, a trial passes if its run completes with any output at all. A
    replay leaves it to the judge, or to how its runs end."""
    cases: list[TrialCase] | None = Field(default=None, min_length=1, max_length=MAX_CASES)
    """Recorded runs: each runs again, with the skill and without."""
    kind: Lax[EvidenceKind] | None = None
    """The kind of evidence; by default the one that the stage needs next."""
    params: JsonObject | str | None = None
    """The parameters of the skill, as for `use_skill`."""
    definition_fingerprint: Id | None = None
    """The definition that was read; the call is refused after a change."""


class RolloutReason(RequestBody):
    """The reason, for later readers of the record."""

    reason: str | None = None
    """The reason, for later readers."""


class RollBackSkill(RolloutReason):
    """The earlier version to activate again, and why."""

    to_version: Annotated[int, Field(ge=1)] | Id | None = None
    """The number in the history, the `version` of the definition, or the place among the versions
    that were active (1 is the first); by default the version before, of a revoked skill the last one
    that was not demoted."""
