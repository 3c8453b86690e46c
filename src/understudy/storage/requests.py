"""The store of requests: approvals, questions and offers."""

from collections.abc import Collection, Sequence
from dataclasses import asdict
from typing import Any

import sqlalchemy as sa

from understudy.core.page import Page, PageRequest
from understudy.runs.requests import (
    WAITING_STATUS,
    PersonRequest,
    RequestKind,
    RequestState,
)
from understudy.storage.schema import requests, runs
from understudy.storage.schema.runs import OFFERS, WAITING
from understudy.storage.table import Table

_OLDEST_FIRST = (requests.c.created_at_ms, requests.c.request_id)
# Pending, and of a kind that blocks its run.
_WAITED_FOR = sa.and_(
    requests.c.state == RequestState.PENDING, requests.c.kind.in_(tuple(WAITING_STATUS))
)


class RequestStore(Table[PersonRequest]):
    """Requests in a table."""

    table = requests
    kind = PersonRequest
    order = ("created_at_ms", "request_id")

    def settle(self, request: PersonRequest) -> None:
        """Store the resolution of a request; its run is locked, for an offer its session."""
        self._connection.execute(
            sa.update(requests)
            .where(requests.c.request_id == request.request_id)
            .values(
                state=str(request.state),
                resolution=request.resolution,
                resolved_by=request.resolved_by,
                resolved_at_ms=request.resolved_at_ms,
            )
        )

    def of_call(self, call_key: str) -> PersonRequest | None:
        """The request of a tool call, in any state."""
        return self._one(self._select(call_key=call_key))

    def pending(self, run_ids: Sequence[str]) -> dict[str, tuple[PersonRequest, ...]]:
        """The pending requests that some runs wait for, oldest first; damaged ones are left out."""
        query = self._select(requests.c.run_id.in_(run_ids), _WAITED_FOR)
        found: dict[str, tuple[PersonRequest, ...]] = {}
        for request in self._many(query.order_by(*_OLDEST_FIRST)):
            found[request.run_id] = (*found.get(request.run_id, ()), request)
        return found

    def of_runs(self, run_ids: Sequence[str]) -> tuple[PersonRequest, ...]:
        """The requests that some runs waited for, answered or not, oldest first."""
        waits = requests.c.kind.in_(tuple(WAITING_STATUS))
        query = self._select(requests.c.run_id.in_(run_ids), waits)
        return self._many(query.order_by(*_OLDEST_FIRST))

    def open_kinds(self, run_id: str) -> frozenset[RequestKind]:
        """The kinds of requests that a run still waits for, damaged ones included."""
        query = (
            sa.select(requests.c.kind).where(requests.c.run_id == run_id, _WAITED_FOR).distinct()
        )
        return frozenset(RequestKind(kind) for kind in self._connection.execute(query).scalars())

    def withdraw(self, run_id: str, *, at_ms: int) -> None:
        """Cancel the requests that a run still waits for."""
        self._connection.execute(
            sa.update(requests)
            .where(requests.c.run_id == run_id, _WAITED_FOR)
            .values(state=str(RequestState.CANCELLED), resolved_at_ms=at_ms)
        )

    def page(
        self,
        request: PageRequest,
        *,
        kinds: Collection[RequestKind],
        state: RequestState | None = RequestState.PENDING,
        session_id: str | None = None,
        run_id: str | None = None,
    ) -> Page[PersonRequest]:
        """Requests of some kinds, oldest first."""
        query = self._select(
            requests.c.kind.in_(kinds), state=state, session_id=session_id, run_id=run_id
        )
        return self._page(request, query)

    def waiting(
        self, request: PageRequest, kinds: Collection[RequestKind], *, user_id: str
    ) -> Page[PersonRequest]:
        """Unanswered requests, oldest first; offers only to this user."""
        return self._page(request, self._select(*_waits_for(kinds, user_id)))

    def waiting_count(self, kinds: Collection[RequestKind], *, user_id: str) -> int:
        """The number of unanswered requests, with the offers to this user."""
        query = sa.select(sa.func.count()).where(*_waits_for(kinds, user_id))
        return self._connection.execute(query).scalar_one()

    def offers_to(
        self, session_id: str, user_id: str, *, states: Collection[RequestState], limit: int
    ) -> tuple[PersonRequest, ...]:
        """The offers to a user in a session, newest first."""
        values = {"in": session_id, "to": user_id, "states": list(states), "most": limit}
        return self._many(_OFFERS_TO, values)

    def due(self, now_ms: int, *, limit: int) -> tuple[tuple[str, str], ...]:
        """Pending requests that have expired, most overdue first: their ids and run ids."""
        query = (
            sa.select(requests.c.request_id, requests.c.run_id)
            .where(sa.text("state = 'pending'"), requests.c.expires_at_ms <= now_ms)
            .order_by(requests.c.expires_at_ms)
            .limit(limit)
        )
        return tuple((row.request_id, row.run_id) for row in self._connection.execute(query))

    def next_expiry_ms(self) -> int | None:
        """When the first pending request expires."""
        return self._connection.execute(_NEXT_EXPIRY).scalar()

    def close(self, request_id: str, *, at_ms: int) -> None:
        """Mark a damaged pending request as expired."""
        self._connection.execute(
            sa.update(requests)
            .where(requests.c.request_id == request_id)
            .where(requests.c.state == RequestState.PENDING)
            .values(state=str(RequestState.EXPIRED), resolved_at_ms=at_ms)
        )

    def _row(self, request: PersonRequest) -> dict[str, Any]:
        is_offer = request.kind is RequestKind.OFFER
        agent_id = _agent_of(request.run_id) if is_offer else None
        return {**asdict(request), "agent_id": agent_id}


def _waits_for(
    kinds: Collection[RequestKind], user_id: str
) -> tuple[sa.ColumnElement[bool] | sa.TextClause, ...]:
    return (
        WAITING,
        requests.c.kind.in_(kinds),
        sa.or_(requests.c.kind != RequestKind.OFFER, requests.c.user_id == user_id),
    )


def _agent_of(run_id: str) -> sa.ScalarSelect[str]:
    return sa.select(runs.c.agent_id).where(runs.c.run_id == run_id).scalar_subquery()


# Built once: they run when a run begins with an answer, and before a skill is created.
_OFFERS_TO = (
    sa.select(requests)
    .where(
        OFFERS,
        requests.c.session_id == sa.bindparam("in"),
        requests.c.user_id == sa.bindparam("to"),
        requests.c.state.in_(sa.bindparam("states", expanding=True)),
    )
    .order_by(requests.c.created_at_ms.desc(), requests.c.request_id.desc())
    .limit(sa.bindparam("most"))
)


# In the words of the index, without which every open request is read.
_NEXT_EXPIRY = sa.select(sa.func.min(requests.c.expires_at_ms)).where(
    sa.text("state = 'pending'"), requests.c.expires_at_ms.is_not(None)
)
