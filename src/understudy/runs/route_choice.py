"""Which route a run takes: decided once, when it is submitted."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from understudy.core.errors import coded_error
from understudy.core.scope import Scope
from understudy.providers.registry import RouteInfo
from understudy.runs.model import Route
from understudy.sessions.model import RoutePolicy

if TYPE_CHECKING:
    from understudy.providers.registry import Routes


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteWish:
    """What each level says about the route, the nearest first."""

    override: str | None = None
    override_generation: Mapping[str, Any] | None = None
    policy: RoutePolicy | None = None
    agent_route: str | None = None
    default_route: str


def choose_route(wish: RouteWish, catalogue: "Routes", scope: Scope | None) -> Route:
    """The route in force: run override, then session policy, then agent, then daemon default."""
    own = dict(wish.override_generation or {})
    policy = wish.policy or RoutePolicy()
    # A model named without its provider belongs to the default route, not to the policy's.
    follows_policy = wish.override is None and "model" not in own
    route_id = (
        wish.override
        or (policy.provider if follows_policy else None)
        or wish.agent_route
        or wish.default_route
    )
    meant_for = policy.provider or wish.agent_route or wish.default_route
    generation = {**_policy_generation(policy, is_own_route=route_id == meant_for), **own}
    info = check_route(route_id, catalogue, scope)
    model = generation.pop("model", None) or info.model
    return Route(route_id=route_id, model=str(model), generation=generation)


def check_route(route_id: str, catalogue: "Routes", scope: Scope | None) -> RouteInfo:
    """The route, if it exists, may be used, and is ready."""
    info = catalogue.find(route_id)
    if info is None:
        raise coded_error("routes/route_not_found:in_body", pointer="/provider", route_id=route_id)
    if scope is not None and not scope.gate("route").permits(route_id):
        raise coded_error(
            "runtime/route_blocked_by_credential_scope", pointer="/provider", route_id=route_id
        )
    if not info.ready:
        raise coded_error(
            "routes/route_not_ready", pointer="/provider", route_id=route_id, reason=info.reason
        )
    return info


def _policy_generation(policy: RoutePolicy, *, is_own_route: bool) -> dict[str, Any]:
    """The policy's settings; its model only goes with the route it was meant for."""
    settings = dict(policy.generation)
    if not is_own_route:
        settings.pop("model", None)
    return settings
