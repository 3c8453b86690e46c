"""Loads the sample workspace by API calls, reports its state, and removes it."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, TypeVar

from understudy.core import audit
from understudy.core.clock import Clock
from understudy.core.errors import coded_error
from understudy.core.page import PageRequest
from understudy.core.principal import Principal
from understudy.sample.story import OWNER, Call, CallRefused, Story, play, story
from understudy.skills.model import SkillStatus

if TYPE_CHECKING:
    from understudy.memory.retention import Keeper
    from understudy.storage.unit import Unit, Units

T = TypeVar("T")

REASON: Final = "the sample workspace was removed"
# The timeout for the end of a cancelled run.
END_S: Final = 20.0
POLL_S: Final = 0.05
# More versions than a sample skill ever has; the rest stays in the trash.
VERSIONS: Final = 200


class SampleState(StrEnum):
    """Whether the sample workspace is absent, partial or complete."""

    ABSENT = "absent"
    PARTIAL = "partial"
    LOADED = "loaded"


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleWorkspace:
    """The state of the sample workspace, and the number of its records."""

    state: SampleState
    agents: int = 0
    sessions: int = 0
    runs: int = 0
    candidates: int = 0
    learnings: int = 0
    skills: int = 0
    rollouts: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Belongings:
    """The ids of all records of some agents."""

    agent_ids: frozenset[str] = frozenset()
    session_ids: frozenset[str] = frozenset()
    run_ids: frozenset[str] = frozenset()
    schedule_ids: frozenset[str] = frozenset()
    delivery_ids: frozenset[str] = frozenset()
    candidate_ids: frozenset[str] = frozenset()
    learning_ids: frozenset[str] = frozenset()
    rollout_names: frozenset[str] = frozenset()
    trial_ids: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class SampleService:
    """Loads and removes the sample workspace, one caller at a time."""

    units: "Units"
    keeper: "Keeper"
    clock: Clock
    story: Story = field(default_factory=story)
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    def state(self) -> SampleWorkspace:
        """The state of the sample workspace."""
        with self.units.read() as unit:
            return self._state(unit)

    async def load(self, principal: Principal, call: Call) -> SampleWorkspace:
        """Create the sample workspace; a complete one is kept, a partial one recreated."""
        async with self._one_at_a_time:
            now = await asyncio.to_thread(self.state)
            if now.state is SampleState.LOADED:
                return now
            if now.state is SampleState.PARTIAL:
                await self._remove(call)
            await asyncio.to_thread(self._check_names)
            kept: dict[str, Any] = {}
            for number, step in enumerate(self.story.steps, 1):
                try:
                    await play(step, call, kept)
                except CallRefused as refused:
                    raise coded_error(
                        "sample/step_failed",
                        step=number,
                        steps=len(self.story.steps),
                        operation=step.call,
                        reason=str(refused),
                    ) from refused
            return await asyncio.to_thread(self._loaded, principal)

    def _loaded(self, principal: Principal) -> SampleWorkspace:
        now = self.clock.now_ms()
        with self.units.write() as unit:
            unit.audit.add(audit.done(principal, "sample.load", "sample", at_ms=now))
            return self._state(unit)

    async def remove(self, call: Call) -> SampleWorkspace:
        """Delete all records of the sample's agents, and its skills with their files."""
        async with self._one_at_a_time:
            await self._remove(call)
            return await asyncio.to_thread(self.state)

    async def _remove(self, call: Call) -> None:
        """Delete through the API where possible, so that files and prompts follow; then rows."""
        belongings = await self._read(self._belongings)
        if not belongings.agent_ids:
            return
        try:
            await self._end(belongings, call)
        except CallRefused as refused:
            raise coded_error(
                "sample/removal_failed", operation=refused.operation, reason=str(refused)
            ) from refused
        await asyncio.to_thread(self._erase)

    async def _end(self, belongings: Belongings, call: Call) -> None:
        for run_id in await self._read(lambda unit: unit.erasure.unfinished(belongings.run_ids)):
            await call("runs.cancel", run_id=run_id)
        await self._wait_for_end(belongings)
        for name in sorted(belongings.rollout_names):
            rollout = await call("rollouts.get", skill_name=name)
            if "revoke" in rollout["actions"]:
                await call("rollouts.revoke", skill_name=name, body={"reason": REASON})
        for slug in await self._read(self._skills):
            await call("skills.delete", skill_id=slug)

    async def _wait_for_end(self, belongings: Belongings) -> None:
        until = time.monotonic() + END_S
        while await self._read(lambda unit: unit.erasure.unfinished(belongings.run_ids)):
            if time.monotonic() > until:
                raise coded_error("sample/runs_unfinished", seconds=int(END_S))
            await asyncio.sleep(POLL_S)

    async def _read(self, ask: Callable[["Unit"], T]) -> T:
        def read() -> T:
            with self.units.read() as unit:
                return ask(unit)

        return await asyncio.to_thread(read)

    def _erase(self) -> None:
        with self.units.write() as unit:
            # Read again, as runs may have continued since.
            belongings = self._belongings(unit)
            self.keeper.forget(unit, sorted(belongings.run_ids))
            self._empty_trash(unit, belongings)
            unit.erasure.erase(belongings)

    def _empty_trash(self, unit: "Unit", belongings: Belongings) -> None:
        """Erase the sample's deleted skills; older skills of the same name stay."""
        made = [
            agent.created_at_ms for it in belongings.agent_ids if (agent := unit.agents.get(it))
        ]
        since = min(made, default=None)
        for slug in self.story.skills:
            skill = unit.skills.by_slug(slug)
            if skill is None or since is None or skill.status is not SkillStatus.DELETED:
                continue
            versions = unit.skills.versions(skill.skill_id, PageRequest(limit=VERSIONS)).items
            numbers = [it.number for it in versions if it.created_at_ms >= since]
            unit.unlearns.erase_versions(skill.skill_id, numbers, now_ms=self.clock.now_ms())

    def _state(self, unit: "Unit") -> SampleWorkspace:
        found = self._belongings(unit)
        if not found.agent_ids:
            return SampleWorkspace(state=SampleState.ABSENT)
        is_complete = self.story.last_session in found.session_ids
        return SampleWorkspace(
            state=SampleState.LOADED if is_complete else SampleState.PARTIAL,
            agents=len(found.agent_ids),
            sessions=len(found.session_ids),
            runs=len(found.run_ids),
            candidates=len(found.candidate_ids),
            learnings=len(found.learning_ids),
            skills=len(self._skills(unit)),
            rollouts=len(found.rollout_names),
        )

    def _belongings(self, unit: "Unit") -> Belongings:
        own = [
            agent_id
            for agent_id in self.story.agents
            if (agent := unit.agents.get(agent_id)) is not None and agent.owner_id == OWNER
        ]
        return unit.erasure.of_agents(own) if own else Belongings()

    def _skills(self, unit: "Unit") -> tuple[str, ...]:
        """The sample's skills in use; a deleted one keeps its slug."""
        return tuple(
            slug
            for slug in self.story.skills
            if (skill := unit.skills.by_slug(slug)) and skill.status is not SkillStatus.DELETED
        )

    def _check_names(self) -> None:
        """Refuse to load if a name of the sample is already taken."""
        with self.units.read() as unit:
            taken = [
                *(name for name in self.story.agents if unit.agents.get(name) is not None),
                *self._skills(unit),
                *(name for name in self.story.rollouts if unit.rollouts.get(name) is not None),
            ]
        if taken:
            raise coded_error("sample/name_taken", name=taken[0])
