"""Search over everything that has a page, by name, id or words."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from understudy.core.clock import Clock
from understudy.core.page import PageRequest
from understudy.core.principal import Principal, Role
from understudy.core.records import Omitted
from understudy.core.text import preview
from understudy.learnings.model import TERM_KIND as LEARNING_TERMS
from understudy.learnings.model import CandidateFilter
from understudy.memory.policy import policy_in
from understudy.memory.ports import TERM_KIND as RUN_TERMS
from understudy.retrieval.search import checked_query
from understudy.retrieval.terms import query_terms
from understudy.skills.model import SkillFilter

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

# The most results of a kind.
MOST: Final = 6
# Agents are few; more than these are found in their list.
MOST_AGENTS: Final = 200
TITLE_CHARS: Final = 160


class JumpKind(StrEnum):
    """The kinds of results, in the order of the answer."""

    AGENT = "agent"
    SESSION = "session"
    SKILL = "skill"
    LEARNING = "learning"
    CANDIDATE = "candidate"
    RUN = "run"


@dataclass(frozen=True, slots=True, kw_only=True)
class JumpTarget:
    """A search result."""

    kind: JumpKind
    id: str
    title: str
    # Distinguishes results of a kind, such as the status.
    label: Omitted[str] = None
    at_ms: Omitted[int] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JumpAnswer:
    """The results: at most six of each kind, the best or newest first."""

    query: str
    items: tuple[JumpTarget, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class JumpSearch:
    """Finds records by a part of their id or name; learnings and runs by their words."""

    units: "Units"
    clock: Clock

    def find(self, principal: Principal, query: str | None) -> JumpAnswer:
        """The results that the caller may see; none without a query."""
        asked = checked_query(query)
        if asked is None:
            return JumpAnswer(query="", items=())
        with self.units.read() as unit:
            return JumpAnswer(query=asked, items=tuple(self._found(unit, principal, asked)))

    def _found(self, unit: "Unit", principal: Principal, asked: str) -> Iterator[JumpTarget]:
        yield from _agents(unit, asked)
        yield from _sessions(unit, asked)
        yield from _skills(unit, principal, asked)
        yield from _learnings(unit, asked)
        yield from self._candidates(unit, asked)
        yield from self._runs(unit, asked)

    def _candidates(self, unit: "Unit", asked: str) -> Iterator[JumpTarget]:
        # A published candidate is found as its learning.
        narrowed = CandidateFilter(query=asked, waiting=True)
        page = unit.candidates.page(
            PageRequest(limit=MOST), narrowed=narrowed, now_ms=self.clock.now_ms()
        )
        for it in page.items:
            yield JumpTarget(
                kind=JumpKind.CANDIDATE,
                id=it.candidate_id,
                title=_line(it.content),
                label=str(it.state),
                at_ms=it.created_at_ms,
            )

    def _runs(self, unit: "Unit", asked: str) -> Iterator[JumpTarget]:
        """The run with this id, then runs by the terms of their memories."""
        if (run := unit.runs.get(asked)) is not None:
            yield JumpTarget(
                kind=JumpKind.RUN,
                id=run.run_id,
                title=_line(run.request.text_preview or run.run_id),
                label=str(run.status),
                at_ms=run.submitted_at_ms,
            )
        oldest = policy_in(unit).expired_before_ms(self.clock.now_ms())
        ids = unit.term_index.anywhere(RUN_TERMS, terms=query_terms(asked), limit=MOST)
        known = unit.run_memories.readable(ids) if ids else {}
        for memory in (known[each].memory for each in ids if each in known):
            if memory.run_id != asked and memory.recorded_at_ms > oldest:
                yield JumpTarget(
                    kind=JumpKind.RUN,
                    id=memory.run_id,
                    title=_line(memory.request_preview or memory.summary),
                    label=str(memory.status),
                    at_ms=memory.recorded_at_ms,
                )


def _agents(unit: "Unit", asked: str) -> Iterator[JumpTarget]:
    wanted = asked.casefold()
    found = (
        it
        for it in unit.agents.page(PageRequest(limit=MOST_AGENTS)).items
        if wanted in f"{it.agent_id}\n{it.display_name}".casefold()
    )
    for _, it in zip(range(MOST), found, strict=False):
        yield JumpTarget(
            kind=JumpKind.AGENT,
            id=it.agent_id,
            title=_line(it.display_name or it.agent_id),
            label=str(it.agent_type),
            at_ms=it.updated_at_ms,
        )


def _sessions(unit: "Unit", asked: str) -> Iterator[JumpTarget]:
    found = unit.sessions.named(asked, limit=MOST)
    titles = unit.sessions.standings([it.session_id for it in found]) if found else {}
    for it in found:
        yield JumpTarget(
            kind=JumpKind.SESSION,
            id=it.session_id,
            title=_line(titles[it.session_id].title or it.session_id),
            label=it.agent_id,
            at_ms=it.updated_at_ms,
        )


def _skills(unit: "Unit", principal: Principal, asked: str) -> Iterator[JumpTarget]:
    seen_by = None if principal.role.includes(Role.ADMIN) else principal.user_id
    narrowed = SkillFilter(seen_by=seen_by, query=asked)
    for it in unit.skills.page(PageRequest(limit=MOST), narrowed=narrowed).items:
        yield JumpTarget(
            kind=JumpKind.SKILL,
            id=it.skill_id,
            title=_line(it.name),
            label=str(it.visibility),
            at_ms=it.updated_at_ms,
        )


def _learnings(unit: "Unit", asked: str) -> Iterator[JumpTarget]:
    """The learning with this id, then live ones by the weight of their matching terms."""
    ids = (asked, *unit.term_index.anywhere(LEARNING_TERMS, terms=query_terms(asked), limit=MOST))
    known = unit.learnings.readable(ids)
    for it in (known[each] for each in dict.fromkeys(ids) if each in known):
        yield JumpTarget(
            kind=JumpKind.LEARNING,
            id=it.learning_id,
            title=_line(it.content),
            label=str(it.status),
            at_ms=it.published_at_ms,
        )


def _line(text: str) -> str:
    return preview(" ".join(text.split()), TITLE_CHARS)
