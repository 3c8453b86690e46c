"""The stores of sessions, and of their bindings and MCP servers."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from understudy.core.page import Page, PageRequest
from understudy.mcp_client.model import AcceptedTool, SessionServer
from understudy.runs.lifecycle import ACTIVE, WAITING
from understudy.runs.model import RunStatus
from understudy.sessions.bindings import SessionBinding
from understudy.sessions.model import (
    Session,
    SessionActivity,
    SessionStanding,
)
from understudy.storage.messages import undelivered_in
from understudy.storage.rows import (
    from_row,
    insert_new,
    to_row,
)
from understudy.storage.schema import (
    accepted_mcp_tools,
    runs,
    session_bindings,
    session_mcp_servers,
    sessions,
)
from understudy.storage.table import Table
from understudy.storage.visible_connection import VisibleConnection


class SessionStore(Table[Session]):
    """Sessions in a table."""

    table = sessions
    kind = Session
    order = ("created_at_ms", "session_id")
    newest_first = True
    # Written by the journal alone.
    fixed = frozenset({"journal_length"})

    def hold_if_free(self, session_id: str) -> bool:
        """Lock a session's row until the unit ends; False when another unit holds it."""
        query = sa.select(sessions.c.session_id).where(sessions.c.session_id == session_id)
        held = self._connection.execute(self._dialect.locked_if_free(query)).first()
        return held is not None

    def page(
        self,
        request: PageRequest,
        *,
        persona_id: str | None = None,
        status: str | None = None,
        binding_key: str | None = None,
    ) -> Page[Session]:
        """Sessions, newest first."""
        query = self._select(persona_id=persona_id, status=status)
        if binding_key is not None:
            holds = session_bindings.c.binding_key == binding_key
            query = query.where(
                sessions.c.session_id.in_(sa.select(session_bindings.c.session_id).where(holds))
            )
        return self._page(request, query)

    def ids_of_persona(self, persona_id: str, *, limit: int) -> tuple[str, ...]:
        """The newest sessions bound to a persona, damaged ones included."""
        values = {"persona": persona_id, "limit": limit}
        return tuple(self._connection.execute(_OF_PERSONA, values).scalars())

    def persona_ids(self, session_ids: Sequence[str]) -> dict[str, str | None]:
        """The persona of each of these sessions that exists, damaged ones included."""
        found = self._connection.execute(_PERSONAS, {"wanted": tuple(session_ids)})
        return {row.session_id: row.persona_id for row in found}

    def activity(self, session_id: str) -> SessionActivity:
        """The unfinished runs and sidechains of a session."""
        own = self._unfinished(runs.c.session_id == session_id)
        below = self._unfinished(runs.c.session_id.in_(_descendants(session_id)))
        return SessionActivity(
            active_runs=own.get(RunStatus.RUNNING, 0),
            queued_runs=own.get(RunStatus.QUEUED, 0),
            waiting_runs=sum(own.get(status, 0) for status in WAITING),
            live_children=sum(below.values()),
            pending_mail=self._connection.execute(undelivered_in(session_id)).scalar_one(),
        )

    def named(self, part: str, *, limit: int) -> tuple[Session, ...]:
        """Sessions with a text in their id or thread id, last used first."""
        holds = (
            column.icontains(part, autoescape=True)
            for column in (sessions.c.session_id, sessions.c.thread_id)
        )
        query = self._select(sa.or_(*holds))
        return self._many(query.order_by(sessions.c.updated_at_ms.desc()).limit(limit))

    def standings(self, session_ids: Sequence[str]) -> dict[str, SessionStanding]:
        """The standing of each of these sessions, in two queries for all of them."""
        wanted = {"wanted": tuple(session_ids)}
        titles = {
            row.session_id: _title(row.wanted)
            for row in self._connection.execute(_FIRST_RUNS, wanted)
        }
        active: dict[str, tuple[str, str]] = {}
        queued: dict[str, int] = {}
        for row in self._connection.execute(_UNFINISHED, wanted):
            if row.status in ACTIVE:
                active.setdefault(row.session_id, (row.run_id, row.status))
            else:
                queued[row.session_id] = queued.get(row.session_id, 0) + 1
        found = {}
        for session_id in session_ids:
            run_id, status = active.get(session_id, (None, None))
            found[session_id] = SessionStanding(
                title=titles.get(session_id),
                active_run_id=run_id,
                active_run_status=status,
                queued_runs=queued.get(session_id, 0),
            )
        return found

    def workdirs_in_use(self) -> frozenset[str]:
        """The folders of sessions in which a run has not ended."""
        return frozenset(self._connection.execute(_WORKDIRS_IN_USE).scalars())

    def count(self) -> int:
        """How many sessions there are."""
        return self._connection.execute(
            sa.select(sa.func.count()).select_from(sessions)
        ).scalar_one()

    def _unfinished(self, where: sa.ColumnElement[bool]) -> dict[str, int]:
        query = (
            sa.select(runs.c.status, sa.func.count().label("number"))
            .where(where, runs.c.finished_at_ms.is_(None))
            .group_by(runs.c.status)
        )
        return {row.status: row.number for row in self._connection.execute(query)}

    def _row(self, session: Session) -> dict[str, Any]:
        persona_id = session.persona.persona_id if session.persona else None
        return {**super()._row(session), "persona_id": persona_id}

    def _read(self, row: Any) -> Session:
        return read_session(row)


def _descendants(session_id: str) -> sa.Select[Any]:
    below = (
        sa.select(sessions.c.session_id)
        .where(sessions.c.parent_session_id == session_id)
        .cte("below", recursive=True)
    )
    deeper = sa.select(sessions.c.session_id).where(
        sessions.c.parent_session_id == below.c.session_id
    )
    return sa.select(below.union(deeper).c.session_id)


def _title(wanted: object) -> str | None:
    """The preview of a run's request; None where the row is damaged."""
    request = wanted.get("request") if isinstance(wanted, dict) else None
    title = request.get("text_preview") if isinstance(request, dict) else None
    return title if isinstance(title, str) else None


_first = runs.alias("first")
# Built once: it runs for each candidate that is published or shown.
_OF_PERSONA = (
    sa.select(sessions.c.session_id)
    .where(sessions.c.persona_id == sa.bindparam("persona"))
    .order_by(sessions.c.created_at_ms.desc(), sessions.c.session_id.desc())
    .limit(sa.bindparam("limit"))
)
_PERSONAS = sa.select(sessions.c.session_id, sessions.c.persona_id).where(
    sessions.c.session_id.in_(sa.bindparam("wanted", expanding=True))
)
_FIRST_RUNS = sa.select(runs.c.session_id, runs.c.wanted).where(
    runs.c.run_id.in_(
        sa.select(
            sa.select(_first.c.run_id)
            .where(_first.c.session_id == sessions.c.session_id)
            .order_by(_first.c.submitted_at_ms, _first.c.run_id)
            .limit(1)
            .scalar_subquery()
        ).where(sessions.c.session_id.in_(sa.bindparam("wanted", expanding=True)))
    )
)
_UNFINISHED = (
    sa.select(runs.c.session_id, runs.c.run_id, runs.c.status)
    .where(runs.c.session_id.in_(sa.bindparam("wanted", expanding=True)))
    .where(runs.c.finished_at_ms.is_(None))
    .order_by(runs.c.accepted_offset)
)
_WORKDIRS_IN_USE = (
    sa.select(sessions.c.workdir)
    .join(runs, runs.c.session_id == sessions.c.session_id)
    .where(runs.c.finished_at_ms.is_(None), sessions.c.workdir.is_not(None))
)
# Built once: it runs before every tool call.
_SERVERS = sa.select(session_mcp_servers).where(
    session_mcp_servers.c.session_id == sa.bindparam("of")
)


def read_session(row: Any) -> Session:
    """The session in a row."""
    # A missing persona snapshot is damage, not the absence of a persona.
    persona = (row.persona or {}) if row.persona_id is not None else None
    return from_row(row, Session, persona=persona)


class BindingStore(Table[SessionBinding]):
    """Bindings: keys of callers that stand for sessions."""

    table = session_bindings
    kind = SessionBinding

    def move(self, binding: SessionBinding, *, holder: str) -> bool:
        """Move a key to another session; False when it changed meanwhile."""
        table = session_bindings
        at = (table.c.binding_key == binding.binding_key, table.c.session_id == holder)
        changed = sa.update(table).where(*at).values(self._row(binding))
        return self._connection.execute(changed).rowcount > 0

    def count(self, session_id: str) -> int:
        """The number of keys bound to a session."""
        query = sa.select(sa.func.count()).where(session_bindings.c.session_id == session_id)
        return self._connection.execute(query).scalar_one()

    def page(self, session_id: str, request: PageRequest) -> Page[SessionBinding]:
        """The keys of a session, in order."""
        return self._page(request, self._select(session_id=session_id))


class SessionServerStore:
    """The MCP servers of single sessions, and the accepted tools of all servers."""

    def __init__(self, connection: VisibleConnection) -> None:
        self._connection = connection

    def of(self, session_id: str) -> tuple[SessionServer, ...]:
        """A session's servers, by name; read at the start of every run."""
        rows = self._connection.execute(_SERVERS, {"of": session_id})
        found = [from_row(row, SessionServer) for row in rows]
        # Sorted here, because databases disagree about the order of text.
        return tuple(sorted(found, key=lambda server: server.name))

    def names(self) -> tuple[str, ...]:
        """The names that servers of sessions have."""
        query = sa.select(session_mcp_servers.c.name).distinct()
        return tuple(sorted(self._connection.execute(query).scalars()))

    def accepted(self) -> frozenset[str]:
        """The digests of the accepted tools of all servers."""
        query = sa.select(accepted_mcp_tools.c.digest)
        return frozenset(self._connection.execute(query).scalars())

    def accept(self, tool: AcceptedTool) -> None:
        """Store an accepted tool; the first acceptance of a digest stays."""
        insert_new(self._connection, accepted_mcp_tools, to_row(tool, accepted_mcp_tools))

    def replace(self, session_id: str, servers: Sequence[SessionServer]) -> None:
        """Replace a session's servers."""
        self._connection.execute(
            sa.delete(session_mcp_servers).where(session_mcp_servers.c.session_id == session_id)
        )
        rows = [
            {**to_row(server, session_mcp_servers), "session_id": session_id} for server in servers
        ]
        if rows:
            self._connection.execute(sa.insert(session_mcp_servers), rows)
