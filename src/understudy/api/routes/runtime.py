"""Routes of model calls, and runtime settings."""

from typing import Annotated

from fastapi import APIRouter, Path

from understudy.api.gate import GatedRoute
from understudy.api.operations import admin, viewer
from understudy.api.paging import Paging, items
from understudy.api.runtime_settings import (
    changes_of,
    default_route,
    revision_view,
    runtime_view,
)
from understudy.api.services import Caller, Services
from understudy.api.views.records import route_view
from understudy.core.errors import NotFound
from understudy.core.page import Page
from understudy.wire.base import Items
from understudy.wire.runtime import (
    ChangeRuntime,
    RevisionView,
    RollBackRuntime,
    RouteView,
    RuntimeView,
)

router = APIRouter(tags=["runtime"], route_class=GatedRoute)


def _default(services: Services) -> str:
    return default_route(services, services.runtime.current())


@router.get("/v1/routes", operation_id="routes.list")
@viewer()
def list_routes(services: Services, page: Paging) -> Items[RouteView]:
    """Where model calls can go; never with keys."""
    default = _default(services)
    found = Page.cut(services.ground.routes.all(), page)
    return items(found, lambda route: route_view(route, default=default))


@router.get("/v1/routes/{route_id}", operation_id="routes.get")
@viewer()
def get_route(
    route_id: Annotated[str, Path(description="id of the route")], services: Services
) -> RouteView:
    """One route."""
    found = services.ground.routes.find(route_id)
    if found is None:
        raise NotFound("route_not_found", domain="routes", detail=f"no route {route_id!r}")
    return route_view(found, default=_default(services))


@router.get("/v1/runtime", operation_id="runtime.get")
@viewer()
def get_runtime(services: Services) -> RuntimeView:
    """The runtime settings in force."""
    return runtime_view(services, services.runtime.current())


@router.post("/v1/runtime", operation_id="runtime.change")
@admin()
def change_runtime(body: ChangeRuntime, services: Services, caller: Caller) -> RuntimeView:
    """Change runtime settings; runs already submitted keep what they were given."""
    revision = services.runtime.change(
        caller, changes_of(services, body), expected_revision=body.expected_revision
    )
    return runtime_view(services, revision)


@router.get("/v1/runtime/revisions", operation_id="runtime.revisions")
@viewer()
def list_revisions(services: Services, page: Paging) -> Items[RevisionView]:
    """The kept revisions, newest first."""
    return items(Page.cut(services.runtime.revisions(), page), revision_view)


@router.post("/v1/runtime/rollback", operation_id="runtime.rollback")
@admin()
def roll_back(
    services: Services, caller: Caller, body: RollBackRuntime | None = None
) -> RuntimeView:
    """Bring an earlier revision back, as a new one."""
    wanted = body or RollBackRuntime()
    revision = services.runtime.roll_back(
        caller, wanted.target_revision, expected_revision=wanted.expected_revision
    )
    return runtime_view(services, revision)
