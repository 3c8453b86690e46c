"""Revokes a blast radius: learnings, candidates, rollouts, skills and context files."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from understudy.agents.file_versions import NewVersion, keep_version, stored_version
from understudy.core.clock import Clock
from understudy.core.errors import Conflict, Invalid, NotFound, Rejected
from understudy.core.page import PageRequest
from understudy.core.principal import Principal
from understudy.learnings.candidates import CandidateService
from understudy.learnings.service import LearningService
from understudy.rollout.service import RolloutService
from understudy.skills.access import Author, is_live
from understudy.skills.model import Skill
from understudy.skills.service import SkillService
from understudy.unlearn.model import AT, BlastRadius, Resource, Unlearn

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

# A record that was ended, changed or deleted meanwhile is already out of use.
OVER = (NotFound, Conflict)
VERSIONS_READ = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Retirer:
    """Revokes what could reach later prompts, through the services; idempotent."""

    units: "Units"
    clock: Clock
    learnings: LearningService
    candidates: CandidateService
    rollouts: RolloutService
    skills: SkillService

    def retire(self, principal: Principal, unlearn: Unlearn, radius: BlastRadius) -> None:
        """Revoke everything in a blast radius."""
        reason = _reason(unlearn)
        for act in (
            *(self._learning(it) for it in radius.ids(Resource.LEARNING)),
            *(self._candidate(it) for it in radius.ids(Resource.CANDIDATE)),
            *(self._rollout(it) for it in radius.ids(Resource.ROLLOUT)),
        ):
            try:
                act(principal, reason)
            except (Invalid, *OVER):
                # A rollout that was revoked with its learning is not revoked twice.
                continue
        with self.units.write() as unit:
            unit.unlearns.unpin(radius)
        for skill, number in self._own_versions(radius):
            self.skills.reject(Author(principal=principal), skill.slug, number, reason=reason)
        for skill, good in self._skills(radius):
            self._fall_back(Author(principal=principal, falls_back=True), skill, good)
        self._clean_files(principal, unlearn, radius)

    def _learning(self, learning_id: str) -> Callable[[Principal, str], object]:
        return lambda by, why: self.learnings.revoke(by, learning_id, reason=why)

    def _candidate(self, candidate_id: str) -> Callable[[Principal, str], object]:
        return lambda by, why: self.candidates.reject(by, candidate_id, reason=why)

    def _rollout(self, skill_name: str) -> Callable[[Principal, str], object]:
        return lambda by, why: self.rollouts.revoke(by, skill_name, reason=why)

    def _skills(self, radius: BlastRadius) -> Iterator[tuple[Skill, int | None]]:
        """Skills whose current version is affected, with the newest version that is not."""
        for skill_id, numbers in _affected(radius).items():
            with self.units.read() as unit:
                skill = unit.skills.get(skill_id)
                if skill is None or not is_live(skill) or skill.version not in numbers:
                    continue
                versions = unit.skills.versions(skill_id, PageRequest(limit=VERSIONS_READ)).items
            good = [
                it.number
                for it in versions
                if it.number not in numbers
                and it.is_accepted
                and it.erased_at_ms is None
                and it.trash_name is None
            ]
            yield skill, max(good, default=None)

    def _own_versions(self, radius: BlastRadius) -> Iterator[tuple[Skill, int]]:
        """Skills whose owner alone has an affected version, as long as the one before is affected."""
        for skill_id, numbers in _affected(radius).items():
            for _ in numbers:
                with self.units.read() as unit:
                    skill = unit.skills.get(skill_id)
                if skill is not None and is_live(skill) and skill.own_version in numbers:
                    yield skill, skill.own_version

    def _fall_back(self, author: Author, skill: Skill, good: int | None) -> None:
        """Restore the newest unaffected version; delete a skill that has none."""
        if good is not None:
            try:
                self.skills.restore(author, skill.slug, good)
            except (Invalid, Rejected, *OVER):
                # The current guard may reject a version that it once accepted.
                pass
            else:
                return
        try:
            self.skills.delete(author, skill.slug)
        except OVER:
            return

    def _clean_files(self, principal: Principal, unlearn: Unlearn, radius: BlastRadius) -> None:
        """Write a new version of each affected context file, without the added lines."""
        bad = {it.id: it.relation for it in radius.items if it.resource is Resource.CONTEXT_FILE}
        with self.units.write() as unit:
            for owner in sorted({id_.rpartition(AT)[0] for id_ in bad}):
                agent_id, user_id, name = _owner(owner)
                newest = stored_version(unit, agent_id, user_id, name)
                if newest is None or f"{owner}{AT}{newest.version}" not in bad:
                    continue
                lines = {
                    line
                    for id_, relation in bad.items()
                    if id_.rpartition(AT)[0] == owner and relation != STILL_HOLDS
                    for line in _added(unit, owner, int(id_.rpartition(AT)[2]))
                }
                text = unlearn.target.id if unlearn.target.kind == "user_text" else None
                clean = "".join(
                    line
                    for line in newest.content.splitlines(keepends=True)
                    if line.strip() not in lines and not (text and text in line)
                )
                wanted = NewVersion(
                    agent_id=agent_id,
                    user_id=user_id,
                    name=name,
                    content=clean,
                    reason=_reason(unlearn),
                )
                keep_version(unit, self.clock, principal, wanted)


STILL_HOLDS = "still holds what was added"


def _reason(unlearn: Unlearn) -> str:
    return f"unlearned by {unlearn.unlearn_id}"


def _added(unit: "Unit", owner: str, number: int) -> Iterator[str]:
    """The lines of a version that the previous version lacks."""
    agent_id, user_id, name = _owner(owner)
    file = stored_version(unit, agent_id, user_id, name, number)
    before = stored_version(unit, agent_id, user_id, name, number - 1)
    known = {line.strip() for line in before.content.splitlines()} if before else set()
    for line in file.content.splitlines() if file else ():
        if line.strip() and line.strip() not in known:
            yield line.strip()


def _owner(owner: str) -> tuple[str, str | None, str]:
    """Agent, user and name in a context file's id without its version."""
    agent_id, *user, name = owner.split("/")
    return agent_id, user[0] if user else None, name


def _affected(radius: BlastRadius) -> dict[str, set[int]]:
    """The numbers of the affected versions, by the id of their skill."""
    found: dict[str, set[int]] = {}
    for id_ in radius.ids(Resource.SKILL_VERSION):
        skill_id, _, number = id_.rpartition(AT)
        found.setdefault(skill_id, set()).add(int(number))
    return found
