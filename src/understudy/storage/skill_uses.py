"""How often skills were listed and used: a row for each use, and for each listing until it is summed
up by day."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any, Final

import sqlalchemy as sa

from understudy.core.clock import DAY_MS
from understudy.runs.model import RunStatus
from understudy.skills.model import LOCAL, PROMOTED
from understudy.skills.usage import (
    NO_VERSION,
    SHOWN_DAYS,
    SHOWN_RUNS,
    RecordedUse,
    SkillListing,
    SkillRun,
    SkillVersionUsage,
    UsageDay,
    UsageFigures,
    UsesByStatus,
    by_day,
    day_begin,
    day_of,
    summed,
    totals,
)
from understudy.storage.engine import Dialect
from understudy.storage.rows import INSERTS, from_row, insert_new
from understudy.storage.schema import runs, skill_listings
from understudy.storage.schema import skill_listing_days as days
from understudy.storage.schema import skill_uses as uses
from understudy.storage.visible_connection import VisibleConnection


class SkillUseStore:
    """Uses and listings of skills."""

    def __init__(self, connection: VisibleConnection, dialect: Dialect) -> None:
        self._connection = connection
        self._dialect = dialect

    def add(self, use: RecordedUse) -> bool:
        """Insert a use; False when it was inserted before."""
        return insert_new(self._connection, uses, asdict(use))

    def get(self, use_id: str) -> RecordedUse | None:
        """The use with this id; None without one."""
        row = self._connection.execute(_ONE, {"use": use_id}).one_or_none()
        return None if row is None else from_row(row, RecordedUse)

    def of_run(self, run_id: str) -> tuple[RecordedUse, ...]:
        """The uses of a run, oldest first."""
        rows = self._connection.execute(_OF_RUN, {"run": run_id})
        return tuple(from_row(row, RecordedUse) for row in rows)

    def list_for(self, listings: Sequence[SkillListing]) -> None:
        """Insert listings; one per run and version is enough."""
        if listings:
            statement = _LIST[self._connection.dialect.name]
            self._connection.execute(statement, [asdict(each) for each in listings])

    def usage(
        self, ref: str, *, since_ms: int = 0, user_id: str | None = None
    ) -> tuple[SkillVersionUsage, ...]:
        """The usage of a skill since a day, by version, newest first; with `user_id`, by them."""
        used = _USED.where(_is(ref, user_id))
        return self._totals(_LISTED_ONE, used, {"of": ref, **_since(since_ms)})

    def usage_of(
        self, refs: Collection[str], *, since_ms: int, user_id: str | None = None
    ) -> Mapping[str, UsageFigures]:
        """The usage of some skills since a day, over all versions; with `user_id`, by them. Those
        without any are left out."""
        by_ref: dict[str, list[SkillVersionUsage]] = {}
        for named, is_of_kind in _kinds(refs):
            listed = [query.where(query.selected_columns.ref.in_(named)) for query in _LISTED]
            used = _USED.where(is_of_kind, *_by_user(user_id))
            for each in self._totals(listed, used, _since(since_ms)):
                by_ref.setdefault(each.ref, []).append(each)
        return {ref: summed(own) for ref, own in by_ref.items()}

    def days(
        self, ref: str, *, since_ms: int = 0, user_id: str | None = None
    ) -> tuple[UsageDay, ...]:
        """The newest days on which runs used a skill since a day, oldest first."""
        day = (uses.c.at_ms // DAY_MS).label("day")
        query = (
            sa.select(day, runs.c.status, sa.func.count(uses.c.run_id.distinct()).label("runs"))
            .join(runs, runs.c.run_id == uses.c.run_id)
            .where(_is(ref, user_id), uses.c.at_ms >= day_begin(since_ms), _IN_EARNEST)
            .group_by(day, runs.c.status)
            .order_by(day.desc())
            .limit(SHOWN_DAYS * len(RunStatus))
        )
        rows = self._connection.execute(query)
        return by_day((row.day, RunStatus(row.status), row.runs) for row in rows)

    def recent_runs(
        self, ref: str, *, since_ms: int = 0, user_id: str | None = None
    ) -> tuple[SkillRun, ...]:
        """The newest runs that used a skill since a day, newest first."""
        last = sa.func.max(uses.c.at_ms)
        query = (
            sa.select(
                uses.c.run_id,
                runs.c.session_id,
                runs.c.agent_id,
                runs.c.status,
                sa.func.max(uses.c.version).label("version"),
                last.label("used_at_ms"),
            )
            .join(runs, runs.c.run_id == uses.c.run_id)
            .where(_is(ref, user_id), uses.c.at_ms >= day_begin(since_ms), _IN_EARNEST)
            .group_by(uses.c.run_id, runs.c.session_id, runs.c.agent_id, runs.c.status)
            .order_by(last.desc(), uses.c.run_id)
            .limit(SHOWN_RUNS)
        )
        rows = self._connection.execute(query).mappings()
        return tuple(SkillRun(**{**row, "status": RunStatus(row["status"])}) for row in rows)

    def usage_since(self, since_ms: int) -> tuple[SkillVersionUsage, ...]:
        """The usage of all skills that were listed or used since a day."""
        return self._totals(_LISTED, _USED, _since(since_ms))

    def sum_up(self, *, limit: int) -> int:
        """Sum up the listings of ended runs by day, and delete them.

        Returns how many were summed up; 0 when nothing is left to do.
        """
        gone = self._take(skill_listings, _HAS_ENDED, limit=limit)
        self._add(Counter((row.ref, row.version, day_of(row.at_ms)) for row in gone))
        return len(gone)

    def sum_up_days(self, *, before_day: int) -> None:
        """Aggregate all days before a day into one."""
        day = days.c.day
        before: Counter[tuple[str, int, int]] = Counter()
        for row in self._take(days, sa.and_(day > BEFORE_THAT, day < before_day)):
            before[row.ref, row.version, BEFORE_THAT] += row.runs
        self._add(before)

    def runs_that_used(
        self, ref: str, version: int, *, since_ms: int, limit: int
    ) -> tuple[str, ...]:
        """The runs that used a version: failed ones first, then the newest."""
        has_succeeded = sa.case((runs.c.status == str(RunStatus.COMPLETED), 1), else_=0)
        query = (
            sa.select(uses.c.run_id)
            .join(runs, runs.c.run_id == uses.c.run_id)
            .where(_is(ref), _version == version, uses.c.at_ms >= day_begin(since_ms), _IN_EARNEST)
            .group_by(uses.c.run_id, runs.c.status)
            .order_by(has_succeeded, sa.func.max(uses.c.at_ms).desc(), uses.c.run_id)
            .limit(limit)
        )
        return tuple(row.run_id for row in self._connection.execute(query))

    def _take(
        self, table: sa.Table, which: sa.ColumnElement[bool], *, limit: int | None = None
    ) -> Sequence[sa.Row[Any]]:
        """Delete and return rows, skipping those that another transaction has locked."""
        key = tuple(table.primary_key)
        # A CTE is evaluated once: PostgreSQL may evaluate a plain subquery again for each row, and
        # each time find others that are free.
        taken = self._dialect.locked_if_free(sa.select(*key).where(which).limit(limit)).cte()
        chosen = sa.tuple_(*key).in_(sa.select(taken))
        statement = sa.delete(table).where(chosen).returning(*table.c)
        return self._connection.execute(statement).all()

    def _add(self, counts: Mapping[tuple[str, int, int], int]) -> None:
        # In one order, to avoid a deadlock.
        rows = [
            {"ref": ref, "version": version, "day": day, "runs": runs}
            for (ref, version, day), runs in sorted(counts.items())
        ]
        if rows:
            self._connection.execute(_ADD_DAY[self._connection.dialect.name], rows)

    def _totals(
        self, listed: Sequence[sa.Select[Any]], used: sa.Select[Any], values: Mapping[str, Any]
    ) -> tuple[SkillVersionUsage, ...]:
        offered: Counter[tuple[str, int]] = Counter()
        for query in listed:
            for row in self._connection.execute(query, values):
                offered[row.ref, row.version] += row.runs
        found = tuple(
            UsesByStatus(
                ref=row.ref,
                version=row.version,
                status=RunStatus(row.status),
                runs=row.runs,
                last_at_ms=row.last_at_ms,
            )
            for row in self._connection.execute(used, values)
        )
        return totals(offered, found)


# The runs of trials are not counted as uses.
_IN_EARNEST: Final = runs.c.trial_id.is_(None)
_LIST: Final = {
    name: insert(skill_listings).on_conflict_do_nothing() for name, insert in INSERTS.items()
}
_USES: Final = sa.select(*(uses.c[each.name] for each in fields(RecordedUse)))
_ONE: Final = _USES.where(uses.c.use_id == sa.bindparam("use"))
_OF_RUN: Final = _USES.where(uses.c.run_id == sa.bindparam("run")).order_by(uses.c.at_ms)
# Prefixes of the ids of skills without a row.
_PREFIX: Final = sa.case(
    (uses.c.fingerprint.is_(None), sa.literal_column(f"'{LOCAL}'")),
    else_=sa.literal_column(f"'{PROMOTED}'"),
)
_REF: Final = sa.func.coalesce(uses.c.skill_id, _PREFIX.concat(uses.c.slug))
_IN_FOLDER: Final = sa.and_(uses.c.skill_id.is_(None), uses.c.fingerprint.is_(None))
_IS_PROMOTED: Final = sa.and_(uses.c.skill_id.is_(None), uses.c.fingerprint.is_not(None))
_version: Final = sa.func.coalesce(uses.c.version, sa.literal_column(str(NO_VERSION)))
# The day that holds the total of all earlier days.
BEFORE_THAT: Final = 0
_LISTED: Final = (
    sa.select(skill_listings.c.ref, skill_listings.c.version, sa.func.count().label("runs"))
    .where(skill_listings.c.at_ms >= sa.bindparam("since_ms"))
    .group_by(skill_listings.c.ref, skill_listings.c.version),
    # Not aggregated here, or SQLite would scan all days in the order of skills.
    sa.select(days.c.ref, days.c.version, days.c.runs).where(
        days.c.day >= sa.bindparam("since_day")
    ),
)
_LISTED_ONE: Final = (
    _LISTED[0].where(skill_listings.c.ref == sa.bindparam("of")),
    _LISTED[1].where(days.c.ref == sa.bindparam("of")),
)
# An unfinished run may have the same skill listed again, which must not count twice.
_HAS_ENDED: Final = ~sa.exists().where(
    runs.c.run_id == skill_listings.c.run_id, runs.c.finished_at_ms.is_(None)
)
_USED: Final = (
    sa.select(
        _REF.label("ref"),
        _version.label("version"),
        runs.c.status,
        sa.func.count(uses.c.run_id.distinct()).label("runs"),
        sa.func.max(uses.c.at_ms).label("last_at_ms"),
    )
    .join(runs, runs.c.run_id == uses.c.run_id)
    .where(uses.c.at_ms >= sa.bindparam("since_ms"), _IN_EARNEST)
    .group_by(_REF, _version, runs.c.status)
)


def _adding(insert: Any) -> Any:
    """The upsert that adds to the count of a day."""
    statement = insert(days)
    more = days.c.runs + statement.excluded.runs
    return statement.on_conflict_do_update(
        index_elements=list(days.primary_key), set_={"runs": more}
    )


_ADD_DAY: Final = {name: _adding(insert) for name, insert in INSERTS.items()}


def _since(since_ms: int) -> dict[str, int]:
    return {"since_ms": day_begin(since_ms), "since_day": day_of(since_ms)}


def _is(ref: str, user_id: str | None = None) -> sa.ColumnElement[bool]:
    """SQL condition of the uses of one skill, so that the skill index applies; or of one user's."""
    return sa.and_(_of_ref(ref), *_by_user(user_id))


def _by_user(user_id: str | None) -> tuple[sa.ColumnElement[bool], ...]:
    return () if user_id is None else (uses.c.user_id == user_id,)


def _of_ref(ref: str) -> sa.ColumnElement[bool]:
    if ref.startswith(LOCAL):
        return sa.and_(_IN_FOLDER, uses.c.slug == ref.removeprefix(LOCAL))
    if ref.startswith(PROMOTED):
        return sa.and_(_IS_PROMOTED, uses.c.slug == ref.removeprefix(PROMOTED))
    return uses.c.skill_id == ref


def _kinds(
    refs: Collection[str],
) -> Iterator[tuple[Sequence[str], sa.ColumnElement[bool]]]:
    """Skills by kind, and their uses: one query for all kinds would use no index well."""
    kept = [each for each in refs if not each.startswith((LOCAL, PROMOTED))]
    if kept:
        yield kept, uses.c.skill_id.in_(kept)
    for prefix, is_of_kind in ((LOCAL, _IN_FOLDER), (PROMOTED, _IS_PROMOTED)):
        named = [each for each in refs if each.startswith(prefix)]
        if named:
            slugs = [each.removeprefix(prefix) for each in named]
            yield named, sa.and_(is_of_kind, uses.c.slug.in_(slugs))
