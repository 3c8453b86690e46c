"""Outcomes of skills that foreign agents followed, as their clients report them."""

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from understudy.core.clock import Clock
from understudy.core.ids import new_id
from understudy.core.principal import Principal
from understudy.foreign.record import ForeignTurns, Recorded
from understudy.foreign.turn import ForeignCall, ForeignConversation, ForeignTurn
from understudy.skills.library import SkillLibrary
from understudy.skills.model import number_of
from understudy.skills.usage import RecordedUse

if TYPE_CHECKING:
    from understudy.storage.unit import Units

SOURCE: Final = "mcp"
CONVERSATION: Final = "skill outcomes"
TOOL: Final = "use_skill"
FAILED: Final = "the client reported that following the skill failed"
MANIFEST: Final = "SKILL.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedOutcome:
    """What a client says of its use of a skill."""

    skill: str
    outcome: Literal["succeeded", "failed"]
    # None for the current version.
    version: int | None = None
    # The client's own id of its run: reported again, it adds nothing.
    run_id: str | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class SkillReports:
    """Counts reported outcomes as uses of skills. They are claims: no rollout is decided by them."""

    units: "Units"
    clock: Clock
    turns: ForeignTurns
    library: SkillLibrary

    def record(self, principal: Principal, report: ReportedOutcome) -> Recorded:
        """Store a report as a turn that used the skill, and count the use."""
        skill = self.library.named(principal, report.skill)
        if report.version is not None:
            # Refuses a version that is not there.
            self.library.read_file(principal, skill.skill_id, MANIFEST, report.version)
        version = number_of(skill) if report.version is None else report.version
        work = report.run_id or new_id("run")
        has_failed = report.outcome == "failed"
        turn = ForeignTurn(
            of=ForeignConversation(source=SOURCE, conversation=CONVERSATION),
            turn=hashlib.sha256(f"{skill.skill_id}\0{version}\0{work}".encode()).hexdigest(),
            typed="",
            calls=(
                ForeignCall(
                    name=TOOL,
                    arguments={"name": skill.slug, "version": version, "run": report.run_id},
                    result=report.note,
                    failed=has_failed,
                ),
            ),
            error=FAILED if has_failed else None,
        )
        with self.units.write() as unit:
            stored = self.turns.record_in(unit, principal, turn)
            unit.skill_uses.add(
                RecordedUse(
                    use_id=f"{stored.run_id}:{TOOL}",
                    skill_id=skill.skill_id if version is not None else None,
                    slug=skill.slug,
                    version=version,
                    digest=skill.digest if version == number_of(skill) else "",
                    agent_id=SOURCE,
                    user_id=principal.user_id,
                    session_id=stored.session_id,
                    run_id=stored.run_id,
                    at_ms=self.clock.now_ms(),
                )
            )
        return stored
