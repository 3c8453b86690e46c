"""Which runs were told of which learnings."""

from collections.abc import Iterable
from dataclasses import asdict
from operator import attrgetter
from typing import Any, Final

import sqlalchemy as sa

from understudy.core.page import Page, PageRequest
from understudy.learnings.model import LearningUse
from understudy.storage.columns import read_record
from understudy.storage.paging import select_page
from understudy.storage.rows import insert_into
from understudy.storage.schema import learning_uses as uses


class LearningUseStore:
    """Which runs were told of which learnings."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def add(self, given: Iterable[LearningUse]) -> None:
        """Note them; one that is there already is fine."""
        # In one order, so that two who note the same do not lock each other out.
        rows = [asdict(use) for use in sorted(given, key=attrgetter("learning_id"))]
        if rows:
            statement = insert_into(self._connection, uses).on_conflict_do_nothing()
            self._connection.execute(statement, rows)

    def of_learning(self, learning_id: str, request: PageRequest) -> Page[LearningUse]:
        """The runs that were told, newest first."""
        return select_page(
            self._connection,
            sa.select(uses).where(uses.c.learning_id == learning_id),
            request,
            by=(uses.c.at_ms, uses.c.run_id, uses.c.learning_version),
            read=_read,
            descending=True,
        )

    def count(self, learning_id: str) -> int:
        """How often a learning was told."""
        return self._connection.execute(_COUNT, {"of": learning_id}).scalar_one()


_COUNT: Final = (
    sa.select(sa.func.count()).select_from(uses).where(uses.c.learning_id == sa.bindparam("of"))
)


def _read(row: Any) -> LearningUse:
    return read_record(row, _use, what=f"use of learning {row.learning_id}")


def _use(row: Any) -> LearningUse:
    return LearningUse(**row._mapping)  # noqa: SLF001 - SQLAlchemy's API
