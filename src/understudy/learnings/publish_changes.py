"""What whoever publishes a candidate wants to be different from how it was proposed."""

from dataclasses import dataclass, replace
from typing import Final, TypeVar

from understudy.core.errors import coded_error
from understudy.learnings.checks import (
    check_confidence,
    check_content,
    check_evidence,
    check_expiry,
    check_scope,
)
from understudy.learnings.keys import key_of
from understudy.learnings.model import (
    Candidate,
    CapturePath,
    EvidenceRef,
    Kind,
    Sensitivity,
    Tier,
)
from understudy.sessions.learning_scopes import LearningScope

T = TypeVar("T")

# What the daemon asks people: the end says how long they have, and nothing of what they publish.
_ASKED: Final = frozenset({CapturePath.USAGE, CapturePath.ROLLOUT})


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is None stays as the candidate says."""

    scope: LearningScope | None = None
    kind: Kind | None = None
    sensitivity: Sensitivity | None = None
    content: str | None = None
    confidence: int | None = None
    expires_at_ms: int | None = None
    evidence_refs: tuple[EvidenceRef, ...] | None = None
    publish_tier: Tier = Tier.ACTIVE
    # The learning whose place this one takes.
    supersedes: str | None = None


def check_wanted(wanted: Wanted) -> None:
    """What can be told without looking at the candidate."""
    if wanted.supersedes is not None and wanted.publish_tier is not Tier.ACTIVE:
        raise coded_error("learnings/supersedes_needs_active_tier", pointer="/publish_tier")
    if wanted.scope is not None:
        check_scope(wanted.scope)
    if wanted.content is not None:
        check_content(wanted.content, _guarded(wanted.kind or Kind.FACT))
    if wanted.confidence is not None:
        check_confidence(wanted.confidence)
    if wanted.evidence_refs is not None:
        check_evidence(wanted.evidence_refs)
    check_expiry(wanted.expires_at_ms)


def shaped(candidate: Candidate, wanted: Wanted) -> Candidate:
    """The candidate as it is to be published, trimmed, checked and keyed."""
    kind = wanted.kind or candidate.kind
    if kind is Kind.RUN_SUMMARY and candidate.kind is not Kind.RUN_SUMMARY:
        raise coded_error("learnings/run_summary_is_daemon_owned", pointer="/kind")
    return replace(
        _said(candidate, wanted, kind),
        kind=kind,
        scope=wanted.scope or candidate.scope,
        sensitivity=wanted.sensitivity or candidate.sensitivity,
        confidence=given_or(wanted.confidence, candidate.confidence),
        expires_at_ms=given_or(wanted.expires_at_ms, _end(candidate)),
        evidence_refs=given_or(wanted.evidence_refs, candidate.evidence_refs),
    )


def _said(candidate: Candidate, wanted: Wanted, kind: Kind) -> Candidate:
    """The candidate with the words that are to be published."""
    if wanted.content is None:
        # What was let pass as a summary is not let pass as anything else.
        return replace(candidate, content=check_content(candidate.content, kind))
    content = check_content(wanted.content, _guarded(kind))
    key = key_of(content)
    return replace(candidate, content=content, semantic_key=key.semantic, subject_key=key.subject)


def _end(candidate: Candidate) -> int | None:
    """When what is published ends, where nobody says."""
    return None if candidate.capture_path in _ASKED else candidate.expires_at_ms


def given_or(given: T | None, kept: T) -> T:
    """What was given, also when it is zero or empty; else what was there."""
    return kept if given is None else given


def _guarded(kind: Kind) -> Kind:
    """The kind by which a person's words are checked: only the daemon's summaries are let off."""
    return Kind.FACT if kind is Kind.RUN_SUMMARY else kind
