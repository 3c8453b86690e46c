"""The tools and skills of a run: tools by switch, scope and rule, skills by catalogue."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import structlog
from pydantic import ValidationError

from understudy.agent.gate import HIDDEN, Circumstances, Gatekeeper, is_hidden
from understudy.agents.model import DEFAULT_AGENT_ID, Agent, require_agent
from understudy.agents.switches import hidden_tools
from understudy.core import audit
from understudy.core.clock import Clock
from understudy.core.errors import UnderstudyError, coded_error
from understudy.core.principal import Principal
from understudy.permissions.model import CallVerdict, Level, PermissionDecision
from understudy.runs.model import Run
from understudy.sessions.model import Session, require_session
from understudy.skills.active import ActiveSkills
from understudy.skills.catalogue import Catalogue
from understudy.skills.catalogue_entry import CatalogueEntry, listing
from understudy.skills.prompt import inlined, skills_section
from understudy.tools.base import Tool
from understudy.tools.registry import ToolRegistry

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

log = structlog.get_logger()

# The existing tools, for a session or in general.
ToolList = Callable[[Session | None], Sequence[Tool]]
NOT_OF_THE_AGENT: Final = CallVerdict(
    decision=PermissionDecision.DENY,
    level=Level.AGENT,
    reason="the agent does not have this tool: a switch of its own is off",
)
USE_SKILL: Final = "use_skill"
SKILL_SEARCH: Final = "skill_search"


def tools_of(
    registry: ToolRegistry, unit: "Unit", agent: Agent | None, run: Run
) -> tuple[str, ...]:
    """The names of the tools of a run, fixed when it starts."""
    without = unit.tool_switches.disabled() | hidden_tools(agent)
    return tuple(
        tool.name
        for tool in registry.all()
        if tool.name not in without and _is_offered(tool, unit, run)
    )


def _is_offered(tool: Tool, unit: "Unit", run: Run) -> bool:
    """Whether the run gets a tool that decides by itself, with `is_offered`."""
    says: Callable[[Unit, Run], bool] | None = getattr(tool, "is_offered", None)
    return says is None or says(unit, run)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStanding:
    """A tool in one session; the verdict is that of a call without arguments."""

    tool: Tool
    enabled: bool
    verdict: CallVerdict
    depends_on_arguments: bool


@dataclass(frozen=True, slots=True)
class ToolOffers:
    """Switches tools, lists them for a session, and explains the verdict for a call."""

    units: "Units"
    clock: Clock
    gatekeeper: Gatekeeper
    tools: ToolList

    def disabled(self) -> frozenset[str]:
        """The tools that are switched off for all agents."""
        with self.units.read() as unit:
            return unit.tool_switches.disabled()

    def switch(self, principal: Principal, name: str, *, enabled: bool) -> Tool:
        """Switch a tool; one that is off is refused from now on, also to running runs."""
        tool = _named(self.tools(None), name)
        with self.units.write() as unit:
            if (name not in unit.tool_switches.disabled()) != enabled:
                unit.tool_switches.set(name, enabled=enabled)
                now = self.clock.now_ms()
                unit.audit.add(
                    audit.done(
                        principal,
                        "tools.set",
                        name,
                        at_ms=now,
                        reason="switched on" if enabled else "switched off",
                    )
                )
        return tool

    def in_session(self, session_id: str) -> tuple[ToolStanding, ...]:
        """Every tool as the session has it."""
        with self.units.read() as unit:
            session = require_session(unit, session_id)
            circumstances = self.gatekeeper.circumstances(unit, session.agent_id, session)
            hidden = hidden_tools(unit.agents.get(session.agent_id))
        return tuple(_standing(tool, circumstances, hidden) for tool in self.tools(session))

    def of_agent(self, agent_id: str) -> tuple[ToolStanding, ...]:
        """Every tool as a new session of the agent would have it."""
        with self.units.read() as unit:
            hidden = hidden_tools(require_agent(unit, agent_id))
            circumstances = self.gatekeeper.circumstances(unit, agent_id, None)
        return tuple(_standing(tool, circumstances, hidden) for tool in self.tools(None))

    def check(
        self,
        name: str,
        arguments: Mapping[str, Any],
        *,
        session_id: str | None = None,
        agent_id: str | None = None,
    ) -> CallVerdict:
        """The verdict for a call; by default of the default agent and without a session."""
        with self.units.read() as unit:
            session = None if session_id is None else require_session(unit, session_id)
            agent_id = agent_id or (session.agent_id if session else DEFAULT_AGENT_ID)
            agent = require_agent(unit, agent_id)
            circumstances = self.gatekeeper.circumstances(unit, agent_id, session)
        # A server whose tools are hidden may never have been listed.
        if is_hidden(name, session):
            return HIDDEN
        tool = _named(self.tools(session), name)
        if name in hidden_tools(agent):
            return NOT_OF_THE_AGENT
        return circumstances.verdict(tool, as_called(tool, arguments))


def _standing(tool: Tool, circumstances: Circumstances, hidden: Collection[str]) -> ToolStanding:
    return ToolStanding(
        tool=tool,
        enabled=tool.name not in circumstances.disabled,
        verdict=NOT_OF_THE_AGENT if tool.name in hidden else circumstances.verdict(tool, {}),
        depends_on_arguments=circumstances.depend_on_arguments(tool),
    )


def as_called(tool: Tool, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments as the tool would get them; unchanged if they are invalid."""
    try:
        return tool.parameters.model_validate(arguments).model_dump(mode="json")
    except ValidationError:
        return arguments


def _named(tools: Sequence[Tool], name: str) -> Tool:
    for tool in tools:
        if tool.name == name:
            return tool
    raise coded_error("tools/tool_not_found", name=name)


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillText:
    """The skills section of a prompt, and the report on it for the run's snapshot."""

    text: str = ""
    report: Mapping[str, Any] = field(default_factory=dict)
    # The skills that the agent may use, and those of them that the text lists.
    offered: tuple[CatalogueEntry, ...] = ()
    listed: tuple[CatalogueEntry, ...] = ()
    # The active skills of the session that are usable.
    active: tuple[CatalogueEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class CatalogueSkills:
    """Lists the skills that the catalogue offers to a run's agent, user and session."""

    catalogue: Catalogue

    def section(
        self,
        unit: "Unit",
        run: Run,
        session: Session,
        tools: Sequence[str],
        *,
        is_recorded: bool = True,
    ) -> SkillText:
        """The skills section: the active ones, then the list; an error leaves that out.

        Unless `is_recorded`, the usage statistics do not count it.
        """
        active = ActiveSkills(self.catalogue).for_prompt(
            unit, run, session, is_recorded=is_recorded
        )
        listed = self._listed(unit, run, session, tools, is_recorded=is_recorded)
        if not session.active_skills:
            return listed
        return replace(
            listed,
            text="\n\n".join(filter(None, (active.text, listed.text))),
            report={**listed.report, "active": active.report},
            active=active.entries,
        )

    def _listed(
        self,
        unit: "Unit",
        run: Run,
        session: Session,
        tools: Sequence[str],
        *,
        is_recorded: bool,
    ) -> SkillText:
        if USE_SKILL not in tools:
            return SkillText()
        try:
            offered = self._offered(unit, run, session)
        except UnderstudyError as problem:
            log.warning("skills.not_offered", run_id=run.run_id, code=problem.code)
            return SkillText(report={"problem": problem.code})
        can_search = SKILL_SEARCH in tools
        usable = tuple(one for one in offered if one.unusable is None)
        listed = inlined(usable, can_search=can_search)
        if is_recorded and run.trial_id is None:
            _note(unit, run, listed)
        return SkillText(
            text=skills_section(usable, can_search=can_search, can_use=True),
            report=_report(usable, listed),
            offered=offered,
            listed=listed,
        )

    def _offered(self, unit: "Unit", run: Run, session: Session) -> tuple[CatalogueEntry, ...]:
        return self.catalogue.offered(
            unit, agent_id=run.agent_id, user_id=run.user_id, session=session
        )


def _note(unit: "Unit", run: Run, listed: Sequence[CatalogueEntry]) -> None:
    """Store which skills the prompt lists, for the usage statistics."""
    unit.skill_uses.list_for(
        [listing(one, run_id=run.run_id, at_ms=run.submitted_at_ms) for one in listed]
    )


def _report(offered: Sequence[CatalogueEntry], shown: Sequence[CatalogueEntry]) -> dict[str, Any]:
    """The number of offered skills, and those that the prompt lists."""
    return {
        "offered": len(offered),
        "listed": [
            {"slug": one.slug, "ref": one.ref, "version": one.version, "digest": one.digest}
            for one in shown
        ],
    }
