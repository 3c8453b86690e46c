"""A skill that works beside the run that uses it: in a sidechain of its own, whose answer counts."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from understudy.core.principal import Principal, Role
from understudy.permissions.model import Decision, Rule
from understudy.permissions.rules import MAX_TOOL_CHARS
from understudy.runs.family import question_data
from understudy.runs.sidechain_tools import REPORT_NOTE
from understudy.runs.sidechains import SidechainService, Standing, Wish, child_id
from understudy.sessions.sidechains import Spawn
from understudy.skills.catalogue import Loaded
from understudy.skills.ports import SkillUnit
from understudy.skills.runtime_settings import RuntimeSettings
from understudy.skills.uses import Use
from understudy.tools.base import NotYet, ToolContext, WaitsFor

# They only read what the sidechain has anyway: files of the skill, and long answers.
ALWAYS: Final = frozenset({"use_skill", "read_artifact"})
# Tools of servers outside; a sidechain is given none unless somebody says so.
OUTSIDE: Final = "*/*"
TASK: Final = (
    "Carry out the skill below for another agent, here and by yourself: do not fork it again. "
    "When it is done, answer with the result; your last message is all that is passed on."
)
QUESTIONS: Final = (
    "It asks you something. Answer with answer_sidechain, then get its result with wait_sidechain. "
    + REPORT_NOTE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Forks:
    """Starts skills in sidechains, and tells what came of them."""

    sidechains: SidechainService
    # The tools there are; a skill may name those that it is to have.
    tool_names: Callable[[], Sequence[str]]

    def begun(self, unit: SkillUnit, context: ToolContext) -> Spawn | None:
        """The sidechain that this very call began before."""
        return unit.sidechains.spawn_of(child_id(context.call_key))

    def begin(self, context: ToolContext, loaded: Loaded, instructions: str) -> Spawn:
        """A sidechain that carries out a skill; the same call again finds the one it began."""
        settings, slug = loaded.settings, loaded.offered.slug
        caller = Principal(user_id=context.user_id, role=Role.OPERATOR)
        wish = Wish(
            task=f"{TASK}\n\n{instructions}",
            agent_id=settings.agent_profile,
            label=f"skill {slug}",
            provider=settings.provider,
            model=settings.model,
            denied=denied_by(settings, slug, self.tool_names()),
        )
        return self.sidechains.spawn(caller, context.run_id, context.call_key, wish)

    def outcome(self, context: ToolContext, spawn: Spawn, use: Use | None) -> str:
        """What the sidechain said or asks; raises `NotYet` while it works."""
        news = self.sidechains.news(
            context.session_id, context.run_id, run_ids=(spawn.first_run_id,)
        )
        (standing,) = news.standings
        asked = [each for each in news.questions if each.session_id == spawn.session_id]
        if standing.is_live and not asked:
            raise NotYet(WaitsFor.SIDECHAIN)
        report: dict[str, Any] = {
            "action": "fork",
            "mode": "fork",
            **_used(use),
            "note": QUESTIONS if asked else REPORT_NOTE,
            "spawn": _shown(standing, spawn),
        }
        if asked:
            report["questions"] = [question_data(request) for request in asked]
        # JSON, so that nothing the sidechain says can pass for ours.
        return json.dumps(report, ensure_ascii=False)


def denied_by(settings: RuntimeSettings, slug: str, tool_names: Sequence[str]) -> tuple[Rule, ...]:
    """The rules that keep a sidechain to the tools of its skill."""
    names = list(settings.blocked_tools)
    if settings.allowed_tools:
        allowed = {*settings.allowed_tools, *ALWAYS}
        names += [name for name in tool_names if name not in allowed]
        names.append(OUTSIDE)
    reason = f"the skill {slug} does not use it"
    return tuple(
        Rule(tool=name, decision=Decision.DENY, reason=reason)
        for name in dict.fromkeys(names)
        if name.strip() and len(name) <= MAX_TOOL_CHARS
    )


def _used(use: Use | None) -> dict[str, Any]:
    if use is None:
        return {}
    return {"name": use.slug, "version": use.version, "digest": use.digest}


def _shown(standing: Standing, spawn: Spawn) -> dict[str, Any]:
    run = standing.run
    shown = {
        "agent_id": standing.sidechain.session.agent_id,
        "session_id": spawn.session_id,
        "launch_run_id": spawn.first_run_id,
        "status": str(run.status) if run else None,
        "final_output": None if standing.is_live else standing.output,
        "error": run.error if run else None,
    }
    return {name: value for name, value in shown.items() if value is not None}
