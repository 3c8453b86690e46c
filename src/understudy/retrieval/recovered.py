"""The choice of run memories to inject, and the reason for each that is left out."""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from understudy.core.errors import coded_error
from understudy.memory.policy import RunMemoryPolicy
from understudy.memory.ports import TERM_KIND
from understudy.memory.record import Pointer, RunMemory, doubt
from understudy.retrieval.documents import Document, Field, Scored, read
from understudy.retrieval.rarity import SCAN_LIMIT
from understudy.retrieval.score import rank, relevant
from understudy.retrieval.terms import query_terms
from understudy.sessions.journal import newest_checkpoint, summarised_upto
from understudy.sessions.learning_scopes import session_scope

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

# Beyond every offset of a journal.
MAX_OFFSET: Final = 2**31 - 1
MATCHED: Final = "it matches the input, and is among the {limit} best"
# Included without a match.
FILLED_UP: Final = "nothing in the input matches it, but it is recent and there was room"
# Of two runs that say the same, the share of terms that only one of them has.
MOST_APART: Final = 0.15
NEWEST: Final = "there is no input to compare with, and it is among the {limit} newest"
TOO_OLD: Final = "there is no input to compare with, and {limit} are newer"


class RunReason(StrEnum):
    """Why a run memory is injected or left out."""

    INCLUDED = "included"
    BELOW_RELEVANCE_FLOOR = "below_relevance_floor"
    NEAR_DUPLICATE = "near_duplicate"
    IN_CONVERSATION = "in_conversation"
    OVER_ENTRY_LIMIT = "over_entry_limit"
    OVER_BUDGET = "over_budget"
    EXPIRED = "expired"
    UNREADABLE = "unreadable"


# The words for each reason to leave a run out.
RUN_WORDS: Final[Mapping[str, str]] = {
    RunReason.BELOW_RELEVANCE_FLOOR: "it covers {coverage:.0%} of the input, and the policy wants"
    " at least {floor:.0%}",
    RunReason.NEAR_DUPLICATE: "a run that is told asked and ended in the same words",
    RunReason.IN_CONVERSATION: "the conversation still has it word for word",
    RunReason.OVER_ENTRY_LIMIT: "{limit} others fit better or are newer, and the policy lets no more through",
    RunReason.OVER_BUDGET: "the prompt had no room left for it",
    RunReason.EXPIRED: "its time is over, or memory is switched off: it is removed when next met",
    RunReason.UNREADABLE: "it is missing, damaged or of another session",
}


def explanation(
    reason: str, *, score: float | None, coverage: float, limit: int, floor: float
) -> str:
    """A sentence for a reason; `score` is None where there was nothing to rank against."""
    if reason == RunReason.INCLUDED:
        words = NEWEST if score is None else (MATCHED if score > 0 else FILLED_UP)
    elif reason == RunReason.OVER_ENTRY_LIMIT and score is None:
        words = TOO_OLD
    elif reason in RUN_WORDS:
        words = RUN_WORDS[reason]
    else:
        # A report may be of another version of the daemon.
        return reason
    return words.format(coverage=coverage, limit=limit, floor=floor)


@dataclass(frozen=True, slots=True, kw_only=True)
class VerbatimPart:
    """The part of a session that a prompt has verbatim, by journal offsets."""

    from_offset: int = 0
    before_offset: int = MAX_OFFSET
    # Whether nothing of the session is summarised or left out.
    is_whole: bool = True


WHOLE: Final = VerbatimPart()


def verbatim_now(unit: "Unit", session_id: str) -> VerbatimPart:
    """The part that the next prompt of a session has verbatim, unless it is compacted first."""
    known = newest_checkpoint(unit.journal, session_id, before_offset=MAX_OFFSET)
    upto = summarised_upto(known) if known else None
    return WHOLE if upto is None else VerbatimPart(from_offset=upto + 1, is_whole=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsideredRun:
    """One run with its memory and score, and why it is injected or left out."""

    run_id: str
    recorded_at_ms: int
    reason: RunReason
    # None if it is expired or unreadable.
    memory: RunMemory | None = None
    scored: Scored | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovered:
    """All runs that were considered, best first; records to delete come last."""

    considered: tuple[ConsideredRun, ...] = ()
    # Whether they were ranked against a query, or ordered by time.
    is_ranked: bool = False

    @property
    def kept(self) -> tuple[RunMemory, ...]:
        """The run memories to inject, in order."""
        return tuple(
            it.memory for it in self.considered if it.reason is RunReason.INCLUDED and it.memory
        )

    @property
    def omitted(self) -> int:
        """The number left out for lack of room."""
        return self.count(RunReason.OVER_ENTRY_LIMIT) + self.count(RunReason.OVER_BUDGET)

    @property
    def readable(self) -> int:
        """The number of readable records."""
        return sum(it.memory is not None for it in self.considered)

    def count(self, reason: RunReason) -> int:
        """The number of runs with this reason."""
        return sum(it.reason is reason for it in self.considered)

    def ids(self, reason: RunReason) -> tuple[str, ...]:
        """The ids of runs with this reason."""
        return tuple(it.run_id for it in self.considered if it.reason is reason)

    def within(self, kept: int) -> "Recovered":
        """The choice after packing: only the first `kept` runs fit the budget."""
        included = self.ids(RunReason.INCLUDED)
        if kept >= len(included):
            return self
        fits = set(included[:kept])
        considered = tuple(
            replace(it, reason=RunReason.OVER_BUDGET)
            if it.reason is RunReason.INCLUDED and it.run_id not in fits
            else it
            for it in self.considered
        )
        return replace(self, considered=considered)


def recover(
    unit: "Unit",
    session_id: str,
    query: str | None,
    policy: RunMemoryPolicy,
    now_ms: int,
    *,
    verbatim: VerbatimPart = WHOLE,
) -> Recovered:
    """Choose the run memories to inject for a session, without changing anything."""
    asked = query if query and query.strip() else None
    pointers = _pointers(unit, session_id, asked)
    if pointers and not unit.run_memories.is_there():
        # An unmounted volume must not look like deleted records.
        raise coded_error("run_memories/run_memory_store_gone")
    stored = unit.run_memories.readable([pointer.run_id for pointer in pointers])
    oldest = policy.expired_before_ms(now_ms)
    living: list[RunMemory] = []
    lost: list[ConsideredRun] = []
    for pointer in pointers:
        record = stored.get(pointer.run_id)
        recorded = record.memory.recorded_at_ms if record else pointer.recorded_at_ms
        if min(recorded, pointer.recorded_at_ms) < oldest:
            lost.append(_lost(pointer, RunReason.EXPIRED))
        elif record is None or doubt(record, session_id=session_id):
            lost.append(_lost(pointer, RunReason.UNREADABLE))
        else:
            living.append(record.memory)
    shown = _shown(unit, session_id, policy, verbatim) if living else frozenset()
    chosen = _choose(_ranked(living, asked, now_ms), asked, policy, shown)
    return Recovered(considered=(*chosen, *lost), is_ranked=asked is not None)


def _shown(
    unit: "Unit", session_id: str, policy: RunMemoryPolicy, verbatim: VerbatimPart
) -> frozenset[str]:
    """The runs that are left out because the conversation has them verbatim.

    While it has the whole session, all runs would be: then the policy decides.
    """
    if verbatim.is_whole and policy.recover_conversation:
        return frozenset()
    return unit.journal.runs_heard(
        session_id, from_offset=verbatim.from_offset, before_offset=verbatim.before_offset
    )


def document_of(memory: RunMemory) -> Document:
    """The document of a run memory."""
    return Document(
        id=memory.run_id,
        at_ms=memory.recorded_at_ms,
        fields=(
            Field(name="summary", text=memory.summary, weight=4),
            Field(name="request_preview", text=memory.request_preview or "", weight=3),
            Field(name="outcome_preview", text=memory.outcome_preview or "", weight=3),
            Field(name="failure_markers", text=" ".join(memory.failure_markers), weight=1),
        ),
    )


def _pointers(unit: "Unit", session_id: str, query: str | None) -> tuple[Pointer, ...]:
    """The newest pointers of a session, and if there are more, those with terms of the query."""
    newest = unit.run_memory_index.in_session(session_id, limit=SCAN_LIMIT)
    if len(newest) < SCAN_LIMIT or query is None:
        return newest
    found = unit.term_index.candidates(
        TERM_KIND,
        scopes=(session_scope(session_id).key,),
        terms=query_terms(query),
        limit=SCAN_LIMIT,
    )
    known = {pointer.run_id for pointer in newest}
    older = [
        Pointer(run_id=it.source_id, session_id=session_id, recorded_at_ms=it.at_ms)
        for it in found
        if it.source_id not in known
    ]
    older.sort(key=lambda it: (it.recorded_at_ms, it.run_id), reverse=True)
    return (*newest, *older)


def _lost(pointer: Pointer, reason: RunReason) -> ConsideredRun:
    return ConsideredRun(
        run_id=pointer.run_id, recorded_at_ms=pointer.recorded_at_ms, reason=reason
    )


def _ranked(
    memories: Sequence[RunMemory], query: str | None, now_ms: int
) -> list[tuple[RunMemory, Scored | None]]:
    """Records by score; without a query newest first."""
    if query is None:
        return [(memory, None) for memory in memories]
    by_id = {memory.run_id: memory for memory in memories}
    scored = rank(query, [document_of(memory) for memory in memories], now_ms=now_ms)
    return [(by_id[it.id], it) for it in scored]


def _choose(
    ranked: Sequence[tuple[RunMemory, Scored | None]],
    query: str | None,
    policy: RunMemoryPolicy,
    shown: Set[str],
) -> list[ConsideredRun]:
    fits = _floor(ranked, query, policy)
    considered: list[ConsideredRun] = []
    told: list[frozenset[str]] = []
    for memory, scored in ranked:
        reason = RunReason.BELOW_RELEVANCE_FLOOR
        if memory.run_id in shown:
            reason = RunReason.IN_CONVERSATION
        elif fits(memory, scored):
            reason = RunReason.OVER_ENTRY_LIMIT
            said = _said(memory)
            if any(_is_near(said, other) for other in told):
                reason = RunReason.NEAR_DUPLICATE
            elif len(told) < policy.max_prompt_entries:
                reason = RunReason.INCLUDED
                told.append(said)
        considered.append(
            ConsideredRun(
                run_id=memory.run_id,
                recorded_at_ms=memory.recorded_at_ms,
                reason=reason,
                memory=memory,
                scored=scored,
            )
        )
    return considered


def _said(memory: RunMemory) -> frozenset[str]:
    """The terms of a run's request, outcome and summary."""
    said = (memory.summary, memory.request_preview, memory.outcome_preview)
    texts = (text for text in (*said, *memory.failure_markers) if text)
    return frozenset(term for text in texts for term in read(text).counts)


def _is_near(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two runs say the same: nearly the same terms, and the same numbers."""
    apart = one ^ other
    if len(apart) > MOST_APART * len(one | other):
        return False
    return bool(one) and not any(each.isdigit() for term in apart for each in term)


def _floor(
    ranked: Sequence[tuple[RunMemory, Scored | None]], query: str | None, policy: RunMemoryPolicy
) -> Callable[[RunMemory, Scored | None], bool]:
    """Apply the relevance floor; if the query has no terms, only the newest passes."""
    if policy.relevance_floor <= 0 or query is None:
        return lambda _, __: True
    if not query_terms(query):
        newest = max((memory for memory, _ in ranked), key=_age, default=None)
        return lambda memory, _: memory is newest
    floor = policy.relevance_floor
    return lambda _, scored: scored is not None and relevant(scored, floor)


def _age(memory: RunMemory) -> tuple[int, str]:
    return memory.recorded_at_ms, memory.run_id
