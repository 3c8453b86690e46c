"""The stores that need nothing but a connection."""

from functools import cached_property

import sqlalchemy as sa

from understudy.storage.access import AuditStore, ReceiptStore, ResponseStore, TokenStore
from understudy.storage.agents import AgentStore, UserFileStore
from understudy.storage.artifacts import ArtifactStore, DebugStore
from understudy.storage.assets import AssetStore
from understudy.storage.candidates import CandidateStore, ReviewStore
from understudy.storage.deliveries import DeliveryStore, WebhookSecretStore
from understudy.storage.engine import Dialect
from understudy.storage.evolution import EvolutionStore, ProposalStore, SuggestionStore
from understudy.storage.job_queue import JobQueue
from understudy.storage.learnings import LearningUseStore
from understudy.storage.messages import MessageStore
from understudy.storage.projects import PersonaStore, ProjectStore
from understudy.storage.requests import RequestStore
from understudy.storage.rollout_outcomes import OutcomeStore
from understudy.storage.rollout_trials import ReplayCaseStore, TrialStore
from understudy.storage.rollouts import CanarySecretStore, RolloutSourceStore, RolloutStore
from understudy.storage.runs import RunStore
from understudy.storage.runtime import RevisionStore, ToolSwitchStore
from understudy.storage.schedules import ScheduleStore
from understudy.storage.schema import capture_jobs, review_jobs
from understudy.storage.sessions import SessionServerStore, SessionStore
from understudy.storage.sidechains import SidechainStore, SignalStore, TaskStore
from understudy.storage.skill_grants import GrantStore
from understudy.storage.skill_uses import SkillUseStore
from understudy.storage.skills import SkillStore


class Stores:
    """The stores of a unit of work, built on first use; all share its connection."""

    def __init__(self, connection: sa.Connection, dialect: Dialect) -> None:
        self.connection = connection
        self._dialect = dialect

    @cached_property
    def agents(self) -> AgentStore:
        return AgentStore(self.connection)

    @cached_property
    def user_files(self) -> UserFileStore:
        return UserFileStore(self.connection)

    @cached_property
    def proposals(self) -> ProposalStore:
        return ProposalStore(self.connection)

    @cached_property
    def evolution(self) -> EvolutionStore:
        return EvolutionStore(self.connection)

    @cached_property
    def assets(self) -> AssetStore:
        return AssetStore(self.connection, self._dialect)

    @cached_property
    def sessions(self) -> SessionStore:
        return SessionStore(self.connection, self._dialect)

    @cached_property
    def runs(self) -> RunStore:
        return RunStore(self.connection, self._dialect)

    @cached_property
    def candidates(self) -> CandidateStore:
        return CandidateStore(self.connection, self._dialect)

    @cached_property
    def learning_uses(self) -> LearningUseStore:
        return LearningUseStore(self.connection)

    @cached_property
    def reviews(self) -> ReviewStore:
        return ReviewStore(self.connection)

    @cached_property
    def review_queue(self) -> JobQueue:
        return JobQueue(self.connection, self._dialect, review_jobs)

    @cached_property
    def capture_queue(self) -> JobQueue:
        return JobQueue(self.connection, self._dialect, capture_jobs)

    @cached_property
    def debug(self) -> DebugStore:
        return DebugStore(self.connection)

    @cached_property
    def personas(self) -> PersonaStore:
        return PersonaStore(self.connection)

    @cached_property
    def projects(self) -> ProjectStore:
        return ProjectStore(self.connection, self._dialect)

    @cached_property
    def sidechains(self) -> SidechainStore:
        return SidechainStore(self.connection)

    @cached_property
    def signals(self) -> SignalStore:
        return SignalStore(self.connection)

    @cached_property
    def skills(self) -> SkillStore:
        return SkillStore(self.connection, self._dialect)

    @cached_property
    def skill_grants(self) -> GrantStore:
        return GrantStore(self.connection)

    @cached_property
    def skill_uses(self) -> SkillUseStore:
        return SkillUseStore(self.connection, self._dialect)

    @cached_property
    def rollouts(self) -> RolloutStore:
        return RolloutStore(self.connection, self._dialect)

    @cached_property
    def rollout_trials(self) -> TrialStore:
        return TrialStore(self.connection, self._dialect)

    @cached_property
    def replay_cases(self) -> ReplayCaseStore:
        return ReplayCaseStore(self.connection)

    @cached_property
    def rollout_outcomes(self) -> OutcomeStore:
        return OutcomeStore(self.connection)

    @cached_property
    def rollout_sources(self) -> RolloutSourceStore:
        return RolloutSourceStore(self.connection)

    @cached_property
    def canary_secret(self) -> CanarySecretStore:
        return CanarySecretStore(self.connection)

    @cached_property
    def suggestions(self) -> SuggestionStore:
        return SuggestionStore(self.connection)

    @cached_property
    def tasks(self) -> TaskStore:
        return TaskStore(self.connection)

    @cached_property
    def schedules(self) -> ScheduleStore:
        return ScheduleStore(self.connection, self._dialect)

    @cached_property
    def messages(self) -> MessageStore:
        return MessageStore(self.connection, self._dialect)

    @cached_property
    def tokens(self) -> TokenStore:
        return TokenStore(self.connection)

    @cached_property
    def audit(self) -> AuditStore:
        return AuditStore(self.connection)

    @cached_property
    def receipts(self) -> ReceiptStore:
        return ReceiptStore(self.connection)

    @cached_property
    def requests(self) -> RequestStore:
        return RequestStore(self.connection)

    @cached_property
    def artifacts(self) -> ArtifactStore:
        return ArtifactStore(self.connection)

    @cached_property
    def responses(self) -> ResponseStore:
        return ResponseStore(self.connection)

    @cached_property
    def revisions(self) -> RevisionStore:
        return RevisionStore(self.connection)

    @cached_property
    def mcp_servers(self) -> SessionServerStore:
        return SessionServerStore(self.connection)

    @cached_property
    def tool_switches(self) -> ToolSwitchStore:
        return ToolSwitchStore(self.connection)

    @cached_property
    def deliveries(self) -> DeliveryStore:
        return DeliveryStore(self.connection, self._dialect)

    @cached_property
    def webhook_secret(self) -> WebhookSecretStore:
        return WebhookSecretStore(self.connection)
