"""Which route a run takes."""

from collections.abc import Mapping
from typing import Any

import pytest

from understudy.core.errors import Invalid
from understudy.core.scope import CREDENTIAL_KINDS, Scope
from understudy.providers.registry import RouteInfo, Routes
from understudy.runs.intake import RouteWish, choose_route
from understudy.runs.model import Route
from understudy.sessions.model import RoutePolicy


class Catalogue(Routes):
    """Routes a to d with a model each, and one that is not ready."""

    def __init__(self) -> None:
        ready = [RouteInfo(route_id=r, provider="openai", model=f"model-{r}") for r in "abcd"]
        broken = RouteInfo(
            route_id="broken", provider="openai", model="m", ready=False, reason="no key"
        )
        self._routes = {info.route_id: info for info in (*ready, broken)}

    def find(self, route_id: str) -> RouteInfo | None:
        return self._routes.get(route_id)

    def all(self) -> tuple[RouteInfo, ...]:
        return tuple(self._routes.values())


def choose(scope: Mapping[str, list[str]] | None = None, **wish: Any) -> Route:
    credential_scope = None if scope is None else Scope.from_json(scope, CREDENTIAL_KINDS)
    return choose_route(RouteWish(**{"default_route": "a", **wish}), Catalogue(), credential_scope)


POLICY_B = RoutePolicy(provider="b")


@pytest.mark.parametrize(
    ("wish", "route_id"),
    [
        ({}, "a"),
        ({"agent_route": "d"}, "d"),
        ({"agent_route": "d", "policy": POLICY_B}, "b"),
        ({"policy": POLICY_B}, "b"),
        ({"policy": POLICY_B, "override": "c"}, "c"),
        ({"policy": POLICY_B, "override": "c", "agent_route": "d"}, "c"),
        ({"policy": RoutePolicy()}, "a"),
    ],
)
def test_the_nearest_level_that_names_a_route_decides(wish: dict[str, Any], route_id: str) -> None:
    assert choose(**wish) == Route(route_id=route_id, model=f"model-{route_id}")


def test_a_model_without_a_provider_is_not_forced_onto_the_policys_route() -> None:
    route = choose(policy=POLICY_B, override_generation={"model": "model-a2"})

    assert (route.route_id, route.model) == ("a", "model-a2")


def test_a_model_without_a_provider_goes_to_the_agents_route_before_the_default() -> None:
    route = choose(policy=POLICY_B, agent_route="d", override_generation={"model": "x"})

    assert (route.route_id, route.model) == ("d", "x")


def test_a_model_with_a_provider_goes_to_that_provider() -> None:
    route = choose(policy=POLICY_B, override="c", override_generation={"model": "x"})

    assert (route.route_id, route.model) == ("c", "x")


def test_other_settings_of_a_run_leave_the_policys_route_in_force() -> None:
    route = choose(policy=POLICY_B, override_generation={"temperature": 0})

    assert (route.route_id, route.model, route.generation) == ("b", "model-b", {"temperature": 0})


def test_the_runs_settings_win_over_the_policys_one_by_one() -> None:
    policy = RoutePolicy(provider="b", generation={"temperature": 1, "top_p": 0.5, "model": "b2"})

    route = choose(policy=policy, override_generation={"temperature": 0})

    assert route == Route(route_id="b", model="b2", generation={"temperature": 0, "top_p": 0.5})


@pytest.mark.parametrize("provider", ["b", None])
def test_the_policys_model_does_not_follow_a_run_to_another_route(provider: str | None) -> None:
    policy = RoutePolicy(provider=provider, generation={"model": "its own", "top_p": 0.5})

    route = choose(policy=policy, override="c")

    assert route == Route(route_id="c", model="model-c", generation={"top_p": 0.5})


def test_a_policy_that_only_names_a_model_means_the_default_route() -> None:
    route = choose(policy=RoutePolicy(generation={"model": "a2"}))

    assert (route.route_id, route.model) == ("a", "a2")


@pytest.mark.parametrize(
    ("wish", "domain", "code"),
    [
        ({"override": "nowhere"}, "routes", "route_not_found"),
        ({"override": "broken"}, "routes", "route_not_ready"),
        (
            {"override": "c", "scope": {"route_allow": ["a"]}},
            "runtime",
            "route_blocked_by_credential_scope",
        ),
        ({"scope": {"route_deny": ["*"]}}, "runtime", "route_blocked_by_credential_scope"),
        # A blocked route is not described to those who may not use it.
        (
            {"override": "broken", "scope": {"route_deny": ["broken"]}},
            "runtime",
            "route_blocked_by_credential_scope",
        ),
    ],
)
def test_a_route_that_cannot_be_used_is_refused_with_a_reason(
    wish: dict[str, Any], domain: str, code: str
) -> None:
    with pytest.raises(Invalid) as refused:
        choose(**wish)

    assert (refused.value.domain, refused.value.code) == (domain, code)


def test_a_scope_that_permits_the_route_lets_it_through() -> None:
    assert choose(scope={"route_allow": ["a", "b"]}).route_id == "a"


def test_the_reason_why_a_route_is_not_ready_is_told() -> None:
    with pytest.raises(Invalid, match="no key"):
        choose(override="broken")
