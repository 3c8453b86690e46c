"""The overview, status, audit and access pages over HTTP, and the sample in a browser."""

import re
import time

import pytest
from playwright.sync_api import Page, expect
from starlette.testclient import TestClient

from tests.api.conftest import ADMIN
from tests.console.conftest import OURS
from tests.support.browser import assert_accessible
from tests.support.candidate_factories import make_candidate
from tests.support.factories import ALICE, make_run, make_session
from understudy.core.audit import done
from understudy.learnings.model import AutomationReview, CandidateState, Mode, ReviewAction
from understudy.runs.model import Route, RunUsage


def create_token(console: TestClient, **fields: str) -> str:
    form = {"user_id": "mia", "role": "operator", "_to": "/access", **fields}
    page = console.post("/act/tokens.create", data=form, headers=OURS)
    assert page.status_code == 200, page.text
    return page.text


def sign_in(guarded: TestClient) -> None:
    form = {"token": ADMIN, "to": "/"}
    assert guarded.post("/signin", data=form, headers=OURS).status_code == 303


def test_an_empty_home_says_what_this_is_and_what_to_try(console: TestClient) -> None:
    page = console.get("/overview").text
    assert "Agents that learn on the job" in page
    assert 'action="/act/sample.load"' in page
    assert "understudy chat &#34;run date&#34;" in page
    assert 'action="/act/sessions.create"' in page
    assert "Show as a table" not in page


def test_the_commands_go_to_the_daemon_that_shows_them(console: TestClient) -> None:
    page = console.get("/overview", headers={"Host": "127.0.0.1:4735"}).text

    assert "understudy chat --url http://127.0.0.1:4735 &#34;run date&#34;" in page
    assert "understudy inbox --url http://127.0.0.1:4735" in page


def test_the_sample_is_offered_until_somebody_has_loaded_it(console: TestClient) -> None:
    units = console.app.state.services.resources.units  # type: ignore[attr-defined]
    with units.write() as unit:
        unit.sessions.add(make_session("s1", agent_id="default"))
        unit.runs.add(make_run("s1"))
    before = console.get("/overview").text
    with units.write() as unit:
        unit.audit.add(done(ALICE, "sample.load", "sample", at_ms=1))
    after = console.get("/overview").text

    assert "Agents that learn on the job" not in before
    assert 'action="/act/sample.load"' in before
    assert "data-dismiss-sample" in before
    assert 'action="/act/sample.load"' not in after


def test_cost_and_agreement_are_shown_where_they_are_known(console: TestClient) -> None:
    units = console.app.state.services.resources.units  # type: ignore[attr-defined]
    now = time.time_ns() // 1_000_000
    used = RunUsage(input_tokens=1_000_000, output_tokens=100_000)
    review = AutomationReview(
        mode=Mode.SHADOW,
        action=ReviewAction.REJECT,
        reviewed_at_ms=now,
        reason="r",
        policy_revision=1,
    )
    with units.write() as unit:
        unit.sessions.add(make_session("s1", agent_id="default"))
        for model in ("gpt-4o", "unheard-of"):
            route = Route(route_id="a", model=model)
            unit.runs.add(make_run("s1", route=route, usage=used, submitted_at_ms=now))
        unit.candidates.add(
            make_candidate(
                "The sea is blue.",
                state=CandidateState.REJECTED,
                decided_at_ms=now,
                decided_by="ann",
                automation_review=review,
            )
        )
    page = console.get("/overview").text
    assert "$3.50 in these days" in page
    assert page.count("No price is known") == 1
    assert "Automation would have decided 1 of 1 the same way." in page
    # The policy page loads it once somebody gets there.
    assert 'hx-get="/policy/agreement"' in console.get("/policy").text
    assert "100 % of 1 decisions were the same." in console.get("/policy/agreement").text


def test_the_sample_is_loaded_and_removed_by_admins_alone(guarded: TestClient) -> None:
    sign_in(guarded)
    secret = re.findall(r'data-copy="([^"]+)"', create_token(guarded, role="viewer"))[0]
    guarded.cookies.clear()
    guarded.post("/signin", data={"token": secret, "to": "/"}, headers=OURS)
    assert "/act/sample.load" not in guarded.get("/overview").text
    refused = guarded.post("/act/sample.load", data={"_to": "/"}, headers=OURS)
    assert refused.status_code == 403


def test_a_token_is_shown_once_on_a_page_of_its_own(guarded: TestClient) -> None:
    sign_in(guarded)
    page = create_token(guarded)
    secret = re.findall(r'data-copy="([^"]+)"', page)[0]
    assert f"<code>{secret}</code>" in page
    assert 'href="/access"' in page
    headers = {"Authorization": f"Bearer {secret}"}
    assert guarded.get("/v1/sessions", headers=headers).status_code == 200
    listed = guarded.get("/access").text
    assert "mia" in listed
    assert secret not in listed


def test_the_first_token_is_an_admins(console: TestClient) -> None:
    page = console.get("/access").text
    assert '<input type="hidden" name="role" value="admin">' in page
    assert '<select id="f-role"' not in page


def test_a_revoked_token_is_gone_from_the_list(guarded: TestClient) -> None:
    sign_in(guarded)
    create_token(guarded)
    token_id = guarded.get("/v1/tokens").json()["items"][0]["token_id"]
    form = {"token_id": token_id, "_to": "/access"}
    assert guarded.post("/act/tokens.delete", data=form, headers=OURS).status_code == 303
    assert "mia" not in guarded.get("/access").text


@pytest.mark.parametrize(
    ("query", "shown"),
    [("", True), ("?resource=tokens", True), ("?resource=sessions", False), ("?actor=zoe", False)],
)
def test_the_audit_is_filtered_by_its_address(guarded: TestClient, query: str, shown: bool) -> None:
    sign_in(guarded)
    create_token(guarded)
    assert ("tokens.create" in guarded.get(f"/audit{query}").text) is shown


def test_the_audit_tells_refusals_apart(guarded: TestClient) -> None:
    sign_in(guarded)
    create_token(guarded)
    headers = {"Authorization": f"Bearer {ADMIN}"}
    assert guarded.post("/v1/tokens", json={"user_id": ""}, headers=headers).status_code >= 400
    guarded.post("/v1/sessions", json={"session_id": "a/b"}, headers=headers)
    items = guarded.get("/v1/audit?outcome=refused", headers=headers).json()["items"]
    assert items
    assert {each["outcome"] for each in items} == {"refused"}


def test_the_status_names_each_setting_with_its_source_and_never_a_secret(
    guarded: TestClient,
) -> None:
    sign_in(guarded)
    page = guarded.get("/status").text
    assert "max_active_steps" in page
    assert "environment" in page
    assert ADMIN not in page


def test_settings_are_for_admins(guarded: TestClient) -> None:
    sign_in(guarded)
    secret = re.findall(r'data-copy="([^"]+)"', create_token(guarded, role="operator"))[0]
    headers = {"Authorization": f"Bearer {secret}"}
    assert guarded.get("/v1/settings", headers=headers).status_code == 403
    guarded.cookies.clear()
    guarded.post("/signin", data={"token": secret, "to": "/"}, headers=OURS)
    assert "max_active_steps" not in guarded.get("/status").text


def test_one_click_fills_every_page_and_one_click_empties_it_again(tab: Page) -> None:
    tab.goto("/")
    expect(tab).to_have_url(re.compile("/overview$"))
    tab.get_by_role("button", name="Load the sample workspace").click()
    remove = tab.get_by_role("button", name="Remove the sample")
    expect(remove).to_be_visible(timeout=60_000)
    expect(tab.get_by_role("link", name="Candidates to review")).to_contain_text("6")
    expect(tab.get_by_role("link", name="Approvals")).to_contain_text("1")
    tab.get_by_text("Show as a table").first.click()
    expect(tab.get_by_role("columnheader", name="completed").first).to_be_visible()
    for path in ("/overview", "/status", "/audit", "/access"):
        tab.goto(path)
        assert_accessible(tab)
    tab.goto("/overview")
    remove.click()
    expect(tab.get_by_role("button", name="Load the sample workspace")).to_be_visible(
        timeout=30_000
    )
