"""What queries find for whom, on both databases."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import pytest
import sqlalchemy as sa

from tests.support.factories import make_run, make_session
from tests.support.learning_factories import make_learning
from understudy.core.visibility import RowVisibility, current_visibility, unrestricted
from understudy.learnings.model import Sensitivity
from understudy.storage.schema import agents, metadata, runs, sessions, tasks
from understudy.storage.unit import Unit, Units
from understudy.storage.visibility import OWNED, OWNED_FOR_READERS

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
    reset = current_visibility.set(RowVisibility(user_id=user_id, sees_sensitive=sees_sensitive))
    try:
        yield
    finally:
        current_visibility.reset(reset)


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


def _shapes() -> dict[str, sa.Select[Any] | sa.CompoundSelect[Any]]:
    """Queries whose first column is the id of a run, in every shape that a store may use."""
    other, again = runs.alias(), runs.alias("again")
    ids = sa.select(runs.c.run_id)
    cte = ids.cte("found")
    twin = cte.alias()
    tree = ids.where(runs.c.run_id == "run-ada").cte("tree", recursive=True)
    tree = tree.union_all(sa.select(other.c.run_id).where(other.c.run_id > tree.c.run_id))
    newest = (
        sa.select(other.c.run_id).where(other.c.session_id == sessions.c.session_id).limit(9)
    ).lateral()
    in_session = runs.c.session_id == sessions.c.session_id
    shapes = {
        "a table": ids,
        "an alias": sa.select(other.c.run_id),
        "an alias of an alias": sa.select(other.alias().c.run_id),
        "a table without its metadata": sa.select(
            sa.table("runs", *(sa.column(each.name) for each in runs.c)).c.run_id
        ),
        "a join": ids.join(sessions, in_session),
        "a join with itself": ids.join(again, again.c.session_id == runs.c.session_id),
        "an outer join": ids.select_from(agents).outerjoin(runs, sa.true()),
        "a source with an outer join": ids.select_from(agents.outerjoin(runs, sa.true())),
        "an outer join of two": ids.select_from(
            agents.outerjoin(runs.join(sessions, in_session), sa.true())
        ),
        "a cross product": ids.join(other, sa.true()),
        "a subquery": sa.select(ids.subquery().c.run_id),
        "a subquery in a subquery": sa.select(
            sa.select(ids.subquery().c.run_id).subquery().c.run_id
        ),
        "a union": sa.union(ids, sa.select(other.c.run_id)),
        "a union as a source": sa.select(
            sa.union_all(ids, sa.select(other.c.run_id)).subquery().c.run_id
        ),
        "a CTE": sa.select(cte.c.run_id),
        "a CTE that is used twice": sa.select(cte.c.run_id).join(
            twin, twin.c.run_id == cte.c.run_id
        ),
        "a recursive CTE": sa.select(tree.c.run_id),
        "a list in a condition": sa.select(other.c.run_id).where(other.c.run_id.in_(ids)),
        "a scalar subquery": sa.select(
            sa.select(other.c.run_id).where(other.c.run_id == "run-ada").scalar_subquery()
        ),
        "a correlated subquery": sa.select(
            sa.select(sa.func.max(other.c.run_id))
            .where(other.c.session_id == sessions.c.session_id)
            .scalar_subquery()
        ).select_from(sessions),
        "an explicit correlation": sa.select(
            sa.select(sa.func.max(runs.c.run_id))
            .where(in_session)
            .correlate(sessions)
            .scalar_subquery()
        ).select_from(sessions),
        "a correlation with a table that is narrowed": ids.where(
            sa.exists().where(other.c.run_id == runs.c.run_id)
        ),
        "a condition": sa.select(sa.literal("run-ada")).where(
            sa.exists().where(runs.c.run_id == "run-ada")
        ),
        "an aggregate": sa.select(sa.func.max(sa.case((runs.c.run_id == "run-ada", "run-ada")))),
        "groups": ids.group_by(runs.c.run_id).having(sa.func.count() > 0),
        "distinct rows in order": ids.distinct().order_by(runs.c.run_id.desc()).limit(9),
        "a window": sa.select(sa.func.min(runs.c.run_id).over(partition_by=runs.c.run_id)),
        "a label": sa.select(runs.c.run_id.label("named")).order_by("named"),
        "a lateral join": sa.select(newest.c.run_id).select_from(sessions).join(newest, sa.true()),
        "locked rows": ids.with_for_update(skip_locked=True),
    }
    return cast("dict[str, sa.Select[Any] | sa.CompoundSelect[Any]]", shapes)


SHAPES = _shapes()
# These show Bob's own runs, so that they fail as well where a query finds nothing at all.
FINDS_NOTHING = {
    "a recursive CTE",
    "a scalar subquery",
    "a condition",
    "an aggregate",
}


@pytest.mark.parametrize("what", SHAPES)
@pytest.mark.parametrize("reads", [True, False])
def test_a_query_of_any_shape_finds_what_is_visible(
    two_users: Units, what: str, *, reads: bool
) -> None:
    if what == "a lateral join" and two_users.engine.dialect.name == "sqlite":
        pytest.skip("SQLite has no lateral joins")
    open_unit = two_users.read if reads else two_users.write
    with open_unit() as unit:
        assert "run-ada" in found(unit, SHAPES[what])
    with seen_by("bob"), open_unit() as unit:
        visible = found(unit, SHAPES[what])
    assert "run-ada" not in visible
    assert ("run-bob" in visible) is (what not in FINDS_NOTHING)


def test_a_statement_that_cannot_be_narrowed_is_refused(two_users: Units) -> None:
    with two_users.read() as unit, pytest.raises(TypeError, match="cannot narrow a count"):
        unit.connection.execute(sa.func.count(runs.c.run_id))


def test_a_unit_offers_no_way_to_the_connection_below(two_users: Units) -> None:
    with two_users.read() as unit:
        offered = {name for name in dir(unit.connection) if not name.startswith("_")}
        assert offered == {"begin_nested", "changed", "dialect", "execute"}


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
        with unrestricted(), units.read() as unit:
            assert unit.learnings.get(learning.learning_id) is not None
