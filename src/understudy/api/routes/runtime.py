"""Routes of model calls, and runtime settings."""

from typing import Annotated, Any

from fastapi import APIRouter, Path

from understudy.api.gate import GatedRoute
from understudy.api.operations import admin, viewer
from understudy.api.paging import Paging, items
from understudy.api.services import Caller, Services
from understudy.core.errors import coded_error
from understudy.core.page import Page
from understudy.memory.policy import RUN_MEMORY_POLICY
from understudy.providers.registry import RouteInfo
from understudy.review.policy import LEARNING_POLICY
from understudy.runtime.memory_writes import answer_of
from understudy.runtime.service import Revision
from understudy.runtime.two_people import SETTING, TwoApprovers, required, requires_signature
from understudy.wire.base import Items
from understudy.wire.runtime import (
    ChangeRuntime,
    RollBackRuntime,
    RouteView,
    RuntimeView,
)

router = APIRouter(tags=["runtime"], route_class=GatedRoute)


def _default(services: Services) -> str:
    return _default_route(services, services.runtime.current())


@router.get("/v1/routes", operation_id="routes.list")
@viewer()
def list_routes(services: Services, page: Paging) -> Items[RouteView]:
    """List the routes of model calls; never with keys."""
    default = _default(services)
    found = Page.cut(services.resources.routes.all(), page)
    return items(found, lambda route: _route(route, default=default))


@router.get("/v1/routes/{route_id}", operation_id="routes.get")
@viewer()
def get_route(
    route_id: Annotated[str, Path(description="id of the route")], services: Services
) -> RouteView:
    """Show a route."""
    found = services.resources.routes.find(route_id)
    if found is None:
        raise coded_error("routes/route_not_found", route_id=route_id)
    return _route(found, default=_default(services))


@router.get("/v1/runtime", operation_id="runtime.get")
@viewer()
def get_runtime(services: Services) -> RuntimeView:
    """Show the runtime settings in force."""
    return _view(services, services.runtime.current())


@router.post("/v1/runtime", operation_id="runtime.change")
@admin(two=TwoApprovers.POLICY_CHANGE)
def change_runtime(body: ChangeRuntime, services: Services, caller: Caller) -> RuntimeView:
    """Change runtime settings; runs already submitted keep theirs."""
    revision = services.runtime.change(
        caller, _changes(services, body), expected_revision=body.expected_revision
    )
    return _view(services, revision)


@router.get("/v1/runtime/revisions", operation_id="runtime.revisions")
@viewer()
def list_revisions(services: Services, page: Paging) -> Page[Revision]:
    """List the revisions, newest first."""
    return Page.cut(services.runtime.revisions(), page)


@router.post("/v1/runtime/rollback", operation_id="runtime.rollback")
@admin(two=TwoApprovers.POLICY_CHANGE)
def roll_back(
    services: Services, caller: Caller, body: RollBackRuntime | None = None
) -> RuntimeView:
    """Restore an earlier revision, as a new one."""
    wanted = body or RollBackRuntime()
    revision = services.runtime.roll_back(
        caller, wanted.target_revision, expected_revision=wanted.expected_revision
    )
    return _view(services, revision)


def _route(route: RouteInfo, *, default: str) -> RouteView:
    return RouteView.of(route, accepts=sorted(route.accepts), default=route.route_id == default)


def _default_route(services: Services, revision: Revision) -> str:
    """The default route of runs."""
    return str(revision.document.get("default_route") or services.resources.settings.default_route)


def _changes(services: Services, body: ChangeRuntime) -> dict[str, Any]:
    """The validated settings of a change."""
    given = body.model_dump(mode="json", exclude={"expected_revision"}, exclude_none=True)
    if SETTING in given:
        given[SETTING] = sorted(set(given[SETTING]))
    pointer = "/route_id" if "route_id" in given else "/default_route"
    named = given.pop("route_id", None)
    if named is not None and given.setdefault("default_route", named) != named:
        raise coded_error("runtime/route_ambiguous", pointer=pointer)
    if not given:
        raise coded_error("runtime/runtime_change_empty")
    route = given.get("default_route")
    if route is not None and services.resources.routes.find(route) is None:
        raise coded_error("routes/route_not_found:in_body", pointer=pointer, route_id=route)
    return given


def _view(services: Services, revision: Revision) -> RuntimeView:
    route_id = _default_route(services, revision)
    route = services.resources.routes.find(route_id)
    return RuntimeView.of(
        revision,
        default_route=route_id,
        route_id=route_id,
        provider=route.provider if route else None,
        model=route.model if route else None,
        debug_level=revision.document.get("debug_level") or services.resources.settings.debug_level,
        require_two_approvers=sorted(required(revision.document)),
        require_signed_uploads=requires_signature(revision.document),
        memory_writes=answer_of(revision.document),
        run_memory_policy=RUN_MEMORY_POLICY.usable(revision.document),
        learning_policy=LEARNING_POLICY.usable(revision.document),
    )
