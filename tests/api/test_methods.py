"""HEAD and OPTIONS."""

import pytest
from starlette.testclient import TestClient


@pytest.mark.parametrize(
    "path", ["/healthz", "/readyz", "/openapi.json", "/v1/sessions", "/v1/runtime", "/v1/agents"]
)
def test_head_tells_what_get_would(api: TestClient, path: str) -> None:
    asked, told = api.head(path), api.get(path)
    assert (asked.status_code, asked.content) == (told.status_code, b"")
    assert asked.headers["content-type"] == told.headers["content-type"]
    assert asked.headers["content-length"] == str(len(told.content))


def test_head_of_the_status_tells_what_get_would_but_for_how_long_it_took(api: TestClient) -> None:
    asked, told = api.head("/v1/status"), api.get("/v1/status")
    took = len(str(told.json()["health"]["snapshot_duration_ms"]))
    least = len(told.content) - took + 1
    assert (asked.status_code, asked.content) == (told.status_code, b"")
    assert least <= int(asked.headers["content-length"]) <= least + 4


def test_head_of_what_is_not_there_is_not_found(api: TestClient) -> None:
    assert api.head("/v1/sessions/none").status_code == 404
    assert api.head("/v1/nothing").status_code == 404
    assert api.head("/v1/sessions/s1/end").status_code == 405


def test_head_needs_a_token_where_get_does(guarded: TestClient) -> None:
    assert guarded.head("/v1/sessions").status_code == 401
    assert guarded.head("/healthz").status_code == 200


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/healthz", "GET, HEAD, OPTIONS"),
        ("/v1/sessions", "GET, HEAD, OPTIONS, POST"),
        ("/v1/sessions/any/persona", "DELETE, GET, HEAD, OPTIONS, POST, PUT"),
        ("/v1/agents/any", "DELETE, GET, HEAD, OPTIONS, PUT"),
    ],
)
def test_options_names_the_methods_of_a_path(guarded: TestClient, path: str, allowed: str) -> None:
    answer = guarded.options(path)
    assert (answer.status_code, answer.content) == (204, b"")
    assert answer.headers["allow"] == allowed


def test_options_of_nothing_is_not_found(api: TestClient) -> None:
    assert api.options("/v1/nothing").status_code == 404
