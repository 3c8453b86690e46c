"""The tools of a daemon: its own with their services, and those of MCP servers."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from understudy.background_tasks.runner import BackgroundRunner
from understudy.background_tasks.service import BackgroundTaskService
from understudy.background_tasks.tools import InBackground, TaskOutput, TaskStop
from understudy.channels.stimuli import CreateChannelStimulus, StimulusService
from understudy.channels.tools import EmitOutput, ReadChannelThread, SetChannelReaction, TurnDesk
from understudy.core.bell import Bell
from understudy.core.clock import Clock
from understudy.evolution.coach import is_taught
from understudy.evolution.context_files import AgentContextFiles
from understudy.learnings.remember import Remember, Suggestions
from understudy.mailboxes.outgoing import RunMail, SendMail
from understudy.mcp_client.config_servers import configured_servers
from understudy.mcp_client.connection import OpenLink
from understudy.mcp_client.servers import McpServers
from understudy.mcp_client.session_servers import SessionServerService
from understudy.project_tasks.tool import MemberTasks, ProjectTasks
from understudy.redaction.scrub import scrub
from understudy.rollout.worktrees import Worktrees
from understudy.runs.artifacts import ReadArtifact
from understudy.runs.ask_user import AskUser
from understudy.runs.sidechain_tools import (
    AnswerSidechain,
    CancelSidechain,
    SpawnSidechain,
    WaitSidechain,
)
from understudy.runs.sidechains import SidechainService
from understudy.sessions.model import Session
from understudy.sessions.task_service import TaskService
from understudy.sessions.task_tools import Tasks
from understudy.settings import Settings
from understudy.skills.catalogue import Catalogue
from understudy.skills.service import SkillService
from understudy.skills.tools.catalogue import ListSkills, SkillSearch
from understudy.skills.tools.fork import Forks
from understudy.skills.tools.manage import (
    AskedOf,
    PublishSkill,
    RoleOf,
    SkillManage,
    ToolChangeMaker,
    UntrustedOf,
)
from understudy.skills.tools.use import UseSkill
from understudy.storage.unit import Units
from understudy.tools.base import Tool
from understudy.tools.destinations import Destinations
from understudy.tools.edit import EditFile
from understudy.tools.files import ListFiles, ReadFile, WriteFile
from understudy.tools.processes import ChildProcesses
from understudy.tools.registry import ToolRegistry
from understudy.tools.search import SearchFiles
from understudy.tools.shell import Shell
from understudy.tools.web import FetchUrl, RedirectCheck


def toolkit(
    *,
    units: Units,
    clock: Clock,
    bell: Bell,
    question_expires_s: int | None,
    tasks: TaskService,
    project_tasks: MemberTasks,
    sidechains: SidechainService,
    mail: RunMail,
    turn_desk: TurnDesk,
    stimuli: StimulusService,
    fetch_allow: Collection[str],
    may_go_on: RedirectCheck,
    environment: Mapping[str, str],
    children: ChildProcesses,
    background: BackgroundRunner,
    background_tasks: BackgroundTaskService,
    skills: SkillService,
    skill_catalogue: Catalogue,
    role_of: RoleOf,
    untrusted_of: UntrustedOf,
    asked_of: AskedOf,
    context_files: AgentContextFiles,
    worktrees: Worktrees,
    tool_names: Callable[[], Sequence[str]],
    suggestions: Suggestions,
) -> list[Tool]:
    """Every built-in tool, in the order people and models see them."""
    desk = ToolChangeMaker(
        service=skills,
        units=units,
        clock=clock,
        role_of=role_of,
        untrusted_of=untrusted_of,
        asked_of=asked_of,
    )
    forks = Forks(sidechains=sidechains, tool_names=tool_names, worktrees=worktrees)
    return [
        ReadFile(context_files),
        WriteFile(context_files),
        EditFile(context_files),
        ListFiles(),
        SearchFiles(),
        Shell(environment, children, InBackground(background)),
        TaskOutput(background_tasks, bell),
        TaskStop(background_tasks),
        FetchUrl(fetch_allow, may_go_on=may_go_on),
        Tasks(tasks),
        ProjectTasks(project_tasks),
        SpawnSidechain(sidechains),
        WaitSidechain(sidechains),
        AnswerSidechain(sidechains),
        CancelSidechain(sidechains),
        SendMail(mail),
        EmitOutput(turn_desk),
        SetChannelReaction(turn_desk),
        ReadChannelThread(turn_desk),
        CreateChannelStimulus(stimuli, turn_desk),
        AskUser(units, clock, question_expires_s),
        ReadArtifact(units),
        Remember(suggestions),
        ListSkills(skill_catalogue),
        SkillSearch(skill_catalogue),
        UseSkill(skill_catalogue, units, clock, forks),
        SkillManage(desk, is_taught),
        PublishSkill(desk),
    ]


@dataclass(frozen=True, slots=True)
class KnownTools:
    """The known tools, read anew at each call."""

    registry: ToolRegistry
    mcp: McpServers

    def __call__(self, session: Session | None) -> Sequence[Tool]:
        """Every tool, for one session or in general."""
        return (*self.registry.all(), *self.mcp.known(session))

    def describe(self) -> list[dict[str, object]]:
        """The descriptions of all tools for clients."""
        return [*self.registry.describe(), *self.mcp.describe()]


def mcp_servers(settings: Settings, clock: Clock, children: ChildProcesses) -> McpServers:
    """The MCP servers of the config file; none is started yet."""
    servers = configured_servers(settings.mcp_servers, settings.environment)
    return McpServers(
        servers,
        clock,
        _loader(settings, children),
        scrub=partial(scrub, literals=settings.secrets),
        secrets=settings.secrets,
    )


def session_mcp(settings: Settings, units: Units, clock: Clock) -> SessionServerService:
    """The service for the MCP servers of sessions."""
    return SessionServerService(
        units=units,
        clock=clock,
        destinations=Destinations(settings.fetch_allow),
        taken=frozenset(settings.mcp_servers),
        environment=settings.environment,
    )


def _loader(settings: Settings, children: ChildProcesses) -> Callable[[], OpenLink]:
    def load() -> OpenLink:
        from understudy.mcp_client.link import open_link

        return partial(
            open_link, destinations=Destinations(settings.fetch_allow), children=children
        )

    return load
