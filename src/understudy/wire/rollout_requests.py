"""What callers send about rollouts."""

from typing import Annotated, Final

from pydantic import Field

from understudy.skills.runtime_settings import SkillContext
from understudy.wire.base import JsonObject, Lax, RequestBody
from understudy.wire.learnings import Id
from understudy.wire.rollouts import EvidenceKind, Stage

MAX_TOOLS: Final = 200
MAX_CASES: Final = 20
Tools = Lax[Annotated[list[Id], Field(max_length=MAX_TOOLS)]]


class PromoteSkill(RequestBody):
    """What a procedure is to become; sent again, it moves the skill to another stage."""

    skill_name: Id
    instructions: str
    description: str | None = None
    when_to_use: str | None = None
    version: str | None = None
    allowed_tools: Tools = Field(default_factory=list)
    blocked_tools: Tools = Field(default_factory=list)
    context: Lax[SkillContext] = SkillContext.FORK
    agent_profile: str | None = None
    provider: str | None = None
    model: str | None = None
    fallback_model: str | None = None
    # A draft where it is left out; one that is active stays so.
    status: Stage | None = None


class RolloutResult(RequestBody):
    """A run that is to show something of the skill."""

    kind: EvidenceKind
    run_id: Id
    # What its last output has to contain.
    expected_output_contains: str
    # Refused when the definition is another one by now.
    definition_fingerprint: Id | None = None


class TrialCase(RequestBody):
    """A recorded run whose input is to run again."""

    run_id: Id
    # What the outputs have to contain; by default what all cases are to.
    marker: str | None = None


class StartTrial(RequestBody):
    """What the daemon is to try: exactly the definition as it stands."""

    # What the output has to contain. Without it, it is what the newest trial of this definition
    # expected; if none expected anything, a trial passes if its run completes and puts out anything
    # at all. A replay leaves it to the judge, or to how its runs end.
    expected_output_contains: str | None = None
    # With some it is a replay: each runs again, with the skill and without.
    cases: list[TrialCase] | None = Field(default=None, min_length=1, max_length=MAX_CASES)
    # By default what the stage asks for next.
    kind: EvidenceKind | None = None
    # What the skill is given, as `use_skill` would be.
    params: JsonObject | str | None = None
    definition_fingerprint: Id | None = None


class RolloutReason(RequestBody):
    """Why, for whoever looks later."""

    reason: str | None = None
