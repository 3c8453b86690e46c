"""The stores that need nothing but a connection."""

from functools import cached_property

import sqlalchemy as sa

from understudy.storage.agents import SqlAgents
from understudy.storage.artifacts import SqlArtifacts
from understudy.storage.assets import SqlAssets
from understudy.storage.audit import SqlAudit
from understudy.storage.canary_secret import SqlCanarySecret
from understudy.storage.candidates import SqlCandidates
from understudy.storage.debug import SqlDebug
from understudy.storage.deliveries import SqlDeliveries, SqlWebhookSecret
from understudy.storage.engine import Dialect
from understudy.storage.evolution_record import SqlEvolution
from understudy.storage.job_queue import SqlJobQueue
from understudy.storage.learning_uses import SqlUses
from understudy.storage.mcp_servers import SqlSessionServers
from understudy.storage.messages import SqlMessages
from understudy.storage.personas import SqlPersonas
from understudy.storage.projects import SqlProjects
from understudy.storage.proposals import SqlProposals
from understudy.storage.receipts import SqlReceipts, SqlResponses
from understudy.storage.replay_cases import SqlReplayCases
from understudy.storage.requests import SqlRequests
from understudy.storage.reviews import SqlReviews
from understudy.storage.revisions import SqlRevisions
from understudy.storage.rollout_outcomes import SqlOutcomes
from understudy.storage.rollout_sources import SqlRolloutSources
from understudy.storage.rollout_trials import SqlTrials
from understudy.storage.rollouts import SqlRollouts
from understudy.storage.runs import SqlRuns
from understudy.storage.schedules import SqlSchedules
from understudy.storage.schema import capture_jobs, review_jobs
from understudy.storage.sessions import SqlSessions
from understudy.storage.sidechains import SqlSidechains, SqlSignals
from understudy.storage.skill_grants import SqlSkillGrants
from understudy.storage.skill_uses import SqlSkillUses
from understudy.storage.skills import SqlSkills
from understudy.storage.suggestions import SqlSuggestions
from understudy.storage.tasks import SqlTasks
from understudy.storage.tokens import SqlTokens
from understudy.storage.tools import SqlToolSwitches
from understudy.storage.user_files import SqlUserFiles


class SqlStores:
    """One of each, made when it is first asked for; all share a connection."""

    def __init__(self, connection: sa.Connection, dialect: Dialect) -> None:
        self.connection = connection
        self._dialect = dialect

    @cached_property
    def agents(self) -> SqlAgents:
        return SqlAgents(self.connection)

    @cached_property
    def user_files(self) -> SqlUserFiles:
        return SqlUserFiles(self.connection)

    @cached_property
    def proposals(self) -> SqlProposals:
        return SqlProposals(self.connection)

    @cached_property
    def evolution(self) -> SqlEvolution:
        return SqlEvolution(self.connection)

    @cached_property
    def assets(self) -> SqlAssets:
        return SqlAssets(self.connection, self._dialect)

    @cached_property
    def sessions(self) -> SqlSessions:
        return SqlSessions(self.connection, self._dialect)

    @cached_property
    def runs(self) -> SqlRuns:
        return SqlRuns(self.connection, self._dialect)

    @cached_property
    def candidates(self) -> SqlCandidates:
        return SqlCandidates(self.connection, self._dialect)

    @cached_property
    def learning_uses(self) -> SqlUses:
        return SqlUses(self.connection)

    @cached_property
    def reviews(self) -> SqlReviews:
        return SqlReviews(self.connection)

    @cached_property
    def review_queue(self) -> SqlJobQueue:
        return SqlJobQueue(self.connection, self._dialect, review_jobs)

    @cached_property
    def capture_queue(self) -> SqlJobQueue:
        return SqlJobQueue(self.connection, self._dialect, capture_jobs)

    @cached_property
    def debug(self) -> SqlDebug:
        return SqlDebug(self.connection)

    @cached_property
    def personas(self) -> SqlPersonas:
        return SqlPersonas(self.connection)

    @cached_property
    def projects(self) -> SqlProjects:
        return SqlProjects(self.connection, self._dialect)

    @cached_property
    def sidechains(self) -> SqlSidechains:
        return SqlSidechains(self.connection)

    @cached_property
    def signals(self) -> SqlSignals:
        return SqlSignals(self.connection)

    @cached_property
    def skills(self) -> SqlSkills:
        return SqlSkills(self.connection, self._dialect)

    @cached_property
    def skill_grants(self) -> SqlSkillGrants:
        return SqlSkillGrants(self.connection)

    @cached_property
    def skill_uses(self) -> SqlSkillUses:
        return SqlSkillUses(self.connection, self._dialect)

    @cached_property
    def rollouts(self) -> SqlRollouts:
        return SqlRollouts(self.connection, self._dialect)

    @cached_property
    def rollout_trials(self) -> SqlTrials:
        return SqlTrials(self.connection, self._dialect)

    @cached_property
    def replay_cases(self) -> SqlReplayCases:
        return SqlReplayCases(self.connection)

    @cached_property
    def rollout_outcomes(self) -> SqlOutcomes:
        return SqlOutcomes(self.connection)

    @cached_property
    def rollout_sources(self) -> SqlRolloutSources:
        return SqlRolloutSources(self.connection)

    @cached_property
    def canary_secret(self) -> SqlCanarySecret:
        return SqlCanarySecret(self.connection)

    @cached_property
    def suggestions(self) -> SqlSuggestions:
        return SqlSuggestions(self.connection)

    @cached_property
    def tasks(self) -> SqlTasks:
        return SqlTasks(self.connection)

    @cached_property
    def schedules(self) -> SqlSchedules:
        return SqlSchedules(self.connection, self._dialect)

    @cached_property
    def messages(self) -> SqlMessages:
        return SqlMessages(self.connection, self._dialect)

    @cached_property
    def tokens(self) -> SqlTokens:
        return SqlTokens(self.connection)

    @cached_property
    def audit(self) -> SqlAudit:
        return SqlAudit(self.connection)

    @cached_property
    def receipts(self) -> SqlReceipts:
        return SqlReceipts(self.connection)

    @cached_property
    def requests(self) -> SqlRequests:
        return SqlRequests(self.connection)

    @cached_property
    def artifacts(self) -> SqlArtifacts:
        return SqlArtifacts(self.connection)

    @cached_property
    def responses(self) -> SqlResponses:
        return SqlResponses(self.connection)

    @cached_property
    def revisions(self) -> SqlRevisions:
        return SqlRevisions(self.connection)

    @cached_property
    def mcp_servers(self) -> SqlSessionServers:
        return SqlSessionServers(self.connection)

    @cached_property
    def tool_switches(self) -> SqlToolSwitches:
        return SqlToolSwitches(self.connection)

    @cached_property
    def deliveries(self) -> SqlDeliveries:
        return SqlDeliveries(self.connection, self._dialect)

    @cached_property
    def webhook_secret(self) -> SqlWebhookSecret:
        return SqlWebhookSecret(self.connection)
