"""Proposals: candidates are checked, trimmed and keyed, then stored and queued for review."""

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from understudy.core import audit
from understudy.core.ids import new_id
from understudy.core.principal import Principal
from understudy.core.records import reduced
from understudy.learnings.checks import (
    check_confidence,
    check_content,
    check_evidence,
    check_expiry,
    check_origin,
    check_scope,
    check_source,
)
from understudy.learnings.events import (
    NO_LISTENERS,
    LearningEvent,
    LearningNotice,
    Listeners,
    of_candidate,
    tell,
)
from understudy.learnings.expiry_words import proposed_expiry
from understudy.learnings.keys import key_of
from understudy.learnings.model import (
    Applies,
    Candidate,
    CapturePath,
    EvidenceRef,
    Kind,
    LearningSource,
    Origin,
    Sensitivity,
    StatedRelation,
)
from understudy.learnings.standing import proposed_applies
from understudy.sessions.learning_scopes import LearningScope

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

_SAID: Final = frozenset({CapturePath.API, CapturePath.LABELS, CapturePath.MODEL})


@dataclass(frozen=True, slots=True, kw_only=True)
class NewCandidate:
    """The fields of a candidate that somebody proposes."""

    scope: LearningScope
    kind: Kind
    content: str
    sensitivity: Sensitivity = Sensitivity.SCOPED
    # None proposes what the content says: `always` for a standing instruction.
    applies: Applies | None = None
    confidence: int = 80
    source: LearningSource = field(default_factory=LearningSource)
    evidence_refs: tuple[EvidenceRef, ...] = ()
    # None takes the expiry that the content names, such as `until Friday`.
    expires_at_ms: int | None = None
    capture_path: CapturePath = CapturePath.API
    derived_from_untrusted: bool = False
    reproposal_of: str | None = None
    declined_before: bool = False
    evidence_digest: str | None = None
    quote: str | None = None
    relations: tuple[StatedRelation, ...] = ()
    compared: tuple[str, ...] = ()


def make_candidate(
    wanted: NewCandidate, *, origin: Origin, now_ms: int, candidate_id: str | None = None
) -> Candidate:
    """A checked candidate, or `Invalid` with the wrong field."""
    check_origin(wanted.kind, origin)
    content = check_content(wanted.content, wanted.kind)
    key = key_of(content)
    return reduced(
        Candidate,
        wanted,
        candidate_id=candidate_id or new_id("cand"),
        origin=origin,
        scope=check_scope(wanted.scope),
        content=content,
        applies=wanted.applies or proposed_applies(content, wanted.kind),
        semantic_key=key.semantic,
        subject_key=key.subject,
        created_at_ms=now_ms,
        confidence=check_confidence(wanted.confidence),
        source=check_source(wanted.source),
        evidence_refs=check_evidence(wanted.evidence_refs),
        expires_at_ms=check_expiry(wanted.expires_at_ms) or _own_end(wanted, now_ms),
    )


def _own_end(wanted: NewCandidate, now_ms: int) -> int | None:
    """The expiry that a person's statement names itself; the daemon's own proposals have none."""
    if wanted.capture_path not in _SAID:
        return None
    end = proposed_expiry(wanted.content, now_ms)
    return end if end is not None and end > now_ms else None


def propose(
    unit: "Unit",
    candidate: Candidate,
    *,
    by: Principal,
    now_ms: int,
    listeners: Listeners = NO_LISTENERS,
) -> bool:
    """Store a candidate and queue its review; False when its id is stored already.

    Lock order as in `tell`: after the journal lock only candidates of the same session and the
    lock of run memories may follow.
    """
    notice = store(unit, candidate, by=by, now_ms=now_ms, listeners=listeners)
    if notice is None:
        return False
    unit.review_queue.put([candidate.candidate_id], due_at_ms=now_ms)
    tell(unit, (notice,), at_ms=now_ms)
    unit.after_commit(listeners.review)
    return True


def store(
    unit: "Unit", candidate: Candidate, *, by: Principal, now_ms: int, listeners: Listeners
) -> LearningNotice | None:
    """Store a candidate with its audit entry; answers the notice for `tell`.

    None when its id is stored already.
    """
    if not unit.candidates.add(candidate):
        return None
    unit.audit.add(
        audit.done(
            by, "learning_candidates.create", candidate.candidate_id, at_ms=now_ms, version=1
        )
    )
    unit.after_commit(partial(listeners.observer.count, "candidates_total", candidate.capture_path))
    return of_candidate(LearningEvent.CANDIDATE_CREATED, candidate)
