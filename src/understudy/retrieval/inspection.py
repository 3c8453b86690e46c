"""Inspection of memory: the context of a prompt, search, explanation, reports and records."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from understudy.agents.model import DEFAULT_AGENT_ID, require_agent
from understudy.core.clock import Clock
from understudy.core.errors import coded_error
from understudy.core.page import Page, PageRequest
from understudy.core.records import extended
from understudy.learnings.decisions import require_learning
from understudy.learnings.model import Learning
from understudy.learnings.taint import is_unreviewed
from understudy.memory.policy import policy_in
from understudy.memory.record import Pointer, RunMemoryItem, RunMemoryRecord, doubt
from understudy.memory.retention import Keeper
from understudy.retrieval.choice import Learned
from understudy.retrieval.explain import MemoryExplanation, explain
from understudy.retrieval.learned import learn_context, reviewed_among
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
from understudy.sessions.model import Session, require_session, unsaved_session
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Who asks, and for which session: a stored one, or a new one of an agent."""

    user_id: str = ""
    session_id: str | None = None
    agent_id: str = DEFAULT_AGENT_ID
    # Whether only reviewed learnings and skills are answered, for a model that we do not run.
    reviewed: bool = False

    def session(self, unit: "Unit", now_ms: int) -> Session:
        """The session whose memory is asked for."""
        if self.session_id is not None:
            return require_session(unit, self.session_id)
        agent = require_agent(unit, self.agent_id)
        return unsaved_session(agent.agent_id, self.user_id, now_ms=now_ms)


@dataclass(frozen=True, slots=True)
class MemoryInspection:
    """Use cases to inspect memory; only a search writes: it deletes expired records it meets."""

    units: "Units"
    clock: Clock
    keeper: Keeper
    skills: Catalogue

    def context(self, reader: Reader, query: str | None) -> MemoryContext:
        """What the next run of this user would have injected for this input, and what not."""
        asked = checked_query(query)
        self.skills.refresh()
        with self.units.read() as unit:
            now_ms = self.clock.now_ms()
            session = reader.session(unit, now_ms)
            learned = learn_context(unit, session, asked, now_ms)
            verbatim = verbatim_now(unit, session.session_id)
            recovered = recover(
                unit, session.session_id, asked, policy_in(unit), now_ms, verbatim=verbatim
            )
            return MemoryContext(
                session=session,
                learning_scopes=visible_scopes(unit, session),
                learned=_reviewed(learned) if reader.reviewed else learned,
                recovered=Recovered() if reader.reviewed else recovered,
                skills=self._offered(unit, session, reader),
            )

    def explain(self, reader: Reader, query: str | None) -> MemoryExplanation:
        """Every visible record, with the reasons that keep it out of the prompt."""
        asked = checked_query(query)
        with self.units.read() as unit:
            now_ms = self.clock.now_ms()
            session, policy = reader.session(unit, now_ms), policy_in(unit)
            explained = explain(unit, session, query=asked, policy=policy, now_ms=now_ms)
            return self._reviewed_alone(unit, explained) if reader.reviewed else explained

    def search(self, reader: Reader, query: str | None, limit: int | None) -> SearchAnswer:
        """What the session can find for this user."""
        asked = checked_query(query)
        self.skills.refresh()
        with self.units.read() as unit:
            now_ms = self.clock.now_ms()
            session = reader.session(unit, now_ms)
            answer = search(
                unit,
                session,
                query=asked,
                limit=limit,
                policy=policy_in(unit),
                now_ms=now_ms,
                skills=self._offered(unit, session, reader),
                reviewed=reader.reviewed,
            )
        if answer.unreadable:
            self.keeper.counters.add(skipped_unreadable_total=answer.unreadable)
        if answer.expired:
            self._drop(answer.expired)
        return answer

    def learning(self, learning_id: str) -> Learning:
        """A reviewed learning that is in force; any other is not found."""
        with self.units.read() as unit:
            found = require_learning(unit, learning_id)
            if not reviewed_among(unit, [found], now_ms=self.clock.now_ms()):
                raise coded_error("learnings/learning_not_found", learning_id=learning_id)
            return found

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

    def _reviewed_alone(self, unit: "Unit", all_of_it: MemoryExplanation) -> MemoryExplanation:
        """An explanation of the reviewed learnings alone."""
        known = unit.learnings.readable([it.source_id for it in all_of_it.entries])
        told = reviewed_among(unit, known.values(), now_ms=self.clock.now_ms())
        ids = {it.learning_id for it in told}
        kept = tuple(it for it in all_of_it.entries if it.learning_id in ids)
        return replace(all_of_it, entries=kept)

    def _offered(
        self, unit: "Unit", session: Session, reader: Reader
    ) -> tuple[CatalogueEntry, ...]:
        offered = self.skills.offered(
            unit, agent_id=session.agent_id, user_id=reader.user_id, session=session
        )
        if not reader.reviewed:
            return offered
        return tuple(one for one in offered if not one.derived_from_untrusted)

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


def _reviewed(learned: Learned) -> Learned:
    """A choice without learnings that nobody has reviewed."""
    kept = tuple(it for it in learned.considered if not is_unreviewed(it.learning))
    return replace(learned, considered=kept)
