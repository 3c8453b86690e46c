"""Lineage of a learning: its source, its replacements, and the runs that had it injected."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from understudy.core.errors import undamaged
from understudy.core.page import Page, PageRequest
from understudy.core.records import Omitted, reduced
from understudy.learnings.decisions import require_learning
from understudy.learnings.model import (
    AutomationReview,
    Candidate,
    Learning,
    LearningUse,
    RelatedLearning,
    related,
)
from understudy.runs.model import RunStatus

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

# How far a chain of replacements is followed each way.
MAX_CHAIN: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRun:
    """The source run of a learning."""

    run_id: str
    session_id: str
    agent_id: str
    status: RunStatus
    submitted_at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage:
    """The source of a learning, and its replacements."""

    learning: Learning
    # The candidate of the learning, or of the first learning that it replaced.
    candidate: Omitted[Candidate] = None
    # Reviews of that candidate by automation and judge, newest first.
    reviews: tuple[AutomationReview, ...]
    # None where no source run is named, or the run is deleted.
    source_run: Omitted[SourceRun] = None
    # Learnings that it replaced, and that replaced it, nearest first.
    replaced: tuple[RelatedLearning, ...]
    replaced_by: tuple[RelatedLearning, ...]
    # Learnings that its candidate became before their publication was undone.
    undone: tuple[RelatedLearning, ...] = ()
    # The runs that had it injected, newest first.
    uses: Page[LearningUse]
    use_count: int


def lineage_of(unit: "Unit", learning_id: str, request: PageRequest) -> Lineage:
    """The lineage of a learning, with a page of its uses."""
    learning = require_learning(unit, learning_id)

    def successor(of: Learning) -> Learning | None:
        if of.superseded_by is not None:
            return _readable(unit, of.superseded_by)
        return unit.learnings.replacing([of.learning_id]).get(of.learning_id)

    replaced = _chain(learning, lambda it: _readable(unit, it.supersedes))
    candidate = _candidate(unit, (learning, *replaced))
    run_id = learning.source.run_id
    return Lineage(
        learning=learning,
        candidate=candidate,
        reviews=unit.reviews.of_candidate(candidate.candidate_id) if candidate else (),
        source_run=_source_run(unit, run_id) if run_id else None,
        replaced=related(replaced),
        replaced_by=related(_chain(learning, successor)),
        undone=_undone(unit, learning, candidate),
        uses=unit.learning_uses.of_learning(learning_id, request),
        use_count=unit.learning_uses.count(learning_id),
    )


def _chain(
    start: Learning, following: Callable[[Learning], Learning | None]
) -> tuple[Learning, ...]:
    """The chain from `start`; it ends where it would repeat a learning."""
    seen, chain, at = {start.learning_id}, list[Learning](), following(start)
    while at is not None and at.learning_id not in seen and len(chain) < MAX_CHAIN:
        seen.add(at.learning_id)
        chain.append(at)
        at = following(at)
    return tuple(chain)


def _candidate(unit: "Unit", learnings: tuple[Learning, ...]) -> Candidate | None:
    named = next((it.source_candidate_id for it in learnings if it.source_candidate_id), None)
    return undamaged(unit.candidates.get, named) if named else None


def _undone(
    unit: "Unit", learning: Learning, candidate: Candidate | None
) -> tuple[RelatedLearning, ...]:
    ids = (
        [it for it in candidate.undone_learning_ids if it != learning.learning_id]
        if candidate
        else []
    )
    return related(unit.learnings.readable(ids).values()) if ids else ()


def _readable(unit: "Unit", learning_id: str | None) -> Learning | None:
    return unit.learnings.readable([learning_id]).get(learning_id) if learning_id else None


def _source_run(unit: "Unit", run_id: str) -> SourceRun | None:
    run = undamaged(unit.runs.get, run_id)
    return reduced(SourceRun, run) if run else None
