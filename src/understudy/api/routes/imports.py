"""Imports: what other programs have kept of conversations."""

from typing import Final

from fastapi import APIRouter

from understudy.api.bodies import record_of
from understudy.api.gate import GatedRoute
from understudy.api.operations import client
from understudy.api.services import Caller, Services
from understudy.core.principal import Role
from understudy.foreign.imports import ImportReport, ImportRequest
from understudy.wire.doors import ImportTranscripts

router = APIRouter(tags=["doors"], route_class=GatedRoute)
MAX_UPLOAD_BYTES: Final = 32 * 1024 * 1024


@router.post("/v1/imports", operation_id="imports.create")
@client(max_body_bytes=MAX_UPLOAD_BYTES)
def create(body: ImportTranscripts, services: Services, caller: Caller) -> ImportReport:
    """Make conversations of transcripts, and proposals of memory files; twice adds nothing.

    With `max_bytes`, ask again with `next_cursor` until there is none.
    """
    if body.path is not None:
        # The files of the daemon's machine are not a connected agent's to read.
        caller.require(Role.OPERATOR)
    return services.imports.run(caller, record_of(ImportRequest, body))
