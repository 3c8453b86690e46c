"""The stores of trials, and of the cases of replays."""

from functools import partial
from typing import Any, Final

import sqlalchemy as sa

from understudy.core.page import Page, PageRequest
from understudy.rollout.model import Rollout
from understudy.rollout.replay.report import JudgedBy, ReplayCase, ReplayVerdict
from understudy.rollout.trials.trial import Trial, TrialState
from understudy.storage.rows import from_row, to_row
from understudy.storage.schema import rollout_replay_cases as cases
from understudy.storage.schema import rollout_trials as trials
from understudy.storage.schema.rollouts import PENDING
from understudy.storage.table import Table
from understudy.storage.visible_connection import VisibleConnection

MOST_REPORTED: Final = 50


class TrialStore(Table[Trial]):
    """Trials in one table."""

    table = trials
    kind = Trial
    newest_first = True

    def get(self, *key: str, lock: bool = False) -> Trial | None:
        """One trial; `lock` locks its row until the unit ends."""
        # No trial has an unprintable id, and PostgreSQL rejects it.
        return super().get(*key, lock=lock) if all(map(str.isprintable, key)) else None

    def end(self, trial: Trial) -> bool:
        """Replace a pending trial; False when it has ended already."""
        statement = (
            sa.update(trials)
            .where(trials.c.trial_id == trial.trial_id, PENDING)
            .values(self._row(trial))
        )
        return self._connection.execute(statement).rowcount == 1

    def of_run(self, run_id: str) -> Trial | None:
        """The trial of a run; read at the end of every run."""
        return self._one(_OF_RUN, {"wanted": run_id})

    def pending(self, *, limit: int, skill_name: str | None = None) -> tuple[Trial, ...]:
        """Pending trials of one skill or of all, oldest first."""
        query = _PENDING if skill_name is None else _PENDING_OF
        return self._many(query, {"most": limit, "name": skill_name})

    def count_pending(self, skill_name: str, attempt: int, fingerprint: str) -> int:
        """The number of pending trials of a definition, damaged ones included."""
        values = {"name": skill_name, "of_attempt": attempt, "definition": fingerprint}
        return self._connection.execute(_COUNT_PENDING, values).scalar_one()

    def page(self, skill_name: str, request: PageRequest) -> Page[Trial]:
        """Trials of a skill, newest first."""
        return self._page(request, self._select(skill_name=skill_name))

    def newest_marker(self, skill_name: str, attempt: int, fingerprint: str) -> str:
        """The newest marker of a trial of a definition in an attempt; "" without one.

        Markers of replays are left out.
        """
        values = {"name": skill_name, "of_attempt": attempt, "definition": fingerprint}
        # A damaged trial raises: it must not count as one without a marker.
        marked = self._one(_MARKED, values)
        return "" if marked is None else marked.marker

    def with_report(self, skill_name: str, attempt: int) -> tuple[Trial, ...]:
        """The newest ended trials of an attempt with a report, newest first."""
        values = {"name": skill_name, "of_attempt": attempt}
        return self._many(_REPORTED, values)


# Built once: some run at the end of every run.
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
        # Not a replay; damaged cases may be one.
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


class ReplayCaseStore:
    """The cases of replays."""

    def __init__(self, connection: VisibleConnection) -> None:
        self._connection = connection

    def add(self, case: ReplayCase) -> None:
        """Insert a case."""
        self._connection.execute(sa.insert(cases).values(_row(case)))

    def update(self, case: ReplayCase) -> None:
        """Update a case of a trial that this unit has locked."""
        self._connection.execute(
            sa.update(cases)
            .where(cases.c.trial_id == case.trial_id, cases.c.number == case.number)
            .values(_row(case))
        )

    def of_trial(self, trial_id: str) -> tuple[ReplayCase, ...]:
        """All cases of a trial, in order."""
        rows = self._connection.execute(_OF_TRIAL, {"of_trial": trial_id})
        return tuple(_read(row) for row in rows)

    def of_run(self, run_id: str) -> ReplayCase | None:
        """The case of a run with or without the skill."""
        row = self._connection.execute(_CASE_OF_RUN, {"wanted": run_id}).first()
        return None if row is None else _read(row)

    def regressed(self, rollout: Rollout, *, limit: int) -> tuple[ReplayCase, ...]:
        """The cases that regressed with the current definition and did not succeed since, in order.

        Only a success by the same yardstick counts. Includes replays that are pending or failed.
        """
        rows = self._connection.execute(_REGRESSED, {**_named(rollout), "most": limit})
        return tuple(_read(row) for row in rows)

    def is_vouched_for(self, rollout: Rollout) -> bool:
        """Whether a replay of it passed with every case decided by a marker or the judge."""
        return bool(self._connection.execute(_VOUCHED, _named(rollout)).scalar())


_OF_TRIAL: Final = (
    sa.select(cases).where(cases.c.trial_id == sa.bindparam("of_trial")).order_by(cases.c.number)
)
_CASE_OF_RUN: Final = sa.select(cases).where(
    sa.or_(
        cases.c.with_run_id == sa.bindparam("wanted"),
        cases.c.without_run_id == sa.bindparam("wanted"),
    )
)


_again = cases.alias("again")
_its_trial = trials.alias("its_trial")


def _about(table: sa.FromClause) -> tuple[sa.ColumnElement[bool], ...]:
    """Trials of one definition in one attempt."""
    return (
        table.c.skill_name == sa.bindparam("name"),
        table.c.attempt == sa.bindparam("of_attempt"),
        table.c.fingerprint == sa.bindparam("of_fingerprint"),
    )


def _named(rollout: Rollout) -> dict[str, Any]:
    return {
        "name": rollout.skill_name,
        "of_attempt": rollout.attempt,
        "of_fingerprint": rollout.fingerprint,
    }


_MARKER, _STATUS = str(JudgedBy.MARKER), str(JudgedBy.STATUS)
# After a verdict by status any yardstick is as strict; otherwise it must be the same.
_IS_AS_STRICT = sa.or_(
    cases.c.yardstick == _STATUS,
    sa.and_(
        _again.c.yardstick == cases.c.yardstick,
        sa.or_(cases.c.yardstick != _MARKER, _again.c.marker == cases.c.marker),
    ),
)
_BETTER_SINCE = sa.exists().where(
    _again.c.trial_id == _its_trial.c.trial_id,
    *_about(_its_trial),
    _again.c.recorded_run_id == cases.c.recorded_run_id,
    _again.c.is_success.is_(True),
    _again.c.judged_at_ms > cases.c.judged_at_ms,
    _IS_AS_STRICT,
)
_REGRESSED: Final = (
    sa.select(cases)
    .join(trials, trials.c.trial_id == cases.c.trial_id)
    .where(*_about(trials), cases.c.is_regression.is_(True), ~_BETTER_SINCE)
    .order_by(cases.c.judged_at_ms, cases.c.trial_id, cases.c.number)
    .limit(sa.bindparam("most"))
)
_OF_IT = cases.c.trial_id == trials.c.trial_id
_VOUCHED: Final = sa.select(
    sa.exists().where(
        *_about(trials),
        trials.c.state == str(TrialState.PASSED),
        sa.exists().where(_OF_IT).correlate(trials),
        ~sa.exists()
        .where(_OF_IT, sa.func.coalesce(cases.c.yardstick, _STATUS) == _STATUS)
        .correlate(trials),
    )
)


def _row(case: ReplayCase) -> dict[str, Any]:
    report = case.report
    with_skill = None if report is None else report.with_skill.verdict
    return to_row(case, cases) | {
        "yardstick": None if case.yardstick is None else str(case.yardstick),
        "is_regression": None if report is None else report.is_regression,
        "is_success": None if report is None else with_skill is ReplayVerdict.SUCCEEDED,
    }


_read = partial(from_row, kind=ReplayCase)
