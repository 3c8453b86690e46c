"""Who may do what, and what a web page may not make a browser do."""

import re

import pytest
from fastapi import APIRouter
from starlette.routing import BaseRoute
from starlette.testclient import TestClient

from tests.api.conftest import ADMIN
from tests.support.openapi import committed_document
from understudy.api.app import ROUTERS
from understudy.api.gate import GatedRoute
from understudy.api.operations import SAFE_METHODS, admin, viewer
from understudy.core.principal import Role

ROUTES: list[BaseRoute] = [route for router in ROUTERS for route in router.routes]
# They change nothing: one has a body to ask with, the other gives a viewer another way in.
QUESTIONS = ("tools.check", "console.link")
PROBES = ("probes.health", "probes.readiness")
# The other end of a bridge has no token: it signs what it sends.
SIGNED = ("bridges.receive", "bridges.receive_matrix")


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def token(client: TestClient, role: str, user_id: str = "ann") -> dict[str, str]:
    answer = client.post(
        "/v1/tokens", json={"user_id": user_id, "role": role}, headers=bearer(ADMIN)
    )
    assert answer.status_code == 201
    return bearer(answer.json()["token"])


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.operation_id)
def test_every_route_is_gated_and_says_who_may_call_it(route: BaseRoute) -> None:
    assert isinstance(route, GatedRoute)
    needs = route.operation
    assert (needs.role is None) is (route.operation_id in PROBES + SIGNED)
    changes = not (route.methods or set()) <= SAFE_METHODS
    if changes and route.operation_id not in QUESTIONS + SIGNED:
        assert needs.role in (Role.OPERATOR, Role.ADMIN)


def test_every_operation_has_a_name_of_its_own() -> None:
    names = [getattr(route, "operation_id", None) for route in ROUTES]
    assert all(names)
    assert len(names) == len(set(names))


def test_a_route_that_does_not_say_who_may_call_it_cannot_be_built() -> None:
    router = APIRouter(route_class=GatedRoute)
    with pytest.raises(TypeError, match="who may call it"):
        router.get("/new", operation_id="new.thing")(lambda: None)


def test_nobody_says_twice_who_may_call_a_route() -> None:
    @viewer()
    def endpoint() -> None:
        """A route function."""

    with pytest.raises(TypeError, match="twice"):
        admin()(endpoint)


def test_without_a_token_or_a_signature_nothing_but_the_probes_answers(guarded: TestClient) -> None:
    for path, methods in committed_document()["paths"].items():
        for method, operation in methods.items():
            answer = guarded.request(method, re.sub(r"{\w+}", "x", path))
            if operation["operationId"] in PROBES:
                assert answer.status_code == 200
            elif operation["operationId"] in SIGNED:
                refusal = (answer.status_code, answer.json()["code"])
                assert refusal == (403, "bridge_signature_invalid"), (method, path)
            else:
                assert answer.status_code == 401, (method, path)
                assert answer.headers["www-authenticate"].startswith("Bearer")


def test_a_body_is_not_looked_at_before_the_caller_is_known(guarded: TestClient) -> None:
    headers = {"Content-Type": "application/json"}
    assert guarded.post("/v1/sessions", content=b"{", headers=headers).status_code == 401


@pytest.mark.parametrize("header", ["Basic abc", "Bearer", "Bearer ", "token", "Bearer wrong"])
def test_a_token_that_is_none_is_refused(guarded: TestClient, header: str) -> None:
    answer = guarded.get("/v1/sessions", headers={"Authorization": header})
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized")


def test_each_role_may_do_what_its_name_says(guarded: TestClient) -> None:
    viewer, operator = token(guarded, "viewer"), token(guarded, "operator")
    admin = bearer(ADMIN)
    attempts = {
        ("GET", "/v1/sessions", None): (200, 200, 200),
        ("POST", "/v1/sessions", "{}"): (403, 201, 201),
        ("POST", "/v1/tokens", '{"user_id": "bob", "role": "viewer"}'): (403, 403, 201),
        ("PUT", "/v1/agents/default/files/SOUL.md", '{"content": "x"}'): (403, 403, 200),
        ("POST", "/v1/runtime", '{"debug_level": "full"}'): (403, 403, 200),
        ("GET", "/v1/runs/none/debug", None): (403, 403, 404),
        ("GET", "/v1/tokens", None): (403, 403, 200),
        ("GET", "/metrics", None): (200, 200, 200),
    }
    for (method, path, content), expected in attempts.items():
        for headers, status in zip((viewer, operator, admin), expected, strict=True):
            answer = guarded.request(
                method,
                path,
                content=content,
                headers={**headers, "Content-Type": "application/json"},
            )
            assert answer.status_code == status, (method, path, answer.text)


def test_a_deleted_token_opens_nothing(guarded: TestClient) -> None:
    headers = token(guarded, "operator")
    (known,) = guarded.get("/v1/tokens", headers=bearer(ADMIN)).json()["items"]
    assert "token" not in known
    assert guarded.get("/v1/sessions", headers=headers).status_code == 200
    gone = guarded.delete(f"/v1/tokens/{known['token_id']}", headers=bearer(ADMIN))
    assert gone.json() == {"deleted": True}
    assert guarded.get("/v1/sessions", headers=headers).status_code == 401


def test_only_an_admin_may_act_for_somebody_else(guarded: TestClient) -> None:
    act = {"X-Understudy-User-Id": "bob"}
    operator = token(guarded, "operator")
    assert guarded.get("/v1/sessions", headers={**operator, **act}).status_code == 403
    made = guarded.post("/v1/sessions", json={}, headers={**bearer(ADMIN), **act})
    assert made.status_code == 201
    audit = guarded.get("/v1/audit?resource=sessions", headers=bearer(ADMIN)).json()["items"]
    assert audit[0]["actor"] == "admin as bob"


def test_the_first_token_ends_calling_without_one(api: TestClient) -> None:
    assert api.get("/v1/sessions").status_code == 200
    assert api.post("/v1/tokens", json={"user_id": "ann", "role": "admin"}).status_code == 201
    assert api.get("/v1/sessions").status_code == 401


def test_a_foreign_host_name_is_refused_without_a_token(api: TestClient) -> None:
    for host in ("evil.example", "evil.example:4600", "127.0.0.1.evil.example", "[bad", "[::1"):
        answer = api.get("/v1/sessions", headers={"Host": host})
        assert (answer.status_code, answer.json()["code"]) == (403, "host_not_allowed")
    for host in ("localhost:4600", "[::1]:4600", "127.0.0.1"):
        assert api.get("/v1/sessions", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:9999"},
        {"Origin": "http://[bad"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_a_page_of_another_site_may_not_act(api: TestClient, headers: dict[str, str]) -> None:
    answer = api.post("/v1/sessions", json={}, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (403, "cross_site_request")


def test_a_page_of_our_own_may_act(api: TestClient) -> None:
    headers = {"Origin": "http://127.0.0.1:4600", "Sec-Fetch-Site": "same-origin"}
    assert api.post("/v1/sessions", json={}, headers=headers).status_code == 201


def test_a_token_is_enough_behind_a_proxy_with_another_name(guarded: TestClient) -> None:
    headers = {
        **bearer(ADMIN),
        "Host": "understudy.example",
        "Origin": "https://understudy.example",
    }
    assert guarded.post("/v1/sessions", json={}, headers=headers).status_code == 201


def test_a_malformed_host_is_no_failure_of_the_daemon(guarded: TestClient) -> None:
    headers = {**bearer(ADMIN), "Host": "[bad", "Idempotency-Key": "k1"}
    assert guarded.post("/v1/sessions", json={}, headers=headers).status_code == 201


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_metrics_need_no_token_while_there_is_none(api: TestClient, method: str) -> None:
    assert api.request(method, "/metrics").status_code == 200


def test_callers_without_a_token_fill_no_audit(guarded: TestClient) -> None:
    for _ in range(30):
        assert guarded.post("/v1/sessions", json={}).status_code == 401

    shown = guarded.get("/v1/audit", params={"limit": 100}, headers=bearer(ADMIN)).json()
    refused = [it for it in shown["items"] if it["action"] == "sessions.create"]
    # One for each minute in which they called.
    assert 1 <= len(refused) <= 2
