"""Inspection of memory: the context of a prompt, search, explanation, reports and records."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from understudy.core.clock import Clock
from understudy.core.page import Page, PageRequest
from understudy.core.records import extended
from understudy.memory.policy import policy_in
from understudy.memory.record import Pointer, RunMemoryItem, RunMemoryRecord, doubt
from understudy.memory.retention import Keeper
from understudy.retrieval.choice import Learned
from understudy.retrieval.explain import MemoryExplanation, explain
from understudy.retrieval.learned import learn_context
from understudy.retrieval.recovered import Recovered, recover, verbatim_now
from understudy.retrieval.report import (
    MemoryReport,
    injection_report,
    memory_report,
    reported_texts,
)
from understudy.retrieval.search import SearchAnswer, checked_query, search
from understudy.runs.model import require_run
from understudy.sessions.learning_scopes import LearningScope, visible_scopes
from understudy.sessions.model import Session, require_session
from understudy.skills.catalogue import Catalogue
from understudy.skills.catalogue_entry import CatalogueEntry

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryContext:
    """The scopes of a session, and what its next prompt would have injected."""

    session: Session
    learning_scopes: tuple[LearningScope, ...]
    learned: Learned
    recovered: Recovered
    skills: tuple[CatalogueEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class MemoryInspection:
    """Use cases to inspect memory; only a search writes: it deletes expired records it meets."""

    units: "Units"
    clock: Clock
    keeper: Keeper
    skills: Catalogue

    def context(self, session_id: str, query: str | None, *, user_id: str = "") -> MemoryContext:
        """What the next run of this user would have injected for this input, and what not."""
        asked = checked_query(query)
        self.skills.refresh()
        with self.units.read() as unit:
            session, now_ms = require_session(unit, session_id), self.clock.now_ms()
            return MemoryContext(
                session=session,
                learning_scopes=visible_scopes(unit, session),
                learned=learn_context(unit, session, asked, now_ms),
                recovered=recover(
                    unit,
                    session_id,
                    asked,
                    policy_in(unit),
                    now_ms,
                    verbatim=verbatim_now(unit, session_id),
                ),
                skills=self._offered(unit, session, user_id),
            )

    def explain(self, session_id: str, query: str | None) -> MemoryExplanation:
        """Every visible record, with the reasons that keep it out of the prompt."""
        asked = checked_query(query)
        with self.units.read() as unit:
            return explain(
                unit,
                require_session(unit, session_id),
                query=asked,
                policy=policy_in(unit),
                now_ms=self.clock.now_ms(),
            )

    def search(
        self, session_id: str, query: str | None, limit: int | None, *, user_id: str = ""
    ) -> SearchAnswer:
        """What the session can find for this user."""
        asked = checked_query(query)
        self.skills.refresh()
        with self.units.read() as unit:
            session = require_session(unit, session_id)
            answer = search(
                unit,
                session,
                query=asked,
                limit=limit,
                policy=policy_in(unit),
                now_ms=self.clock.now_ms(),
                skills=self._offered(unit, session, user_id),
            )
        if answer.unreadable:
            self.keeper.counters.add(skipped_unreadable_total=answer.unreadable)
        if answer.expired:
            self._drop(answer.expired)
        return answer

    def report(self, run_id: str) -> MemoryReport:
        """What a run had injected, and what was left out."""
        with self.units.read() as unit:
            run, report = require_run(unit, run_id), injection_report(unit, run_id)
            return memory_report(run, report, texts=reported_texts(unit, report))

    def records(self, request: PageRequest, *, session_id: str | None) -> Page[RunMemoryItem]:
        """The records that are not expired, newest first."""
        with self.units.read() as unit:
            since = policy_in(unit).expired_before_ms(self.clock.now_ms())
            page = unit.run_memory_index.page(request, since_ms=since, session_id=session_id)
            readable = unit.run_memories.readable([pointer.run_id for pointer in page.items])
        return Page(
            items=tuple(self._listed(it, readable.get(it.run_id)) for it in page.items),
            next_cursor=page.next_cursor,
        )

    def _offered(self, unit: "Unit", session: Session, user_id: str) -> tuple[CatalogueEntry, ...]:
        return self.skills.offered(
            unit, agent_id=session.agent_id, user_id=user_id, session=session
        )

    def _listed(self, pointer: Pointer, record: RunMemoryRecord | None) -> RunMemoryItem:
        if record is None or doubt(record, session_id=pointer.session_id):
            return extended(RunMemoryItem, pointer)
        memory = record.memory
        return extended(RunMemoryItem, pointer, status=memory.status, summary=memory.summary)

    def _drop(self, run_ids: Sequence[str]) -> None:
        """Delete expired records, unless they are gone or the policy changed meanwhile."""
        with self.units.write() as unit:
            policy, now = policy_in(unit), self.clock.now_ms()
            pointers = [unit.run_memory_index.get(run_id) for run_id in run_ids]
            over = [
                pointer.run_id
                for pointer in pointers
                if pointer is not None and policy.is_expired(pointer.recorded_at_ms, now_ms=now)
            ]
            if over:
                self.keeper.drop_stale(unit, expired=over)
