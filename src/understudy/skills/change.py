"""A change of a skill: its transaction, its author, its audit entry and its event after commit."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from understudy.core import audit
from understudy.core.clock import Clock
from understudy.skills.access import Author
from understudy.skills.content_guard import Acknowledged
from understudy.skills.model import Skill
from understudy.skills.precedence import require_free_name
from understudy.skills.sources import NO_OTHERS, OtherSkills

if TYPE_CHECKING:
    from understudy.skills.events import SkillEvents
    from understudy.storage.unit import Unit, Units


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillChange:
    """A change of a skill within one transaction."""

    unit: "Unit"
    author: Author
    at_ms: int
    listener: "SkillEvents"
    others: OtherSkills = NO_OTHERS

    def require_name(self, slug: str, name: str, before: Skill | None = None) -> None:
        """Reject a slug or name that a promoted skill has."""
        require_free_name(self.unit, self.others, slug, name, before)

    def save(self, skill: Skill, **fields: Any) -> Skill:
        """Update fields of a skill; the caller has locked its slug."""
        changed = replace(skill, **fields, updated_at_ms=self.at_ms, revision=skill.revision + 1)
        self.unit.skills.update(changed, expected_version=skill.revision)
        return changed

    def record(
        self,
        action: str,
        skill: Skill,
        note: str = "",
        acknowledged: tuple[Acknowledged, ...] = (),
    ) -> None:
        """Add an audit entry, and notify the listener after the commit."""
        run = f"in {self.author.run_id}" if self.author.run_id else ""
        taken = "; ".join(_taken(one) for one in acknowledged)
        reason = " ".join(filter(None, (skill.slug, note, run)))
        entry = audit.done(
            self.author.principal,
            action,
            skill.skill_id,
            at_ms=self.at_ms,
            version=skill.version,
            reason=f"{reason}; acknowledged {taken}" if taken else reason,
        )
        self.unit.audit.add(entry)
        verb = action.partition(".")[2]
        self.unit.after_commit(partial(self.listener.changed, skill, verb))


def _taken(one: Acknowledged) -> str:
    return f"{one.rule_id} at {one.path} line {one.line}: {one.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillTransactions:
    """Opens transactions for changes of skills."""

    units: "Units"
    clock: Clock
    listener: "SkillEvents"
    others: OtherSkills = NO_OTHERS

    @contextmanager
    def by(self, author: Author) -> Iterator[SkillChange]:
        """A change by an author, in a transaction of its own."""
        with self.units.write() as unit:
            yield self.within(unit, author)

    def within(self, unit: "Unit", author: Author) -> SkillChange:
        """A change by an author within a transaction that is already open."""
        return SkillChange(
            unit=unit,
            author=author,
            at_ms=self.clock.now_ms(),
            listener=self.listener,
            others=self.others,
        )
