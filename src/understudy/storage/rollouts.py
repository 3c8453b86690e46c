"""The store of rollouts: their records, what happened to them, and what speaks for them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

import sqlalchemy as sa

from understudy.core.batches import batches
from understudy.core.page import Page, PageRequest
from understudy.rollout.evidence import EvidenceSums
from understudy.rollout.model import (
    EvidenceRecord,
    LifecycleEvent,
    Rollout,
    RolloutEventName,
    RolloutFilter,
    RolloutMark,
    Snapshot,
    Stage,
)
from understudy.skills.catalogue_entry import folded
from understudy.storage.engine import Dialect
from understudy.storage.rollout_evidence import SqlEvidence
from understudy.storage.rollout_rows import (
    definition_row,
    read_remnant,
    read_rollout,
    read_snapshot,
    rollout_row,
    snapshot_row,
)
from understudy.storage.rows import (
    from_row,
    insert_new,
    readable,
    replace_version,
    select_page,
    to_row,
)
from understudy.storage.schema import canary_secret, learnings, rollout_events, rollouts
from understudy.storage.schema import rollout_definitions as definitions
from understudy.storage.schema import rollout_snapshots as table
from understudy.storage.schema.rollouts import FLAGGED, LIVE, MOUNTED, WATCHED


class RolloutStore:
    """Rollouts by the name of their skill, with what happened to them and what speaks for them."""

    def __init__(self, connection: sa.Connection, dialect: Dialect) -> None:
        self._connection = connection
        self._dialect = dialect
        self._evidence = SqlEvidence(connection)
        self._snapshots = SqlSnapshots(connection)

    def get(self, skill_name: str, *, lock: bool = False) -> Rollout | None:
        """One rollout; `lock` holds its row until the unit ends."""
        if not skill_name.isprintable():
            # Nothing is called that, and no database takes it.
            return None
        return self._one(self._dialect.locked(_ONE) if lock else _ONE, skill_name)

    def add(self, rollout: Rollout) -> bool:
        """Keep a new rollout; False when the name is taken, or its learning has a live one."""
        return insert_new(self._connection, rollouts, rollout_row(rollout))

    def update(self, rollout: Rollout, *, expected_revision: int) -> None:
        """Replace a rollout; raises `StaleVersion` when it changed meanwhile."""
        replace_version(
            self._connection,
            rollouts,
            rollouts.c.skill_name == rollout.skill_name,
            rollout_row(rollout),
            expected_version=expected_revision,
            counter="revision",
        )

    def page(self, request: PageRequest, *, narrowed: RolloutFilter) -> Page[Rollout]:
        """Rollouts by name."""
        query = sa.select(rollouts).where(*_conditions(narrowed))
        by = (rollouts.c.skill_name,)
        return select_page(self._connection, query, request, by=by, read=read_rollout)

    def live_of(self, learning_id: str) -> Rollout | None:
        """The live rollout that a learning was promoted to."""
        return self._one(_LIVE_OF, learning_id)

    def live_name_of(self, learning_id: str) -> str | None:
        """What the live rollout of a learning is called, be its record damaged or not."""
        found: str | None = self._connection.scalar(_LIVE_NAME_OF, {"wanted": learning_id})
        return found

    def remnant(self, skill_name: str) -> Rollout | None:
        """What is left of a rollout that cannot be read: all but its body, with what it said if
        that was kept elsewhere; raises `DamagedRecord` when there is less."""
        row = self._connection.execute(_ONE, {"wanted": skill_name}).first()
        if row is None:
            return None
        return read_remnant(row, self._snapshots.said(skill_name, row.fingerprint))

    def live_called(self, name: str) -> str | None:
        """The name of the live rollout that this can be taken for, however it is written."""
        if not name.isprintable():
            return None
        found: str | None = self._connection.scalar(_LIVE_CALLED, {"wanted": folded(name)})
        return found

    def counts(self) -> dict[Stage, int]:
        """How many there are in each stage."""
        found = {row.status: row.number for row in self._connection.execute(_BY_STAGE)}
        return {stage: found.get(str(stage), 0) for stage in Stage}

    def several(self, skill_names: Collection[str]) -> tuple[Rollout, ...]:
        """Those of some names that there are; one that cannot be read is left out."""
        rows = [
            row
            for some in batches(tuple(skill_names))
            for row in self._connection.execute(_SEVERAL, {"wanted": list(some)})
        ]
        return tuple(readable(rows, read_rollout))

    def stamp(self, stages: Collection[Stage]) -> dict[str, RolloutMark]:
        """The marks of all rollouts of some stages by name; much quicker than these."""
        rows = self._connection.execute(_STAMP, {"wanted": [str(stage) for stage in stages]})
        return {row[0]: RolloutMark(*row) for row in rows}

    def watched_since_ms(self, skill_name: str, *, before_ms: int) -> int:
        """When somebody last promoted it, rolled it back or let it go on, before then; 0 when
        nobody did."""
        values = {"wanted": skill_name, "before_ms": before_ms}
        return self._connection.execute(_WATCHED_SINCE, values).scalar() or 0

    def flagged(self, *, limit: int) -> tuple[Rollout, ...]:
        """Those that are held or were demoted, the one that changed last first."""
        rows = self._connection.execute(_FLAGGED, {"most": limit}).all()
        return tuple(readable(rows, read_rollout))

    def add_event(self, event: LifecycleEvent) -> None:
        """Note what happened."""
        self._connection.execute(sa.insert(rollout_events), to_row(event, rollout_events))

    def events(self, skill_name: str, request: PageRequest) -> Page[LifecycleEvent]:
        """What happened, oldest first."""
        query = sa.select(rollout_events).where(rollout_events.c.skill_name == skill_name)
        by = (rollout_events.c.number,)
        return select_page(self._connection, query, request, by=by, read=_read_event)

    def demoted(self, skill_name: str) -> frozenset[str]:
        """The fingerprints that were ever taken back because they did worse than their baseline."""
        rows = self._connection.execute(_DEMOTED, {"wanted": skill_name}).all()
        return frozenset(it.definition_fingerprint or "" for it in readable(rows, _read_event))

    def recent_events(
        self, skill_names: Collection[str], *, limit: int
    ) -> dict[str, tuple[LifecycleEvent, ...]]:
        """The newest of each of some rollouts by name, still oldest first."""
        names = tuple(skill_names)
        look = self._recent_of_one if len(names) == 1 else self._recent_of_many
        found = {name: list[LifecycleEvent]() for name in names}
        for event in readable(look(names, limit), _read_event):
            found[event.skill_name].append(event)
        return {name: tuple(events) for name, events in found.items()}

    def _recent_of_one(self, names: Sequence[str], limit: int) -> Sequence[Any]:
        values = {"wanted": names[0], "most": limit}
        return self._connection.execute(_RECENT_OF_ONE, values).all()[::-1]

    def _recent_of_many(self, names: Sequence[str], limit: int) -> Sequence[Any]:
        return [
            row
            for some in batches(names)
            for row in self._connection.execute(_RECENT, {"wanted": list(some), "most": limit})
        ]

    def add_evidence(self, evidence: EvidenceRecord) -> bool:
        """Keep what a run showed; False when the run speaks in this attempt already."""
        return self._evidence.add(evidence)

    def newest_evidence(
        self, rollouts: Sequence[Rollout], *, limit: int
    ) -> dict[str, tuple[EvidenceRecord, ...]]:
        """What speaks for or against the current attempts, by name and oldest first: so many of
        each kind at most, the newest. What cannot be read is left out."""
        return self._evidence.newest(rollouts, limit=limit)

    def verifiers_of(
        self, rollouts: Sequence[Rollout], *, limit: int
    ) -> dict[str, tuple[str, ...]]:
        """The newest runs that verified the current definitions, by name and oldest first."""
        return self._evidence.verifiers(rollouts, limit=limit)

    def sums_of(self, rollouts: Sequence[Rollout]) -> dict[str, EvidenceSums]:
        """What all evidence for the current definitions in the current attempts amounts to, by
        name; counted where it is kept."""
        return self._evidence.sums(rollouts)

    def evidence_of_run(self, skill_name: str, attempt: int, run_id: str) -> EvidenceRecord | None:
        """What a run showed in an attempt."""
        return self._evidence.of_run(skill_name, attempt, run_id)

    def add_snapshot(self, snapshot: Snapshot) -> None:
        """Keep how a rollout was; what it said only where that is not kept yet."""
        self._snapshots.add(snapshot)

    def snapshot(self, skill_name: str, number: int) -> Snapshot | None:
        """How it was once."""
        return self._snapshots.get(skill_name, number)

    def snapshots(self, skill_name: str, request: PageRequest) -> Page[Snapshot]:
        """How it was before, newest first; one that cannot be read is left out."""
        return self._snapshots.page(skill_name, request)

    def last_other(self, skill_name: str, number: int, fingerprint: str) -> Snapshot | None:
        """The newest before a number that has another definition."""
        return self._snapshots.last_other(skill_name, number, fingerprint)

    def active_snapshots(self, skill_name: str, *, limit: int) -> tuple[Snapshot, ...]:
        """Those that show it in force, newest first: of each attempt at it the last."""
        return self._snapshots.active(skill_name, limit=limit)

    def _one(self, query: sa.Select[Any], wanted: str) -> Rollout | None:
        row = self._connection.execute(query, {"wanted": wanted}).first()
        return None if row is None else read_rollout(row)


_read_event = partial(from_row, kind=LifecycleEvent)
# Asked whenever a prompt is put together or a run ends, so they are made only once.
_ONE: Final = sa.select(rollouts).where(rollouts.c.skill_name == sa.bindparam("wanted"))
_LIVE_OF: Final = sa.select(rollouts).where(
    LIVE, rollouts.c.source_learning_id == sa.bindparam("wanted")
)
_LIVE_NAME_OF: Final = _LIVE_OF.with_only_columns(rollouts.c.skill_name)
_LIVE_CALLED: Final = sa.select(rollouts.c.skill_name).where(
    LIVE, rollouts.c.folded_name == sa.bindparam("wanted")
)
_SEVERAL: Final = sa.select(rollouts).where(
    rollouts.c.skill_name.in_(sa.bindparam("wanted", expanding=True))
)
# Nothing of the body, so that this stays quick however much there is to read.
_STAMP: Final = sa.select(*(rollouts.c[name] for name in RolloutMark._fields)).where(
    rollouts.c.status.in_(sa.bindparam("wanted", expanding=True))
)
_BY_STAGE: Final = sa.select(rollouts.c.status, sa.func.count().label("number")).group_by(
    rollouts.c.status
)
_WATCHED_SINCE: Final = (
    sa.select(rollout_events.c.recorded_at_ms)
    .where(
        rollout_events.c.skill_name == sa.bindparam("wanted"),
        rollout_events.c.recorded_at_ms < sa.bindparam("before_ms"),
        WATCHED,
    )
    .order_by(rollout_events.c.number.desc())
    .limit(1)
)
_FLAGGED: Final = (
    sa.select(rollouts)
    .where(FLAGGED)
    .order_by(rollouts.c.updated_at_ms.desc(), rollouts.c.skill_name)
    .limit(sa.bindparam("most"))
)
_DEMOTED: Final = sa.select(rollout_events).where(
    rollout_events.c.skill_name == sa.bindparam("wanted"),
    rollout_events.c.event == str(RolloutEventName.DEMOTE),
)
_RECENT_OF_ONE: Final = (
    sa.select(rollout_events)
    .where(rollout_events.c.skill_name == sa.bindparam("wanted"))
    .order_by(rollout_events.c.number.desc())
    .limit(sa.bindparam("most"))
)
_RANKED: Final = (
    sa.select(
        rollout_events.c.number,
        sa.func.row_number()
        .over(partition_by=rollout_events.c.skill_name, order_by=rollout_events.c.number.desc())
        .label("place"),
    )
    .where(rollout_events.c.skill_name.in_(sa.bindparam("wanted", expanding=True)))
    .subquery()
)
_RECENT: Final = (
    sa.select(rollout_events)
    .join(_RANKED, _RANKED.c.number == rollout_events.c.number)
    .where(_RANKED.c.place <= sa.bindparam("most"))
    .order_by(rollout_events.c.number)
)


def _conditions(narrowed: RolloutFilter) -> Iterator[sa.ColumnElement[bool]]:
    if narrowed.source_learning_id is not None:
        yield rollouts.c.source_learning_id == narrowed.source_learning_id
    if narrowed.status is not None:
        yield rollouts.c.status == str(narrowed.status)


ONLY: Final = "canary"


class CanarySecretStore:
    """Where the secret is kept; it never changes, so that a session keeps what it was offered."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def get(self) -> str | None:
        """The secret, if one was made."""
        return self._connection.execute(_GET).scalar()

    def add(self, secret: str, *, at_ms: int) -> bool:
        """Keep the first secret; False when there is one already."""
        values = {"name": ONLY, "secret": secret, "created_at_ms": at_ms}
        return insert_new(self._connection, canary_secret, values)


_read_event = partial(from_row, kind=LifecycleEvent)
# Asked whenever a prompt is put together while there is a canary.
_GET: Final = sa.select(canary_secret.c.secret)


class RolloutSourceStore:
    """What the learnings beneath live rollouts say of their time."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def ends(self) -> Mapping[str, int | None]:
        """When each learning of a live rollout ends, by its id; None where nobody said."""
        rows = self._connection.execute(_ENDS)
        return {row.source_learning_id: row.expires_at_ms for row in rows}

    def end_of(self, learning_id: str) -> int | None:
        """When the learning of a live rollout ends; None where nobody said."""
        found: int | None = self._connection.scalar(_END_OF, {"wanted": learning_id})
        return found

    def ending(self, *, until_ms: int, limit: int) -> tuple[tuple[str, int], ...]:
        """The names of live rollouts whose learning ends by then, each with when; the first first."""
        rows = self._connection.execute(_ENDED, {"now_ms": until_ms, "most": limit})
        return tuple((row.skill_name, row.expires_at_ms) for row in rows)

    def ended(self, *, now_ms: int, limit: int) -> tuple[tuple[str, str], ...]:
        """Live rollouts whose learning is past its time: their names, each with the learning's id."""
        rows = self._connection.execute(_ENDED, {"now_ms": now_ms, "most": limit})
        return tuple((row.skill_name, row.source_learning_id) for row in rows)


# As the index knows them, and told apart from what learnings call their own status.
_LIVE: Final = sa.text("rollouts.status <> 'revoked'")
_IS_SOURCE: Final = learnings.c.learning_id == rollouts.c.source_learning_id
_ENDS: Final = (
    sa.select(rollouts.c.source_learning_id, learnings.c.expires_at_ms)
    .join(learnings, _IS_SOURCE, isouter=True)
    .where(_LIVE)
)
_END_OF: Final = _ENDS.with_only_columns(learnings.c.expires_at_ms).where(
    rollouts.c.source_learning_id == sa.bindparam("wanted")
)
_ENDED: Final = (
    sa.select(rollouts.c.skill_name, rollouts.c.source_learning_id, learnings.c.expires_at_ms)
    .join(learnings, _IS_SOURCE)
    .where(_LIVE, learnings.c.expires_at_ms <= sa.bindparam("now_ms"))
    .order_by(learnings.c.expires_at_ms, rollouts.c.skill_name)
    .limit(sa.bindparam("most"))
)


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
