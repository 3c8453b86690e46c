"""A week of runs, and what the daemon suggests from it."""

from dataclasses import dataclass, field
from typing import Any

from tests.support.factories import ALICE, NOW, make_run
from tests.support.skill_factories import make_skill
from understudy.core.ids import new_id
from understudy.core.page import PageRequest
from understudy.evolution.usage_review import Suggester
from understudy.learnings.candidates import CandidateService
from understudy.learnings.model import Candidate, CandidateFilter, CandidateState
from understudy.runs.model import RunStatus
from understudy.sessions.journal import EventKind, NewEvent
from understudy.skills.model import Skill
from understudy.skills.usage import RecordedUse, SkillListing
from understudy.storage.unit import Units
from understudy.testing.clock import FrozenClock

STEPS = ("list_files", "read_file", "shell", "write_file", "fetch_url")
SKILL_ID = new_id("skl")


def tool_result(run_id: str, step: int, name: str) -> NewEvent:
    data = {"step": step, "name": name, "executed": True, "content": "…"}
    return NewEvent(kind=EventKind.TOOL_RESULT, run_id=run_id, data=data)


@dataclass
class Week:
    """What runs did, and what came of it."""

    units: Units
    clock: FrozenClock = field(default_factory=lambda: FrozenClock(NOW))

    def look(self, **fields: Any) -> int:
        return self.suggester(**fields).look_now()

    def suggester(self, **fields: Any) -> Suggester:
        return Suggester(units=self.units, clock=self.clock, **fields)

    def keep(self, slug: str = "weekly", **fields: Any) -> Skill:
        skill = make_skill(slug, **({"skill_id": SKILL_ID} | fields))
        with self.units.write() as unit:
            unit.skills.add(skill)
        return skill

    def run(self, *tools: str, **fields: Any) -> str:
        """A run that has ended, with tool calls that were executed, one in each step."""
        now = self.clock.now_ms()
        values: dict[str, Any] = {"status": RunStatus.COMPLETED, "submitted_at_ms": now}
        run = make_run(**(values | fields))
        results = [tool_result(run.run_id, step, name) for step, name in enumerate(tools, 1)]
        with self.units.write() as unit:
            unit.runs.add(run)
            if results:
                unit.journal.append(run.session_id, results, at_ms=self.clock.now_ms())
        return run.run_id

    def use(self, status: RunStatus = RunStatus.FAILED, skill_id: str = SKILL_ID) -> str:
        """A run that used the skill, and how it ended."""
        run_id = self.run(status=status)
        use = RecordedUse(
            use_id=run_id,
            skill_id=skill_id,
            slug="weekly",
            version=1,
            digest="0" * 64,
            agent_id="default",
            user_id="alice",
            session_id="s1",
            run_id=run_id,
            at_ms=self.clock.now_ms(),
        )
        with self.units.write() as unit:
            unit.skill_uses.add(use)
        return run_id

    def offer(self, times: int, ref: str = SKILL_ID, version: int = 1) -> None:
        at = self.clock.now_ms()
        with self.units.write() as unit:
            unit.skill_uses.list_for(
                [
                    SkillListing(ref=ref, version=version, run_id=new_id("run"), at_ms=at)
                    for _ in range(times)
                ]
            )

    @property
    def candidates(self) -> list[Candidate]:
        with self.units.read() as unit:
            page = unit.candidates.page(
                PageRequest(), narrowed=CandidateFilter(), now_ms=self.clock.now_ms()
            )
        return list(page.items)

    def reject(self) -> None:
        service = CandidateService(self.units, self.clock)
        for each in self.candidates:
            if each.state is CandidateState.PENDING:
                service.reject(ALICE, each.candidate_id)
