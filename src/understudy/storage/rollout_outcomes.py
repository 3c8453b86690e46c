"""The store of outcomes of runs that used promoted skills."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

import sqlalchemy as sa

from understudy.rollout.model import Stage
from understudy.rollout.outcome import OutcomeCounts, SkillOutcome, SkillUse, UseOutcome
from understudy.storage.rows import insert_new_of
from understudy.storage.schema import rollout_outcomes as outcomes
from understudy.storage.schema import rollouts, runs, sidechains
from understudy.storage.schema import skill_uses as uses
from understudy.storage.schema.skills import OF_PROMOTED
from understudy.storage.visible_connection import VisibleConnection


class OutcomeStore:
    """Outcomes in one table, and the skill uses in another."""

    def __init__(self, connection: VisibleConnection) -> None:
        self._connection = connection

    def add(self, outcome: UseOutcome) -> bool:
        """Insert an outcome; False when it exists."""
        row = {**asdict(outcome), "stage": str(outcome.stage), "outcome": str(outcome.outcome)}
        statement = _ADD[self._connection.dialect.name]
        return self._connection.execute(statement, row).first() is not None

    def used_by(self, run_id: str) -> tuple[SkillUse, ...]:
        """The promoted skills that a run used; read at the end of every run."""
        rows = self._connection.execute(_USED_BY, {"of_run": run_id}).mappings()
        return tuple(SkillUse(**row) for row in rows)

    def unsettled(self, *, since_ms: int, limit: int) -> tuple[str, ...]:
        """Ended runs since a time with uses that have no outcome yet, oldest use first."""
        values = {"since_ms": since_ms, "most": limit}
        return tuple(dict.fromkeys(self._connection.execute(_UNSETTLED, values).scalars()))

    def counts(self, skill_name: str, fingerprint: str) -> Mapping[Stage, OutcomeCounts]:
        """The number of outcomes of a definition by stage; stages without any are left out."""
        found: dict[Stage, dict[str, int]] = {}
        values = {"name": skill_name, "definition": fingerprint}
        for row in self._connection.execute(_COUNTS, values):
            found.setdefault(Stage(row.stage), {})[row.outcome] = row.number
        return {stage: OutcomeCounts(**counts) for stage, counts in found.items()}

    def first(
        self, skill_name: str, fingerprint: str, stage: Stage, *, limit: int
    ) -> tuple[UseOutcome, ...]:
        """The first outcomes of a definition in a stage, oldest first."""
        return self._read(_FIRST, skill_name, fingerprint, stage, most=limit)

    def newest(
        self, skill_name: str, fingerprint: str, stage: Stage, *, since_ms: int, limit: int
    ) -> tuple[UseOutcome, ...]:
        """The newest outcomes of a definition in a stage since `since_ms`, newest first."""
        return self._read(_NEWEST, skill_name, fingerprint, stage, most=limit, since_ms=since_ms)

    def _read(
        self, query: sa.Select[Any], skill_name: str, fingerprint: str, stage: Stage, **more: int
    ) -> tuple[UseOutcome, ...]:
        values = {"name": skill_name, "definition": fingerprint, "in_stage": str(stage), **more}
        return tuple(_outcome(row) for row in self._connection.execute(query, values).mappings())


def _outcome(row: Any) -> UseOutcome:
    read = {"stage": Stage(row["stage"]), "outcome": SkillOutcome(row["outcome"])}
    return UseOutcome(**{**row, **read})


# Built once: they run at the end of every run.
_ADD: Final = insert_new_of(outcomes)
_USED_BY: Final = (
    sa.select(
        uses.c.slug.label("skill_name"),
        uses.c.fingerprint,
        uses.c.run_id,
        uses.c.session_id,
        sa.func.min(uses.c.at_ms).label("used_at_ms"),
    )
    .where(uses.c.run_id == sa.bindparam("of_run"), OF_PROMOTED)
    .group_by(uses.c.slug, uses.c.fingerprint, uses.c.run_id, uses.c.session_id)
    .order_by(uses.c.slug, uses.c.fingerprint)
)
_carrying = runs.alias("carrying")
_IS_NOTED: Final = sa.exists().where(
    outcomes.c.skill_name == uses.c.slug,
    outcomes.c.fingerprint == uses.c.fingerprint,
    outcomes.c.run_id == uses.c.run_id,
)
# Runs that others still wait for are settled when those end.
_IS_CARRIED_OUT_STILL: Final = (
    sa.exists()
    .where(sidechains.c.run_id == uses.c.run_id, _carrying.c.run_id == sidechains.c.first_run_id)
    .where(_carrying.c.skill_fingerprint == uses.c.fingerprint)
    .where(_carrying.c.finished_at_ms.is_(None))
)
_UNSETTLED: Final = (
    sa.select(uses.c.run_id)
    .join(runs, runs.c.run_id == uses.c.run_id)
    .join(rollouts, rollouts.c.skill_name == uses.c.slug)
    .where(
        sa.text("skill_uses.fingerprint IS NOT NULL"),
        uses.c.at_ms >= sa.bindparam("since_ms"),
        runs.c.finished_at_ms.is_not(None),
        # A trial says nothing about the skills it happens to use.
        runs.c.trial_id.is_(None),
        ~_IS_NOTED,
        ~_IS_CARRIED_OUT_STILL,
    )
    .order_by(uses.c.at_ms, uses.c.run_id)
    .limit(sa.bindparam("most"))
)
_OF: Final = sa.and_(
    outcomes.c.skill_name == sa.bindparam("name"),
    outcomes.c.fingerprint == sa.bindparam("definition"),
)
_COUNTS: Final = (
    sa.select(outcomes.c.stage, outcomes.c.outcome, sa.func.count().label("number"))
    .where(_OF)
    .group_by(outcomes.c.stage, outcomes.c.outcome)
)
_SPEAKING: Final = sa.select(outcomes).where(
    _OF,
    outcomes.c.stage == sa.bindparam("in_stage"),
    outcomes.c.outcome != str(SkillOutcome.ABANDONED),
)
_FIRST: Final = _SPEAKING.order_by(outcomes.c.used_at_ms, outcomes.c.run_id).limit(
    sa.bindparam("most")
)
_NEWEST: Final = (
    _SPEAKING.where(outcomes.c.used_at_ms >= sa.bindparam("since_ms"))
    .order_by(outcomes.c.used_at_ms.desc(), outcomes.c.run_id.desc())
    .limit(sa.bindparam("most"))
)
