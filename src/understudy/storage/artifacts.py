"""The stores of artifacts, and of captured model requests."""

import re
import zlib
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

import sqlalchemy as sa

from understudy.core.errors import coded_error
from understudy.runs.artifacts import Artifact
from understudy.runs.model import DebugRequest
from understudy.storage.rows import insert_new
from understudy.storage.schema import artifacts, debug_requests, runs
from understudy.storage.visible_connection import VisibleConnection

# The id prefix of captured requests.
_CAPTURE: Final = "dbg_"
_NUMBER: Final = re.compile(r"[1-9][0-9]{0,17}")
_LISTED = sa.select(*(column for column in artifacts.c if column.name != "content"))


class ArtifactStore:
    """Artifacts in a table."""

    def __init__(self, connection: VisibleConnection) -> None:
        self._connection = connection

    def add(self, artifact: Artifact) -> None:
        """Insert an artifact; idempotent for the same call."""
        content = zlib.compress(artifact.content.encode(errors="replace"), level=1)
        insert_new(self._connection, artifacts, {**asdict(artifact), "content": content})

    def get(self, run_id: str, artifact_id: str) -> Artifact | None:
        """One artifact with its content."""
        query = sa.select(artifacts).where(
            artifacts.c.artifact_id == artifact_id, artifacts.c.run_id == run_id
        )
        row = self._connection.execute(query).first()
        return None if row is None else _read(row, content=_unpack(row))

    def in_session(self, session_id: str, artifact_id: str) -> Artifact | None:
        """An artifact of any run of a session, with its content."""
        query = (
            sa.select(artifacts)
            .join(runs, runs.c.run_id == artifacts.c.run_id)
            .where(artifacts.c.artifact_id == artifact_id, runs.c.session_id == session_id)
        )
        row = self._connection.execute(query).first()
        return None if row is None else _read(row, content=_unpack(row))

    def list(self, run_id: str) -> tuple[Artifact, ...]:
        """The artifacts of a run in order, without their content."""
        query = _LISTED.where(artifacts.c.run_id == run_id).order_by(artifacts.c.artifact_id)
        return tuple(_read(row) for row in self._connection.execute(query))


def _read(row: Any, *, content: str = "") -> Artifact:
    return Artifact(
        artifact_id=row.artifact_id,
        run_id=row.run_id,
        call_key=row.call_key,
        tool_name=row.tool_name,
        size=row.size,
        created_at_ms=row.created_at_ms,
        content=content,
    )


def _unpack(row: Any) -> str:
    try:
        return zlib.decompress(row.content).decode()
    except (zlib.error, UnicodeDecodeError) as problem:
        raise coded_error(
            "storage/record_damaged:artifact", artifact_id=row.artifact_id
        ) from problem


class DebugStore:
    """Captured requests in a table."""

    def __init__(self, connection: VisibleConnection) -> None:
        self._connection = connection

    def add(self, capture: DebugRequest) -> None:
        """Insert a request."""
        values = asdict(capture)
        # The id derives from the row number.
        del values["artifact_id"]
        self._connection.execute(sa.insert(debug_requests).values(values))

    def answer(self, run_id: str, *, step: int, attempt: int, response: Mapping[str, Any]) -> None:
        """Add the response to the last request of a step: earlier attempts got none."""
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
        return tuple(_capture(row) for row in self._connection.execute(query))

    def get(self, run_id: str, artifact_id: str) -> DebugRequest | None:
        """One request of a run by its id."""
        number = artifact_id.removeprefix(_CAPTURE)
        if number == artifact_id or not _NUMBER.fullmatch(number):
            return None
        query = sa.select(debug_requests).where(
            debug_requests.c.run_id == run_id, debug_requests.c.number == int(number)
        )
        row = self._connection.execute(query).first()
        return None if row is None else _capture(row)


def _capture(row: Any) -> DebugRequest:
    return DebugRequest(
        artifact_id=f"{_CAPTURE}{row.number}",
        run_id=row.run_id,
        step=row.step,
        attempt=row.attempt,
        at_ms=row.at_ms,
        request=row.request or {},
        response=row.response or None,
    )
