"""The runtime settings: what may be changed, and what is in force."""

from typing import Any

from understudy.api.services import Services
from understudy.core.errors import Invalid
from understudy.memory.policy import RUN_MEMORY_POLICY
from understudy.review.policy import LEARNING_POLICY
from understudy.runtime.model import Revision
from understudy.wire.runtime import ChangeRuntime, RevisionView, RuntimeView


def default_route(services: Services, revision: Revision) -> str:
    """The route of runs that nobody chose one for."""
    return str(revision.document.get("default_route") or services.ground.settings.default_route)


def changes_of(services: Services, body: ChangeRuntime) -> dict[str, Any]:
    """The settings a caller changes, checked."""
    given = body.model_dump(exclude={"expected_revision"}, exclude_none=True)
    pointer = "/route_id" if "route_id" in given else "/default_route"
    named = given.pop("route_id", None)
    if named is not None and given.setdefault("default_route", named) != named:
        raise Invalid(
            "route_ambiguous",
            domain="runtime",
            pointer=pointer,
            detail="route_id is another name of default_route; give one of them",
        )
    if not given:
        raise Invalid(
            "runtime_change_empty", domain="runtime", detail="name at least one setting to change"
        )
    route = given.get("default_route")
    if route is not None and services.ground.routes.find(route) is None:
        raise Invalid(
            "route_not_found",
            domain="routes",
            pointer=pointer,
            detail=f"there is no route {route!r}",
        )
    return given


def runtime_view(services: Services, revision: Revision) -> RuntimeView:
    """The settings in force."""
    route_id = default_route(services, revision)
    route = services.ground.routes.find(route_id)
    level = revision.document.get("debug_level") or services.ground.settings.debug_level
    return RuntimeView(
        revision=revision.revision,
        updated_at_ms=revision.updated_at_ms,
        actor=revision.actor,
        setting=revision.setting,
        rollback_of_revision=revision.rollback_of_revision,
        default_route=route_id,
        route_id=route_id,
        provider=route.provider if route else None,
        model=route.model if route else None,
        debug_level=level,
        run_memory_policy=RUN_MEMORY_POLICY.usable(revision.document),
        learning_policy=LEARNING_POLICY.usable(revision.document),
    )


def revision_view(revision: Revision) -> RevisionView:
    """The document as it stood after one change."""
    return RevisionView(
        revision=revision.revision,
        updated_at_ms=revision.updated_at_ms,
        actor=revision.actor,
        setting=revision.setting,
        rollback_of_revision=revision.rollback_of_revision,
        document=dict(revision.document),
    )
