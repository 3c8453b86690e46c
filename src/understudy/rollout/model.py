"""Rollouts: stages, the definition of the skill, its evidence, events and snapshots."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

from understudy.agents.built_in import VERIFICATION_AGENT_ID
from understudy.core.errors import DamagedRecord, coded_error
from understudy.core.machine import Machine
from understudy.core.records import HIDDEN, OMIT, renamed
from understudy.core.text import short_digest
from understudy.sessions.learning_scopes import LearningScope
from understudy.skills.runtime_settings import RuntimeSettings, SkillContext

if TYPE_CHECKING:
    from understudy.review.policy import PromotionSettings
    from understudy.storage.unit import Unit

# The only way to run a promoted skill: in a fork, by the verification agent.
FORKED: Final = RuntimeSettings(context=SkillContext.FORK, agent_profile=VERIFICATION_AGENT_ID)
# Whether a name is taken in the skill catalogue; reads rows and no folders.
IsTaken = Callable[["Unit", str], bool]
PolicyOf = Callable[["Unit"], "PromotionSettings"]


class Stage(StrEnum):
    """The stage of a rollout."""

    DRAFT = "draft"
    VERIFIED = "verified"
    CANARY = "canary"
    ACTIVE = "active"
    REVOKED = "revoked"


ROLLOUT: Final = Machine(
    name="rollout",
    steps={
        Stage.DRAFT: frozenset({Stage.VERIFIED, Stage.REVOKED}),
        Stage.VERIFIED: frozenset({Stage.DRAFT, Stage.CANARY, Stage.ACTIVE, Stage.REVOKED}),
        Stage.CANARY: frozenset({Stage.DRAFT, Stage.ACTIVE, Stage.REVOKED}),
        Stage.ACTIVE: frozenset({Stage.REVOKED}),
        Stage.REVOKED: frozenset({Stage.DRAFT, Stage.ACTIVE}),
    },
    conflict_code="rollout_state_conflict",
    domain="rollout",
)
# Every stage but revoked; a learning has at most one live rollout.
LIVE: Final = frozenset(Stage) - {Stage.REVOKED}
# Where `advance` goes from each stage.
NEXT: Final = {
    Stage.DRAFT: Stage.VERIFIED,
    Stage.VERIFIED: Stage.CANARY,
    Stage.CANARY: Stage.ACTIVE,
}


class EvidenceKind(StrEnum):
    """What evidence is about."""

    VERIFICATION = "verification"
    CANARY = "canary"


class Proof(StrEnum):
    """How it is known that a run used the skill."""

    ATTESTED = "attested"  # a caller says so
    EXECUTED = "executed"  # the run executed exactly this definition


class RolloutEventName(StrEnum):
    """The events of a rollout."""

    PROMOTE = "promote"
    ROLLOUT_RESULT = "rollout_result"
    REVOKE = "revoke"
    ROLLBACK = "rollback"
    HOLD = "hold"
    RELEASE = "release"
    DEMOTE = "demote"


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """The content of a promoted skill, and its runtime settings."""

    skill_name: str
    description: str
    instructions: str = field(repr=False)
    when_to_use: str | None = None
    version: str | None = None
    runtime: RuntimeSettings = FORKED

    @property
    def fingerprint(self) -> str:
        """The SHA-256 that identifies this definition."""
        return fingerprint_of(self)

    @property
    def is_lost(self) -> bool:
        """Whether this is a placeholder for a stored definition that cannot be read."""
        return not self.instructions


def lost_definition(skill_name: str) -> Definition:
    """The placeholder for a definition that cannot be read; without instructions it cannot be promoted."""
    return Definition(
        skill_name=skill_name, description="What it said cannot be read.", instructions=""
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceRecord:
    """The evidence of one run for one definition in one attempt."""

    evidence_id: str
    skill_name: Annotated[str, HIDDEN] = ""
    attempt: int
    fingerprint: Annotated[str, renamed("fingerprint", "definition_fingerprint")]
    kind: EvidenceKind
    proof: Proof
    run_id: str
    session_id: str
    # The root session: all sidechains of a session count as one.
    root_session_id: Annotated[str, HIDDEN] = ""
    success: bool
    note: str
    actor: str
    recorded_at_ms: int
    trial_id: Annotated[str | None, OMIT] = None
    # The HEAD commit of the workspace; None for attested evidence, or without a repository.
    workspace_digest: Annotated[str | None, OMIT] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LifecycleEvent:
    """An event in the life of a rollout; never changed afterwards."""

    skill_name: Annotated[str, HIDDEN] = ""
    event: RolloutEventName
    recorded_at_ms: int
    to_status: Stage
    actor: str
    from_status: Annotated[Stage | None, OMIT] = None
    rollout_kind: Annotated[EvidenceKind | None, OMIT] = None
    run_id: Annotated[str | None, OMIT] = None
    session_id: Annotated[str | None, OMIT] = None
    success: Annotated[bool | None, OMIT] = None
    definition_fingerprint: Annotated[str | None, OMIT] = None
    reason: Annotated[str | None, OMIT] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """The record of one promoted skill; the source of truth."""

    skill_name: str
    source_learning_id: str
    source_scope: LearningScope
    status: Stage
    definition: Definition
    # The digest of its mounted files.
    digest: str
    promoted_at_ms: int
    promoted_by: str
    updated_at_ms: int
    # Grows whenever earlier evidence no longer counts.
    attempt: int = 1
    # Runs submitted before these times are no evidence for this attempt, or this stage.
    attempt_began_at_ms: int = 0
    stage_began_at_ms: int = 0
    # Counts the changes of this record.
    revision: int = 1
    # Why the rollout is held; None when it is not.
    held_reason: str | None = None
    # A hold by a person is released by a person; a hold by the daemon ends with the attempt.
    is_held_by_hand: bool = False
    revoked_at_ms: int | None = None
    revoked_reason: str | None = None
    # The daemon revoked the skill because it did worse than its baseline.
    is_demoted: bool = False
    # Whether the source learning may repeat untrusted text; activation by a person clears it.
    derived_from_untrusted: bool = False
    # The codes of the untrusted sources, kept after the activation.
    untrusted_path: tuple[str, ...] = ()

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the current definition."""
        return self.definition.fingerprint

    @property
    def tried(self) -> tuple[int, str]:
        """The attempt and the fingerprint that trials and evidence are about."""
        return self.attempt, self.fingerprint

    @property
    def is_flagged(self) -> bool:
        """Whether a person should look at the rollout: it is held, or was demoted."""
        return (self.held_reason is not None and self.is_live) or self.is_demoted

    @property
    def is_live(self) -> bool:
        """Whether the rollout is not revoked."""
        return self.status in LIVE


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A rollout as it was before it changed."""

    skill_name: str
    # The revision of the record.
    number: int
    record: Rollout
    # When the record was replaced.
    recorded_at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutFilter:
    """A filter of rollouts; None matches every rollout."""

    source_learning_id: str | None = None
    status: Stage | None = None


EVERYTHING: Final = RolloutFilter()


class RolloutMark(NamedTuple):
    """A cache key: equal marks mean that a rollout is offered as before. Evidence is not part of it."""

    skill_name: str
    source_learning_id: str
    status: str
    fingerprint: str
    attempt: int
    is_flagged: bool


@lru_cache(maxsize=1024)
def fingerprint_of(definition: "Definition") -> str:
    """SHA-256 over every field of a definition, as hex."""
    whole = hashlib.sha256(definition.skill_name.encode())
    parts = {
        "description": definition.description,
        "when_to_use": definition.when_to_use,
        "version": definition.version,
        "instructions": definition.instructions.strip(),
        "runtime": json.dumps(
            runtime_json(definition.runtime), separators=(",", ":"), ensure_ascii=False
        ),
    }
    for name, value in parts.items():
        whole.update(f"\0{name}\0{value or ''}".encode())
    return whole.hexdigest()


def runtime_json(runtime: RuntimeSettings) -> dict[str, Any]:
    """The runtime settings that are set, as JSON."""
    parts: Mapping[str, Any] = {
        "allowed_tools": list(runtime.allowed_tools),
        "blocked_tools": list(runtime.blocked_tools),
        "context": str(runtime.context),
        "agent_profile": runtime.agent_profile,
        "provider": runtime.provider,
        "model": runtime.model,
        "fallback_model": runtime.fallback_model,
    }
    return {name: value for name, value in parts.items() if value}


def require_rollout(unit: "Unit", skill_name: str, *, lock: bool = False) -> Rollout:
    """The rollout, or `NotFound`."""
    rollout = unit.rollouts.get(skill_name, lock=lock)
    if rollout is None:
        raise coded_error("rollout/rollout_not_found", skill_name=skill_name)
    return rollout


def require_fingerprint(rollout: Rollout, expected: str | None) -> None:
    """Refuse a caller who saw another definition; None is not compared."""
    if expected not in {None, rollout.fingerprint}:
        raise coded_error(
            "rollout/fingerprint_mismatch",
            pointer="/definition_fingerprint",
            skill_name=rollout.skill_name,
            fingerprint=short_digest(rollout.fingerprint),
        )


def lock_to_revoke(unit: "Unit", skill_name: str) -> Rollout | None:
    """The locked rollout, or the remnant of a damaged one, to be revoked."""
    try:
        return unit.rollouts.get(skill_name, lock=True)
    except DamagedRecord:
        return unit.rollouts.remnant(skill_name)


def get_or_revoked_remnant(unit: "Unit", skill_name: str, *, lock: bool = False) -> Rollout | None:
    """The rollout, or of a damaged one that is revoked its remnant: a new attempt replaces it."""
    try:
        return unit.rollouts.get(skill_name, lock=lock)
    except DamagedRecord:
        left = unit.rollouts.remnant(skill_name)
        if left is None or left.is_live:
            raise
        return left
