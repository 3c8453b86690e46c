"""The list of columns with user text, against the schema; and what a cut leaves."""

from collections.abc import Mapping

import sqlalchemy as sa

from understudy.storage import schema
from understudy.storage.rows import Json
from understudy.storage.unlearn_texts import FOLDED, Cutter, written_columns

# Columns that hold no user text: ids, keys, digests, states and the words of the daemon.
# Files and artifacts are searched as bytes.
NO_USER_TEXT: Mapping[str, str] = {
    "accepted_mcp_tools": "digest accepted_by",
    "agent_files": "agent_id actor run_id reviewed_by",
    "agents": "agent_id agent_type route owner_id",
    "artifacts": "artifact_id run_id call_key tool_name content",
    "asset_blobs": "sha256 content",
    "asset_owners": "owner_id asset_id",
    "asset_references": "asset_id kind ref_id",
    "assets": "asset_id media_type sha256 owner_id",
    "audit": "actor action resource resource_id outcome request_id content_digest link",
    "background_output": "task_id",
    "background_tasks": "task_id session_id run_id status holder",
    "bridge_deliveries": "delivery_id bridge_id message_id status",
    "bridge_links": "bridge_id external_id message_id",
    "canary_secret": "secret",
    "capture_jobs": "job_id claim",
    "chains": "link base_link",
    "channel_bridges": "bridge_id channel_id connector",
    "channel_events": "channel_id",
    "channel_leases": "turn_id channel_id thread_root_message_id holder_session_id active_run_id",
    "channel_members": "channel_id member_id member_kind session_id actor_id",
    "channel_messages": "message_id channel_id root_id sender_session_id source_run_id",
    "channel_reactions": "message_id actor_id emoji",
    "client_events": "session_id",
    "channel_stimuli": "stimulus_id channel_id status dedupe_key progress_key call_digest",
    "channel_threads": (
        "thread_root_message_id channel_id topic_kind status dedupe_key wish_message_id"
    ),
    "channels": "channel_id last_message_id",
    "daemons": "executor_id",
    "debug_requests": "run_id",
    "deliveries": "delivery_id run_id task_id plugin status",
    "delivery_tries": "delivery_id outcome",
    "file_proposals": "proposal_id agent_id state actor run_id decided_by user_id",
    "flows": "flow_id playbook_id session_id run_id",
    "journal": "session_id kind run_id key agent_id withdrawn_by",
    "learning_candidates": (
        "candidate_id origin scope_key kind sensitivity state capture_path source_run_id "
        "key_digest rule_name rule_folded applies"
    ),
    "learning_reviews": "candidate_id policy_digest",
    "learning_uses": "learning_id run_id session_id",
    "learnings": (
        "learning_id scope_key kind sensitivity status publish_tier verification_status "
        "policy_decision actor_folded key_digest subject_digest source_candidate_id supersedes "
        " applies"
    ),
    "otlp_signals": "user_id trace told_id",
    "messages": "message_id session_id to_agent_id status run_id call_digest",
    "personas": "persona_id",
    "playbook_versions": "playbook_id version digest status",
    "project_sessions": "project_id session_id",
    "project_tasks": (
        "project_id project_task_id status assignee_member_id latest_run_id created_by_run_id "
        "call_digest"
    ),
    "projects": "project_id status",
    "receipts": "key_hash fingerprint resource_id",
    "requests": (
        "request_id kind run_id session_id call_key audience state resolved_by user_id agent_id"
    ),
    "responses": "key_hash fingerprint holder",
    "review_jobs": "job_id claim",
    "rollout_definitions": "skill_name fingerprint",
    "rollout_events": "skill_name event",
    "rollout_evidence": (
        "evidence_id skill_name fingerprint kind proof run_id session_id root_session_id actor "
        "trial_id workspace_digest"
    ),
    "rollout_outcomes": (
        "skill_name fingerprint run_id session_id root_session_id stage outcome carrying_run_id"
    ),
    "rollout_replay_cases": (
        "trial_id recorded_run_id owner_id without_run_id with_run_id yardstick"
    ),
    "rollout_snapshots": "skill_name status fingerprint",
    "rollout_trials": (
        "trial_id skill_name fingerprint kind state run_id session_id actor workspace_digest"
    ),
    "rollouts": (
        "skill_name folded_name source_learning_id source_scope_key status fingerprint digest "
        "promoted_by"
    ),
    "run_captures": "run_id state",
    "run_memories": "run_id session_id semantic_capture stamp",
    "run_memory_backlog": "run_id",
    "run_memory_bodies": "run_id stamp",
    "run_memory_evidence": "run_id",
    "run_memory_scopes": "scope_key run_id",
    "runs": (
        "run_id session_id agent_id user_id kind status stop_request skill_fingerprint trial_id"
    ),
    "runtime_revisions": "actor setting",
    "schedule_executions": "execution_id schedule_id status run_id triggered_by",
    "schedules": (
        "schedule_id owner_id acting_admin target_session_id status overlap_policy misfire_policy "
        "retrying_id"
    ),
    "second_approvals": "approval_id subject operation proposed_by first_by fingerprint",
    "session_bindings": "binding_key session_id bound_by",
    "session_mcp_servers": "session_id",
    "sessions": (
        "session_id agent_id owner_id thread_id parent_session_id status persona_id workdir "
        "trial_id"
    ),
    "sidechains": "session_id run_id first_run_id",
    "signals": "kind target",
    "signing_keys": "key_id kind public_key created_by",
    "skill_agent_grants": "skill_id agent_id granted_by",
    "skill_blobs": "sha256 content",
    "skill_bundle_files": "slug path sha256",
    "skill_bundles": "slug digest",
    "skill_listing_days": "ref",
    "skill_listings": "ref run_id",
    "skill_roots": "root_id path owner_id",
    "skill_trash": "trash_name owner_id deleted_by",
    "skill_user_grants": "skill_id user_id granted_by",
    "skill_uses": (
        "use_id skill_id slug digest agent_id user_id session_id run_id fingerprint version_label"
    ),
    "skill_versions": (
        "skill_id digest actor run_id trash_name state decided_by agent_id grant_to content_digest link"
    ),
    "skills": "skill_id slug origin owner_id visibility status digest trash_name",
    "suggestions": "rule subject candidate_id",
    "tasks": "task_id session_id status run_id call_digest",
    "term_entries": "kind source_id tokens",
    "tokens": "token_id token_hash user_id role locale",
    "unlearn_jobs": "job_id claim",
    "unlearn_key": "secret",
    "unlearns": "unlearn_id mode status step actor",
    "user_context_files": "agent_id user_id actor run_id reviewed_by",
    "webhook_secret": "secret",
}


def test_every_column_is_searched_for_user_text_or_named_as_holding_none() -> None:
    unknown = {
        f"{table.name}.{column.name}"
        for table in schema.metadata.sorted_tables
        for column in table.c
        if isinstance(column.type, sa.Text | sa.LargeBinary)
        and column not in written_columns(table)
        and column.name not in FOLDED
        and column.name not in NO_USER_TEXT.get(table.name, "").split()
    }
    assert unknown == set()


def test_no_column_is_named_that_is_searched_or_not_there() -> None:
    for name, columns in NO_USER_TEXT.items():
        table = schema.metadata.tables[name]
        named = set(columns.split())
        assert named <= {it.name for it in table.c}, name
        assert not named & {it.name for it in written_columns(table)}, name


def test_every_json_column_is_searched() -> None:
    for table in schema.metadata.sorted_tables:
        assert {it for it in table.c if isinstance(it.type, Json)} <= set(written_columns(table))


def test_a_copy_of_a_search_text_is_cut_with_the_row_that_it_repeats() -> None:
    for table in schema.metadata.sorted_tables:
        assert not FOLDED & {*table.c.keys()} or written_columns(table), table.name


def test_a_shortened_copy_is_cut_whichever_text_it_begins() -> None:
    texts = [f"the orchard keeps a ledger of {it}" for it in ("pears", "quinces", "medlars")]
    for text in texts:
        shortened = f"{text[:-2]}…"
        assert Cutter(texts).cut(shortened) == "[erased]…"
