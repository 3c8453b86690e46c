"""The stores of playbooks and of flows."""

from typing import Any

import sqlalchemy as sa

from understudy.core.page import Page, PageRequest
from understudy.playbooks.flow import FlowRecord
from understudy.playbooks.model import PlaybookVersion, ReleaseStatus
from understudy.storage.rows import folded, search_text, select_page
from understudy.storage.schema import flows, playbook_versions
from understudy.storage.table import Table


class PlaybookStore(Table[PlaybookVersion]):
    """Playbook versions in a table; the manifest of a version never changes."""

    table = playbook_versions
    kind = PlaybookVersion
    fixed = frozenset({"digest", "search", "body", "created_at_ms"})

    def versions(self, playbook_id: str, *, lock: bool = False) -> tuple[PlaybookVersion, ...]:
        """The versions of a playbook, newest first; `lock` holds their rows until the unit ends."""
        query = self._select(playbook_id=playbook_id).order_by(
            playbook_versions.c.created_at_ms.desc(), playbook_versions.c.version.desc()
        )
        return self._many(query, lock=lock)

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

    def _row(self, version: PlaybookVersion) -> dict[str, Any]:
        manifest = version.manifest
        searched = (version.playbook_id, manifest.title, manifest.objective, version.digest)
        return {
            "playbook_id": version.playbook_id,
            "version": version.version,
            "digest": version.digest,
            "search": search_text(*searched),
            "status": str(version.status),
            "body": {
                "manifest": manifest.model_dump(mode="json"),
                "created_by": version.created_by,
            },
            "state": {
                "evidence_refs": [each.model_dump(mode="json") for each in version.evidence_refs],
                "revoked_reason": version.revoked_reason,
            },
            "created_at_ms": version.created_at_ms,
            "updated_at_ms": version.updated_at_ms,
        }


class FlowStore(Table[FlowRecord]):
    """Flows in a table."""

    table = flows
    kind = FlowRecord
    order = ("created_at_ms", "flow_id")
    newest_first = True

    def of_run(self, run_id: str) -> FlowRecord | None:
        """The flow that a run is the root of."""
        return self._one(_OF_RUN, {"root": run_id})

    def page(
        self, request: PageRequest, *, playbook_id: str | None, session_id: str | None
    ) -> Page[FlowRecord]:
        """Flows, newest first."""
        return self._page(request, self._select(playbook_id=playbook_id, session_id=session_id))

    def _row(self, flow: FlowRecord) -> dict[str, Any]:
        return {**super()._row(flow), "playbook_id": flow.playbook_ref.playbook_id}


# Built once: it runs at the end of every run.
_OF_RUN = sa.select(flows).where(flows.c.run_id == sa.bindparam("root"))
