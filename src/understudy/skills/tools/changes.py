"""Where runs change skills: who acts, and what is told and noted when it is refused."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from understudy.core.clock import Clock
from understudy.core.errors import Unavailable, UnderstudyError
from understudy.core.principal import Principal, Role
from understudy.core.text import quoted
from understudy.sessions.refusal_audit import RefusedChange, record_refusal
from understudy.skills.author import Author
from understudy.skills.authority import known_id
from understudy.skills.service import SkillService
from understudy.tools.base import ToolContext, ToolError, in_thread

if TYPE_CHECKING:
    from understudy.storage.unit import Units

T = TypeVar("T")

# A folder of 20 MB takes the guard a while, and so does a patch of what has as much beside it.
CHANGE_TIMEOUT_S: Final = 600.0
# What a run may do in the name of its user.
RoleOf = Callable[[ToolContext], Role]
# One text for both, or guessing slugs would tell which private skills others have.
NOT_FOR_YOU: Final = frozenset({"skill_not_found", "skill_not_yours"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolChangeMaker:
    """Makes changes in the name of the user that a run works for, with that user's role."""

    service: SkillService
    units: "Units"
    clock: Clock
    role_of: RoleOf

    async def make(
        self, context: ToolContext, action: str, ref: str, change: Callable[[Author], T]
    ) -> T:
        """What came of a change; a refusal is noted, and told to the model."""
        try:
            return await in_thread(self._make, context, action, ref, change)
        except UnderstudyError as problem:
            raise ToolError(_told(problem, ref), code=problem.code) from problem

    def _make(
        self, context: ToolContext, action: str, ref: str, change: Callable[[Author], T]
    ) -> T:
        principal = Principal(user_id=context.user_id, role=self.role_of(context))
        author = Author(principal=principal, agent_id=context.agent_id, run_id=context.run_id)
        try:
            return change(author)
        except Unavailable:
            # Nobody said no.
            raise
        except UnderstudyError as problem:
            refused = RefusedChange(
                principal=author.principal,
                action=action,
                ref=ref,
                error=problem,
                run_id=author.run_id,
            )
            record_refusal(
                self.units, self.clock, refused, named=lambda unit: known_id(unit, author, ref)
            )
            raise


def _told(problem: UnderstudyError, ref: str) -> str:
    if problem.code in NOT_FOR_YOU:
        return f"there is no skill {quoted(ref)} that you may change"
    return problem.detail
