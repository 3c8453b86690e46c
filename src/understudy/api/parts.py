"""Everything the daemon hands to the API."""

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, cast

from fastapi import Depends, Request

from understudy.access.tokens import TokenService
from understudy.agent.daemon_rules import DaemonRules
from understudy.agent.offers import ToolOffers
from understudy.agent.stream import DeltaHub
from understudy.agents.service import AgentService
from understudy.agents.user_files import UserFileService
from understudy.api.ports import Metrics, Readiness, Status, ToolRegistry
from understudy.assets.service import AssetService
from understudy.core.bell import Bell
from understudy.core.clock import Clock
from understudy.core.principal import Principal
from understudy.deliveries.secret import WebhookSecret
from understudy.deliveries.service import DeliveryService
from understudy.evolution.proposal_service import ProposalService
from understudy.evolution.record_service import EvolutionRecord
from understudy.learnings.bulk import BulkService
from understudy.learnings.candidates import CandidateService
from understudy.learnings.service import LearningService
from understudy.mailboxes.service import MailboxService
from understudy.mcp_client.servers import McpServers
from understudy.mcp_client.session_servers import SessionServerService
from understudy.memory.service import RunMemoryService
from understudy.retrieval.inspection import MemoryInspection
from understudy.review.service import LearningPolicyService
from understudy.rollout.service import RolloutService
from understudy.rollout.trials.service import TrialService
from understudy.runs.approvals import ApprovalService
from understudy.runs.questions import QuestionService
from understudy.runs.service import RunService
from understudy.runs.sidechains import SidechainService
from understudy.runtime.service import RuntimeService
from understudy.schedules.service import ScheduleService
from understudy.sessions.persona import PersonaService
from understudy.sessions.projects import ProjectService
from understudy.sessions.service import SessionService
from understudy.sessions.task_service import TaskService
from understudy.settings import Settings
from understudy.skills.catalogue import Catalogue
from understudy.skills.dependencies.service import DependencyService
from understudy.skills.library import SkillLibrary
from understudy.skills.service import SkillService

if TYPE_CHECKING:
    from understudy.providers.registry import Routes
    from understudy.storage.unit import Units


@dataclass(frozen=True, slots=True, kw_only=True)
class AppParts:
    """The services and what the API uses beside them."""

    settings: Settings
    clock: Clock
    units: "Units"
    sessions: SessionService
    personas: PersonaService
    projects: ProjectService
    tasks: TaskService
    sidechains: SidechainService
    agents: AgentService
    user_files: UserFileService
    proposals: ProposalService
    evolution: EvolutionRecord
    assets: AssetService
    schedules: ScheduleService
    mailboxes: MailboxService
    runs: RunService
    approvals: ApprovalService
    questions: QuestionService
    deliveries: DeliveryService
    webhook_secret: WebhookSecret
    runtime: RuntimeService
    run_memories: RunMemoryService
    inspection: MemoryInspection
    candidates: CandidateService
    bulk_decisions: BulkService
    learnings: LearningService
    learning_policy: LearningPolicyService
    rollouts: RolloutService
    trials: TrialService
    skills: SkillService
    skill_library: SkillLibrary
    skill_catalogue: Catalogue
    skill_dependencies: DependencyService
    tokens: TokenService
    routes: "Routes"
    tools: ToolRegistry
    offers: ToolOffers
    mcp: McpServers
    session_mcp: SessionServerService
    daemon_rules: DaemonRules
    metrics: Metrics
    bell: Bell
    deltas: DeltaHub
    readiness: Readiness
    status: Status
    shutting_down: asyncio.Event


def parts_of(request: Request) -> AppParts:
    """The parts of the app that serves this request."""
    return cast("AppParts", request.app.state.parts)


def principal_of(request: Request) -> Principal:
    """Who is calling; the gate has found out before any route runs."""
    return cast("Principal", request.state.principal)


Parts = Annotated[AppParts, Depends(parts_of)]
Caller = Annotated[Principal, Depends(principal_of)]
