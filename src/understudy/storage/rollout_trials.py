"""The store of trials."""

from typing import Any, Final

import sqlalchemy as sa

from understudy.core.page import Page, PageRequest
from understudy.rollout.trials.trial import Trial, TrialState
from understudy.storage.engine import Dialect
from understudy.storage.paging import readable, select_page
from understudy.storage.rollout_rows import read_trial, trial_row
from understudy.storage.schema import rollout_trials as trials
from understudy.storage.schema.rollouts import PENDING

MOST_REPORTED: Final = 50


class TrialStore:
    """Trials in one table."""

    def __init__(self, connection: sa.Connection, dialect: Dialect) -> None:
        self._connection = connection
        self._dialect = dialect

    def get(self, trial_id: str, *, lock: bool = False) -> Trial | None:
        """One trial; `lock` holds its row until the unit ends."""
        return self._one(_ONE, trial_id, lock=lock)

    def add(self, trial: Trial) -> None:
        """Keep a new one."""
        self._connection.execute(sa.insert(trials).values(trial_row(trial)))

    def update(self, trial: Trial) -> bool:
        """Replace a trial that is pending; False when it is over, and then nothing changes."""
        statement = (
            sa.update(trials)
            .where(trials.c.trial_id == trial.trial_id, PENDING)
            .values(trial_row(trial))
        )
        return self._connection.execute(statement).rowcount == 1

    def of_run(self, run_id: str) -> Trial | None:
        """The trial that a run executes; asked at the end of every run."""
        return self._one(_OF_RUN, run_id)

    def pending(self, *, limit: int, skill_name: str | None = None) -> tuple[Trial, ...]:
        """Trials that are not over, of one skill or of all, oldest first."""
        query = _PENDING if skill_name is None else _PENDING_OF
        rows = self._connection.execute(query, {"most": limit, "name": skill_name}).all()
        return tuple(readable(rows, read_trial))

    def count_pending(self, skill_name: str, attempt: int, fingerprint: str) -> int:
        """How many trials of a definition are not over; those that cannot be read among them."""
        values = {"name": skill_name, "of_attempt": attempt, "definition": fingerprint}
        return self._connection.execute(_COUNT_PENDING, values).scalar_one()

    def page(self, skill_name: str, request: PageRequest) -> Page[Trial]:
        """Trials of a skill, newest first."""
        query = sa.select(trials).where(trials.c.skill_name == skill_name)
        by = (trials.c.trial_id,)
        return select_page(
            self._connection, query, request, by=by, read=read_trial, descending=True
        )

    def newest_marker(self, skill_name: str, attempt: int, fingerprint: str) -> str:
        """What the newest trial of a definition in an attempt expected that expected anything;
        "" where none did. Replays expect something of recorded runs, and are left out."""
        values = {"name": skill_name, "of_attempt": attempt, "definition": fingerprint}
        row = self._connection.execute(_MARKED, values).first()
        # One that cannot be read must not pass for one that expected nothing.
        return "" if row is None else read_trial(row).marker

    def with_report(self, skill_name: str, attempt: int) -> tuple[Trial, ...]:
        """Trials of an attempt that are over and have a report, newest first; at most fifty."""
        values = {"name": skill_name, "of_attempt": attempt}
        return tuple(readable(self._connection.execute(_REPORTED, values).all(), read_trial))

    def _one(self, query: sa.Select[Any], wanted: str, *, lock: bool = False) -> Trial | None:
        if not wanted.isprintable():
            # Nothing is called that, and no database takes it.
            return None
        locked = self._dialect.locked(query) if lock else query
        row = self._connection.execute(locked, {"wanted": wanted}).first()
        return None if row is None else read_trial(row)


# Asked at the end of every run, so they are put together only once.
_ONE: Final = sa.select(trials).where(trials.c.trial_id == sa.bindparam("wanted"))
_OF_RUN: Final = sa.select(trials).where(trials.c.run_id == sa.bindparam("wanted"))
_PENDING: Final = (
    sa.select(trials).where(PENDING).order_by(trials.c.trial_id).limit(sa.bindparam("most"))
)
_PENDING_OF: Final = _PENDING.where(trials.c.skill_name == sa.bindparam("name"))
_COUNT_PENDING: Final = (
    sa.select(sa.func.count())
    .select_from(trials)
    .where(
        PENDING,
        trials.c.skill_name == sa.bindparam("name"),
        trials.c.attempt == sa.bindparam("of_attempt"),
        trials.c.fingerprint == sa.bindparam("definition"),
    )
)
_MARKED: Final = (
    sa.select(trials)
    .where(
        trials.c.skill_name == sa.bindparam("name"),
        trials.c.attempt == sa.bindparam("of_attempt"),
        trials.c.fingerprint == sa.bindparam("definition"),
        trials.c.marker != "",
        # No replay; what cannot be read may be one or not.
        sa.type_coerce(trials.c.cases, sa.Text).not_like("[{%"),
    )
    .order_by(trials.c.trial_id.desc())
    .limit(1)
)
_REPORTED: Final = (
    sa.select(trials)
    .where(
        trials.c.skill_name == sa.bindparam("name"),
        trials.c.attempt == sa.bindparam("of_attempt"),
        trials.c.state != str(TrialState.PENDING),
        trials.c.report.is_not(None),
    )
    .order_by(trials.c.trial_id.desc())
    .limit(MOST_REPORTED)
)
