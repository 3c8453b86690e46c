"""Every error is a problem with one shape."""

import errno
import json
import sqlite3
from contextlib import closing

import pytest
from sqlalchemy import exc as sql
from starlette.testclient import TestClient

from understudy.api.problems import INTERNAL, refusal_of
from understudy.core import errors
from understudy.daemon.wiring import Daemon

FIELDS = {"type", "title", "status", "detail", "code", "domain", "instance"}


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (errors.NotFound("gone"), 404),
        (errors.Conflict("busy"), 409),
        (errors.InvalidTransition("no_step"), 409),
        (errors.StaleVersion("stale"), 409),
        (errors.Rejected("forbidden"), 403),
        (errors.Unauthenticated("unauthorized"), 401),
        (errors.Invalid("wrong"), 400),
        (errors.LimitExceeded("too_large"), 413),
        (errors.LimitExceeded("rate_limited"), 429),
        (errors.Unavailable("down"), 503),
        (errors.UnderstudyError("odd"), 500),
        (sql.OperationalError("SELECT secret", {}, Exception("disk full")), 503),
        (sql.TimeoutError(), 503),
        (sql.IntegrityError("INSERT", {}, Exception()), 409),
        (sql.DataError("INSERT", {}, Exception()), 400),
        (OSError(errno.ENOSPC, "no space"), 503),
        (OSError(errno.EACCES, "denied"), 500),
        (ValueError("a bug, with a secret"), 500),
    ],
)
def test_the_nearest_ancestor_decides_the_status(error: Exception, status: int) -> None:
    assert refusal_of(error).status == status


def test_only_who_was_too_late_is_told_of_a_conflict() -> None:
    """A trigger of the database is nobody's conflict."""
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(
            "CREATE TABLE t (a PRIMARY KEY); INSERT INTO t VALUES (1);"
            "CREATE TRIGGER no BEFORE DELETE ON t BEGIN SELECT RAISE(ABORT, 'boom'); END;"
        )
        told = []
        for statement in ("INSERT INTO t VALUES (1)", "DELETE FROM t"):
            with pytest.raises(sqlite3.IntegrityError) as problem:
                database.execute(statement)
            refusal = refusal_of(sql.IntegrityError(statement, {}, problem.value))
            told.append((refusal.status, refusal.code))
    assert told == [(409, "conflict"), (409, "change_refused")]


@pytest.mark.parametrize(
    ("code", "title"),
    [
        ("mcp_server_not_found", "MCP server not found"),
        ("invalid_url", "Invalid URL"),
        ("run_not_found", "Run not found"),
    ],
)
def test_a_title_is_the_code_in_words(code: str, title: str) -> None:
    body = json.loads(bytes(refusal_of(errors.NotFound(code)).response().body))

    assert body["title"] == title


def test_what_nobody_foresaw_tells_nothing() -> None:
    told = refusal_of(ValueError("secret"))
    assert told.reason == INTERNAL
    assert "secret" not in repr(told)
    assert b"secret" not in bytes(refusal_of(ValueError("secret")).response().body)


def test_a_database_error_does_not_show_the_statement() -> None:
    refusal = refusal_of(sql.OperationalError("SELECT secret", {"p": "secret"}, Exception("x")))
    assert refusal.reason == "storage/database_unavailable"
    assert "secret" not in refusal.detail


def test_an_unknown_route_is_a_problem(api: TestClient) -> None:
    answer = api.get("/v1/nothing")
    body = answer.json()
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"
    assert set(body) == FIELDS
    assert (body["domain"], body["code"]) == ("api", "route_not_found")
    assert body["type"] == "urn:understudy:problem:route_not_found"
    assert body["instance"] == answer.headers["x-request-id"]


def test_a_wrong_method_names_the_right_ones(api: TestClient) -> None:
    answer = api.patch("/v1/sessions/s1")
    assert answer.status_code == 405
    assert answer.json()["code"] == "method_not_allowed"
    assert answer.headers["allow"] == "GET, HEAD, OPTIONS"
    both = api.patch("/v1/personas/p")
    assert both.headers["allow"] == "DELETE, GET, HEAD, OPTIONS, PUT"
    scope = api.get("/v1/sessions/s1/capability-scope")
    assert scope.headers["allow"] == "DELETE, OPTIONS, POST, PUT"


def test_wrong_values_are_located_and_never_echoed(api: TestClient) -> None:
    secret = "sk-proj-very-secret"
    body = {"content": 5, "generation": secret, "debug_level": secret}
    answer = api.post("/v1/sessions/s1/runs", json=body)
    assert answer.status_code == 400
    assert answer.json()["code"] == "bad_request"
    assert {error["pointer"] for error in answer.json()["errors"]} == {
        "/content",
        "/generation",
        "/debug_level",
    }
    assert secret not in answer.text


def test_an_unknown_field_is_refused_with_its_place(api: TestClient) -> None:
    answer = api.post("/v1/personas", json={"soul": "A", "souls/1": "B"})
    assert answer.status_code == 400
    assert answer.json()["errors"] == [
        {
            "pointer": "/souls~11",
            "code": "extra_forbidden",
            "detail": "is not a field here",
        }
    ]


def test_the_place_of_a_wrong_item_has_no_name_of_a_union_member(api: TestClient) -> None:
    items = [{"type": "text"}, {"type": "text", "text": 5}, {"type": "sk-secret"}]
    answer = api.post("/v1/sessions/s1/runs", json={"input_items": items})
    assert [error["pointer"] for error in answer.json()["errors"]] == [
        "/input_items/0/text",
        "/input_items/1/text",
        "/input_items/2",
    ]
    assert "sk-secret" not in answer.text


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"{", "malformed_json"),
        (b"\xff\xfe\x00", "malformed_json"),
        (b'{"content": NaN}', "malformed_json"),
        (b"[" * 40_000, "malformed_json"),
        (b"[" * 100_000, "too_many_values"),
        (b"[" * 100 + b"]" * 100, "too_deep"),
        (b'{"content": "a\\u0000b"}', "invalid_text"),
        (b'{"content": "\\ud800"}', "invalid_text"),
        (b'{"metadata": {"a\\u0000": 1}}', "invalid_text"),
        (b'{"metadata": 99999999999999999999}', "number_out_of_range"),
        (b'{"metadata": 1e999}', "number_out_of_range"),
        (b'{"metadata": ' + b"9" * 5000 + b"}", "malformed_json"),
        (b"null", "bad_request"),
        (b"[]", "bad_request"),
    ],
)
def test_a_body_that_cannot_be_kept_is_refused(api: TestClient, content: bytes, code: str) -> None:
    headers = {"Content-Type": "application/json"}
    answer = api.post("/v1/sessions/s1/runs", content=content, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (400, code)


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_a_body_that_is_not_json_is_refused(api: TestClient, kind: str) -> None:
    answer = api.post("/v1/sessions", content=b"{}", headers={"Content-Type": kind})
    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")


@pytest.mark.parametrize(
    "path",
    [
        "/v1/sessions/%00",
        "/v1/sessions?persona_id=%00",
        "/v1/sessions?limit=0",
        "/v1/sessions?limit=x",
        "/v1/sessions?limit=-99999999999999999999999",
        "/v1/sessions?cursor=!!!",
        "/v1/sessions?cursor=WzFd",
        "/v1/sessions?cursor=Wzk5OTk5OTk5OTk5OTk5OTk5OTk5OSwiYSJd",
        "/v1/sessions?status=odd",
        "/v1/runs?status=odd",
        "/v1/runs/r1/stream?cursor=abc",
        "/v1/runs/r1/stream?cursor=1.2",
        "/v1/events/stream?cursor=99999999999999999999",
        "/v1/events/stream?cursor=%C2%B2",
        "/v1/runs/" + "r" * 501,
        "/v1/agents/default/files/..%5Cpasswd",
    ],
)
def test_odd_addresses_are_the_callers_mistake(api: TestClient, path: str) -> None:
    answer = api.get(path)
    assert answer.status_code == 400, answer.text
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_very_large_limit_is_cut(api: TestClient) -> None:
    assert api.get("/v1/sessions?limit=99999999999999999999999").status_code == 200


def test_an_odd_id_that_nothing_has_is_not_found(api: TestClient) -> None:
    for session_id in ("nope", "\N{PILE OF POO}", "a b", "'; drop table runs; --"):
        answer = api.get(f"/v1/sessions/{session_id}")
        assert (answer.status_code, answer.json()["code"]) == (404, "session_not_found")


def test_a_failing_database_is_unavailable_and_not_internal(
    api: TestClient, daemon: Daemon
) -> None:
    with daemon.resources.database.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE personas RENAME TO lost")
    answer = api.get("/v1/personas")
    assert (answer.status_code, answer.json()["code"]) == (503, "database_unavailable")
    assert answer.headers["retry-after"] == "1"
