"""Statements that need no proposal: known, already proposed, or declined by a person."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

from understudy.core.errors import undamaged
from understudy.learnings.keys import key_of
from understudy.learnings.model import Candidate, Kind, Learning, PolicyDecision
from understudy.learnings.quotations import best_sentence, plain_words, sentences
from understudy.learnings.visibility import prompt_visible
from understudy.memory.record import RunEvidence
from understudy.sessions.learning_scopes import (
    WORKSPACE,
    LearningScope,
    ScopeKind,
    visible_scopes,
)

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

MOST_SENTENCES: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Declined:
    """The decision of a person who rejected or revoked the same statement before."""

    # The candidate declined last; None where the revoked learning was made without a candidate.
    candidate_id: str | None
    # Whether all evidence for it now was known when the person declined.
    is_repeated: bool


def is_known(unit: "Unit", scope: LearningScope, kind: Kind, key: str, *, now_ms: int) -> bool:
    """Whether prompts of this scope already have this injected, or a candidate for it is open.

    A learning that is not prompt-visible does not count, unless automation published it.
    """
    if unit.candidates.proposed_with_key(scope, kind, key, now_ms=now_ms) is not None:
        return True
    seen = [
        it
        for each in _visible_from(unit, scope)
        for it in unit.learnings.with_key(each, kind, key)
        if not it.is_expired(now_ms)
    ]
    decided = (it.policy_decision for it in _from_runs_or_scope(seen, scope))
    if PolicyDecision.AUTOMATIC in decided:
        return True
    return bool(prompt_visible(unit.learnings, seen, now_ms=now_ms))


def declined(
    unit: "Unit", scope: LearningScope, kind: Kind, content: str, *, digest: str | None = None
) -> Declined | None:
    """The earlier rejection or revocation of the same statement by a person, if any.

    A sentence of the content that was declined counts too, whatever stands around it.
    """
    said = (content[start:end] for start, end in islice(sentences(content), MOST_SENTENCES))
    keys = dict.fromkeys(key_of(it).semantic for it in (content, *said))
    rejected = [it for key in keys for it in unit.candidates.rejected_by_people(scope, kind, key)]
    revoked = [it for key in keys for it in revoked_learnings(unit, scope, kind, key)]
    if not rejected and not revoked:
        return None
    times: list[tuple[int, str | None]] = [
        *((it.decided_at_ms or 0, it.candidate_id) for it in rejected),
        *((it.revoked_at_ms or 0, it.source_candidate_id) for it in revoked),
    ]
    told = (*rejected, *_source_candidates(unit, revoked))
    return Declined(
        candidate_id=max(times, key=lambda it: (it[0], it[1] or ""))[1],
        is_repeated=digest is not None and any(it.evidence_digest == digest for it in told),
    )


def revoked_learnings(
    unit: "Unit", scope: LearningScope, kind: Kind, key: str
) -> tuple[Learning, ...]:
    """Learnings with this key that a person revoked, newest first."""
    found = unit.learnings.revoked_by_people(_visible_from(unit, scope), kind, key)
    return tuple(_from_runs_or_scope(found, scope))


def evidence_digest(content: str, evidence: RunEvidence) -> str:
    """The digest of the sentence that carries a statement; the request comes before the outcome."""
    asked, share = best_sentence(content, evidence.request)
    answered, other = best_sentence(content, evidence.outcome)
    found = answered if other > share else asked
    # A statement found in no sentence is its own evidence.
    text = found or " ".join(plain_words(content))
    return hashlib.sha256(text.encode()).hexdigest()


def _source_candidates(unit: "Unit", learnings: Sequence[Learning]) -> Iterator[Candidate]:
    """The readable candidates that learnings were published from."""
    for learning in learnings:
        named = learning.source_candidate_id
        candidate = undamaged(unit.candidates.get, named) if named else None
        if candidate is not None:
            yield candidate


def _from_runs_or_scope(learnings: Iterable[Learning], scope: LearningScope) -> Iterator[Learning]:
    """Learnings of this scope, and those of wider scopes that came from runs."""
    return (it for it in learnings if it.scope == scope or it.source.run_id is not None)


def _visible_from(unit: "Unit", scope: LearningScope) -> Sequence[LearningScope]:
    """The scopes visible wherever this scope is, itself included."""
    if scope.kind is not ScopeKind.SESSION:
        return tuple(dict.fromkeys((scope, WORKSPACE)))
    session = undamaged(unit.sessions.get, scope.id)
    return (scope, WORKSPACE) if session is None else visible_scopes(unit, session)
