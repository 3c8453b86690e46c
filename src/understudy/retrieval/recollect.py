"""What a prompt is told of earlier runs: chosen, packed, rendered, and accounted for."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

import structlog

from understudy.core.clock import Clock
from understudy.core.errors import UnderstudyError
from understudy.memory.asked import query_text
from understudy.memory.keeping import Keeper
from understudy.memory.policy import policy_in
from understudy.memory.record import RunMemory
from understudy.retrieval.frame import RECOVERED_MEMORY, Note, new_mark
from understudy.retrieval.hits import SearchUnit
from understudy.retrieval.pack import Budget, Packed, pack
from understudy.retrieval.recovered import Reason, Recovered, recover
from understudy.retrieval.report import failed_report, injection_json
from understudy.runs.model import Run
from understudy.runs.ports import RunUnit

log = structlog.get_logger()

# How much of a long input is ranked against, at each of its ends.
QUERY_CHARS: Final = 1500

# Which counts of a report make up which counter.
COUNTED: Final[Mapping[str, tuple[str, ...]]] = {
    "injected_total": (Reason.INCLUDED,),
    "prompt_limit_omitted_total": (Reason.OVER_ENTRY_LIMIT, Reason.OVER_BUDGET),
    "ranked_candidates_total": ("ranked",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recollection:
    """Sections for the system text by their names, and the report on how they came about."""

    sections: Mapping[str, str] = field(default_factory=dict)
    report: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Recollector:
    """Recalls within the transaction that starts a run; the run's snapshot keeps the result."""

    clock: Clock
    keeper: Keeper
    mark: Callable[[], str] = new_mark

    def recollect(self, unit: RunUnit, run: Run, budget: Budget) -> Recollection:
        """What the run is told; what goes wrong here costs it the section and nothing more."""
        # Whoever starts a run has all stores of the daemon.
        own = cast("SearchUnit", unit)
        try:
            return self._recollect(own, run, budget)
        except UnderstudyError as problem:
            log.warning("run_memory.not_recalled", run_id=run.run_id, reason=problem.detail)
            return Recollection(report=failed_report(problem, budget))

    def used(self, report: Mapping[str, Any]) -> None:
        """Count what a prompt that is now sent holds."""
        counts = report.get("counts", {})
        self.keeper.counters.add(
            **{name: sum(counts.get(part, 0) for part in parts) for name, parts in COUNTED.items()}
        )

    def _recollect(self, unit: SearchUnit, run: Run, budget: Budget) -> Recollection:
        policy = policy_in(unit)
        found = recover(unit, run.session_id, query_of(run), policy, self.clock.now_ms())
        expired, unreadable = found.ids(Reason.EXPIRED), found.ids(Reason.UNREADABLE)
        if expired or unreadable:
            self.keeper.drop_stale(unit, expired=expired, unreadable=unreadable)
        packed = _pack(found, budget, self.mark())
        found = found.within(packed.kept)
        return Recollection(
            sections={RECOVERED_MEMORY.name: packed.body} if packed.kept else {},
            report=injection_json(found, packed, budget, policy),
        )


def query_of(run: Run) -> str | None:
    """What the memories of a run's session are ranked against: its input, or both ends of it."""
    text = query_text(run).strip()
    if len(text) > 2 * QUERY_CHARS:
        text = f"{text[:QUERY_CHARS]} {text[-QUERY_CHARS:]}"
    return text or None


def _pack(found: Recovered, budget: Budget, mark: str) -> Packed:
    notes = [_note(memory) for memory in found.kept]
    return pack(RECOVERED_MEMORY, notes, tokens=budget.tokens, mark=mark, omitted=found.omitted)


def _note(memory: RunMemory) -> Note:
    return Note(id=memory.run_id, label=str(memory.status), text=memory.summary)
