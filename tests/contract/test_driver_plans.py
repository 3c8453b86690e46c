"""Statements that go to the driver by a plan: the same answers, errors and limits as SQLAlchemy's."""

from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa

from tests.contract.conftest import UnitsOnDatabase
from tests.contract.test_sight import seen_by
from tests.support.factories import make_session
from understudy.storage.driver_plan import MAX_LIST, DriverRows
from understudy.storage.rows import INSERTS, Json, RowNumber
from understudy.storage.watched_connection import watch

things = sa.Table(
    "driver_plan_things",
    sa.MetaData(),
    sa.Column("number", RowNumber, primary_key=True, autoincrement=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("body", Json),
    sa.Column("is_on", sa.Boolean, nullable=False),
    sa.Column("key:odd", sa.Text),
)
NAMED = sa.select(things.c.name, things.c.body, things.c.is_on).order_by(things.c.number)
ONE = NAMED.where(things.c.name == sa.bindparam("wanted"), things.c.is_on == sa.true())
SOME = NAMED.where(things.c.name.in_(sa.bindparam("names", expanding=True)))
FIXED = NAMED.where(things.c.name.in_(["a", "c"]), things.c.number > 0).limit(5)
RENAME = (
    sa.update(things)
    .where(things.c.name == sa.bindparam("old"))
    .values(body=sa.bindparam("new", type_=Json))
)
TAKE = sa.delete(things).where(things.c.name == sa.bindparam("gone")).returning(things.c.body)
ADD = sa.insert(things)
TEXT = sa.text("SELECT name FROM driver_plan_things WHERE name = :wanted")


def row(name: str, body: Any = None, *, is_on: bool = True) -> dict[str, Any]:
    return {"name": name, "body": body, "is_on": is_on, "key:odd": "%(x)s ?"}


@pytest.fixture
def connection(database: UnitsOnDatabase) -> Iterator[sa.Connection]:
    """A connection with the rows a to d, which are rolled back."""
    watch(database.engine)
    with database.engine.connect() as connection:
        things.create(connection)
        added = [row("a", {"x": [1]}), row("b"), row("c", [], is_on=False), row("d", "%s")]
        connection.execute(ADD, added)
        yield connection
        connection.rollback()
        things.drop(connection, checkfirst=True)
        connection.commit()


QUERIES: list[tuple[Any, Any]] = [
    (NAMED, None),
    (ONE, {"wanted": "a"}),
    (ONE, {"wanted": "c"}),
    (SOME, {"names": ["a", "b"]}),
    (SOME, {"names": ["c"]}),
    (SOME, {"names": []}),
    (FIXED, {}),
    (TEXT, {"wanted": "b"}),
    (RENAME, {"old": "a", "new": {"y": "é"}}),
    (RENAME, {"old": "unknown", "new": None}),
]
READS = [
    lambda result: result.all(),
    lambda result: result.first(),
    lambda result: result.scalar(),
    lambda result: [(it.name, it[0], dict(it._mapping)) for it in result],
    lambda result: list(result.scalars()),
    lambda result: list(result.mappings()),
    lambda result: [it.body for it in result.all() if hasattr(it, "body")],
]


@pytest.mark.parametrize("query", QUERIES)
def test_a_planned_statement_gives_what_sqlalchemy_gives(
    connection: sa.Connection, query: tuple[Any, Any]
) -> None:
    statement, values = query
    is_write = isinstance(statement, sa.UpdateBase)
    for read in [lambda result: result.rowcount] if is_write else READS:
        expected = [read(sa.Connection.execute(connection, *query)) for _ in range(2)]
        found = [read(connection.execute(statement, values)) for _ in range(3)]

        assert found[1:] == expected
    assert isinstance(connection.execute(statement, values), DriverRows)


def test_rows_are_added_and_taken_by_plans_one_at_a_time_and_many_at_once(
    connection: sa.Connection,
) -> None:
    results = [connection.execute(ADD, row(f"e{n}", {"n": n})) for n in range(3)]
    for n in range(3):
        connection.execute(ADD, [row(f"f{n}", [n]), row(f"g{n}")])
    taken = [connection.execute(TAKE, {"gone": f"e{n}"}) for n in range(3)]

    assert isinstance(results[-1], DriverRows)
    assert isinstance(taken[-1], DriverRows)
    assert results[-1].rowcount == 1
    assert [result.scalar() for result in taken] == [{"n": 0}, {"n": 1}, {"n": 2}]
    names = connection.execute(NAMED).scalars().all()
    assert names == ["a", "b", "c", "d", "f0", "g0", "f1", "g1", "f2", "g2"]
    assert connection.execute(ONE, {"wanted": "f2"}).one().body == [2]


def test_a_list_of_tuples_has_no_plan(connection: sa.Connection) -> None:
    pairs = sa.tuple_(things.c.name, things.c.is_on).in_(sa.bindparam("pairs", expanding=True))
    query = NAMED.where(pairs)
    for _ in range(4):
        found = connection.execute(query, {"pairs": [("a", True), ("c", True)]}).scalars()
        assert list(found) == ["a"]


@pytest.mark.parametrize("names", [{"a", "b"}, ["a", "b"] * MAX_LIST])
def test_a_set_and_a_long_list_have_no_plan(connection: sa.Connection, names: Any) -> None:
    for _ in range(4):
        result = connection.execute(SOME, {"names": names})
        assert not isinstance(result, DriverRows)
        assert result.scalars().all() == ["a", "b"]
    results = [connection.execute(SOME, {"names": ["b", "c"]}) for _ in range(3)]
    assert isinstance(results[-1], DriverRows)
    assert connection.execute(SOME, {"names": {"b", "c"}}).scalars().all() == ["b", "c"]


def test_an_empty_list_of_parameters_is_left_to_sqlalchemy(connection: sa.Connection) -> None:
    all_off = sa.update(things).values(is_on=False)
    for _ in range(3):
        connection.execute(all_off)
    with pytest.warns(sa.exc.SADeprecationWarning, match="Empty parameter sequence"):
        assert connection.execute(all_off, []).rowcount == 4


def test_the_columns_of_a_star_are_those_of_the_moment(connection: sa.Connection) -> None:
    every = sa.text("SELECT *, name AS last FROM driver_plan_things WHERE name = :wanted")
    for _ in range(3):
        assert connection.execute(every, {"wanted": "a"}).one().last == "a"
    connection.execute(sa.text("ALTER TABLE driver_plan_things ADD COLUMN new INTEGER"))
    assert connection.execute(every, {"wanted": "a"}).one().last == "a"


def test_a_value_that_is_none_is_not_taken_for_a_missing_one(connection: sa.Connection) -> None:
    for _ in range(3):
        assert connection.execute(RENAME, {"old": "a", "new": None}).rowcount == 1
    assert connection.execute(ONE, {"wanted": "a"}).one().body is None
    with pytest.raises(sa.exc.StatementError, match="wanted"):
        connection.execute(ONE)


def test_a_broken_rule_of_the_database_is_sqlalchemys_error(connection: sa.Connection) -> None:
    for n in range(3):
        connection.execute(ADD, row(f"h{n}"))
    connection.commit()
    with pytest.raises(sa.exc.IntegrityError) as told:
        connection.execute(ADD, row("h1", "a secret"))
    assert "a secret" not in str(told.value)
    connection.rollback()

    with pytest.raises(sa.exc.StatementError):
        connection.execute(ADD, row("i", body=object()))
    connection.rollback()
    assert connection.execute(ADD, row("i")).rowcount == 1


def test_a_result_without_rows_says_so(connection: sa.Connection) -> None:
    for _ in range(3):
        connection.execute(RENAME, {"old": "a", "new": 1})
    result = connection.execute(RENAME, {"old": "a", "new": 1})
    assert isinstance(result, DriverRows)
    with pytest.raises(sa.exc.ResourceClosedError):
        result.all()


def test_within_an_ended_transaction_nothing_is_executed(database: UnitsOnDatabase) -> None:
    ask = sa.select(sa.literal(1))
    with database.engine.connect() as connection:
        for _ in range(3):
            connection.execute(ask)
    with database.engine.connect() as connection, connection.begin() as transaction:
        transaction.rollback()
        with pytest.raises(sa.exc.InvalidRequestError):
            connection.execute(ask)
    with pytest.raises(sa.exc.ResourceClosedError):
        connection.execute(ask)


def test_within_an_ended_savepoint_nothing_is_executed(connection: sa.Connection) -> None:
    for n in range(3):
        connection.execute(ADD, row(f"j{n}"))
    with connection.begin_nested() as savepoint:
        savepoint.rollback()
        with pytest.raises(sa.exc.InvalidRequestError, match="closed transaction"):
            connection.execute(ADD, row("k"))
    assert connection.execute(ADD, row("l")).rowcount == 1
    assert connection.execute(ONE, {"wanted": "k"}).all() == []


def test_listeners_see_every_statement(connection: sa.Connection) -> None:
    seen: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        seen.append(statement)

    for _ in range(3):
        connection.execute(NAMED)
    sa.event.listen(connection, "before_cursor_execute", note)
    connection.execute(NAMED)

    assert len(seen) == 1


def test_a_statement_planned_for_the_daemon_is_narrowed_for_a_user(
    database: UnitsOnDatabase,
) -> None:
    with database.units.write() as unit:
        unit.sessions.add(make_session("of_ann", owner_id="ann"))
    for _ in range(4):
        with database.units.read() as unit:
            assert unit.sessions.get("of_ann") is not None

    with seen_by("bob"), database.units.read() as unit:
        assert unit.sessions.get("of_ann") is None
    with seen_by("ann"), database.units.read() as unit:
        assert unit.sessions.get("of_ann") is not None


def test_a_planned_write_notes_the_table_that_it_changes(database: UnitsOnDatabase) -> None:
    for n in range(4):
        with database.units.write() as unit:
            unit.sessions.add(make_session(f"new{n}"))
            assert "sessions" in unit.changed_tables


def test_a_write_that_returns_rows_notes_its_table_planned_or_not(
    connection: sa.Connection,
) -> None:
    """Also where it is made of a statement that was executed before."""
    watched: Any = connection
    plain = sa.delete(things).where(things.c.name == sa.bindparam("gone"))
    connection.execute(plain, {"gone": "unknown"})
    take = plain.returning(things.c.name)
    for name in "abcd":
        watched.changed.clear()
        assert connection.execute(take, {"gone": name}).scalar() == name
        assert watched.changed == {things.name}


def test_the_upsert_of_either_database_is_planned(connection: sa.Connection) -> None:
    insert = INSERTS[connection.dialect.name](things)
    upsert = insert.on_conflict_do_update(
        index_elements=["name"], set_={"body": insert.excluded.body}
    )
    results = [connection.execute(upsert, row("a", {"n": n})) for n in range(4)]

    assert isinstance(results[-1], DriverRows)
    assert connection.execute(ONE, {"wanted": "a"}).one().body == {"n": 3}
