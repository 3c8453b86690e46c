"""Playbooks: described procedures, by version."""

from collections.abc import Sequence
from typing import Annotated, Final

from fastapi import APIRouter, Path, Query, Response

from understudy.api.gate import GatedRoute
from understudy.api.operations import admin, operator, viewer
from understudy.api.paging import Paging
from understudy.api.services import Caller, Services
from understudy.core.page import Page
from understudy.playbooks.manifest import PlaybookEvidence
from understudy.playbooks.model import (
    PlaybookDetail,
    PlaybookRef,
    PlaybookSummary,
    ReleaseStatus,
)
from understudy.wire.playbooks import (
    EvidenceBody,
    ManifestBody,
    ManifestProblem,
    ManifestVerdict,
    PublishPlaybook,
    RevokePlaybook,
)

router = APIRouter(tags=["playbooks"], route_class=GatedRoute)
PlaybookId = Annotated[str, Path(description="id of the playbook")]
ONE: Final = "/v1/playbooks/{playbook_id}"


@router.post("/v1/playbooks/validate", operation_id="playbooks.validate")
@operator()
def validate(body: ManifestBody, services: Services, caller: Caller) -> ManifestVerdict:
    """Check a manifest, and show its digest; nothing is stored."""
    found = services.flows.playbooks.validate(caller, body.manifest)
    return ManifestVerdict(
        valid=found.valid,
        digest=found.digest,
        errors=[ManifestProblem.of(each) for each in found.errors],
        warnings=[ManifestProblem.of(each) for each in found.warnings],
    )


@router.post("/v1/playbooks", operation_id="playbooks.create", status_code=201)
@operator()
def create(
    body: ManifestBody, services: Services, caller: Caller, response: Response
) -> PlaybookDetail:
    """Store a version as a draft; the same one again is answered as it is, another digest refused."""
    found, is_new = services.flows.playbooks.create(caller, body.manifest)
    if not is_new:
        response.status_code = 200
    return found


@router.get("/v1/playbooks", operation_id="playbooks.list")
@viewer()
def list_playbooks(
    services: Services,
    page: Paging,
    query: Annotated[str | None, Query(description="in id, title, objective or digest")] = None,
    status: Annotated[
        ReleaseStatus | None, Query(description="only with a version of this status")
    ] = None,
) -> Page[PlaybookSummary]:
    """List playbooks by id."""
    return services.flows.playbooks.page(page, query=query, status=status)


@router.get(ONE, operation_id="playbooks.get")
@viewer()
def get(
    playbook_id: PlaybookId,
    services: Services,
    version: Annotated[
        str | None, Query(description="in full; else the active or the newest one")
    ] = None,
) -> PlaybookDetail:
    """Show a playbook with its versions, one of them in full."""
    return services.flows.playbooks.get(playbook_id, version)


@router.post(ONE + "/publish", operation_id="playbooks.publish")
@admin()
def publish(
    playbook_id: PlaybookId, body: PublishPlaybook, services: Services, caller: Caller
) -> PlaybookDetail:
    """Release a version; the one that was active before becomes verified."""
    ref = PlaybookRef(playbook_id=playbook_id, version=body.version, digest=body.digest)
    refs = evidence_of(body.evidence_refs)
    return services.flows.playbooks.publish(caller, ref, body.status, refs)


@router.post(ONE + "/revoke", operation_id="playbooks.revoke")
@admin()
def revoke(
    playbook_id: PlaybookId, body: RevokePlaybook, services: Services, caller: Caller
) -> PlaybookDetail:
    """Revoke a version: nobody starts it any more, and flows under way go on."""
    ref = PlaybookRef(playbook_id=playbook_id, version=body.version, digest=body.digest)
    refs = evidence_of(body.evidence_refs)
    return services.flows.playbooks.revoke(caller, ref, body.reason, refs)


def evidence_of(bodies: Sequence[EvidenceBody]) -> tuple[PlaybookEvidence, ...]:
    """The evidence records of a request."""
    return tuple(PlaybookEvidence(**each.model_dump()) for each in bodies)
