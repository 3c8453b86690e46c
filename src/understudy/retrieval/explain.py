"""Every record that a session sees, whether a prompt would be told of it, and if not, why not."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from understudy.learnings.filters import LearningFilter
from understudy.learnings.model import Learning, LearningStatus
from understudy.memory.policy import RunMemoryPolicy
from understudy.retrieval.choice import (
    ConsideredLearning,
    Learned,
    is_sensitive,
    passed_over,
    prompt_order,
)
from understudy.retrieval.frame import LEARNED_CONTEXT, RECOVERED_MEMORY
from understudy.retrieval.hits import ResultKind
from understudy.retrieval.learned import judge, learn_context, statistics_for
from understudy.retrieval.pack import note_tokens
from understudy.retrieval.recollect import learning_note, run_note
from understudy.retrieval.recovered import ConsideredRun as ConsideredRun
from understudy.retrieval.recovered import Recovered, recover
from understudy.retrieval.recovered import RunReason as RunReason
from understudy.retrieval.score import Scored
from understudy.sessions.learning_scopes import LearningScope, session_scope, visible_scopes
from understudy.sessions.model import Session

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

# How many learnings are listed; those that would be told are always among them.
MOST: Final = 500
# What is no longer live is known to nobody but the store.
ENDED: Final = (LearningStatus.SUPERSEDED, LearningStatus.REVOKED)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedRecord:
    """A learning or a run, how well it fits, and everything that keeps it out of the prompt."""

    kind: ResultKind
    source_id: str
    scope: LearningScope
    # When it was published or recorded.
    at_ms: int
    # Its place among all of its kind by score, then by scope and time; from 1.
    rank: int
    # The kind of a learning, the status of a run; absent for a run that cannot be read.
    label: str | None = None
    # What a prompt would say; absent for one that cannot be read or is sensitive.
    text: str | None = None
    # What it would take of the budget; nothing for a sensitive one, whose length tells something too.
    tokens: int = 0
    # Absent where there is nothing to rank against, and for a sensitive one.
    scored: Scored | None = None
    # The codes of all that keeps it out; none for what is told.
    reasons: tuple[str, ...] = ()

    @property
    def is_included(self) -> bool:
        """Whether a prompt would be told of it, if there is room."""
        return not self.reasons


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """All records in sight: learnings first, then runs, each kind in the order of its ranks."""

    session: Session
    learning_scopes: tuple[LearningScope, ...]
    query: str | None
    policy: RunMemoryPolicy
    # How learnings were chosen: ranked, browsed, or by scope and time.
    learned: Learned
    entries: tuple[ExplainedRecord, ...]
    # Whether there are more learnings than are listed.
    truncated: bool


def explain(
    unit: "Unit",
    session: Session,
    *,
    query: str | None,
    policy: RunMemoryPolicy,
    now_ms: int,
) -> Explanation:
    """Look at everything as the prompt would, and change nothing: no counter, no record."""
    scopes = visible_scopes(unit, session)
    chosen = learn_context(unit, session, query, now_ms)
    others = _others(unit, scopes, chosen)
    known = (
        *chosen.considered,
        *passed_over(
            judge(unit, others, now_ms=now_ms),
            query,
            chosen,
            now_ms=now_ms,
            statistics=statistics_for(unit, query),
        ),
    )
    recovered = recover(unit, session.session_id, query, policy, now_ms)
    return Explanation(
        session=session,
        learning_scopes=scopes,
        query=query,
        policy=policy,
        learned=chosen,
        entries=(*_learnings(known), *_runs(session, recovered)),
        truncated=len(known) > MOST,
    )


def _others(unit: "Unit", scopes: Sequence[LearningScope], chosen: Learned) -> tuple[Learning, ...]:
    """What is in sight and was not looked at: the newest of what is live, and what has ended."""
    known = {it.learning.learning_id for it in chosen.considered}
    found = {
        it.learning_id: it
        for it in unit.learnings.newest_in(scopes, limit=MOST + 1)
        if it.learning_id not in known
    }
    for scope in scopes:
        for status in ENDED:
            narrowed = LearningFilter(scope=scope, status=status)
            ended = unit.learnings.matching(narrowed, limit=MOST + 1)
            found |= {it.learning_id: it for it in ended}
    return tuple(found.values())


def _learnings(known: Iterable[ConsideredLearning]) -> list[ExplainedRecord]:
    ranked = [*enumerate(sorted(known, key=prompt_order), 1)]
    told = sum(it.is_included for _, it in ranked)
    room = MOST - told
    listed: list[ExplainedRecord] = []
    for at, it in ranked:
        room -= not it.is_included
        if it.is_included or room >= 0:
            listed.append(_learning(at, it))
    return listed


def _learning(at: int, it: ConsideredLearning) -> ExplainedRecord:
    learning = it.learning
    is_shown = not is_sensitive(learning)
    return ExplainedRecord(
        kind=ResultKind.LEARNING,
        source_id=learning.learning_id,
        scope=learning.scope,
        at_ms=learning.published_at_ms,
        rank=at,
        label=str(learning.kind),
        text=learning.content if is_shown else None,
        tokens=note_tokens(LEARNED_CONTEXT, learning_note(learning)) if is_shown else 0,
        scored=it.scored,
        reasons=tuple(str(each) for each in it.reasons),
    )


def _runs(session: Session, recovered: Recovered) -> list[ExplainedRecord]:
    return [_run(at, it, session) for at, it in enumerate(recovered.considered, 1)]


def _run(at: int, it: ConsideredRun, session: Session) -> ExplainedRecord:
    memory = it.memory
    return ExplainedRecord(
        kind=ResultKind.RECOVERED_RUN,
        source_id=it.run_id,
        scope=session_scope(session.session_id),
        at_ms=it.recorded_at_ms,
        rank=at,
        label=str(memory.status) if memory else None,
        text=memory.summary if memory else None,
        tokens=note_tokens(RECOVERED_MEMORY, run_note(memory)) if memory else 0,
        scored=it.scored,
        reasons=() if it.reason is RunReason.INCLUDED else (str(it.reason),),
    )
