"""Queries of the evidence of rollouts: added, counted, and the newest."""

from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Any, Final, TypeAlias

import sqlalchemy as sa

from understudy.core.batches import batches
from understudy.rollout.evidence import Counts, EvidenceSums
from understudy.rollout.model import EvidenceKind, EvidenceRecord, Proof, Rollout
from understudy.storage.rows import from_row, insert_new, readable, to_row
from understudy.storage.schema import rollout_evidence as table
from understudy.storage.visible_connection import VisibleConnection

# The skill name and the fingerprint.
_About: TypeAlias = tuple[str, str]
_Key: TypeAlias = tuple[str, int, str]


class EvidenceQueries:
    """Evidence in one table; rows are never changed."""

    def __init__(self, connection: VisibleConnection) -> None:
        self._connection = connection
        # Cache of one unit: guards, figures and lists need the same sums. Cleared when evidence is
        # added.
        self._counted: dict[_Key, EvidenceSums] = {}

    def add_evidence(self, evidence: EvidenceRecord) -> bool:
        """Add evidence; False when the run is evidence in this attempt already."""
        self._counted = {}
        return insert_new(self._connection, table, to_row(evidence, table))

    def evidence_of_run(self, skill_name: str, attempt: int, run_id: str) -> EvidenceRecord | None:
        """The evidence of a run in an attempt."""
        if not run_id.isprintable():
            return None
        values = {"wanted": skill_name, "of_attempt": attempt, "of_run": run_id}
        row = self._connection.execute(_OF_RUN, values).first()
        return None if row is None else _read(row)

    def newest_evidence(
        self, rollouts: Sequence[Rollout], *, limit: int
    ) -> dict[str, tuple[EvidenceRecord, ...]]:
        """The newest evidence of the current attempts by name, up to `limit` per kind, in order.

        Damaged rows are left out.
        """
        # One rollout may have much evidence: its query reads only the newest rows by index.
        look = self._newest_of_one if len(rollouts) == 1 else self._newest_of_many
        found = sorted(readable(look(rollouts, limit), _read), key=_IN_ORDER)
        said = {name: tuple(some) for name, some in groupby(found, key=attrgetter("skill_name"))}
        return {each.skill_name: said.get(each.skill_name, ()) for each in rollouts}

    def verifiers_of(
        self, rollouts: Sequence[Rollout], *, limit: int
    ) -> dict[str, tuple[str, ...]]:
        """The newest runs that verified the current definitions, by name and oldest first."""
        if len(rollouts) == 1:
            about = {**_about_one(rollouts[0]), "of_kind": str(EvidenceKind.VERIFICATION)}
            rows = self._connection.execute(_VERIFIERS_OF_ONE, {**about, "most": limit}).all()
        else:
            rows = self._of_current(_VERIFIERS, rollouts, most=limit)
        found = defaultdict[_About, list[str]](list)
        for row in sorted(rows, key=_IN_ORDER):
            found[row.skill_name, row.fingerprint].append(row.run_id)
        return {it.skill_name: tuple(found[it.skill_name, it.fingerprint]) for it in rollouts}

    def sums_of(self, rollouts: Sequence[Rollout]) -> dict[str, EvidenceSums]:
        """The sums of all evidence for the current definitions in the current attempts, by name."""
        unknown = [it for it in rollouts if _key(it) not in self._counted]
        self._counted |= self._count(unknown)
        return {it.skill_name: self._counted[_key(it)] for it in rollouts}

    def _count(self, rollouts: Sequence[Rollout]) -> dict[_Key, EvidenceSums]:
        shown, sessions = defaultdict[_About, list[Any]](list), dict[_About, Any]()
        for row in self._of_current(_COUNTED, rollouts):
            shown[row.skill_name, row.fingerprint].append(row)
        for row in self._of_current(_SESSIONS, rollouts):
            sessions[row.skill_name, row.fingerprint] = row
        return {
            _key(it): _sums(shown.get(about, ()), sessions.get(about))
            for it, about in ((it, (it.skill_name, it.fingerprint)) for it in rollouts)
        }

    def _newest_of_one(self, rollouts: Sequence[Rollout], limit: int) -> Sequence[Any]:
        (rollout,) = rollouts
        about = {**_about_one(rollout), "most": limit}
        return [
            row
            for kind in EvidenceKind
            for row in self._connection.execute(_NEWEST_OF_ONE, {**about, "of_kind": str(kind)})
        ]

    def _newest_of_many(self, rollouts: Sequence[Rollout], limit: int) -> Sequence[Any]:
        return self._of_current(_NEWEST, rollouts, most=limit)

    def _of_current(
        self, query: sa.Select[Any], rollouts: Sequence[Rollout], **values: int
    ) -> Sequence[Any]:
        current = [(each.skill_name, each.attempt) for each in rollouts]
        return [
            row
            for some in batches(current)
            for row in self._connection.execute(query, {"current": some, **values})
        ]


_read = partial(from_row, kind=EvidenceRecord)
_IN_ORDER: Final = attrgetter("skill_name", "recorded_at_ms", "evidence_id")
_OF_CURRENT: Final = sa.tuple_(table.c.skill_name, table.c.attempt).in_(
    sa.bindparam("current", expanding=True)
)
_OF_ONE: Final = sa.and_(
    table.c.skill_name == sa.bindparam("wanted"), table.c.attempt == sa.bindparam("of_attempt")
)
_OF_RUN: Final = sa.select(table).where(_OF_ONE, table.c.run_id == sa.bindparam("of_run"))
_NEWEST_FIRST: Final = (table.c.recorded_at_ms.desc(), table.c.evidence_id.desc())
_NEWEST_OF_ONE: Final = (
    sa.select(table)
    .where(_OF_ONE, table.c.kind == sa.bindparam("of_kind"))
    .order_by(*_NEWEST_FIRST)
    .limit(sa.bindparam("most"))
)
_PLACED: Final = (
    sa.select(
        table.c.evidence_id,
        sa.func.row_number()
        .over(
            partition_by=(table.c.skill_name, table.c.attempt, table.c.kind),
            order_by=_NEWEST_FIRST,
        )
        .label("place"),
    )
    .where(_OF_CURRENT)
    .subquery()
)
_NEWEST: Final = (
    sa.select(table)
    .join(_PLACED, _PLACED.c.evidence_id == table.c.evidence_id)
    .where(_PLACED.c.place <= sa.bindparam("most"))
)
# Without notes, which may be long.
_NAMED: Final = (
    table.c.skill_name,
    table.c.fingerprint,
    table.c.run_id,
    table.c.recorded_at_ms,
    table.c.evidence_id,
)
_VERIFIERS_OF_ONE: Final = _NEWEST_OF_ONE.where(table.c.success).with_only_columns(*_NAMED)
_VERIFIERS: Final = _NEWEST.where(
    table.c.kind == str(EvidenceKind.VERIFICATION), table.c.success
).with_only_columns(*_NAMED)
_IS_EXECUTED: Final = table.c.proof == str(Proof.EXECUTED)
_ABOUT: Final = (table.c.skill_name, table.c.fingerprint)
_ALIKE: Final = (*_ABOUT, table.c.kind, table.c.proof, table.c.success)
_COUNTED: Final = (
    sa.select(*_ALIKE, sa.func.count().label("number")).where(_OF_CURRENT).group_by(*_ALIKE)
)
# A session may have runs of both proofs, so the counts cannot be added up. By root session.
_SESSION: Final = table.c.root_session_id
_SESSIONS: Final = (
    sa.select(
        *_ABOUT,
        sa.func.count(_SESSION.distinct()).label("every"),
        sa.func.count(sa.case((_IS_EXECUTED, _SESSION)).distinct()).label("executed"),
    )
    .where(_OF_CURRENT, table.c.kind == str(EvidenceKind.VERIFICATION), table.c.success)
    .group_by(*_ABOUT)
)


def _about_one(rollout: Rollout) -> dict[str, Any]:
    return {"wanted": rollout.skill_name, "of_attempt": rollout.attempt}


def _key(rollout: Rollout) -> _Key:
    return rollout.skill_name, rollout.attempt, rollout.fingerprint


def _sums(rows: Sequence[Any], sessions: Any) -> EvidenceSums:
    executed = [row for row in rows if row.proof == Proof.EXECUTED]
    return EvidenceSums(
        every=_counts(rows, 0 if sessions is None else sessions.every),
        executed=_counts(executed, 0 if sessions is None else sessions.executed),
    )


def _counts(rows: Sequence[Any], sessions: int) -> Counts:
    return Counts(
        successful_run_count=_number(rows, EvidenceKind.VERIFICATION, success=True),
        distinct_session_count=sessions,
        executed_run_count=sum(row.number for row in rows if row.proof == Proof.EXECUTED),
        canary_success_count=_number(rows, EvidenceKind.CANARY, success=True),
        canary_failure_count=_number(rows, EvidenceKind.CANARY, success=False),
    )


def _number(rows: Sequence[Any], kind: EvidenceKind, *, success: bool) -> int:
    return sum(row.number for row in rows if row.kind == kind and bool(row.success) is success)
