"""What was suggested, and the tools that runs used."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from sys import intern
from typing import Final

import sqlalchemy as sa

from understudy.evolution.sequences import MAX_READ
from understudy.evolution.suggestions import Made, SuggestionState
from understudy.runs.model import RunStatus
from understudy.storage.rows import upsert_of
from understudy.storage.schema import (
    agents,
    journal,
    learning_candidates,
    runs,
    sessions,
    skill_uses,
    suggestion_looks,
    suggestions,
)
from understudy.storage.schema.sessions import TOOL_RESULTS

# What tools answered comes along, so not many runs at once are looked at.
BATCH: Final = 10
LAST: Final = "last"

# The step of a run, and the tool that it called there.
Call = tuple[int, str]


class SuggestionStore:
    """What was suggested, and what runs did."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def states(self) -> tuple[SuggestionState, ...]:
        """What became of all that was suggested and is not forgotten."""
        rows = self._connection.execute(_STANDING).mappings()
        return tuple(SuggestionState(**row) for row in rows)

    def put(self, made: Made) -> None:
        """Keep it, in place of an earlier one about the same."""
        self._connection.execute(_PUT[self._connection.dialect.name], asdict(made))

    def forget(self, *, before_ms: int) -> None:
        """Drop what is so old that it no longer matters."""
        self._connection.execute(sa.delete(suggestions).where(suggestions.c.at_ms < before_ms))

    def looked_at_ms(self) -> int | None:
        """When somebody looked last."""
        return self._connection.execute(sa.select(suggestion_looks.c.at_ms)).scalar()

    def note_look(self, at_ms: int) -> None:
        """Note that somebody looks now."""
        values = {"name": LAST, "at_ms": at_ms}
        self._connection.execute(_LOOKED[self._connection.dialect.name], values)

    def tool_runs(self, *, since_ms: int, per_agent: int) -> Mapping[str, tuple[str, ...]]:
        """Of each agent the newest runs that used tools and came to a good end without a skill."""
        found: dict[str, tuple[str, ...]] = {}
        for agent_id in self._connection.execute(_AGENTS).scalars().all():
            values = {"agent": agent_id, "since_ms": since_ms, "most": per_agent}
            found[agent_id] = tuple(self._connection.execute(_RUNS, values).scalars())
        return found

    def tools_of(self, run_ids: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
        """The tools that runs called, in order."""
        calls: dict[str, list[Call]] = defaultdict(list)
        for at in range(0, len(run_ids), BATCH):
            self._read(run_ids[at : at + BATCH], calls)
        return {run_id: _in_order(calls[run_id]) for run_id in run_ids}

    def _read(self, run_ids: Sequence[str], calls: dict[str, list[Call]]) -> None:
        for row in self._connection.execute(_RESULTS, {"runs": run_ids}):
            done = row.data if isinstance(row.data, dict) else {}
            step, name = done.get("step"), done.get("name")
            if done.get("executed") and isinstance(step, int) and isinstance(name, str):
                calls[row.run_id].append((step, name))


def _in_order(calls: Sequence[Call]) -> tuple[str, ...]:
    """The tools of a run; those of one step run at once, so among them only the names count."""
    return tuple(intern(name) for _, name in sorted(calls))[:MAX_READ]


_STANDING: Final = sa.select(
    suggestions.c.rule,
    suggestions.c.subject,
    suggestions.c.at_ms,
    sa.func.coalesce(learning_candidates.c.is_open, sa.false()).label("is_open"),
    learning_candidates.c.decided_at_ms,
).outerjoin(learning_candidates, learning_candidates.c.candidate_id == suggestions.c.candidate_id)
_PUT: Final = upsert_of(suggestions)
_LOOKED: Final = upsert_of(suggestion_looks)
_AGENTS: Final = sa.select(agents.c.agent_id).order_by(agents.c.agent_id)
_USED_A_SKILL: Final = sa.exists().where(skill_uses.c.run_id == runs.c.run_id)
_CALLED_TOOLS: Final = sa.exists().where(TOOL_RESULTS, journal.c.run_id == runs.c.run_id)
_RUNS: Final = (
    sa.select(runs.c.run_id)
    .join(sessions, sessions.c.session_id == runs.c.session_id)
    .where(
        runs.c.agent_id == sa.bindparam("agent"),
        runs.c.submitted_at_ms >= sa.bindparam("since_ms"),
        runs.c.status == str(RunStatus.COMPLETED),
        # What is done in a sidechain is a part of what somebody else does.
        sessions.c.parent_session_id.is_(None),
        # What only tries something out is nobody's habit.
        runs.c.trial_id.is_(None),
        ~_USED_A_SKILL,
        _CALLED_TOOLS,
    )
    .order_by(runs.c.submitted_at_ms.desc(), runs.c.run_id.desc())
    .limit(sa.bindparam("most"))
)
_RESULTS: Final = (
    sa.select(journal.c.run_id, journal.c.data)
    .where(TOOL_RESULTS, journal.c.run_id.in_(sa.bindparam("runs", expanding=True)))
    .order_by(journal.c.run_id, journal.c.offset)
)
