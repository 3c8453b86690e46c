"""Publications: reviewed memory as files of a repository."""

from fastapi import APIRouter

from understudy.api.gate import GatedRoute
from understudy.api.operations import operator
from understudy.api.services import Caller, Services
from understudy.foreign.publication import RepositoryPublication
from understudy.wire.doors import PublishFiles

router = APIRouter(tags=["doors"], route_class=GatedRoute)


@router.post("/v1/publications", operation_id="publications.create")
@operator(body_id="directory")
def create(body: PublishFiles, services: Services, caller: Caller) -> RepositoryPublication:
    """Write reviewed learnings and granted skills into a repository on the daemon's machine.

    What people changed in the block is proposed first. With `check`, compare and write nothing.
    """
    service = services.publications
    if body.check:
        return service.check(body.directory, body.project_id)
    return service.publish(caller, body.directory, body.project_id)
