"""Which tables an erasure reaches."""

from understudy.storage import schema
from understudy.storage.erasure import ROWS

# Columns by which a row belongs to an agent, or to something that one of its sessions made.
KEYS = {"agent_id", "session_id", "run_id", "candidate_id", "learning_id", "trial_id"}
# Tables with such a column that stay, or whose rows go with another row.
OTHERWISE = {
    "agent_files": "goes with its agent",
    "user_context_files": "goes with its agent",
    "file_proposals": "goes with its agent",
    "run_memory_scopes": "goes with its run memory",
    "run_memory_evidence": "goes with its run memory",
    "run_captures": "goes with its run memory",
    "schedule_executions": "goes with its schedule",
    "skill_versions": "a skill outlives the run that wrote a version",
}


def test_every_table_that_names_something_of_an_agent_is_erased_or_says_why_not() -> None:
    erased = {column.table.name for column, _ in ROWS}
    named = {
        table.name for table in schema.metadata.sorted_tables if KEYS & {c.name for c in table.c}
    }
    assert named - erased == {*OTHERWISE}
