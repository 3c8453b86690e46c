"""The store of rollouts: records and events, the canary secret, and expiries of sources."""

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any, Final

import sqlalchemy as sa

from understudy.core.batches import batches
from understudy.core.page import Page, PageRequest
from understudy.rollout.model import (
    EvidenceKind,
    LifecycleEvent,
    Rollout,
    RolloutEventName,
    RolloutFilter,
    RolloutMark,
    Stage,
)
from understudy.skills.catalogue_entry import folded
from understudy.storage.engine import Dialect
from understudy.storage.rollout_evidence import EvidenceQueries
from understudy.storage.rollout_snapshots import (
    SnapshotQueries,
    read_remnant,
    read_rollout,
    rollout_row,
)
from understudy.storage.rows import (
    from_row,
    insert_new,
    readable,
    select_page,
    to_row,
)
from understudy.storage.schema import (
    canary_secret,
    learnings,
    rollout_events,
    rollout_evidence,
    rollout_snapshots,
    rollouts,
)
from understudy.storage.schema.rollouts import FLAGGED, LIVE, MOUNTED, WATCHED
from understudy.storage.table import Table
from understudy.storage.visible_connection import VisibleConnection


class RolloutStore(Table[Rollout], EvidenceQueries, SnapshotQueries):
    """Rollouts by the name of their skill, with their events, evidence and snapshots.

    One is not added when its name is taken, or when its learning has a live one.
    """

    table = rollouts
    kind = Rollout
    counter = "revision"

    def __init__(self, connection: VisibleConnection, dialect: Dialect) -> None:
        Table.__init__(self, connection, dialect)
        EvidenceQueries.__init__(self, connection)

    def get(self, *key: str, lock: bool = False) -> Rollout | None:
        """One rollout; `lock` holds its row until the unit ends."""
        # No rollout has an unprintable name, and PostgreSQL rejects it.
        return super().get(*key, lock=lock) if all(map(str.isprintable, key)) else None

    def page(self, request: PageRequest, *, narrowed: RolloutFilter) -> Page[Rollout]:
        """Rollouts by name."""
        learning_id = narrowed.source_learning_id
        return self._page(
            request, self._select(source_learning_id=learning_id, status=narrowed.status)
        )

    def live_of(self, learning_id: str) -> Rollout | None:
        """The live rollout that a learning was promoted to."""
        return self._one(_LIVE_OF, {"wanted": learning_id})

    def live_name_of(self, learning_id: str) -> str | None:
        """The name of the live rollout of a learning, also of a damaged one."""
        found: str | None = self._connection.execute(
            _LIVE_NAME_OF, {"wanted": learning_id}
        ).scalar()
        return found

    def remnant(self, skill_name: str) -> Rollout | None:
        """The remnant of a damaged rollout: its columns, with the definition if a snapshot has it.

        Raises `DamagedRecord` when the columns do not decode.
        """
        row = self._connection.execute(_ONE, {"wanted": skill_name}).first()
        if row is None:
            return None
        return read_remnant(row, self._kept_definition(skill_name, row.fingerprint))

    def live_called(self, name: str) -> str | None:
        """The name of the live rollout whose folded name equals that of `name`."""
        if not name.isprintable():
            return None
        found: str | None = self._connection.execute(
            _LIVE_CALLED, {"wanted": folded(name)}
        ).scalar()
        return found

    def reserved_names(self, stages: Collection[Stage]) -> dict[str, bool]:
        """The folded names of rollouts in some stages and of revoked ones that were ever active.

        The value is True for live ones.
        """
        values = {"wanted": [str(stage) for stage in stages]}
        rows = self._connection.execute(_RESERVED, values)
        found = dict[str, bool]()
        for row in rows:
            # A revoked rollout and a live one may differ in case alone.
            is_live = row.status != str(Stage.REVOKED)
            found[row.folded_name] = found.get(row.folded_name, False) or is_live
        return found

    def counts(self) -> dict[Stage, int]:
        """The number of rollouts in each stage."""
        found = {row.status: row.number for row in self._connection.execute(_BY_STAGE)}
        return {stage: found.get(str(stage), 0) for stage in Stage}

    def several(self, skill_names: Collection[str]) -> tuple[Rollout, ...]:
        """The rollouts of some names; damaged ones are left out."""
        rows = [
            row
            for some in batches(tuple(skill_names))
            for row in self._connection.execute(_SEVERAL, {"wanted": list(some)})
        ]
        return tuple(readable(rows, read_rollout))

    def stamp(self, stages: Collection[Stage]) -> dict[str, RolloutMark]:
        """Revision marks of the rollouts in some stages, by name; faster than reading them."""
        wanted = sorted(str(stage) for stage in stages)
        rows = self._connection.execute(_STAMP, {"wanted": wanted})
        return {row[0]: RolloutMark(*row) for row in rows}

    def watched_since_ms(self, skill_name: str, *, before_ms: int) -> int:
        """The time of the last promotion, rollback or release before a time; 0 without one."""
        values = {"wanted": skill_name, "before_ms": before_ms}
        return self._connection.execute(_WATCHED_SINCE, values).scalar() or 0

    def verified_by_a_run(self, stages: Collection[Stage]) -> tuple[Rollout, ...]:
        """The rollouts of some stages whose definition a run has verified, by name."""
        return self._many(_VERIFIED, {"wanted": [str(it) for it in stages]})

    def flagged(self, *, limit: int) -> tuple[Rollout, ...]:
        """The rollouts that are held or were demoted, last changed first."""
        return self._many(_FLAGGED, {"most": limit})

    def add_event(self, event: LifecycleEvent) -> None:
        """Add an event."""
        self._connection.execute(sa.insert(rollout_events), to_row(event, rollout_events))

    def events(self, skill_name: str, request: PageRequest) -> Page[LifecycleEvent]:
        """The events of a rollout, oldest first."""
        query = sa.select(rollout_events).where(rollout_events.c.skill_name == skill_name)
        by = (rollout_events.c.number,)
        return select_page(self._connection, query, request, by=by, read=_read_event)

    def demoted(self, skill_name: str) -> frozenset[str]:
        """The fingerprints of definitions that were ever demoted."""
        rows = self._connection.execute(_DEMOTED, {"wanted": skill_name}).all()
        return frozenset(it.definition_fingerprint or "" for it in readable(rows, _read_event))

    def recent_events(
        self, skill_names: Collection[str], *, limit: int
    ) -> dict[str, tuple[LifecycleEvent, ...]]:
        """The newest events of some rollouts by name, oldest first."""
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

    def _row(self, rollout: Rollout) -> dict[str, Any]:
        return rollout_row(rollout)

    def _read(self, row: Any) -> Rollout:
        return read_rollout(row)


_read_event = partial(from_row, kind=LifecycleEvent)
# Built once: they run for every prompt and every end of a run.
_ONE: Final = sa.select(rollouts).where(rollouts.c.skill_name == sa.bindparam("wanted"))
_LIVE_OF: Final = sa.select(rollouts).where(
    LIVE, rollouts.c.source_learning_id == sa.bindparam("wanted")
)
_LIVE_NAME_OF: Final = _LIVE_OF.with_only_columns(rollouts.c.skill_name)
_LIVE_CALLED: Final = sa.select(rollouts.c.skill_name).where(
    LIVE, rollouts.c.folded_name == sa.bindparam("wanted")
)
_WAS_ACTIVE: Final = (
    sa.exists().where(rollout_snapshots.c.skill_name == rollouts.c.skill_name).where(MOUNTED)
)
_RESERVED: Final = sa.select(rollouts.c.folded_name, rollouts.c.status).where(
    sa.or_(
        rollouts.c.status.in_(sa.bindparam("wanted", expanding=True)),
        sa.and_(rollouts.c.status == str(Stage.REVOKED), _WAS_ACTIVE),
    )
)
_SEVERAL: Final = sa.select(rollouts).where(
    rollouts.c.skill_name.in_(sa.bindparam("wanted", expanding=True))
)
# Without the body, so that it stays fast with many rollouts.
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
_VERIFIED: Final = (
    sa.select(rollouts)
    .where(
        rollouts.c.status.in_(sa.bindparam("wanted", expanding=True)),
        sa.exists().where(
            rollout_evidence.c.skill_name == rollouts.c.skill_name,
            rollout_evidence.c.attempt == rollouts.c.attempt,
            rollout_evidence.c.fingerprint == rollouts.c.fingerprint,
            rollout_evidence.c.kind == str(EvidenceKind.VERIFICATION),
            rollout_evidence.c.success,
        ),
    )
    .order_by(rollouts.c.skill_name)
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


ONLY: Final = "canary"


class CanarySecretStore:
    """The secret of the canary share; it never changes, so that a session keeps its skills."""

    def __init__(self, connection: VisibleConnection) -> None:
        self._connection = connection

    def get(self) -> str | None:
        """The secret, or None before it is generated."""
        return self._connection.execute(_GET).scalar()

    def add(self, secret: str, *, at_ms: int) -> bool:
        """Add the first secret; False when there is one already."""
        values = {"name": ONLY, "secret": secret, "created_at_ms": at_ms}
        return insert_new(self._connection, canary_secret, values)


# Runs for every prompt while there is a canary.
_GET: Final = sa.select(canary_secret.c.secret)


class RolloutSourceStore:
    """The expiries of the source learnings of live rollouts."""

    def __init__(self, connection: VisibleConnection) -> None:
        self._connection = connection

    def ends(self) -> Mapping[str, int | None]:
        """The expiry of the source learning of each live rollout, by id; None without one."""
        rows = self._connection.execute(_ENDS)
        return {row.source_learning_id: row.expires_at_ms for row in rows}

    def end_of(self, learning_id: str) -> int | None:
        """The expiry of the source learning of a live rollout; None without one."""
        found: int | None = self._connection.execute(_END_OF, {"wanted": learning_id}).scalar()
        return found

    def ending(self, *, until_ms: int, limit: int) -> tuple[tuple[str, int], ...]:
        """Live rollouts whose source learning expires by a time: name and expiry, in order."""
        rows = self._connection.execute(_ENDED, {"now_ms": until_ms, "most": limit})
        return tuple((row.skill_name, row.expires_at_ms) for row in rows)

    def ended(self, *, now_ms: int, limit: int) -> tuple[tuple[str, str], ...]:
        """Live rollouts whose source learning has expired: name and learning id."""
        rows = self._connection.execute(_ENDED, {"now_ms": now_ms, "most": limit})
        return tuple((row.skill_name, row.source_learning_id) for row in rows)


# The condition of the partial index, qualified because learnings have a status, too.
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
