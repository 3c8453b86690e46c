"""Explanation of memory: whether each visible record would be injected, and why not."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pydantic import computed_field

from understudy.core.records import Omitted, shown_if_set
from understudy.learnings.model import TERM_KIND, Learning, LearningFilter, LearningStatus
from understudy.memory.policy import RunMemoryPolicy
from understudy.retrieval.choice import (
    MAX_ENTRIES,
    ConsideredLearning,
    Learned,
    LearningReason,
    found_elsewhere,
    is_sensitive,
    learned_explanation,
    learning_note,
    passed_over,
    prompt_order,
)
from understudy.retrieval.documents import Match, Rounded, Scored
from understudy.retrieval.frame import LEARNED_CONTEXT, RECOVERED_MEMORY, note_tokens
from understudy.retrieval.hits import ResultKind
from understudy.retrieval.learned import CANDIDATES, judge, learn_context, statistics_for
from understudy.retrieval.recollect import run_note
from understudy.retrieval.recovered import (
    ConsideredRun,
    Recovered,
    RunReason,
    explanation,
    recover,
    verbatim_now,
)
from understudy.retrieval.terms import query_terms
from understudy.review.policy import retrieval_in
from understudy.sessions.learning_scopes import LearningScope, session_scope, visible_scopes
from understudy.sessions.model import Session

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

# The most learnings that are listed; those that would be injected always are.
MOST: Final = 500
# The most learnings of other scopes that are listed.
MOST_ELSEWHERE: Final = 10
# Learnings that ended are not in the term index.
ENDED: Final = (LearningStatus.SUPERSEDED, LearningStatus.REVOKED)
INCLUDED: Final = "included"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedRecord:
    """A learning or a run that a session sees, and whether it would reach the prompt."""

    kind: ResultKind
    source_id: str
    scope: LearningScope
    # When it was published or recorded.
    timestamp_ms: int
    # Its place among all of its kind by score, then by scope and time; from 1.
    rank: int
    # The kind of a learning, the status of a run; absent for a run that cannot be read.
    label: Omitted[str] = None
    # Whether a learning applies `always` or `when_relevant`; absent for a run.
    applies: Omitted[str] = None
    # Whether it is injected because it applies to every task.
    standing: bool = False
    # The text in the prompt; absent for a damaged or sensitive record.
    text: Omitted[str] = None
    # Its cost in tokens; 0 for a sensitive one, whose length would reveal something.
    tokens: int = 0
    # A sensitive learning is not compared with the query: 0, without matches.
    score: Rounded = 0.0
    # The share of the query's weight that it covers, from 0 to 1.
    coverage: Rounded = 0.0
    matches: tuple[Match, ...] = ()
    # The codes that keep it out; empty if it is injected.
    reasons: tuple[str, ...] = ()
    explanation: str

    @shown_if_set
    @property
    def learning_id(self) -> str | None:
        """The id of a learning."""
        return self.source_id if self.kind is ResultKind.LEARNING else None

    @shown_if_set
    @property
    def run_id(self) -> str | None:
        """The id of a run."""
        return self.source_id if self.kind is ResultKind.RECOVERED_RUN else None

    @computed_field
    @property
    def injected(self) -> bool:
        """Whether it would reach the prompt, if there is room."""
        return not self.reasons

    @computed_field
    @property
    def reason(self) -> str:
        """The first code of what keeps it out, or `included`."""
        return self.reasons[0] if self.reasons else INCLUDED


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryExplanation:
    """Every record that a session sees: learnings, then runs, each in the order of a prompt."""

    session_id: str
    query: Omitted[str] = None
    learning_scopes: tuple[LearningScope, ...]
    # How many runs a prompt tells of at most, and how much of the query they must cover.
    max_prompt_entries: int
    relevance_floor: float
    # How many learnings a prompt tells of at most, besides those that apply to every task; then how
    # many of these, and the tokens of their texts.
    max_learned_entries: int = MAX_ENTRIES
    max_standing_entries: int
    max_standing_tokens: int
    # How much of the query the best of them must cover.
    learned_relevance_floor: float
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
    chosen: Learned | None = None,
    recovered: Recovered | None = None,
    most: int = MOST,
) -> MemoryExplanation:
    """Explain the choice of a prompt, without changing a counter or a record.

    `chosen` and `recovered` are a choice that was made, with what its budget left out; `most` is how
    many learnings are listed.
    """
    scopes = visible_scopes(unit, session)
    chosen = learn_context(unit, session, query, now_ms) if chosen is None else chosen
    others = _others(unit, scopes, chosen, most)
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
    elsewhere = _elsewhere(unit, scopes, query, now_ms)
    settings = retrieval_in(unit)
    if recovered is None:
        verbatim = verbatim_now(unit, session.session_id)
        recovered = recover(unit, session.session_id, query, policy, now_ms, verbatim=verbatim)
    return MemoryExplanation(
        session_id=session.session_id,
        query=query,
        learning_scopes=scopes,
        max_prompt_entries=policy.max_prompt_entries,
        relevance_floor=policy.relevance_floor,
        max_standing_entries=settings.max_standing_entries,
        max_standing_tokens=settings.max_standing_tokens,
        learned_relevance_floor=settings.relevance_floor,
        entries=(
            *_learnings(known, most),
            *(_learning(at, it) for at, it in enumerate(elsewhere, len(known) + 1)),
            *(_run(at, it, session, policy) for at, it in enumerate(recovered.considered, 1)),
        ),
        truncated=len(known) > most,
    )


def _others(
    unit: "Unit", scopes: Sequence[LearningScope], chosen: Learned, most: int
) -> tuple[Learning, ...]:
    """Visible learnings that were not considered: the newest live ones, and ended ones."""
    known = {it.learning.learning_id for it in chosen.considered}
    found = {
        it.learning_id: it
        for it in unit.learnings.newest_in(scopes, limit=most + 1)
        if it.learning_id not in known
    }
    for scope in scopes:
        for status in ENDED:
            narrowed = LearningFilter(scope=scope, status=status)
            ended = unit.learnings.matching(narrowed, limit=most + 1)
            found |= {it.learning_id: it for it in ended}
    return tuple(found.values())


def _elsewhere(
    unit: "Unit", scopes: Sequence[LearningScope], query: str | None, now_ms: int
) -> list[ConsideredLearning]:
    """The best matches among learnings of scopes that the session does not see."""
    if query is None or not (terms := query_terms(query)):
        return []
    ids = unit.term_index.anywhere(TERM_KIND, terms=terms, limit=CANDIDATES)
    found = [it for it in unit.learnings.readable(ids).values() if it.scope not in scopes]
    considered = found_elsewhere(
        judge(unit, found, now_ms=now_ms),
        query,
        now_ms=now_ms,
        statistics=statistics_for(unit, query),
        settings=retrieval_in(unit),
    )
    return sorted(considered, key=prompt_order)[:MOST_ELSEWHERE]


def _learnings(known: Iterable[ConsideredLearning], most: int) -> list[ExplainedRecord]:
    ranked = [*enumerate(sorted(known, key=prompt_order), 1)]
    told = sum(it.is_included for _, it in ranked)
    room = most - told
    listed: list[ExplainedRecord] = []
    for at, it in ranked:
        room -= not it.is_included
        if it.is_included or room >= 0:
            listed.append(_learning(at, it))
    return listed


def _learning(at: int, it: ConsideredLearning) -> ExplainedRecord:
    learning, scored = it.learning, it.scored
    is_shown = not is_sensitive(learning)
    reasons = tuple(str(each) for each in it.reasons)
    why = learned_explanation(
        reasons, score=scored.score if scored else None, is_standing=it.is_standing
    )
    if LearningReason.IN_ANOTHER_SCOPE in reasons:
        why = f"{why}: {learning.scope.key}"
    return ExplainedRecord(
        kind=ResultKind.LEARNING,
        source_id=learning.learning_id,
        scope=learning.scope,
        timestamp_ms=learning.published_at_ms,
        rank=at,
        label=str(learning.kind),
        text=learning.content if is_shown else None,
        tokens=note_tokens(LEARNED_CONTEXT, learning_note(learning)) if is_shown else 0,
        reasons=reasons,
        applies=str(learning.applies),
        standing=it.is_standing,
        explanation=why,
        **_fit(scored),
    )


def _run(at: int, it: ConsideredRun, session: Session, policy: RunMemoryPolicy) -> ExplainedRecord:
    memory, scored = it.memory, it.scored
    return ExplainedRecord(
        kind=ResultKind.RECOVERED_RUN,
        source_id=it.run_id,
        scope=session_scope(session.session_id),
        timestamp_ms=it.recorded_at_ms,
        rank=at,
        label=str(memory.status) if memory else None,
        text=memory.summary if memory else None,
        tokens=note_tokens(RECOVERED_MEMORY, run_note(memory)) if memory else 0,
        reasons=() if it.reason is RunReason.INCLUDED else (str(it.reason),),
        explanation=explanation(
            it.reason,
            score=scored.score if scored else None,
            coverage=round(scored.coverage, 4) if scored else 0.0,
            limit=policy.max_prompt_entries,
            floor=policy.relevance_floor,
        ),
        **_fit(scored),
    )


def _fit(scored: Scored | None) -> dict[str, Any]:
    """The score fields of a record; empty if it was not ranked."""
    if scored is None:
        return {}
    return {"score": scored.score, "coverage": scored.coverage, "matches": scored.matches}
