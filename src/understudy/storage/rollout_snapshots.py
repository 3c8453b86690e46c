"""How rollouts were before each change."""

from typing import Any, Final

import sqlalchemy as sa

from understudy.core.page import Page, PageRequest
from understudy.rollout.model import Snapshot
from understudy.storage.paging import readable, select_page
from understudy.storage.rollout_rows import definition_row, read_snapshot, snapshot_row
from understudy.storage.rows import insert_new
from understudy.storage.schema import rollout_definitions as definitions
from understudy.storage.schema import rollout_snapshots as table
from understudy.storage.schema.rollouts import MOUNTED

# No database takes a larger number.
_MOST: Final = 2**31 - 1


class SqlSnapshots:
    """Snapshots in a table, and what they say in another, once for each fingerprint."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def add(self, snapshot: Snapshot) -> None:
        """Keep how a rollout was; what it said only where that is not kept yet."""
        insert_new(self._connection, definitions, definition_row(snapshot.record.definition))
        self._connection.execute(sa.insert(table), snapshot_row(snapshot))

    def get(self, skill_name: str, number: int) -> Snapshot | None:
        """How it was once."""
        if not 0 < number <= _MOST:
            return None
        values = {"wanted": skill_name, "of_number": number}
        row = self._connection.execute(_SNAPSHOT, values).first()
        return None if row is None else read_snapshot(row)

    def said(self, skill_name: str, fingerprint: str) -> Any:
        """What a skill said once, as it is stored; None where that was not kept."""
        values = {"wanted": skill_name, "of": fingerprint}
        return self._connection.scalar(_SAID, values)

    def page(self, skill_name: str, request: PageRequest) -> Page[Snapshot]:
        """How it was before, newest first."""
        query = _SNAPSHOTS.where(table.c.skill_name == skill_name)
        by = (table.c.number,)
        return select_page(
            self._connection, query, request, by=by, read=read_snapshot, descending=True
        )

    def last_other(self, skill_name: str, number: int, fingerprint: str) -> Snapshot | None:
        """The newest before a number that has another definition."""
        values = {"wanted": skill_name, "of_number": number, "but": fingerprint}
        row = self._connection.execute(_LAST_OTHER, values).first()
        return None if row is None else read_snapshot(row)

    def active(self, skill_name: str, *, limit: int) -> tuple[Snapshot, ...]:
        """Those that show it in force, newest first: of each attempt at it the last."""
        values = {"wanted": skill_name, "most": limit}
        rows = self._connection.execute(_ACTIVE, values).all()
        return tuple(readable(rows, read_snapshot))


# Put together once.
_SNAPSHOTS: Final = sa.select(table, definitions.c.body.label("definition")).join(
    definitions,
    sa.and_(
        definitions.c.skill_name == table.c.skill_name,
        definitions.c.fingerprint == table.c.fingerprint,
    ),
    # One without is damaged, and told so.
    isouter=True,
)
_SAID: Final = sa.select(definitions.c.body).where(
    definitions.c.skill_name == sa.bindparam("wanted"),
    definitions.c.fingerprint == sa.bindparam("of"),
)
_SNAPSHOT: Final = _SNAPSHOTS.where(
    table.c.skill_name == sa.bindparam("wanted"),
    table.c.number == sa.bindparam("of_number"),
)
_LAST_OTHER: Final = (
    _SNAPSHOTS.where(
        table.c.skill_name == sa.bindparam("wanted"),
        table.c.number < sa.bindparam("of_number"),
        table.c.fingerprint != sa.bindparam("but"),
    )
    .order_by(table.c.number.desc())
    .limit(1)
)
_LAST_IN_FORCE: Final = (
    sa.select(sa.func.max(table.c.number))
    .where(table.c.skill_name == sa.bindparam("wanted"), MOUNTED)
    .group_by(table.c.attempt)
)
_ACTIVE: Final = (
    _SNAPSHOTS.where(
        table.c.skill_name == sa.bindparam("wanted"),
        table.c.number.in_(_LAST_IN_FORCE),
    )
    .order_by(table.c.number.desc())
    .limit(sa.bindparam("most"))
)
