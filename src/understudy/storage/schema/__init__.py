"""The tables of Understudy, the same on SQLite and PostgreSQL."""

from understudy.storage.schema.access import audit, responses, tokens
from understudy.storage.schema.agents import agent_files, agents
from understudy.storage.schema.assets import asset_blobs, asset_references, assets
from understudy.storage.schema.context_files import file_proposals, user_context_files
from understudy.storage.schema.deliveries import deliveries, delivery_tries, webhook_secret
from understudy.storage.schema.learnings import (
    capture_jobs,
    learning_candidates,
    learning_reviews,
    learning_uses,
    learnings,
    review_jobs,
)
from understudy.storage.schema.mailboxes import messages
from understudy.storage.schema.mcp import session_mcp_servers
from understudy.storage.schema.metadata import metadata
from understudy.storage.schema.rollouts import (
    canary_secret,
    rollout_definitions,
    rollout_events,
    rollout_evidence,
    rollout_outcomes,
    rollout_replay_cases,
    rollout_snapshots,
    rollout_trials,
    rollouts,
)
from understudy.storage.schema.run_memories import (
    run_memories,
    run_memory_backlog,
    run_memory_bodies,
    run_memory_evidence,
    run_memory_scopes,
)
from understudy.storage.schema.runs import debug_requests, receipts, runs
from understudy.storage.schema.runtime import runtime_revisions, tool_switches
from understudy.storage.schema.schedules import schedule_executions, schedules
from understudy.storage.schema.sessions import (
    journal,
    personas,
    project_sessions,
    projects,
    sessions,
)
from understudy.storage.schema.sidechains import sidechains, signals
from understudy.storage.schema.skills import (
    skill_agent_grants,
    skill_blobs,
    skill_bundle_files,
    skill_bundles,
    skill_listing_days,
    skill_listings,
    skill_trash,
    skill_user_grants,
    skill_uses,
    skill_versions,
    skills,
)
from understudy.storage.schema.suggestions import suggestion_looks, suggestions
from understudy.storage.schema.tasks import tasks
from understudy.storage.schema.term_index import term_entries
from understudy.storage.schema.waiting import artifacts, requests

__all__ = [
    "agent_files",
    "agents",
    "artifacts",
    "asset_blobs",
    "asset_references",
    "assets",
    "audit",
    "canary_secret",
    "capture_jobs",
    "debug_requests",
    "deliveries",
    "delivery_tries",
    "file_proposals",
    "journal",
    "learning_candidates",
    "learning_reviews",
    "learning_uses",
    "learnings",
    "messages",
    "metadata",
    "personas",
    "project_sessions",
    "projects",
    "receipts",
    "requests",
    "responses",
    "review_jobs",
    "rollout_definitions",
    "rollout_events",
    "rollout_evidence",
    "rollout_outcomes",
    "rollout_replay_cases",
    "rollout_snapshots",
    "rollout_trials",
    "rollouts",
    "run_memories",
    "run_memory_backlog",
    "run_memory_bodies",
    "run_memory_evidence",
    "run_memory_scopes",
    "runs",
    "runtime_revisions",
    "schedule_executions",
    "schedules",
    "session_mcp_servers",
    "sessions",
    "sidechains",
    "signals",
    "skill_agent_grants",
    "skill_blobs",
    "skill_bundle_files",
    "skill_bundles",
    "skill_listing_days",
    "skill_listings",
    "skill_trash",
    "skill_user_grants",
    "skill_uses",
    "skill_versions",
    "skills",
    "suggestion_looks",
    "suggestions",
    "tasks",
    "term_entries",
    "tokens",
    "tool_switches",
    "user_context_files",
    "webhook_secret",
]
