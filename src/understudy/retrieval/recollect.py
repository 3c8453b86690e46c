"""Memory sections of a prompt: learnings and run memories, chosen, packed and reported."""

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
from understudy.retrieval.choice import OMITTED, Learned, learning_note
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
from understudy.retrieval.recovered import Recovered, RunReason, VerbatimPart, recover
from understudy.retrieval.report import failed_json, injection_json, learned_json, recovered_json
from understudy.runs.model import Run
from understudy.sessions.model import Session

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

log = structlog.get_logger()

# The most characters at either end of a long input that are ranked against.
QUERY_CHARS: Final = 1500

# Counts of a report, by counter.
COUNTED: Final[Mapping[str, tuple[str, ...]]] = {
    "injected_total": (RunReason.INCLUDED,),
    "prompt_limit_omitted_total": (RunReason.OVER_ENTRY_LIMIT, RunReason.OVER_BUDGET),
    "ranked_candidates_total": ("ranked",),
}
LEARNED_COUNTED: Final[Mapping[str, tuple[str, ...]]] = {
    "injected_total": (LearnedReason.INCLUDED,),
    "prompt_limit_omitted_total": tuple(sorted(OMITTED)),
    "below_floor_total": (LearnedReason.BELOW_FLOOR,),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recollection:
    """Memory sections of the system text by name, and the injection report."""

    sections: Mapping[str, str] = field(default_factory=dict)
    report: Mapping[str, Any] = field(default_factory=dict)
    # What was chosen, after packing.
    learned: Learned = field(default_factory=Learned)
    recovered: Recovered = field(default_factory=Recovered)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One memory section: its text, its tokens and its report; what it was chosen from."""

    report: Mapping[str, Any]
    learned: Learned = field(default_factory=Learned)
    recovered: Recovered = field(default_factory=Recovered)
    body: str = ""
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Recollector:
    """Builds memory sections in the transaction that starts a run; the snapshot keeps them."""

    clock: Clock
    keeper: Keeper
    learned: PromptCounters = field(default_factory=PromptCounters)
    mark: Callable[[], str] = new_mark

    def recollect(
        self,
        unit: "Unit",
        run: Run,
        session: Session,
        budget: PromptBudget,
        verbatim: VerbatimPart,
        *,
        is_recorded: bool = True,
    ) -> Recollection:
        """The memory sections of a run; an error in one section only drops that section.

        Unless `is_recorded`, no use is stored and no stale record is deleted.
        """
        learned = _section_or_report(
            LEARNED_CONTEXT,
            run,
            partial(self._learned, unit, run, session, budget.tokens, is_recorded),
        )
        # Both sections share one budget.
        left = max(0, budget.tokens - learned.tokens)
        recovered = _section_or_report(
            RECOVERED_MEMORY, run, partial(self._recovered, unit, run, left, verbatim, is_recorded)
        )
        parts = {LEARNED_CONTEXT.name: learned, RECOVERED_MEMORY.name: recovered}
        return Recollection(
            sections={name: part.body for name, part in parts.items() if part.body},
            report=injection_json(recovered.report, learned.report, budget),
            learned=learned.learned,
            recovered=recovered.recovered,
        )

    def used(self, report: Mapping[str, Any]) -> None:
        """Count the injected records of a prompt that is sent now."""
        self.keeper.counters.add(**_sums(COUNTED, report))
        self.learned.add(**_sums(LEARNED_COUNTED, report.get("learned", {})))

    def _learned(
        self, unit: "Unit", run: Run, session: Session, tokens: int, is_recorded: bool
    ) -> Part:
        now = self.clock.now_ms()
        found = learn_context(unit, session, query_of(run), now)
        notes = [learning_note(it) for it in found.kept]
        packed = pack(
            LEARNED_CONTEXT, notes, tokens=tokens, mark=self.mark(), omitted=found.omitted
        )
        found = found.within(packed.kept)
        # A trial run is no use of a learning.
        if is_recorded and run.trial_id is None:
            unit.learning_uses.add(_uses(found.kept, run, now))
        return Part(
            report=learned_json(found, packed),
            learned=found,
            body=packed.body if packed.kept else "",
            tokens=packed.tokens,
        )

    def _recovered(
        self, unit: "Unit", run: Run, tokens: int, verbatim: VerbatimPart, is_recorded: bool
    ) -> Part:
        policy, now_ms = policy_in(unit), self.clock.now_ms()
        found = recover(unit, run.session_id, query_of(run), policy, now_ms, verbatim=verbatim)
        expired, unreadable = found.ids(RunReason.EXPIRED), found.ids(RunReason.UNREADABLE)
        if is_recorded and (expired or unreadable):
            self.keeper.drop_stale(unit, expired=expired, unreadable=unreadable)
        notes = [run_note(memory) for memory in found.kept]
        packed = pack(
            RECOVERED_MEMORY, notes, tokens=tokens, mark=self.mark(), omitted=found.omitted
        )
        found = found.within(packed.kept)
        return Part(
            report=recovered_json(found, packed, policy),
            recovered=found,
            body=packed.body if packed.kept else "",
            tokens=packed.tokens,
        )


def query_of(run: Run) -> str | None:
    """The query of a run: its input, or both ends of a long one."""
    text = query_text(run).strip()
    if len(text) > 2 * QUERY_CHARS:
        text = f"{text[:QUERY_CHARS]} {text[-QUERY_CHARS:]}"
    return text or None


def run_note(memory: RunMemory) -> Note:
    """The note of a run memory."""
    return Note(id=memory.run_id, label=str(memory.status), text=memory.summary)


def _section_or_report(frame: SectionFrame, run: Run, make: Callable[[], Part]) -> Part:
    """A section, or an empty one with a report of the error."""
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
