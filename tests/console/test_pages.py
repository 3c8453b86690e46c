"""The pages over the API: each answers, escapes what it shows, and says what it cannot do."""

import html
import json
import re
from urllib.parse import quote

import httpx2
import pytest
from starlette.testclient import TestClient

from tests.api.conftest import ADMIN
from tests.console.conftest import OURS
from understudy.console.site_map import PAGES
from understudy.i18n.terms import table

LISTS = sorted({page.path for page in PAGES if "{" not in page.path} - {"/"})
HOSTILE = "<script>alert(1)</script> & \"quoted\" 'words'"


def propose(console: TestClient | httpx2.Client, content: str, **more: object) -> str:
    scope = {"kind": "workspace", "id": "default"}
    body = {"scope": scope, "kind": "fact", "content": content, **more}
    return str(console.post("/v1/learning-candidates", json=body).json()["candidate_id"])


@pytest.mark.parametrize("language", ["en", "vi", "zh"])
@pytest.mark.parametrize("path", LISTS)
def test_a_page_answers_on_an_empty_daemon(console: TestClient, path: str, language: str) -> None:
    page = console.get(path, headers={"Accept-Language": language})

    assert page.status_code == 200
    assert f'<html lang="{language}">' in page.text
    policy = page.headers["content-security-policy"]
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy


@pytest.mark.parametrize("path", LISTS)
def test_a_page_names_the_json_that_it_shows(console: TestClient, path: str) -> None:
    twin = console.get(path).text.split('<a href="/v1/')[1].split('"')[0]

    assert console.get(f"/v1/{twin}").headers["content-type"] == "application/json"


@pytest.mark.parametrize("path", LISTS)
def test_the_json_twin_of_a_page_has_all_that_it_shows(console: TestClient, path: str) -> None:
    address = console.get(path).text.split('">JSON</a>')[0].rpartition('"')[2]
    twin = console.get(address)

    assert (twin.status_code, twin.headers["content-type"]) == (200, "application/json")
    assert address == f"/json{path}"
    for call in twin.json()["calls"]:
        answer = console.get(call["url"])
        assert (answer.status_code, type(answer.json())) == (200, type(call["answer"]))


def test_the_json_twin_has_the_answers_and_the_refusals_of_the_api(console: TestClient) -> None:
    candidate = propose(console, "The office is in Oslo")

    calls = {it["operation"]: it for it in console.get(f"/json/review/{candidate}").json()["calls"]}
    shown = calls["learning_candidates.get"]
    assert shown["answer"] == console.get(shown["url"]).json()
    assert console.get("/json/").headers["location"] == "/json/review"
    refused = console.get("/json/runs/none")
    assert refused.status_code == 404
    assert refused.headers["content-type"] == "application/problem+json"
    assert refused.json()["code"] == "run_not_found"


def test_the_json_twin_asks_strangers_for_a_sign_in(guarded: TestClient) -> None:
    refused = guarded.get("/json/runs")
    assert (refused.status_code, refused.json()["code"]) == (401, "unauthorized")


def test_the_json_twin_opens_with_a_token_of_its_role(guarded: TestClient) -> None:
    root = {"Authorization": f"Bearer {ADMIN}"}
    body = {"user_id": "vera", "role": "viewer"}
    token = guarded.post("/v1/tokens", json=body, headers=root).json()["token"]
    vera = {"Authorization": f"Bearer {token}"}

    assert guarded.get("/json/runs", headers=vera).json()["page"] == "runs"
    assert guarded.get("/json/access", headers=vera).status_code == 403
    assert guarded.get("/json/access", headers=root).status_code == 200
    wrong = {"Authorization": "Bearer nobody"}
    assert guarded.get("/json/runs", headers=wrong).status_code == 401
    # A page is for people, who sign in.
    assert guarded.get("/runs", headers=vera).status_code == 303


def test_the_start_is_the_review_when_something_waits(console: TestClient) -> None:
    assert console.get("/").headers["location"] == "/overview"

    propose(console, "The office is in Oslo")

    assert console.get("/").headers["location"] == "/review"


def test_what_a_record_says_is_never_markup(console: TestClient) -> None:
    candidate = propose(console, HOSTILE)

    page = console.get(f"/review/{candidate}").text

    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_an_action_calls_the_operation_and_comes_back(console: TestClient) -> None:
    candidate = propose(console, "The office is in Oslo")
    form = {
        "candidate_id": candidate,
        "scope.kind": "workspace",
        "scope.id": "default",
        "_to": "/learnings",
    }

    done = console.post("/act/learning_candidates.publish", data=form, headers=OURS)

    assert (done.status_code, done.headers["location"]) == (303, "/learnings")
    assert "The office is in Oslo" in console.get("/learnings").text


def test_a_decision_of_the_review_can_be_undone_from_its_notice(console: TestClient) -> None:
    candidate = propose(console, "The office is in Oslo")
    page = console.get("/review").text
    assert "1 of 1" in page
    assert "injected in every session of this daemon" in page
    version = page.split('name="version" value="')[1].split('"')[0]
    form = {
        "candidate_id": candidate,
        "version": version,
        "content": "The office is in Bergen",
        "scope": '{"kind": "workspace", "id": "default"}',
        "applies": "always",
        "_to": f"/review?done={candidate}",
    }

    done = console.post("/act/learning_candidates.publish", data=form, headers=OURS)
    [learning] = console.get("/v1/learnings").json()["items"]

    assert (learning["content"], learning["applies"]) == ("The office is in Bergen", "always")
    assert 'action="/act/learning_candidates.reopen"' in console.get(done.headers["location"]).text
    undo = {"candidate_id": candidate, "_to": f"/review/{candidate}"}
    console.post("/act/learning_candidates.reopen", data=undo, headers=OURS)
    assert console.get("/v1/learnings").json()["items"][0]["status"] == "revoked"
    assert "1 of 1" in console.get("/review").text


def test_a_decision_about_an_older_version_says_who_was_quicker(console: TestClient) -> None:
    candidate = propose(console, "The office is in Oslo")
    console.post(f"/v1/learning-candidates/{candidate}/reject", json={})

    late = console.post(
        "/act/learning_candidates.publish",
        data={"candidate_id": candidate, "version": "1"},
        headers=OURS,
    )

    assert late.status_code == 409
    assert 'role="alert"' in late.text


def test_a_browser_says_where_a_form_comes_from(console: TestClient) -> None:
    assert console.get("/review").headers["referrer-policy"] == "same-origin"


def test_a_refused_action_says_why(console: TestClient) -> None:
    candidate = propose(console, "The office is in Oslo")
    form = {"candidate_id": candidate, "confidence": "many"}

    refused = console.post("/act/learning_candidates.publish", data=form, headers=OURS)

    assert refused.status_code == 400
    assert 'role="alert"' in refused.text


def test_an_unknown_page_an_unknown_record_and_an_unknown_action_are_404(
    console: TestClient,
) -> None:
    assert console.get("/nowhere").status_code == 404
    assert console.get("/runs/run_nowhere").status_code == 404
    assert console.post("/act/no.such", data={}, headers=OURS).status_code == 404


def test_a_static_file_is_kept_for_ever_under_its_digest(console: TestClient) -> None:
    page = console.get("/overview").text
    path = page.split('<link rel="stylesheet" href="')[1].split('"')[0]

    assert "immutable" in console.get(path).headers["cache-control"]
    digest = path.split("/")[2]
    assert console.get(path.replace(digest, "0" * 16)).status_code == 404


def test_a_session_without_messages_says_so_and_takes_one(console: TestClient) -> None:
    session = console.post("/v1/sessions", json={"session_id": "talk"}).json()["session_id"]

    page = console.get(f"/sessions/{session}").text

    assert "Nothing was said yet" in page
    assert 'action="/act/runs.submit"' in page


def test_the_memory_inspector_explains_an_input(console: TestClient) -> None:
    session = console.post("/v1/sessions", json={"session_id": "talk"}).json()["session_id"]
    candidate = propose(console, "The office is in Oslo")
    console.post(f"/v1/learning-candidates/{candidate}/publish", json={})

    page = console.get("/memory", params={"session_id": session, "query": "where is the office?"})

    assert "The office is in Oslo" in page.text


@pytest.mark.parametrize("query", ["operation=x", "self=x", "body=x", "query=%00", "limit=many"])
def test_odd_parameters_of_a_list_are_no_failure(console: TestClient, query: str) -> None:
    assert console.get(f"/runs?{query}").status_code in (200, 400)


@pytest.mark.parametrize("session_id", ["a:b", "a%b", "ä", "a?b#c", "a[alert(1)],b"])
def test_a_session_is_found_whatever_its_id_holds(console: TestClient, session_id: str) -> None:
    console.post("/v1/sessions", json={"session_id": session_id})

    page = console.get(f"/sessions/{quote(session_id)}")

    assert page.status_code == 200
    # htmx evaluates what stands in brackets of a trigger.
    assert re.search(r'hx-trigger="session-[0-9a-f]{16} from:#live"', page.text)
    tab = re.search(r'href="(/sessions/[^"]*tab=journal[^"]*)"', page.text)
    assert tab is not None
    assert console.get(html.unescape(tab[1])).status_code == 200


def test_a_time_after_all_calendars_is_shown(console: TestClient) -> None:
    scope = {"kind": "workspace", "id": "default"}
    body = {"scope": scope, "kind": "fact", "content": "The office is in Oslo"}
    console.post("/v1/learning-candidates", json={**body, "expires_at_ms": 10**15})

    assert "9999-12-31" in console.get("/review").text


@pytest.mark.parametrize("operation", ["events.stream", "runs.list"])
def test_an_action_that_only_reads_is_none(console: TestClient, operation: str) -> None:
    assert console.post(f"/act/{operation}", data={}, headers=OURS).status_code == 404


def test_a_field_nested_beyond_reading_is_refused(console: TestClient) -> None:
    form = {"scope": "[" * 60_000, "kind": "fact", "content": "The office is in Oslo"}

    refused = console.post("/act/learning_candidates.create", data=form, headers=OURS)

    assert refused.status_code == 400


def test_a_refused_action_leaves_the_address_of_the_page(console: TestClient) -> None:
    form = {"candidate_id": "cand_nobody"}
    headers = {**OURS, "HX-Request": "true"}

    refused = console.post("/act/learning_candidates.publish", data=form, headers=headers)

    assert (refused.status_code, refused.headers["hx-push-url"]) == (404, "false")


def test_schedules_are_listed_by_name_with_their_session_and_next_run(console: TestClient) -> None:
    console.post("/v1/sessions", json={"session_id": "numbers"})
    body = {
        "name": "Weekly numbers",
        "target_session_id": "numbers",
        "cadence": {"type": "cron", "expression": "0 9 * * 1", "timezone": "UTC"},
        "request": {"input_items": [{"type": "text", "text": "What are the numbers?"}]},
    }
    made = console.post("/v1/schedules", json=body)
    assert made.status_code == 201, made.text

    page = console.get("/schedules").text

    assert f'<a href="/schedules/{made.json()["schedule_id"]}">Weekly numbers</a>' in page
    assert 'href="/sessions/numbers"' in page
    assert "<time" in page
    record = console.get(f"/schedules/{made.json()['schedule_id']}").text
    assert 'action="/act/schedules.pause"' in record
    assert 'action="/act/schedules.resume"' not in record


def test_where_an_action_leads_is_encoded_for_its_header(console: TestClient) -> None:
    form = {"_to": "/sessions/ä中\x00?query=a b"}

    done = console.post("/act/sessions.create", data=form, headers={**OURS, "HX-Request": "true"})

    place = json.loads(done.headers["hx-location"])
    assert place["path"] == "/sessions/%C3%A4%E4%B8%AD%00?query=a%20b"


@pytest.mark.parametrize("to", ["/{nothing}/evil.example", "//evil.example", "/\\evil.example"])
def test_an_action_never_leads_to_another_host(console: TestClient, to: str) -> None:
    done = console.post("/act/sessions.create", data={"_to": to}, headers=OURS)

    assert done.headers["location"] == "/"


def test_a_form_with_a_field_and_a_part_of_it_is_no_failure(console: TestClient) -> None:
    form = {"kind": "fact", "content": "The office is in Oslo", "content.x": "y"}

    refused = console.post("/act/learning_candidates.create", data=form, headers=OURS)

    assert refused.status_code == 400


def test_the_navigation_says_how_much_waits(console: TestClient) -> None:
    assert not console.get("/waiting").text.strip()

    propose(console, "The office is in Oslo")
    propose(console, "The office closes at six")

    assert ">2<" in console.get("/waiting").text


BROWSER = {"Accept": "text/html,application/xhtml+xml"}


def test_an_unknown_page_is_a_page_in_a_browser_and_a_problem_for_programs(
    console: TestClient,
) -> None:
    page = console.get("/nowhere", headers={**BROWSER, "Accept-Language": "vi"})
    assert (page.status_code, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "Trang này không tồn tại" in page.text
    assert "content-security-policy" in page.headers
    for path, headers in (("/nowhere", {}), ("/v1/nowhere", BROWSER), ("/v1", BROWSER)):
        answer = console.get(path, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (404, "route_not_found")


def test_an_unknown_page_under_a_foreign_name_is_refused(console: TestClient) -> None:
    answer = console.get("/nowhere", headers={**BROWSER, "Host": "evil.example"})
    assert (answer.status_code, answer.json()["domain"]) == (403, "auth")


def test_a_stranger_signs_in_before_an_unknown_page(guarded: TestClient) -> None:
    assert guarded.get("/nowhere", headers=BROWSER).headers["location"] == "/signin?to=/nowhere"


def test_the_audit_tells_why_a_candidate_was_rejected(console: TestClient) -> None:
    candidate_id = propose(console, "The lift is slow")
    console.post(f"/v1/learning-candidates/{candidate_id}/reject", json={"reason": "not for long"})
    assert "not for long" in console.get("/audit").text


SHOWN_WORD = re.compile(r'<(?:span class="chip[^>]*|dt|option[^>]*|summary|th[^>]*)>([^<]+)<')


@pytest.mark.parametrize("language", ["vi", "zh"])
def test_no_page_shows_an_english_state_field_or_action(console: TestClient, language: str) -> None:
    first = propose(console, "The lift is slow")
    console.post(f"/v1/learning-candidates/{first}/publish", json={})
    propose(console, "The lift is fast")
    [learned] = console.get("/v1/learnings").json()["items"]
    english = {word.replace("_", " ") for word in table("terms", language)}
    english -= set(table("terms", language).values())
    for path in (*LISTS, "/review/" + first, "/learnings/" + learned["learning_id"]):
        page = console.get(path, headers={"Accept-Language": language}).text
        words = {html.unescape(each).strip() for each in SHOWN_WORD.findall(page)}
        # Names of agents are nobody's language.
        assert words & english <= {"default", "verification"}, path
