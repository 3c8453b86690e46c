"""The stores of playbooks and of flows."""

from functools import partial
from typing import Any

import sqlalchemy as sa

from understudy.core.page import Page, PageRequest
from understudy.playbooks.flow import FlowRecord
from understudy.playbooks.model import PlaybookVersion, ReleaseStatus
from understudy.storage.engine import Dialect
from understudy.storage.rows import (
    folded,
    from_row,
    insert_new,
    readable,
    search_text,
    select_page,
    to_row,
)
from understudy.storage.schema import flows, playbook_versions
from understudy.storage.visible_connection import VisibleConnection


class PlaybookStore:
    """Playbook versions in a table; the manifest of a version never changes."""

    def __init__(self, connection: VisibleConnection, dialect: Dialect) -> None:
        self._connection = connection
        self._dialect = dialect

    def add(self, version: PlaybookVersion) -> bool:
        """Insert a version; False when it exists."""
        manifest = version.manifest
        row = {
            "playbook_id": version.playbook_id,
            "version": version.version,
            "digest": version.digest,
            "search": search_text(
                version.playbook_id, manifest.title, manifest.objective, version.digest
            ),
            "body": {
                "manifest": manifest.model_dump(mode="json"),
                "created_by": version.created_by,
            },
            "created_at_ms": version.created_at_ms,
            **_release(version),
        }
        return insert_new(self._connection, playbook_versions, row)

    def release(self, version: PlaybookVersion) -> None:
        """Update the release state of a version whose row is locked."""
        self._connection.execute(
            sa.update(playbook_versions)
            .where(
                playbook_versions.c.playbook_id == version.playbook_id,
                playbook_versions.c.version == version.version,
            )
            .values(_release(version))
        )

    def get(self, playbook_id: str, version: str) -> PlaybookVersion | None:
        """One version."""
        query = _of_playbook(playbook_id).where(playbook_versions.c.version == version)
        row = self._connection.execute(query).first()
        return None if row is None else from_row(row, PlaybookVersion)

    def versions(self, playbook_id: str, *, lock: bool = False) -> tuple[PlaybookVersion, ...]:
        """The versions of a playbook, newest first; `lock` holds their rows until the unit ends."""
        query = _of_playbook(playbook_id).order_by(
            playbook_versions.c.created_at_ms.desc(), playbook_versions.c.version.desc()
        )
        found = self._connection.execute(self._dialect.locked(query) if lock else query).all()
        return tuple(readable(found, partial(from_row, kind=PlaybookVersion)))

    def page(
        self, request: PageRequest, *, query: str | None, status: ReleaseStatus | None
    ) -> Page[str]:
        """Playbook ids, optionally only of those with a version that matches."""
        select = sa.select(playbook_versions.c.playbook_id).distinct()
        if query:
            found = playbook_versions.c.search.contains(folded(query), autoescape=True)
            select = select.where(found)
        if status is not None:
            select = select.where(playbook_versions.c.status == status)
        return select_page(
            self._connection,
            select,
            request,
            by=(playbook_versions.c.playbook_id,),
            read=lambda row: str(row.playbook_id),
        )


def _of_playbook(playbook_id: str) -> sa.Select[Any]:
    return sa.select(playbook_versions).where(playbook_versions.c.playbook_id == playbook_id)


def _release(version: PlaybookVersion) -> dict[str, Any]:
    return {
        "status": str(version.status),
        "state": {
            "evidence_refs": [each.model_dump(mode="json") for each in version.evidence_refs],
            "revoked_reason": version.revoked_reason,
        },
        "updated_at_ms": version.updated_at_ms,
    }


class FlowStore:
    """Flows in a table."""

    def __init__(self, connection: VisibleConnection, dialect: Dialect) -> None:
        self._connection = connection
        self._dialect = dialect

    def get(self, flow_id: str, *, lock: bool = False) -> FlowRecord | None:
        """One flow; `lock` holds its row until the unit ends."""
        query = sa.select(flows).where(flows.c.flow_id == flow_id)
        return self._one(self._dialect.locked(query) if lock else query)

    def of_run(self, run_id: str) -> FlowRecord | None:
        """The flow that a run is the root of."""
        row = self._connection.execute(_OF_RUN, {"root": run_id}).first()
        return None if row is None else from_row(row, FlowRecord)

    def add(self, flow: FlowRecord) -> bool:
        """Store a new flow; False when its id is taken."""
        return insert_new(self._connection, flows, _row(flow))

    def update(self, flow: FlowRecord) -> None:
        """Update a flow."""
        self._connection.execute(
            sa.update(flows).where(flows.c.flow_id == flow.flow_id).values(_row(flow))
        )

    def page(
        self, request: PageRequest, *, playbook_id: str | None, session_id: str | None
    ) -> Page[FlowRecord]:
        """Flows, newest first."""
        select = sa.select(flows)
        if playbook_id is not None:
            select = select.where(flows.c.playbook_id == playbook_id)
        if session_id is not None:
            select = select.where(flows.c.session_id == session_id)
        return select_page(
            self._connection,
            select,
            request,
            by=(flows.c.created_at_ms, flows.c.flow_id),
            read=partial(from_row, kind=FlowRecord),
            descending=True,
        )

    def _one(self, query: sa.Select[Any]) -> FlowRecord | None:
        row = self._connection.execute(query).first()
        return None if row is None else from_row(row, FlowRecord)


def _row(flow: FlowRecord) -> dict[str, Any]:
    return {**to_row(flow, flows), "playbook_id": flow.playbook_ref.playbook_id}


# Built once: it runs at the end of every run.
_OF_RUN = sa.select(flows).where(flows.c.run_id == sa.bindparam("root"))
