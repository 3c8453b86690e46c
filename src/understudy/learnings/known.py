"""What need not be proposed: what is known, what waits already, what a person declined."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from understudy.core.errors import DamagedRecord
from understudy.learnings.keys import key_of
from understudy.learnings.model import Candidate, Kind, Learning
from understudy.learnings.ports import LearningUnit
from understudy.learnings.proposals import Proposal
from understudy.learnings.sentences import carrying, plain_words, sentences
from understudy.memory.record import Evidence
from understudy.sessions.learning_scopes import (
    WORKSPACE,
    LearningScope,
    ScopeKind,
    visible_scopes,
)

MOST_SENTENCES: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Declined:
    """That a person said no to the same thing before: rejected it, or took it back."""

    # The candidate that was declined last; None where what was taken back was made without one.
    candidate_id: str | None
    # Whether what speaks for it now was all there when they did.
    is_repeated: bool


def is_known(
    unit: LearningUnit, scope: LearningScope, kind: Kind, key: str, *, now_ms: int
) -> bool:
    """Whether a session sees a live learning that says this, or somebody has yet to decide on it."""
    if unit.candidates.open_with_key(scope, kind, key, now_ms=now_ms) is not None:
        return True
    return any(
        not learning.is_expired(now_ms)
        for seen in _seen_from(unit, scope)
        for learning in unit.learnings.with_key(seen, kind, key)
    )


def declined(
    unit: LearningUnit, scope: LearningScope, kind: Kind, content: str, *, digest: str | None = None
) -> Declined | None:
    """What a person said of the same thing before; None when nobody was asked, or said yes.

    More words around it do not make it another thing: a sentence of it that was declined counts.
    """
    keys = _keys_in(content)
    rejected = [it for key in keys for it in unit.candidates.rejected_by_people(scope, kind, key)]
    revoked = [it for key in keys for it in taken_back(unit, scope, kind, key)]
    if not rejected and not revoked:
        return None
    times: list[tuple[int, str | None]] = [
        *((it.decided_at_ms or 0, it.candidate_id) for it in rejected),
        *((it.revoked_at_ms or 0, it.source_candidate_id) for it in revoked),
    ]
    told = (*rejected, *_made_of(unit, revoked))
    return Declined(
        candidate_id=max(times, key=lambda it: (it[0], it[1] or ""))[1],
        is_repeated=digest is not None and any(it.evidence_digest == digest for it in told),
    )


def taken_back(
    unit: LearningUnit, scope: LearningScope, kind: Kind, key: str
) -> tuple[Learning, ...]:
    """The same thing where a person revoked it, in any scope seen from this one, newest first."""
    return unit.learnings.revoked_by_people(_seen_from(unit, scope), kind, key)


def evidence_digest(proposal: Proposal, evidence: Evidence) -> str:
    """Names the sentence that something was found in: of the request where all its words are there."""
    asked, share = carrying(proposal.content, evidence.request)
    answered, other = carrying(proposal.content, evidence.outcome)
    found = answered if other > share else asked
    # What has no sentence of its own stands for itself.
    text = found or " ".join(plain_words(proposal.content))
    return hashlib.sha256(text.encode()).hexdigest()


def _keys_in(content: str) -> tuple[str, ...]:
    """The key of a statement, and those of its first sentences where it has several."""
    said = (content[start:end] for start, end in islice(sentences(content), MOST_SENTENCES))
    return tuple(dict.fromkeys(key_of(it).semantic for it in (content, *said)))


def _made_of(unit: LearningUnit, learnings: Sequence[Learning]) -> Iterator[Candidate]:
    """The candidates that learnings were made of, as far as they can be read."""
    for learning in learnings:
        if learning.source_candidate_id is None:
            continue
        try:
            candidate = unit.candidates.get(learning.source_candidate_id)
        except DamagedRecord:
            continue
        if candidate is not None:
            yield candidate


def _seen_from(unit: LearningUnit, scope: LearningScope) -> Sequence[LearningScope]:
    """What is seen wherever a scope is, itself included."""
    if scope.kind is not ScopeKind.SESSION:
        return tuple(dict.fromkeys((scope, WORKSPACE)))
    try:
        session = unit.sessions.get(scope.id)
    except DamagedRecord:
        session = None
    return (scope, WORKSPACE) if session is None else visible_scopes(unit, session)
