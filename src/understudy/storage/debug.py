"""The store of captured provider requests."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import sqlalchemy as sa

from understudy.runs.model import DebugRequest
from understudy.storage.schema import debug_requests


class DebugStore:
    """Captured requests in a table."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def add(self, capture: DebugRequest) -> None:
        """Keep one more request."""
        self._connection.execute(sa.insert(debug_requests).values(asdict(capture)))

    def answer(self, run_id: str, *, step: int, attempt: int, response: Mapping[str, Any]) -> None:
        """Add the reply to the last request of a step: the tries before it got none."""
        last = (
            sa.select(sa.func.max(debug_requests.c.number))
            .where(
                debug_requests.c.run_id == run_id,
                debug_requests.c.step == step,
                debug_requests.c.attempt == attempt,
            )
            .scalar_subquery()
        )
        self._connection.execute(
            sa.update(debug_requests)
            .where(debug_requests.c.number == last)
            .values(response=dict(response))
        )

    def list(self, run_id: str) -> tuple[DebugRequest, ...]:
        """The requests of a run, in the order they were sent."""
        query = (
            sa.select(debug_requests)
            .where(debug_requests.c.run_id == run_id)
            .order_by(debug_requests.c.number)
        )
        return tuple(
            DebugRequest(
                run_id=row.run_id,
                step=row.step,
                attempt=row.attempt,
                at_ms=row.at_ms,
                request=row.request or {},
                response=row.response or None,
            )
            for row in self._connection.execute(query)
        )
