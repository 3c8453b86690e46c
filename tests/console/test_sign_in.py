"""Who gets to see the console, and what a page of another site can make a browser do."""

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.api.conftest import ADMIN, idle_daemon
from tests.console.conftest import OURS
from understudy.access.sign_in import COOKIE
from understudy.console.app import MAX_SIGN_INS

BEARER = {"Authorization": f"Bearer {ADMIN}"}


def token_for(guarded: TestClient, role: str) -> tuple[str, str]:
    made = guarded.post("/v1/tokens", json={"user_id": "ann", "role": role}, headers=BEARER).json()
    return made["token_id"], made["token"]


def sign_in(guarded: TestClient, token: str, to: str = "/runs") -> str:
    answer = guarded.post("/signin", data={"token": token, "to": to}, headers=OURS)
    assert answer.status_code == 303
    return str(answer.headers["location"])


def test_a_stranger_is_sent_to_sign_in_and_comes_back(guarded: TestClient) -> None:
    sent = guarded.get("/runs")

    assert (sent.status_code, sent.headers["location"]) == (303, "/signin?to=/runs")
    assert "<code>understudy open</code>" in guarded.get("/signin").text
    assert sign_in(guarded, ADMIN) == "/runs"
    assert guarded.get("/runs").status_code == 200


def test_a_wrong_token_is_told_so_and_gets_no_cookie(guarded: TestClient) -> None:
    answer = guarded.post("/signin", data={"token": "und_wrong"}, headers=OURS)

    assert answer.status_code == 401
    assert "not known" in answer.text
    assert COOKIE not in guarded.cookies


def test_the_first_token_signs_in_the_one_who_made_it(console: TestClient) -> None:
    form = {"user_id": "ann", "role": "admin", "_to": "/access"}
    made = console.post("/act/tokens.create", data=form, headers=OURS)

    assert "und_" in made.text
    assert console.get("/access").status_code == 200
    console.cookies.clear()
    assert console.get("/access").headers["location"] == "/signin?to=/access"


def test_a_part_of_a_page_never_becomes_the_form_to_sign_in(guarded: TestClient) -> None:
    htmx = {
        **OURS,
        "HX-Request": "true",
        "HX-Current-URL": f"{guarded.base_url}/runs?status=failed",
    }
    for path in ("/live", "/waiting"):
        unasked = guarded.get(path, headers=htmx)
        assert (unasked.status_code, unasked.text) == (401, "")
        assert "hx-redirect" not in unasked.headers

    asked = guarded.post("/act/runs.cancel", headers=htmx)

    assert (asked.status_code, asked.text) == (401, "")
    assert asked.headers["hx-redirect"] == "/signin?to=/runs%3Fstatus%3Dfailed"


def test_guessing_tokens_is_stopped_for_a_minute(guarded: TestClient) -> None:
    # A minute may end on the way, and its count with it.
    tries = range(2 * MAX_SIGN_INS + 1)
    wrong = {"token": "und_wrong"}
    stopped = any(
        "too many" in guarded.post("/signin", data=wrong, headers=OURS).text for _ in tries
    )

    assert stopped
    assert guarded.get("/v1/runs", headers=BEARER).status_code == 200
    # Who has the right token is not locked out by what others tried.
    assert sign_in(guarded, ADMIN) == "/runs"


def test_a_cookie_ends_with_its_token(guarded: TestClient) -> None:
    token_id, token = token_for(guarded, "viewer")
    sign_in(guarded, token)
    assert guarded.get("/runs").status_code == 200

    guarded.delete(f"/v1/tokens/{token_id}", headers=BEARER)

    assert guarded.get("/runs").headers["location"].startswith("/signin")


def test_signing_out_ends_the_cookie_here_and_not_the_other_browsers(guarded: TestClient) -> None:
    sign_in(guarded, ADMIN)
    kept, other = guarded.cookies[COOKIE], guarded
    sign_in(guarded, ADMIN)
    ended = guarded.cookies[COOKIE]

    assert guarded.post("/signout", headers=OURS).status_code == 303

    other.cookies.set(COOKIE, ended)
    form = {"user_id": "eve", "role": "admin"}
    assert other.get("/runs").headers["location"].startswith("/signin")
    assert other.get("/v1/tokens").status_code == 401
    made = other.post("/act/tokens.create", data=form, headers=OURS)
    assert made.headers["location"].startswith("/signin")
    assert guarded.get("/v1/tokens", headers=BEARER).json()["items"] == []
    other.cookies.clear()
    other.cookies.set(COOKIE, kept)
    assert other.get("/runs").status_code == 200


@pytest.mark.parametrize("part", [0, 1], ids=["token", "secret"])
def test_a_forged_cookie_is_none(guarded: TestClient, part: int) -> None:
    sign_in(guarded, ADMIN)
    parts = str(guarded.cookies[COOKIE]).split(".")
    parts[part] = parts[part][:-1] + ("1" if parts[part][-1] != "1" else "2")
    guarded.cookies.clear()
    guarded.cookies.set(COOKIE, ".".join(parts))

    assert guarded.get("/runs").status_code == 303


def test_a_cookie_that_never_ends_is_none(guarded: TestClient) -> None:
    guarded.cookies.set(COOKIE, f"admin.{'9' * 5000}.x")

    assert guarded.get("/runs").status_code == 303
    assert guarded.get("/v1/runs").status_code == 401


def test_a_stranger_comes_back_with_every_parameter(guarded: TestClient) -> None:
    sent = guarded.get("/runs?status=failed&session_id=talk").headers["location"]

    assert 'value="/runs?status=failed&amp;session_id=talk"' in guarded.get(sent).text


def test_a_cookie_needs_more_than_what_the_database_holds(
    tmp_path: Path, fresh_database: Path
) -> None:
    first, other = (
        idle_daemon(tmp_path / name, fresh_database, UNDERSTUDY_ADMIN_TOKEN=ADMIN)
        for name in ("first", "other")
    )

    cookie = first.services.sign_in.cookie(ADMIN)

    assert first.services.sign_in.principal(cookie) is not None
    assert other.services.sign_in.principal(cookie) is None
    for daemon in (first, other):
        daemon.resources.database.dispose()


def link(guarded: TestClient, token: str = ADMIN) -> str:
    headers = {"Authorization": f"Bearer {token}"}
    return str(guarded.post("/v1/console/links", headers=headers).json()["path"])


def test_a_link_signs_in_once(guarded: TestClient) -> None:
    path = link(guarded)

    first = guarded.post(path, headers=OURS)
    assert (first.status_code, first.headers["location"]) == (303, "/")
    assert guarded.get("/runs").status_code == 200
    guarded.cookies.clear()
    assert guarded.post(path, headers=OURS).status_code == 401
    assert guarded.get(path).status_code == 401
    assert guarded.get("/runs").status_code == 303


def test_opening_a_link_uses_nothing_up_and_says_whom_its_button_signs_in(
    guarded: TestClient,
) -> None:
    path = link(guarded)

    for _ in range(2):
        assert guarded.head(path).status_code == 200
        page = guarded.get(path)
        assert page.status_code == 200
        assert f'action="{path}"' in page.text
        assert "as admin" in page.text
    assert COOKIE not in guarded.cookies
    assert guarded.post(path, headers=OURS).status_code == 303


def test_a_link_of_another_site_replaces_no_sign_in(guarded: TestClient) -> None:
    sign_in(guarded, ADMIN)
    mine = guarded.cookies[COOKIE]
    token_id, viewer = token_for(guarded, "viewer")
    path = link(guarded, viewer)

    for headers in ({}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}):
        guarded.get(path, headers=headers)
        assert guarded.post(path, headers=headers).status_code == 403
    assert guarded.cookies[COOKIE] == mine
    # A link ends with its token, as a cookie does.
    guarded.delete(f"/v1/tokens/{token_id}", headers=BEARER)
    assert guarded.post(path, headers=OURS).status_code == 401


@pytest.mark.parametrize(
    "to", ["https://evil.example/", "//evil.example", "/\\evil.example", "//[", "x"]
)
def test_signing_in_leads_to_no_other_site(guarded: TestClient, to: str) -> None:
    assert sign_in(guarded, ADMIN, to) == "/"


@pytest.mark.parametrize(
    "headers",
    [{}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}],
    ids=["silent", "cross-site", "origin"],
)
def test_a_form_of_another_site_does_nothing(guarded: TestClient, headers: dict[str, str]) -> None:
    sign_in(guarded, ADMIN)

    form = {"scope.kind": "workspace", "kind": "fact", "content": "planted"}
    refused = guarded.post("/act/learning_candidates.create", data=form, headers=headers)

    assert refused.status_code == 403
    assert guarded.get("/v1/learning-candidates").json()["items"] == []


def test_a_cookie_reads_the_api_and_changes_nothing_there(guarded: TestClient) -> None:
    sign_in(guarded, ADMIN)

    assert guarded.get("/v1/runs").status_code == 200
    assert guarded.post("/v1/sessions", json={}, headers=OURS).status_code == 401


def test_a_viewer_sees_pages_and_may_not_act(guarded: TestClient) -> None:
    _, token = token_for(guarded, "viewer")
    sign_in(guarded, token)

    page = guarded.get("/learnings")
    assert page.status_code == 200
    assert 'href="/audit"' in page.text
    assert 'href="/access"' not in page.text
    assert "operator role" in guarded.get("/lab").text
    refused = guarded.post("/act/sessions.create", data={}, headers=OURS)
    assert refused.status_code == 403
    assert "operator" in refused.text


def test_a_name_that_resolves_to_this_machine_is_not_let_in(console: TestClient) -> None:
    assert console.get("/runs", headers={"Host": "evil.example"}).status_code == 403
