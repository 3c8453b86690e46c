"""Counts of runs and learnings by day, and the usage of the newest runs."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import sqlalchemy as sa

from understudy.core.clock import DAY_MS
from understudy.learnings.model import CandidateState, ReviewAction
from understudy.runs.model import RunStatus
from understudy.storage.rows import optional_object
from understudy.storage.schema import learning_candidates, learning_uses, runs
from understudy.storage.schema.learnings import DECIDED
from understudy.storage.visible_connection import VisibleConnection
from understudy.wire.overview import UsageShare

# The field of a day that counts runs of a status.
RUN_FIELDS: Final = {
    RunStatus.COMPLETED: "completed",
    RunStatus.FAILED: "failed",
    RunStatus.CANCELLED: "stopped",
    RunStatus.INTERRUPTED: "stopped",
}
OPEN: Final = "open"
# The human decision that agrees with an action of automation; other actions have none.
AGREES: Final = {
    ReviewAction.PUBLISH_ACTIVE: CandidateState.PUBLISHED,
    ReviewAction.PUBLISH_PROVISIONAL: CandidateState.PUBLISHED,
    ReviewAction.REJECT: CandidateState.REJECTED,
}
# Counts by start of day, then by field.
Days = dict[int, Counter[str]]


class OverviewStore:
    """Aggregates for the overview; each reads a range of an index."""

    def __init__(self, connection: VisibleConnection) -> None:
        self._connection = connection

    def runs(self, since_ms: int) -> Days:
        """Runs by day of submission and by status."""
        days: Days = {}
        for status in RunStatus:
            for at_ms, count in self._by_day(status, since_ms):
                days.setdefault(at_ms, Counter())[RUN_FIELDS.get(status, OPEN)] += count
        return days

    def learning(self, since_ms: int) -> Days:
        """Candidates by the day of proposal and decision; runs that had learnings injected."""
        days: Days = {}
        for at_ms, field, count in (*self._proposed(since_ms), *self._decided(since_ms)):
            days.setdefault(at_ms, Counter())[field] += count
        was_told = sa.exists().where(learning_uses.c.run_id == runs.c.run_id)
        for status in RunStatus:
            for at_ms, count in self._by_day(status, since_ms, was_told):
                helped = count if status is RunStatus.COMPLETED else 0
                days.setdefault(at_ms, Counter()).update(told_runs=count, helped_runs=helped)
        return days

    def agreement(self, since_ms: int, *, limit: int) -> Days:
        """The newest human decisions on candidates that automation had judged, by day."""
        candidates = learning_candidates.c
        query = (
            sa.select(candidates.decided_at_ms, candidates.state, candidates.body)
            .where(DECIDED, candidates.decided_at_ms >= since_ms, ~candidates.is_automatic)
            .order_by(candidates.decided_at_ms.desc(), candidates.candidate_id.desc())
            .limit(limit)
        )
        days: Days = {}
        for row in self._connection.execute(query):
            wanted = AGREES.get(_part(row.body, "automation_review").get("action", ""))
            if wanted is not None:
                field = "agreed" if row.state == wanted else "disagreed"
                days.setdefault(row.decided_at_ms // DAY_MS * DAY_MS, Counter())[field] += 1
        return days

    def usage(self, since_ms: int, *, limit: int) -> tuple[UsageShare, ...]:
        """Usage of the newest runs since a time, by agent, route and model, most tokens first."""
        query = (
            sa.select(runs.c.agent_id, runs.c.status, runs.c.wanted, runs.c.state)
            .where(runs.c.submitted_at_ms >= since_ms)
            .order_by(runs.c.submitted_at_ms.desc(), runs.c.run_id.desc())
            .limit(limit)
        )
        found: dict[tuple[str, str, str], Counter[str]] = {}
        for row in self._connection.execute(query):
            route, used = _part(row.wanted, "route"), _part(row.state, "usage")
            key = (row.agent_id, str(route.get("route_id", "")), str(route.get("model", "")))
            found.setdefault(key, Counter()).update(
                runs=1,
                failed_runs=int(row.status == RunStatus.FAILED),
                input_tokens=int(used.get("input_tokens", 0)),
                output_tokens=int(used.get("output_tokens", 0)),
            )
        shares = (
            UsageShare(
                agent_id=agent_id,
                route_id=route_id,
                model=model,
                runs=counts["runs"],
                failed_runs=counts["failed_runs"],
                input_tokens=counts["input_tokens"],
                output_tokens=counts["output_tokens"],
            )
            for (agent_id, route_id, model), counts in found.items()
        )
        return tuple(sorted(shares, key=_tokens, reverse=True))

    def _proposed(self, since_ms: int) -> Iterator[tuple[int, str, int]]:
        candidates = learning_candidates.c
        day = _day(candidates.created_at_ms)
        # Ids begin with the time, so the primary key gives the range.
        query = (
            sa.select(day, sa.func.count())
            .where(candidates.candidate_id >= f"cand_{since_ms:012x}")
            .where(candidates.created_at_ms >= since_ms)
            .group_by(day)
        )
        for at_ms, count in self._connection.execute(query):
            yield at_ms, "proposed", count

    def _decided(self, since_ms: int) -> Iterator[tuple[int, str, int]]:
        candidates = learning_candidates.c
        day = _day(candidates.decided_at_ms)
        query = (
            sa.select(day, candidates.state, candidates.is_expired, sa.func.count())
            .where(DECIDED, candidates.decided_at_ms >= since_ms)
            .group_by(day, candidates.state, candidates.is_expired)
        )
        for at_ms, state, is_expired, count in self._connection.execute(query):
            if state in (CandidateState.PUBLISHED, CandidateState.REJECTED):
                yield at_ms, str(state), count
            if is_expired:
                yield at_ms, "expired", count

    def _by_day(
        self, status: RunStatus, since_ms: int, *narrowed: sa.ColumnElement[bool]
    ) -> Iterator[tuple[int, int]]:
        """Runs of one status, so that the status index answers without reading rows."""
        day = _day(runs.c.submitted_at_ms)
        query = (
            sa.select(day, sa.func.count())
            .where(runs.c.status == status, runs.c.submitted_at_ms >= since_ms, *narrowed)
            .group_by(day)
        )
        for row in self._connection.execute(query):
            yield row[0], row[1]


def _day(column: sa.Column[Any]) -> sa.ColumnElement[int]:
    """The start of the UTC day of a timestamp."""
    return (column // sa.literal_column(str(DAY_MS)) * sa.literal_column(str(DAY_MS))).label("day")


def _part(stored: Any, name: str) -> dict[str, Any]:
    """An object within a stored object; empty where the row is damaged."""
    try:
        return optional_object((optional_object(stored) or {}).get(name)) or {}
    except TypeError:
        return {}


def _tokens(share: UsageShare) -> int:
    return share.input_tokens + share.output_tokens
