"""Finds the tables in which an ending run has rows, in one statement: most runs have none."""

from collections.abc import Mapping
from typing import Final

import sqlalchemy as sa

from understudy.runs.model import Run, RunTrace
from understudy.runs.requests import Audience, RequestState
from understudy.storage.schema import (
    artifacts,
    flows,
    learning_candidates,
    project_tasks,
    requests,
    sessions,
    sidechains,
    skill_uses,
)
from understudy.storage.schema.learnings import BY_DAEMON
from understudy.storage.visible_connection import VisibleConnection

_RUN: Final = sa.bindparam("of_run", type_=sa.Text)
_SESSION: Final = sa.bindparam("of_session", type_=sa.Text)
_PENDING: Final = requests.c.state == RequestState.PENDING
_IS_THERE: Final[Mapping[RunTrace, sa.Exists]] = {
    RunTrace.REQUEST: sa.exists().where(requests.c.run_id == _RUN, _PENDING),
    RunTrace.PROJECT_TASK: sa.exists().where(
        project_tasks.c.latest_run_id == _RUN, sa.text("latest_run_id IS NOT NULL")
    ),
    RunTrace.FLOW: sa.exists().where(flows.c.run_id == _RUN),
    RunTrace.SPAWN: sa.exists().where(sidechains.c.session_id == _SESSION),
    RunTrace.ARTIFACT: sa.exists().where(artifacts.c.run_id == _RUN),
    RunTrace.CANDIDATE: sa.exists().where(BY_DAEMON, learning_candidates.c.source_run_id == _RUN),
    RunTrace.SKILL_USE: sa.exists().where(skill_uses.c.run_id == _RUN),
    RunTrace.PARENT: sa.exists().where(
        sessions.c.session_id == _SESSION, sessions.c.parent_session_id.is_not(None)
    ),
    RunTrace.QUESTION: sa.exists()
    .select_from(requests.join(sessions, sessions.c.session_id == requests.c.session_id))
    .where(
        sessions.c.parent_session_id == _SESSION, requests.c.audience == Audience.PARENT, _PENDING
    ),
}
_QUERY: Final = sa.select(*(is_there.label(trace) for trace, is_there in _IS_THERE.items()))


def traces_of(connection: VisibleConnection, run: Run) -> frozenset[RunTrace]:
    """The tables with rows of the run or, for sidechains, of its session."""
    found = connection.execute(_QUERY, {"of_run": run.run_id, "of_session": run.session_id}).one()
    return frozenset(trace for trace, is_there in zip(_IS_THERE, found, strict=True) if is_there)
