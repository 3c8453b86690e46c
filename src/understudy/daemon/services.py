"""Every service of a daemon with its dependencies, and the hooks of a run's end."""

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from secrets import randbelow
from typing import TYPE_CHECKING, Any

from understudy.access.sign_in import BrowserSignIn
from understudy.access.signing_keys import FOLDER as KEYS
from understudy.access.signing_keys import SigningKeyService
from understudy.access.tokens import TokenService
from understudy.agent.gate import DaemonRules, Gatekeeper, Onward
from understudy.agent.offers import CatalogueSkills, ToolOffers, tools_of
from understudy.agent.preview import PromptPreviews
from understudy.agent.prompt import PromptBuilder
from understudy.agents.service import AgentService
from understudy.agents.user_files import UserFileService
from understudy.assets.service import AssetService
from understudy.background_tasks.runner import BackgroundRunner
from understudy.background_tasks.service import BackgroundTaskService
from understudy.channels.worker import run_ended as channel_run_ended
from understudy.core.principal import Principal
from understudy.daemon.collaboration import ChannelServices, FlowServices, ProjectServices
from understudy.daemon.known_names import known_names
from understudy.daemon.learning import LearningServices
from understudy.daemon.overview import OverviewReport
from understudy.daemon.resources import Resources
from understudy.daemon.rollout import RolloutServices
from understudy.daemon.skills import SkillServices, SkillSources
from understudy.daemon.status import StatusReport
from understudy.daemon.toolkit import KnownTools, mcp_servers, session_mcp, toolkit
from understudy.deliveries.service import DeliveryService, WebhookSecret
from understudy.evolution.coach import EvolutionCoach
from understudy.evolution.context_files import AgentContextFiles
from understudy.evolution.file_checks import FileChecks
from understudy.evolution.offer_book import OfferBook
from understudy.evolution.proposals import ProposalService
from understudy.evolution.record import EvolutionRecord
from understudy.evolution.soul import SoulLimits
from understudy.evolution.usage_review import TOPIC as SUGGESTIONS
from understudy.evolution.usage_review import Suggester
from understudy.foreign.folders import Folders
from understudy.foreign.held import HeldWrites
from understudy.foreign.hooks import Hooks
from understudy.foreign.imports import ImportService
from understudy.foreign.otlp import Telemetry
from understudy.foreign.outcomes import SkillReports
from understudy.foreign.publication import PublicationService
from understudy.foreign.record import ForeignTurns
from understudy.foreign.statements import Statements
from understudy.inbox.service import InboxService
from understudy.mailboxes.outgoing import RunMail
from understudy.mailboxes.service import MailboxService
from understudy.mailboxes.worker import TOPIC as MAIL_TOPIC
from understudy.mcp_client.acceptance import McpAcceptance
from understudy.mcp_client.source import McpToolSource
from understudy.memory.capture import Capture
from understudy.memory.maintenance import Maintenance, policy_hook
from understudy.memory.report import Counters
from understudy.memory.retention import Keeper
from understudy.memory.service import RunMemoryService
from understudy.memory.texts import Cleaner
from understudy.project_tasks.tool import MemberTasks
from understudy.retrieval.ids import IdSearch
from understudy.retrieval.inspection import MemoryInspection
from understudy.retrieval.jump import JumpSearch
from understudy.retrieval.recollect import Recollector
from understudy.review.lab import Laboratory
from understudy.review.service import policy_hook as learning_policy_hook
from understudy.review.worker import TOPIC as REVIEWS
from understudy.rollout.caveats import Caveats
from understudy.rollout.checkout import Checkout, head_of
from understudy.rollout.trials.runs import TrialRuns
from understudy.rollout.worktrees import Worktrees
from understudy.runs.approvals import ApprovalService, CheckInput
from understudy.runs.intake import RunIntake, RuntimeDefaults
from understudy.runs.model import DebugLevel, EndingHook, Run
from understudy.runs.questions import QuestionService
from understudy.runs.service import RunService
from understudy.runs.sidechain_links import SidechainLinks
from understudy.runs.sidechains import SidechainService
from understudy.runs.upkeep import Upkeep
from understudy.runtime.service import RuntimeService, current_revision
from understudy.sample.workspace import SampleService
from understudy.schedules.fire import Firing
from understudy.schedules.service import ScheduleService
from understudy.schedules.worker import TOPIC as SCHEDULES_TOPIC
from understudy.sessions.known_names import KnownNames
from understudy.sessions.persona import PersonaService
from understudy.sessions.service import SessionService
from understudy.sessions.task_service import TaskService
from understudy.skills.active import ActiveSkills
from understudy.skills.usage import UsageUpkeep
from understudy.storage.postgres import SUGGESTIONS_LOCK
from understudy.storage.unit import Unit
from understudy.storage.unlearn_compaction import compact
from understudy.telemetry.metrics import Metrics
from understudy.tools.python import python_tools
from understudy.tools.registry import ToolRegistry
from understudy.tools.shell import ShellProgram
from understudy.unlearn.retirement import Retirer
from understudy.unlearn.service import TOPIC as UNLEARNS
from understudy.unlearn.service import UnlearnDuty, UnlearnService

if TYPE_CHECKING:
    from understudy.daemon.run_spans import RunSpans


class Services:
    """All services of a daemon, shared by the API, the agent loop and the background work."""

    def __init__(self, resources: Resources) -> None:
        self.resources = resources
        settings, units, clock = resources.settings, resources.units, resources.clock
        self.keeper = Keeper(clock, Counters())
        maintenance = Maintenance(clock, self.keeper.counters)
        self.runtime = _runtime(resources, maintenance)
        self.run_memories = _run_memories(resources, self.runtime, self.keeper, maintenance)
        self.daemon_rules = DaemonRules(self.runtime)
        self.tokens = _tokens(resources)
        self.sign_in = BrowserSignIn(self.tokens)
        sources = SkillSources(resources)
        self.rollout = RolloutServices(resources, sources, self._stop_trials)
        linked = (self.rollout.linked,)
        self.learning = LearningServices(resources, self.runtime, self.default_route, linked)
        self.keys = SigningKeyService(units, clock, settings.home / KEYS)
        self.skills = SkillServices(resources, self.tokens, sources, self.rollout.skills, self.keys)
        self.lab = _laboratory(resources, self.learning, self.skills)
        self.skill_usage = UsageUpkeep(units, clock)
        self.agents = AgentServices(resources, self.learning, self.skills)
        # Asked for when they are there: servers come after the services that name them.
        names = known_names(self.skills.library, resources.route_ids, lambda: self.mcp)
        active = ActiveSkills(self.skills.catalogue)
        self.personas = PersonaService(units, clock, names)
        self.sessions = SessionService(units, clock, resources.route_exists, active, names)
        self.tasks = TaskService(units, clock)
        self.assets = AssetService(units, clock)
        self.inspection = MemoryInspection(units, clock, self.keeper, self.skills.catalogue)
        self.jump = JumpSearch(units=units, clock=clock)
        self.ids = IdSearch(units=units)
        self.capture = _capture(resources, self.keeper, self.learning)
        self.intake = RunIntake(clock, resources.routes, self.defaults)
        self.channels = ChannelServices(resources, self.intake, self._cancel_run)
        self.projects = ProjectServices(resources, self.intake, self.channels)
        self.flows = FlowServices(
            resources, self.intake, self.tasks, names, self._tool_names, self._cancel_run
        )
        self._add_rollouts()
        self.inbox = InboxService(units=units, clock=clock, rollouts=self.rollouts)
        self.runs = RunServices(resources, self.intake, self.run_ended, self._check_input, names)
        self.foreign = ForeignTurns(
            units=units, clock=clock, defaults=self.defaults, run_ended=self.run_ended
        )
        self.skill_reports = SkillReports(units, clock, self.foreign, self.skills.library)
        self.hooks = Hooks(
            units=units, clock=clock, turns=self.foreign, held=self.agents.held_writes
        )
        self.statements = Statements(
            clock=clock, guard=self.learning.guard, listeners=self.learning.listeners
        )
        self.imports = ImportService(units=units, turns=self.foreign, statements=self.statements)
        self.publications = PublicationService(
            units=units,
            clock=clock,
            catalogue=self.skills.catalogue,
            statements=self.statements,
            keys=self.keys,
            held=self.agents.held_writes,
        )
        self.spans = _run_spans(resources)
        self.telemetry = Telemetry(units=units, clock=clock, turns=self.foreign)
        self.firing = _firing(resources, self.intake, self.tokens)
        self.schedules = _schedules(resources, self.firing)
        self.mailboxes = _mailboxes(resources)
        self.background_tasks = _background_tasks(resources)
        self.background_runner = _background_runner(resources, self.background_tasks)
        self.deliveries = DeliveryService(units, clock)
        self.webhook_secret = _webhook_secret(resources)
        self.mcp = mcp_servers(settings, clock, resources.children)
        self.session_mcp = session_mcp(settings, units, clock)
        self.mcp_acceptance = McpAcceptance(
            units=units, clock=clock, servers=self.mcp, session_servers=self.session_mcp
        )
        self.tools = self._tools()
        self.sample = SampleService(units, self.keeper, clock)
        self.unlearn = _unlearn(resources, self.learning)
        self.metrics = self._metrics()
        self.status = StatusReport(self)
        self.overview = OverviewReport(units, clock, settings.routes)

    def _add_rollouts(self) -> None:
        """Build the rollout services, now that their listeners exist."""
        resources, guard, listeners = self.resources, self.learning.guard, self.learning.listeners
        self.rollouts = self.rollout.service(
            guard,
            listeners,
            Caveats(tool_names=self._own_tool_names, has_route=resources.route_exists),
        )
        self.outcomes = self.rollout.outcomes(listeners)
        self.expired_sources = self.rollout.expired_sources(listeners)
        workspace = resources.settings.workspace
        self.worktrees = Worktrees(workspace, Checkout(self.skills.programs).fill)
        self.trial_runs = TrialRuns(
            clock=resources.clock,
            intake=self.intake,
            worktrees=self.worktrees,
            tool_names=self._tool_names,
            cancel=self._cancel_run,
            committed=partial(head_of, workspace),
        )
        self.trials = self.rollout.trials(self.trial_runs, guard, listeners)

    def run_ended(self, unit: Unit, run: Run) -> None:
        """The hooks of a run's end, in the transaction that ends it.

        Before this the run is stored, its deliveries are queued, the journal says that it ended,
        its open requests are withdrawn and its prompt is dropped; after it the next run in line
        wakes.
        """
        for step in (
            # Stores the result in the project tasks that it carried out.
            self.projects.tasks.ended,
            # Notes when the last run of a flow has ended.
            self.flows.service.ended,
            # Writes its run memory, a summary candidate, and the capture job.
            self.capture.ended,
            # Queues the review of what its agent suggested to remember.
            self.learning.suggestions.ended,
            # After the commit: wakes the review of usage.
            self.agents.suggester.ended,
            # After the commit, if it was a trial or a replay: settles it.
            self.trials.ended,
            self.rollout.replay_news.ended,
            # After the commit: records the outcomes of the promoted skills that it used.
            self.outcomes.ended,
            # After the commit, if it was a channel turn: settles it.
            partial(channel_run_ended, self.channels.turn_ended),
            # Wakes the parent session, stops the sidechains.
            self.runs.sidechain_links.ended,
        ):
            step(unit, run)
        if self.spans is not None:
            self.spans.ended(unit, run)

    def unlearn_duty(self) -> UnlearnDuty:
        """The worker duty for unlearnings."""
        resources = self.resources
        units, clock = resources.units, resources.clock
        return UnlearnDuty(
            units=units,
            clock=clock,
            retirer=Retirer(
                units=units,
                clock=clock,
                learnings=self.learning.learnings,
                candidates=self.learning.candidates,
                rollouts=self.rollouts,
                skills=self.skills.service,
            ),
            keeper=self.keeper,
            forget_work=resources.engine.forget,
            compact=partial(compact, resources.database),
        )

    def _metrics(self) -> Metrics:
        """The metrics, with the counters of all parts."""
        metrics = Metrics(self.tools.names())
        metrics.watch_run_memory(self.keeper.counters.snapshot)
        metrics.watch_session_memory(self.learning.prompts.snapshot)
        metrics.watch_learning(self.learning.counters.snapshot)
        metrics.watch_rollouts(self.rollout.counters.snapshot)
        metrics.watch_guard(self.skills.guard.rejections.snapshot)
        return metrics

    def _tools(self) -> ToolRegistry:
        """The built-in tools, each with its services, and those of installed packages."""
        resources, settings = self.resources, self.resources.settings
        built_in = ToolRegistry(
            toolkit(
                units=resources.units,
                clock=resources.clock,
                bell=resources.bell,
                question_expires_s=settings.question_expires_s,
                tasks=self.tasks,
                project_tasks=MemberTasks(self.projects.tasks),
                sidechains=self.runs.sidechains,
                mail=RunMail(self.mailboxes),
                stimuli=self.channels.stimuli,
                turn_desk=self.channels.turn_desk,
                fetch_allow=settings.fetch_allow,
                may_go_on=Onward(resources.units, Gatekeeper()),
                environment=settings.environment,
                children=resources.children,
                background=self.background_runner,
                background_tasks=self.background_tasks,
                skills=self.skills.service,
                skill_catalogue=self.skills.catalogue,
                role_of=self.skills.role_of,
                untrusted_of=self.skills.untrusted_of,
                asked_of=self.skills.asked_of,
                context_files=self.agents.context_files,
                worktrees=self.worktrees,
                tool_names=self._tool_names,
                suggestions=self.learning.suggestions,
            )
        )
        return built_in.extended(tuple(python_tools(built_in.names())))

    @cached_property
    def prompt_previews(self) -> PromptPreviews:
        """Previews of the next run's prompt."""
        return PromptPreviews(
            units=self.resources.units,
            clock=self.resources.clock,
            prompts=self.prompts,
            intake=self.intake,
            catalogue=self.skills.catalogue,
        )

    @cached_property
    def prompts(self) -> PromptBuilder:
        """The prompt builder of runs."""
        resources = self.resources
        return PromptBuilder(
            routes=resources.routes,
            registry=self.tools,
            enabled_tools=partial(tools_of, self.tools),
            memories=Recollector(resources.clock, self.keeper, self.learning.prompts),
            skills=CatalogueSkills(self.skills.catalogue),
            coach=EvolutionCoach(resources.units, OfferBook(resources.clock)),
            mcp=McpToolSource(self.mcp, self.session_mcp, self.offers.disabled),
            acceptance=self.mcp_acceptance,
        )

    @property
    def known_tools(self) -> KnownTools:
        """The known tools: built-in ones, and those of MCP servers that are up."""
        return KnownTools(self.tools, self.mcp)

    @property
    def offers(self) -> ToolOffers:
        """The tools that a session may use."""
        resources = self.resources
        return ToolOffers(resources.units, resources.clock, Gatekeeper(), self.known_tools)

    def defaults(self, unit: Unit) -> RuntimeDefaults:
        """The route and debug level for runs that name none."""
        settings = self.resources.settings
        document = current_revision(unit).document
        return RuntimeDefaults(
            route_id=document.get("default_route") or settings.default_route,
            debug_level=DebugLevel(document.get("debug_level") or settings.debug_level),
        )

    def default_route(self) -> str:
        """The default route."""
        with self.resources.units.read() as unit:
            return self.defaults(unit).route_id

    def is_offline(self, unit: Unit, route_id: str | None) -> bool:
        """Whether a route, or the default one, is the offline script."""
        route = self.resources.routes.find(route_id or self.defaults(unit).route_id)
        return route is not None and route.provider == "scripted"

    def _own_tool_names(self) -> Sequence[str]:
        # Lazy: tools need services, which in turn need the tool names.
        return self.tools.names()

    def _tool_names(self) -> Sequence[str]:
        return [*self._own_tool_names(), *(tool.name for tool in self.mcp.known(None))]

    def _cancel_run(self, principal: Principal, run_id: str) -> object:
        # Lazy: runs need trials, which cancel runs.
        return self.runs.service.cancel(principal, run_id)

    def _stop_trials(self, skill_name: str) -> None:
        # Lazy: trials change rollouts, which end trials.
        self.trials.stop_moot(skill_name)
        self.rollout.replay_news.changed()

    def _check_input(self, tool_name: str, arguments: Mapping[str, Any]) -> None:
        # MCP tools are known only while a run is at work; their server checks the arguments.
        if tool_name in self.tools.names():
            self.tools.check(tool_name, arguments)


class RunServices:
    """Build the services in order: run intake first, since trials submit runs and follow their end."""

    def __init__(
        self,
        resources: Resources,
        intake: RunIntake,
        run_ended: EndingHook,
        check_input: CheckInput,
        names: KnownNames,
    ) -> None:
        units, clock = resources.units, resources.clock
        self.sidechain_links = SidechainLinks(
            units=units, clock=clock, intake=intake, run_ended=run_ended
        )
        self.service = RunService(
            units=units,
            clock=clock,
            intake=intake,
            signal_stop=resources.signals.request,
            run_ended=run_ended,
        )
        self.sidechains = SidechainService(
            units=units, clock=clock, intake=intake, cancel_run=self.service.cancel, names=names
        )
        self.questions = QuestionService(units, clock)
        self.approvals = ApprovalService(units, clock, check_input)
        self.upkeep = Upkeep(
            units=units,
            clock=clock,
            engine=resources.engine,
            signals=resources.signals,
            exclusively=units.exclusively,
            most_in_flight=resources.settings.max_runs_in_flight_per_user,
        )


class AgentServices:
    """Services of agents: agents, context files, proposals, the evolution record."""

    def __init__(
        self, resources: Resources, learning: LearningServices, skills: SkillServices
    ) -> None:
        units, clock = resources.units, resources.clock
        limits = SoulLimits(max_change=resources.settings.soul_change_percent / 100)
        checks = FileChecks(learning.guard, limits)
        self.service = AgentService(
            units,
            clock,
            route_exists=resources.route_exists,
            deleted=(skills.service.agent_deleted,),
            check_content=checks.by_person,
        )
        self.user_files = UserFileService(units, clock, checks.by_person)
        self.context_files = AgentContextFiles(units, clock, checks)
        held = HeldWrites(
            clock=clock,
            folders=Folders(resources.settings.home),
            cleaner=Cleaner(literals=resources.settings.secrets, pii=False),
        )
        self.held_writes = held
        self.proposals = ProposalService(units, clock, held.applied)
        self.evolution = EvolutionRecord(units)
        self.suggester = Suggester(
            units=units,
            clock=clock,
            if_free=partial(units.if_free, SUGGESTIONS_LOCK),
            listeners=learning.listeners,
            guard=learning.guard,
            local_skill=skills.local_record,
            wake=partial(resources.bell.ring, SUGGESTIONS),
        )


def _runtime(resources: Resources, maintenance: Maintenance) -> RuntimeService:
    learning = learning_policy_hook(resources.clock, partial(resources.bell.ring, REVIEWS))
    # Learning first, against deadlocks: it locks job rows, whose holders wait for the journal,
    # whose holders wait for the lock of run memories, which the other hook takes.
    return RuntimeService(resources.units, resources.clock, (learning, policy_hook(maintenance)))


def _run_memories(
    resources: Resources, runtime: RuntimeService, keeper: Keeper, maintenance: Maintenance
) -> RunMemoryService:
    return RunMemoryService(
        units=resources.units,
        clock=resources.clock,
        runtime=runtime,
        keeper=keeper,
        maintenance=maintenance,
    )


def _run_spans(resources: Resources) -> "RunSpans | None":
    """The spans of runs; nothing is loaded where they are sent nowhere."""
    config = resources.settings.otel
    if config.endpoint is None:
        return None
    from understudy.daemon.run_spans import RunSpans

    return RunSpans(config, resources.scrub)


def _laboratory(
    resources: Resources, learning: LearningServices, skills: SkillServices
) -> Laboratory:
    return Laboratory(
        units=resources.units,
        clock=resources.clock,
        secrets=learning.guard,
        scan=skills.guard.findings,
    )


def _capture(resources: Resources, keeper: Keeper, learning: LearningServices) -> Capture:
    return Capture(
        resources.units,
        resources.clock,
        keeper,
        resources.settings.secrets,
        receipt_for=learning.receipts.receipt_for,
        hooks=(learning.summaries.kept, learning.receipts.kept),
    )


def _tokens(resources: Resources) -> TokenService:
    admin = resources.settings.admin_token
    return TokenService(
        resources.units,
        resources.clock,
        admin_token=admin.get_secret_value() if admin else None,
        is_loopback=resources.settings.is_loopback,
    )


def _firing(resources: Resources, intake: RunIntake, tokens: TokenService) -> Firing:
    return Firing(
        clock=resources.clock, intake=intake, may_still=tokens.may_still, jitter=randbelow
    )


def _schedules(resources: Resources, firing: Firing) -> ScheduleService:
    return ScheduleService(
        units=resources.units,
        clock=resources.clock,
        routes=resources.routes,
        firing=firing,
        changed=partial(resources.bell.ring, SCHEDULES_TOPIC),
    )


def _webhook_secret(resources: Resources) -> WebhookSecret:
    configured = resources.settings.webhook_secret
    return WebhookSecret(
        units=resources.units,
        clock=resources.clock,
        configured=configured.get_secret_value() if configured else None,
    )


def _mailboxes(resources: Resources) -> MailboxService:
    return MailboxService(
        units=resources.units,
        clock=resources.clock,
        changed=partial(resources.bell.ring, MAIL_TOPIC),
    )


def _background_tasks(resources: Resources) -> BackgroundTaskService:
    return BackgroundTaskService(
        units=resources.units,
        clock=resources.clock,
        limits=resources.settings.background,
        holder=resources.engine.executor_id,
        scrub=resources.scrub,
        ring=resources.bell.ring,
    )


def _background_runner(resources: Resources, tasks: BackgroundTaskService) -> BackgroundRunner:
    program = ShellProgram(resources.settings.environment, resources.children)
    return BackgroundRunner(service=tasks, program=program)


def _unlearn(resources: Resources, learning: LearningServices) -> UnlearnService:
    return UnlearnService(
        units=resources.units,
        clock=resources.clock,
        guard=learning.guard,
        wake=partial(resources.bell.ring, UNLEARNS),
    )
