"""The stores of a unit of work: one line for each."""

from collections.abc import Callable
from functools import cached_property
from typing import TypeVar

from understudy.storage.access import (
    AuditStore,
    ReceiptStore,
    ResponseStore,
    SecondApprovalStore,
    SigningKeyStore,
    TokenStore,
)
from understudy.storage.agents import AgentStore, UserFileStore
from understudy.storage.artifacts import ArtifactStore, DebugStore
from understudy.storage.assets import AssetStore
from understudy.storage.background_tasks import BackgroundTaskStore
from understudy.storage.bridges import BridgeStore
from understudy.storage.candidates import CandidateStore, ReviewStore
from understudy.storage.chains import Chains
from understudy.storage.channel_messages import ChannelMessageStore, ThreadStore
from understudy.storage.channel_turns import ChannelTurnStore, StimulusStore
from understudy.storage.channels import ChannelStore
from understudy.storage.client_events import ClientEventStore
from understudy.storage.deliveries import DeliveryStore, WebhookSecretStore
from understudy.storage.engine import Dialect
from understudy.storage.evolution import EvolutionStore, ProposalStore, SuggestionStore
from understudy.storage.feed import FeedStore
from understudy.storage.ids import IdStore
from understudy.storage.job_queue import JobQueue
from understudy.storage.learnings import LearningUseStore
from understudy.storage.messages import MessageStore
from understudy.storage.otlp import OtlpStore
from understudy.storage.overview import OverviewStore
from understudy.storage.playbooks import FlowStore, PlaybookStore
from understudy.storage.project_tasks import ProjectTaskStore
from understudy.storage.projects import PersonaStore, ProjectStore
from understudy.storage.requests import RequestStore
from understudy.storage.retention import RetentionStore
from understudy.storage.rollout_outcomes import OutcomeStore
from understudy.storage.rollout_trials import ReplayCaseStore, TrialStore
from understudy.storage.rollouts import CanarySecretStore, RolloutSourceStore, RolloutStore
from understudy.storage.runs import RunStore
from understudy.storage.runtime import ToolSwitchStore
from understudy.storage.schedules import ScheduleStore
from understudy.storage.schema import capture_jobs, review_jobs, unlearn_jobs
from understudy.storage.sessions import BindingStore, SessionServerStore, SessionStore
from understudy.storage.sidechains import SidechainStore, SignalStore, TaskStore
from understudy.storage.skill_grants import GrantStore
from understudy.storage.skill_roots import SkillRootStore
from understudy.storage.skill_uses import SkillUseStore
from understudy.storage.skills import SkillStore
from understudy.storage.visible_connection import VisibleConnection

S = TypeVar("S")


def opened(by: Callable[["Stores"], S]) -> cached_property[S]:
    """A store that is built on first use and cached for the unit."""
    return cached_property(by)


class Stores:
    """The stores of a unit of work, built on first use; all share its connection."""

    def __init__(
        self,
        connection: VisibleConnection,
        dialect: Dialect,
    ) -> None:
        self.connection = connection
        self._dialect = dialect

    # First, because other stores are built with the chains.
    chains = opened(lambda self: Chains(self.connection, self._dialect))
    agents = opened(lambda self: AgentStore(self.connection, self._dialect))
    user_files = opened(lambda self: UserFileStore(self.connection))
    proposals = opened(lambda self: ProposalStore(self.connection, self._dialect))
    evolution = opened(lambda self: EvolutionStore(self.connection))
    assets = opened(lambda self: AssetStore(self.connection, self._dialect))
    feed = opened(lambda self: FeedStore(self.connection))
    ids = opened(lambda self: IdStore(self.connection))
    sessions = opened(lambda self: SessionStore(self.connection, self._dialect))
    client_events = opened(lambda self: ClientEventStore(self.connection))
    otlp = opened(lambda self: OtlpStore(self.connection))
    bindings = opened(lambda self: BindingStore(self.connection, self._dialect))
    runs = opened(lambda self: RunStore(self.connection, self._dialect))
    candidates = opened(lambda self: CandidateStore(self.connection, self._dialect))
    learning_uses = opened(lambda self: LearningUseStore(self.connection))
    reviews = opened(lambda self: ReviewStore(self.connection))
    review_queue = opened(lambda self: JobQueue(self.connection, self._dialect, review_jobs))
    capture_queue = opened(lambda self: JobQueue(self.connection, self._dialect, capture_jobs))
    unlearn_queue = opened(lambda self: JobQueue(self.connection, self._dialect, unlearn_jobs))
    debug = opened(lambda self: DebugStore(self.connection))
    personas = opened(lambda self: PersonaStore(self.connection, self._dialect))
    projects = opened(lambda self: ProjectStore(self.connection, self._dialect))
    playbooks = opened(lambda self: PlaybookStore(self.connection, self._dialect))
    background_tasks = opened(lambda self: BackgroundTaskStore(self.connection, self._dialect))
    flows = opened(lambda self: FlowStore(self.connection, self._dialect))
    project_tasks = opened(lambda self: ProjectTaskStore(self.connection, self._dialect))
    sidechains = opened(lambda self: SidechainStore(self.connection))
    signals = opened(lambda self: SignalStore(self.connection))
    skills = opened(lambda self: SkillStore(self.connection, self._dialect))
    skill_grants = opened(lambda self: GrantStore(self.connection))
    skill_roots = opened(lambda self: SkillRootStore(self.connection, self._dialect))
    skill_uses = opened(lambda self: SkillUseStore(self.connection, self._dialect))
    rollouts = opened(lambda self: RolloutStore(self.connection, self._dialect))
    rollout_trials = opened(lambda self: TrialStore(self.connection, self._dialect))
    replay_cases = opened(lambda self: ReplayCaseStore(self.connection))
    rollout_outcomes = opened(lambda self: OutcomeStore(self.connection))
    rollout_sources = opened(lambda self: RolloutSourceStore(self.connection))
    canary_secret = opened(lambda self: CanarySecretStore(self.connection))
    suggestions = opened(lambda self: SuggestionStore(self.connection))
    tasks = opened(lambda self: TaskStore(self.connection, self._dialect))
    schedules = opened(lambda self: ScheduleStore(self.connection, self._dialect))
    messages = opened(lambda self: MessageStore(self.connection, self._dialect))
    bridges = opened(lambda self: BridgeStore(self.connection, self._dialect))
    channels = opened(lambda self: ChannelStore(self.connection, self._dialect))
    channel_messages = opened(lambda self: ChannelMessageStore(self.connection, self._dialect))
    channel_turns = opened(lambda self: ChannelTurnStore(self.connection, self._dialect))
    threads = opened(lambda self: ThreadStore(self.connection, self._dialect))
    stimuli = opened(lambda self: StimulusStore(self.connection, self._dialect))
    tokens = opened(lambda self: TokenStore(self.connection, self._dialect))
    signing_keys = opened(lambda self: SigningKeyStore(self.connection, self._dialect))
    audit = opened(lambda self: AuditStore(self.connection))
    retention = opened(lambda self: RetentionStore(self.connection, self.chains))
    second_approvals = opened(lambda self: SecondApprovalStore(self.connection))
    receipts = opened(lambda self: ReceiptStore(self.connection, self._dialect))
    requests = opened(lambda self: RequestStore(self.connection, self._dialect))
    artifacts = opened(lambda self: ArtifactStore(self.connection))
    responses = opened(lambda self: ResponseStore(self.connection))
    mcp_servers = opened(lambda self: SessionServerStore(self.connection))
    tool_switches = opened(lambda self: ToolSwitchStore(self.connection))
    deliveries = opened(lambda self: DeliveryStore(self.connection, self._dialect))
    overview = opened(lambda self: OverviewStore(self.connection))
    webhook_secret = opened(lambda self: WebhookSecretStore(self.connection))
