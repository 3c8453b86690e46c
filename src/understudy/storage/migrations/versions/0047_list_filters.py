"""indexes for what lists are narrowed by, and for the age that retention looks at."""

from alembic import op

revision = "0047"
down_revision = "0046"
branch_labels = None
depends_on = None

# In the order of the list that each is for.
FILTERS = {
    "learnings": {
        "kind": ["kind", "learning_id"],
        "applies": ["applies", "learning_id"],
        "publish_tier": ["publish_tier", "learning_id"],
        "verification_status": ["verification_status", "learning_id"],
        "policy_decision": ["policy_decision", "learning_id"],
    },
    "learning_candidates": {"applies": ["applies", "candidate_id"]},
    "messages": {"status": ["to_agent_id", "status", "created_at_ms", "message_id"]},
    "playbook_versions": {"status": ["status", "playbook_id"]},
    "projects": {"status": ["status", "project_id"]},
    "requests": {
        "run": ["run_id", "state", "created_at_ms", "request_id", "kind"],
        "session": ["session_id", "state", "created_at_ms", "request_id", "kind"],
    },
    "schedules": {
        "status": ["status", "created_at_ms", "schedule_id"],
        "session": ["target_session_id", "created_at_ms", "schedule_id"],
    },
    "tokens": {"newest": ["created_at_ms", "token_id"]},
}
AGES = {
    "artifacts": "created_at_ms",
    "background_tasks": "ended_at_ms",
    "debug_requests": "at_ms",
    "deliveries": "delivered_at_ms",
    "messages": "updated_at_ms",
    "receipts": "created_at_ms",
}


def upgrade() -> None:
    for name in ("ix_requests_run", "ix_requests_session_id"):
        op.drop_index(name, "requests")
    for table, indexes in FILTERS.items():
        for name, columns in indexes.items():
            op.create_index(f"ix_{table}_{name}", table, columns)
    for table, column in AGES.items():
        op.create_index(f"ix_{table}_{column}", table, [column])
