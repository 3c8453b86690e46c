"""What a prompt is told of what was learned and of earlier runs: chosen, packed, accounted for."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import structlog

from understudy.core.clock import Clock
from understudy.core.errors import UnderstudyError
from understudy.learnings.model import Learning, LearningUse
from understudy.memory.policy import policy_in
from understudy.memory.record import RunMemory
from understudy.memory.report import PromptCounters
from understudy.memory.retention import Keeper
from understudy.memory.texts import query_text
from understudy.retrieval.choice import LearningReason as LearnedReason
from understudy.retrieval.frame import (
    LEARNED_CONTEXT,
    RECOVERED_MEMORY,
    Note,
    PromptBudget,
    SectionFrame,
    new_mark,
    pack,
)
from understudy.retrieval.learned import learn_context
from understudy.retrieval.recovered import RunReason, recover
from understudy.retrieval.report import failed_json, injection_json, learned_json, recovered_json
from understudy.runs.model import Run
from understudy.sessions.model import require_session

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

log = structlog.get_logger()

# How much of a long input is ranked against, at each of its ends.
QUERY_CHARS: Final = 1500

# Which counts of a report make up which counter.
COUNTED: Final[Mapping[str, tuple[str, ...]]] = {
    "injected_total": (RunReason.INCLUDED,),
    "prompt_limit_omitted_total": (RunReason.OVER_ENTRY_LIMIT, RunReason.OVER_BUDGET),
    "ranked_candidates_total": ("ranked",),
}
LEARNED_COUNTED: Final[Mapping[str, tuple[str, ...]]] = {
    "injected_total": (LearnedReason.INCLUDED,),
    "prompt_limit_omitted_total": (LearnedReason.OVER_ENTRY_LIMIT, LearnedReason.OVER_BUDGET),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recollection:
    """Sections for the system text by their names, and the report on how they came about."""

    sections: Mapping[str, str] = field(default_factory=dict)
    report: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One of the sections: its words, what it takes of the budget, and its report."""

    report: Mapping[str, Any]
    body: str = ""
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Recollector:
    """Recalls within the transaction that starts a run; the run's snapshot keeps the result."""

    clock: Clock
    keeper: Keeper
    learned: PromptCounters = field(default_factory=PromptCounters)
    mark: Callable[[], str] = new_mark

    def recollect(self, unit: "Unit", run: Run, budget: PromptBudget) -> Recollection:
        """What the run is told; what goes wrong in a section costs that section and nothing more."""
        learned = _careful(LEARNED_CONTEXT, run, partial(self._learned, unit, run, budget.tokens))
        # One budget for both: what the first takes the second does not have.
        left = max(0, budget.tokens - learned.tokens)
        recovered = _careful(RECOVERED_MEMORY, run, partial(self._recovered, unit, run, left))
        parts = {LEARNED_CONTEXT.name: learned, RECOVERED_MEMORY.name: recovered}
        return Recollection(
            sections={name: part.body for name, part in parts.items() if part.body},
            report=injection_json(recovered.report, learned.report, budget),
        )

    def used(self, report: Mapping[str, Any]) -> None:
        """Count what a prompt that is now sent holds."""
        self.keeper.counters.add(**_sums(COUNTED, report))
        self.learned.add(**_sums(LEARNED_COUNTED, report.get("learned", {})))

    def _learned(self, unit: "Unit", run: Run, tokens: int) -> Part:
        now = self.clock.now_ms()
        session = require_session(unit, run.session_id)
        found = learn_context(unit, session, query_of(run), now)
        notes = [learning_note(it) for it in found.kept]
        packed = pack(
            LEARNED_CONTEXT, notes, tokens=tokens, mark=self.mark(), omitted=found.omitted
        )
        found = found.within(packed.kept)
        # What only tries something out is no use of what it happens to be told.
        if run.trial_id is None:
            unit.learning_uses.add(_uses(found.kept, run, now))
        return Part(
            report=learned_json(found, packed),
            body=packed.body if packed.kept else "",
            tokens=packed.tokens,
        )

    def _recovered(self, unit: "Unit", run: Run, tokens: int) -> Part:
        policy = policy_in(unit)
        found = recover(unit, run.session_id, query_of(run), policy, self.clock.now_ms())
        expired, unreadable = found.ids(RunReason.EXPIRED), found.ids(RunReason.UNREADABLE)
        if expired or unreadable:
            self.keeper.drop_stale(unit, expired=expired, unreadable=unreadable)
        notes = [run_note(memory) for memory in found.kept]
        packed = pack(
            RECOVERED_MEMORY, notes, tokens=tokens, mark=self.mark(), omitted=found.omitted
        )
        return Part(
            report=recovered_json(found.within(packed.kept), packed, policy),
            body=packed.body if packed.kept else "",
            tokens=packed.tokens,
        )


def query_of(run: Run) -> str | None:
    """What the memories of a run's session are ranked against: its input, or both ends of it."""
    text = query_text(run).strip()
    if len(text) > 2 * QUERY_CHARS:
        text = f"{text[:QUERY_CHARS]} {text[-QUERY_CHARS:]}"
    return text or None


def learning_note(learning: Learning) -> Note:
    """A learning as a prompt tells of it."""
    return Note(id=learning.learning_id, label=str(learning.kind), text=learning.content)


def run_note(memory: RunMemory) -> Note:
    """A run as a prompt tells of it."""
    return Note(id=memory.run_id, label=str(memory.status), text=memory.summary)


def _careful(frame: SectionFrame, run: Run, make: Callable[[], Part]) -> Part:
    try:
        return make()
    except UnderstudyError as problem:
        log.warning(
            "memory.not_recalled", run_id=run.run_id, section=frame.name, reason=problem.detail
        )
        return Part(report=failed_json(problem))


def _sums(counted: Mapping[str, tuple[str, ...]], report: Mapping[str, Any]) -> dict[str, int]:
    counts = report.get("counts", {})
    return {name: sum(counts.get(part, 0) for part in parts) for name, parts in counted.items()}


def _uses(told: Sequence[Learning], run: Run, now_ms: int) -> tuple[LearningUse, ...]:
    return tuple(
        LearningUse(
            learning_id=it.learning_id,
            learning_version=it.version,
            run_id=run.run_id,
            session_id=run.session_id,
            at_ms=now_ms,
        )
        for it in told
    )
