"""The stores of learnings, which are also in the term index, and of their uses in runs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import chain
from operator import attrgetter
from typing import Any, Final

import sqlalchemy as sa

from understudy.core.batches import batches
from understudy.core.page import Page, PageRequest
from understudy.core.recent_cache import RecentCache
from understudy.learnings.keys import KEY_RULES
from understudy.learnings.model import TERM_KIND, Kind, Learning, LearningFilter, LearningUse
from understudy.learnings.visibility import index_scopes
from understudy.retrieval.terms import terms_of
from understudy.sessions.learning_scopes import LearningScope
from understudy.storage.engine import Dialect
from understudy.storage.learning_rows import (
    digest_of,
    learning_conditions,
    learning_row,
    read_learning,
    without_search,
)
from understudy.storage.rows import insert_into, read_record, readable, replace_version, select_page
from understudy.storage.schema import learning_uses as uses
from understudy.storage.schema import learnings
from understudy.storage.schema.learnings import (
    ACTIVE_WITH_SUBJECT,
    LIVE,
    LIVE_WITH_SUBJECT,
    STANDING,
    TAKEN_BACK,
)
from understudy.storage.stored_keys import renew_keys
from understudy.storage.term_index import TermIndex
from understudy.storage.visibility import require_existing
from understudy.storage.visible_connection import VisibleConnection

MOST_REVOKED: Final = 50


class LearningStore:
    """Learnings by id; live ones are also in the term index."""

    def __init__(self, connection: VisibleConnection, dialect: Dialect, terms: TermIndex) -> None:
        self._connection = connection
        self._dialect = dialect
        self._terms = terms

    def hold(self, scope: LearningScope) -> None:
        """Lock publications in this scope until the unit ends."""
        require_existing(self._connection, scope)
        self._dialect.lock_scope(self._connection, scope.key)

    def get(self, learning_id: str, *, lock: bool = False) -> Learning | None:
        """One learning; `lock` locks its row until the unit ends."""
        query = self._dialect.locked(_ONE) if lock else _ONE
        return self._one(query, learning_id)

    def add(self, learning: Learning) -> None:
        """Insert a learning."""
        row = learning_row(learning) | {"key_rules": KEY_RULES}
        self._connection.execute(sa.insert(learnings), row)
        self._index(learning)

    def update(self, learning: Learning, *, expected_version: int) -> None:
        """Update a learning if its version is as expected."""
        replace_version(
            self._connection,
            learnings,
            learnings.c.learning_id == learning.learning_id,
            learning_row(learning),
            expected_version=expected_version,
        )
        self._index(learning)

    def page(
        self, request: PageRequest, *, narrowed: LearningFilter, newest: bool = False
    ) -> Page[Learning]:
        """Learnings by id, oldest or newest first."""
        return select_page(
            self._connection,
            self._narrowed(narrowed),
            request,
            by=(learnings.c.learning_id,),
            read=read_learning,
            descending=newest,
        )

    def matching(self, narrowed: LearningFilter, *, limit: int) -> tuple[Learning, ...]:
        """Learnings that match a filter, by id."""
        query = self._narrowed(narrowed).order_by(learnings.c.learning_id).limit(limit)
        return self._all(query, {})

    def of_candidate(self, candidate_id: str) -> Learning | None:
        """The learning that was made from a candidate."""
        return self._one(_OF_CANDIDATE, candidate_id)

    def with_key(self, scope: LearningScope, kind: Kind, semantic_key: str) -> tuple[Learning, ...]:
        """Live learnings with this key, scope and kind."""
        values = {"key": digest_of(semantic_key), "kind": str(kind), "scope": scope.key}
        return _newest(self._all(_WITH_KEY, values))

    def revoked_by_people(
        self, scopes: Sequence[LearningScope], kind: Kind, semantic_key: str
    ) -> tuple[Learning, ...]:
        """Learnings with this key in these scopes that a person revoked, the fifty newest."""
        values = {"key": digest_of(semantic_key), "kind": str(kind)}
        found = (self._all(_TAKEN_BACK, {**values, "scopes": some}) for some in _keys(scopes))
        newest = sorted(chain.from_iterable(found), key=_when_revoked, reverse=True)
        return tuple(newest[:MOST_REVOKED])

    def about(
        self,
        kind: Kind,
        subject_key: str,
        *,
        limit: int,
        scopes: Sequence[LearningScope] | None = None,
    ) -> tuple[Learning, ...]:
        """Active learnings of a kind about a subject, of these scopes or of all, newest first."""
        values: dict[str, Any] = {"subject": digest_of(subject_key), "kind": str(kind)}
        if scopes is None:
            return self._all(_ABOUT, {**values, "limit": limit})
        values["limit"] = limit
        found = (self._all(_ABOUT_IN, {**values, "scopes": some}) for some in _keys(scopes))
        return _newest(chain.from_iterable(found))[:limit]

    def on_subjects(
        self, scopes: Sequence[LearningScope], subject_keys: Sequence[str], *, limit: int
    ) -> tuple[Learning, ...]:
        """Live learnings in any of these scopes about any of these subjects, newest first."""
        digests = [digest_of(key) for key in dict.fromkeys(subject_keys)]
        found = (
            self._all(_ON_SUBJECTS, {"subjects": some, "scopes": keys, "limit": limit})
            for some in batches(digests)
            for keys in _keys(scopes)
        )
        return _newest(chain.from_iterable(found))[:limit]

    def replacing(self, learning_ids: Sequence[str]) -> dict[str, Learning]:
        """For each of these the newest live learning that names it in `supersedes`, if any."""
        # Rows come oldest first, so the newest wins.
        return {
            learning.supersedes: learning
            for some in batches(learning_ids)
            for learning in self._all(_REPLACING, {"ids": some})
            if learning.supersedes is not None
        }

    def readable(self, learning_ids: Sequence[str]) -> dict[str, Learning]:
        """The learnings among these ids that exist and decode."""
        return {
            learning.learning_id: learning
            for some in batches(learning_ids)
            for learning in self._all(_THESE, {"ids": some})
        }

    def newest_in(self, scopes: Sequence[LearningScope], *, limit: int) -> tuple[Learning, ...]:
        """Live learnings of each of these scopes, at most `limit` of each, last published first."""
        # One query per scope, so that the index gives the newest without reading all rows.
        found = (
            self._all(_NEWEST, {"limit": limit, "scope": scope.key})
            for scope in dict.fromkeys(scopes)
        )
        return _newest(chain.from_iterable(found))

    def standing_in(self, scopes: Sequence[LearningScope], *, limit: int) -> tuple[Learning, ...]:
        """Active learnings of these scopes that apply to every task, last published first."""
        found = (
            self._all(_STANDING, {"limit": limit, "scope": scope.key})
            for scope in dict.fromkeys(scopes)
        )
        return _newest(chain.from_iterable(found))

    def count_by_status(self) -> Mapping[str, int]:
        """The number of learnings in each status."""
        return {row.status: row.number for row in self._connection.execute(_BY_STATUS)}

    def renew_keys(self, *, limit: int) -> int:
        """Make keys of older rules anew; answers how many rows were looked at."""
        return renew_keys(self._connection, self._dialect, learnings, limit=limit)

    def _index(self, learning: Learning) -> None:
        """Index the terms of a learning that may be found; remove others from the index."""
        scopes = index_scopes(learning)
        if not scopes:
            self._terms.remove(TERM_KIND, [learning.learning_id])
            return
        self._terms.put(
            TERM_KIND,
            learning.learning_id,
            scopes=scopes,
            terms=terms_of(learning.content),
            at_ms=learning.published_at_ms,
        )

    def _narrowed(self, narrowed: LearningFilter) -> sa.Select[Any]:
        return sa.select(*_COLUMNS).where(*learning_conditions(narrowed, self._dialect))

    def _one(self, query: sa.Select[Any], value: str) -> Learning | None:
        row = self._connection.execute(query, {"of": value}).first()
        return None if row is None else read_learning(row)

    def _all(self, query: sa.Select[Any], values: dict[str, Any]) -> tuple[Learning, ...]:
        return tuple(readable(self._connection.execute(query, values).all(), _read_once))


# Built once: they run for every prompt and every publication. The body is read as stored text,
# which is what the cache compares.
_COLUMNS: Final = tuple(
    sa.cast(it, sa.Text).label("body") if it.name == "body" else it
    for it in without_search(learnings)
)
_IN_SCOPE: Final = learnings.c.scope_key == sa.bindparam("scope")
_IN_SCOPES: Final = learnings.c.scope_key.in_(sa.bindparam("scopes", expanding=True))
_LAST_FIRST: Final = (learnings.c.published_at_ms.desc(), learnings.c.learning_id.desc())
_THESE: Final = sa.select(*_COLUMNS).where(
    learnings.c.learning_id.in_(sa.bindparam("ids", expanding=True))
)
_ONE: Final = sa.select(*_COLUMNS).where(learnings.c.learning_id == sa.bindparam("of"))
_OF_CANDIDATE: Final = sa.select(*_COLUMNS).where(
    learnings.c.source_candidate_id == sa.bindparam("of")
)
# No ORDER BY: with one, SQLite would scan the scope instead of using the key index.
_WITH_KEY: Final = (
    sa.select(*_COLUMNS)
    .where(LIVE, learnings.c.key_digest == sa.bindparam("key"), _IN_SCOPE)
    .where(learnings.c.kind == sa.bindparam("kind"))
)
_TAKEN_BACK: Final = (
    sa.select(*_COLUMNS)
    .where(TAKEN_BACK, learnings.c.key_digest == sa.bindparam("key"), _IN_SCOPES)
    .where(learnings.c.kind == sa.bindparam("kind"))
)
_IS_ABOUT: Final = sa.and_(
    ACTIVE_WITH_SUBJECT,
    learnings.c.subject_digest == sa.bindparam("subject"),
    learnings.c.kind == sa.bindparam("kind"),
)
_ABOUT: Final = (
    sa.select(*_COLUMNS).where(_IS_ABOUT).order_by(*_LAST_FIRST).limit(sa.bindparam("limit"))
)
# Ordered by an expression: by the column, SQLite would read the subject in all scopes.
_ABOUT_IN: Final = (
    sa.select(*_COLUMNS)
    .where(LIVE_WITH_SUBJECT, _IS_ABOUT, _IN_SCOPES)
    .order_by(-learnings.c.published_at_ms)
    .limit(sa.bindparam("limit"))
)
_ON_SUBJECTS: Final = (
    sa.select(*_COLUMNS)
    .where(LIVE_WITH_SUBJECT, _IN_SCOPES)
    .where(learnings.c.subject_digest.in_(sa.bindparam("subjects", expanding=True)))
    .order_by(*_LAST_FIRST)
    .limit(sa.bindparam("limit"))
)
_REPLACING: Final = (
    sa.select(*_COLUMNS)
    .where(LIVE, learnings.c.supersedes.in_(sa.bindparam("ids", expanding=True)))
    .order_by(learnings.c.published_at_ms, learnings.c.learning_id)
)
_NEWEST: Final = (
    sa.select(*_COLUMNS).where(LIVE, _IN_SCOPE).order_by(*_LAST_FIRST).limit(sa.bindparam("limit"))
)
_STANDING: Final = (
    sa.select(*_COLUMNS)
    .where(STANDING, _IN_SCOPE)
    .order_by(*_LAST_FIRST)
    .limit(sa.bindparam("limit"))
)
_BY_STATUS: Final = sa.select(learnings.c.status, sa.func.count().label("number")).group_by(
    learnings.c.status
)


# Cache of parsed learnings by id, with the row that each was parsed from: most prompts read the
# same ones, and comparing a row is much faster than parsing it.
_READ: Final[RecentCache[str, tuple[tuple[Any, ...], Learning]]] = RecentCache(4_096)


def _read_once(row: Any) -> Learning:
    """The learning in a row; from the cache while the row is unchanged."""
    stored = tuple(row)
    known = _READ.get(row.learning_id)
    if known is None or known[0] != stored:
        known = (stored, read_learning(row))
        _READ.put(row.learning_id, known)
    return known[1]


def _newest(found: Iterable[Learning]) -> tuple[Learning, ...]:
    """Learnings by publication, newest first."""
    return tuple(sorted(found, key=attrgetter("published_at_ms", "learning_id"), reverse=True))


def _when_revoked(learning: Learning) -> tuple[int, str]:
    return learning.revoked_at_ms or 0, learning.learning_id


def _keys(scopes: Sequence[LearningScope]) -> Iterator[Sequence[str]]:
    return batches(list(dict.fromkeys(scope.key for scope in scopes)))


class LearningUseStore:
    """Uses: which runs had which learnings injected."""

    def __init__(self, connection: VisibleConnection) -> None:
        self._connection = connection

    def add(self, given: Iterable[LearningUse]) -> None:
        """Insert uses; existing ones are ignored."""
        # Inserted in one order, which avoids deadlocks.
        rows = [asdict(use) for use in sorted(given, key=attrgetter("learning_id"))]
        if rows:
            statement = insert_into(self._connection, uses).on_conflict_do_nothing()
            self._connection.execute(statement, rows)

    def of_learning(self, learning_id: str, request: PageRequest) -> Page[LearningUse]:
        """The uses of a learning, newest first."""
        return select_page(
            self._connection,
            sa.select(uses).where(uses.c.learning_id == learning_id),
            request,
            by=(uses.c.at_ms, uses.c.run_id, uses.c.learning_version),
            read=_read,
            descending=True,
        )

    def count(self, learning_id: str) -> int:
        """The number of uses of a learning."""
        return self._connection.execute(_COUNT, {"of": learning_id}).scalar_one()


_COUNT: Final = (
    sa.select(sa.func.count()).select_from(uses).where(uses.c.learning_id == sa.bindparam("of"))
)


def _read(row: Any) -> LearningUse:
    return read_record(row, _use, what=f"use of learning {row.learning_id}")


def _use(row: Any) -> LearningUse:
    return LearningUse(**row._asdict())
