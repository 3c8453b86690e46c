"""What queries find for whom, on both databases."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import sqlalchemy as sa

from tests.support.factories import make_run, make_session
from tests.support.learning_factories import make_learning
from understudy.core.sight import Sight, current_sight, whole_sight
from understudy.learnings.model import Sensitivity
from understudy.storage.schema import agents, metadata, runs, sessions, tasks
from understudy.storage.sight import OWNED, OWNED_FOR_READERS
from understudy.storage.unit import Unit, Units

OF_USERS = (*OWNED, *OWNED_FOR_READERS)
# Tables that hold what is shared, or are only reached through a row of one that is not.
SHARED = frozenset(
    [
        # Which tools an admin accepted, and which daemons live.
        "accepted_mcp_tools",
        "agent_files",
        "agents",
        "asset_blobs",
        "asset_owners",
        "canary_secret",
        "chains",
        "daemons",
        # A channel is where users meet.
        *(f"channel{part}" for part in ("s", "_members", "_messages", "_reactions", "_threads")),
        *(f"channel_{part}" for part in ("leases", "stimuli", "events", "bridges")),
        "bridge_links",
        "bridge_deliveries",
        "learning_reviews",
        "personas",
        # A project is worked on together; so are its tasks, and playbooks are there for everybody.
        "playbook_versions",
        "project_tasks",
        "projects",
        "receipts",
        "responses",
        "rollout_definitions",
        "rollout_events",
        "rollout_snapshots",
        "rollout_trials",
        "rollouts",
        "runtime_revisions",
        "second_approvals",
        "signals",
        "signing_keys",
        "skill_agent_grants",
        "skill_blobs",
        "skill_bundle_files",
        "skill_bundles",
        "skill_trash",
        "skill_user_grants",
        "skill_versions",
        "skills",
        "suggestion_looks",
        "suggestions",
        "term_entries",
        "tokens",
        "tool_switches",
        # Unlearning reaches what came of all users; its operations are for admins alone.
        *(f"unlearn{part}" for part in ("s", "_jobs", "_key")),
        "webhook_secret",
    ]
)


@contextmanager
def seen_by(user_id: str | None, *, sees_sensitive: bool = True) -> Iterator[None]:
    reset = current_sight.set(Sight(user_id=user_id, sees_sensitive=sees_sensitive))
    try:
        yield
    finally:
        current_sight.reset(reset)


def test_every_table_is_either_shared_or_somebodys() -> None:
    """A new table takes its place in one of the two."""
    known = {table.name for table in OF_USERS} | SHARED
    assert {name for name in metadata.tables if not name.startswith("term_")} <= known


@pytest.mark.parametrize("table", OF_USERS, ids=lambda table: table.name)
def test_a_query_of_every_table_is_completed(units: Units, table: sa.Table) -> None:
    plain = sa.select(table)
    with seen_by("bob", sees_sensitive=False):
        with units.read() as unit:
            assert unit.connection.execute(plain).all() == []
            assert (
                unit.connection.execute(sa.select(sa.func.count()).select_from(table)).scalar() == 0
            )
        with units.write() as unit:
            unit.connection.execute(unit._dialect.locked(plain)).all()


@pytest.fixture
def two_users(units: Units) -> Units:
    with units.write() as unit:
        for user_id in ("ada", "bob"):
            unit.sessions.add(make_session(f"of-{user_id}", owner_id=user_id))
            run = make_run(f"of-{user_id}", run_id=f"run-{user_id}", user_id=user_id)
            unit.runs.add(run)
        # Bob was a guest of Ada's.
        unit.runs.add(make_run("of-ada", run_id="guest", user_id="bob"))
    return units


def found(unit: Unit, query: Any) -> set[str]:
    return set(unit.connection.execute(query).scalars())


def test_a_run_is_of_who_submitted_it_and_of_its_sessions_owner(two_users: Units) -> None:
    for user_id, own in (("ada", {"run-ada", "guest"}), ("bob", {"run-bob", "guest"})):
        with seen_by(user_id), two_users.read() as unit:
            assert found(unit, sa.select(runs.c.run_id)) == own
            assert found(unit, sa.select(sessions.c.session_id)) == {f"of-{user_id}"}
    with two_users.read() as unit:
        assert len(found(unit, sa.select(runs.c.run_id))) == 3


def test_parts_of_a_query_are_completed_as_well(two_users: Units) -> None:
    other = runs.alias()
    queries = {
        "a join": sa.select(runs.c.run_id).join(
            sessions, sessions.c.session_id == runs.c.session_id
        ),
        "an alias": sa.select(other.c.run_id),
        "a subquery": sa.select(sa.select(runs.c.run_id).subquery().c.run_id),
        "a union": sa.union(sa.select(runs.c.run_id), sa.select(other.c.run_id)),
        "an outer join": sa.select(runs.c.run_id).select_from(agents).outerjoin(runs, sa.true()),
        "a source with an outer join": sa.select(runs.c.run_id).select_from(
            agents.outerjoin(runs, sa.true())
        ),
        "a condition": sa.select(sa.literal("run-ada")).where(
            sa.exists().where(runs.c.run_id == "run-ada")
        ),
    }
    with seen_by("bob"), two_users.read() as unit:
        for what, query in queries.items():
            assert "run-ada" not in found(unit, query), what


def test_a_row_without_a_partner_stays(two_users: Units) -> None:
    query = sa.select(sessions.c.session_id).outerjoin(
        tasks, tasks.c.session_id == sessions.c.session_id
    )
    with seen_by("bob"), two_users.read() as unit:
        assert found(unit, query) == {"of-bob"}


def test_what_is_sensitive_is_not_there_for_who_may_not_see_it(units: Units) -> None:
    learning = make_learning(sensitivity=Sensitivity.SENSITIVE)
    with units.write() as unit:
        unit.learnings.add(learning)

    with seen_by(None, sees_sensitive=False):
        with units.read() as unit:
            assert unit.learnings.get(learning.learning_id) is None
        with whole_sight(), units.read() as unit:
            assert unit.learnings.get(learning.learning_id) is not None
