"""The learnings: the list, the lineage from run to prompt, and what can be done with one."""

import re
from html import unescape

import pytest
from playwright.sync_api import Browser, Page, expect
from starlette.testclient import TestClient

from tests.console.conftest import OURS, undo
from tests.console.test_memory import taught
from tests.console.test_pages import propose
from tests.support.browser import PHONE, assert_accessible, assert_fits, tab_of
from tests.support.daemon import DaemonProcess
from understudy.console.lineage_graph import MOST_USES, graph_of


def test_the_newest_learning_comes_first_and_filters_narrow(console: TestClient) -> None:
    taught(console, "The lamp is blue.")
    taught(console, "Answer briefly.", kind="preference", applies="always")
    page = console.get("/learnings").text
    assert page.index("Answer briefly.") < page.index("The lamp is blue.")
    narrowed = console.get("/learnings", params={"applies": "always"}).text
    assert "The lamp is blue." not in narrowed
    provisional = console.get("/learnings?publish_tier=provisional").text
    assert "The lamp is blue." not in provisional


def test_an_action_that_is_not_open_says_why(console: TestClient) -> None:
    learning = taught(console, "The lamp is blue.")
    assert "Only a procedure becomes a skill." in console.get(f"/learnings/{learning}").text
    console.post(f"/v1/learnings/{learning}/revoke", json={"reason": "It is green."})
    page = console.get(f"/learnings/{learning}").text
    assert "It is revoked already." in page
    assert 'action="/act/learnings.supersede"' not in page


def act(console: TestClient, operation: str, learning: str, **fields: str) -> str:
    """Send the form of an operation as the page of a learning has it; answers the next page."""
    page = console.get(f"/learnings/{learning}").text
    form = page.partition(f'action="/act/{operation}"')[2].partition("</form>")[0]
    to = unescape(form.partition('name="_to" value="')[2].partition('"')[0])
    body = {"learning_id": learning, "_to": to, **fields}
    done = console.post(f"/act/{operation}", data=body, headers=OURS)
    assert done.status_code == 303, done.text
    return console.get(done.headers["location"]).text


def current(console: TestClient) -> list[str]:
    found = console.get("/v1/learnings", params={"status": "active"}).json()["items"]
    return [each["content"] for each in found]


def test_what_was_done_with_a_learning_can_be_undone_at_once(console: TestClient) -> None:
    learning = taught(console, "The lamp is blue.")
    undo(console, act(console, "learnings.change", learning, applies="always"))
    record = console.get(f"/v1/learnings/{learning}").json()
    assert record["applies"] == "when_relevant"
    page = act(console, "learnings.supersede", learning, content="The lamp is green.")
    assert current(console) == ["The lamp is green."]
    undo(console, page)
    assert current(console) == ["The lamp is blue."]
    [learning] = [
        each["learning_id"] for each in console.get("/v1/learnings?status=active").json()["items"]
    ]
    page = act(console, "learnings.revoke", learning, reason="It is red.")
    assert current(console) == []
    assert "The lamp is blue." in undo(console, page)
    assert current(console) == ["The lamp is blue."]


def test_a_sensitive_learning_is_not_taught_again_without_its_limit(console: TestClient) -> None:
    learning = taught(console, "The lamp is blue.")
    console.put(f"/v1/learnings/{learning}", json={"sensitivity": "sensitive"})
    page = act(console, "learnings.revoke", learning)
    assert 'action="/act/learnings.create"' not in page


def test_a_graph_draws_a_few_uses_and_counts_the_rest() -> None:
    use = {"run_id": "run_1", "session_id": "s1", "learning_version": 1, "at_ms": 1}
    learning = {"content": "The lamp is blue. " * 9, "status": "active"}
    graph = graph_of(
        {
            "learning": learning,
            "replaced": [],
            "replaced_by": [],
            "uses": {"items": [use] * 20},
            "use_count": 41,
        }
    )
    assert [node.kind for node in graph.nodes] == ["this", *["use"] * MOST_USES, "more"]
    assert graph.nodes[-1].label == f"+ {41 - MOST_USES}"
    assert len(graph.edges) == MOST_USES + 1
    assert all(node.y + 48 <= graph.height for node in graph.nodes)


@pytest.fixture(scope="module")
def told(live: DaemonProcess) -> str:
    """A learning that a prompt was told of."""
    live.post("/v1/sessions", {"session_id": "s1"})
    body = {"kind": "fact", "content": "The Atlas lamp is blue."}
    learning = live.post("/v1/learnings", body)["learning_id"]
    live.run("s1", "Which colour has the Atlas lamp?")
    return str(learning)


def test_the_lineage_leads_to_the_run_that_was_told(tab: Page, told: str) -> None:
    tab.goto(f"/learnings/{told}")
    expect(tab.locator(".graph .use")).to_have_count(1)
    assert_accessible(tab)
    tab.locator(".graph .use").click()
    expect(tab).to_have_url(re.compile("/runs/run_"))


def test_a_learning_is_replaced_and_revoked(tab: Page, told: str, live: DaemonProcess) -> None:
    body = {"kind": "fact", "content": "The Hermes door is red."}
    first = live.post("/v1/learnings", body)["learning_id"]
    tab.goto(f"/learnings/{first}")
    tab.get_by_text("Tell in every prompt").first.click()
    tab.get_by_role("button", name="Tell in every prompt").click()
    expect(tab.locator(".head .chip", has_text="always")).to_be_visible()
    tab.get_by_text("Replace it").first.click()
    tab.get_by_label("New text").fill("The Hermes door is green.")
    tab.get_by_role("button", name="Replace it").click()
    expect(tab.get_by_role("heading", level=1)).to_have_text("The Hermes door is green.")
    expect(tab.locator("table.diff")).to_contain_text("red")
    tab.get_by_text("Revoke it").first.click()
    tab.get_by_label("Reason").fill("There is no door.")
    tab.get_by_role("button", name="Revoke it").click()
    expect(tab.locator(".head .chip", has_text="revoked")).to_be_visible()
    found = live.get("/v1/learnings?query=Hermes&status=revoked")["items"]
    assert [it["revoked_reason"] for it in found] == ["There is no door."]


def test_a_learning_fits_a_phone(browser: Browser, live: DaemonProcess, told: str) -> None:
    with tab_of(browser, live.url, viewport=PHONE) as tab:
        tab.goto(f"/learnings/{told}")
        assert_fits(tab)


def test_learnings_are_filtered_by_a_time_as_a_browser_sends_it(console: TestClient) -> None:
    candidate_id = propose(console, "The lift is slow")
    console.post(f"/v1/learning-candidates/{candidate_id}/publish", json={})

    page = console.get("/learnings?published_after_ms=2020-01-31T09:00").text
    none = console.get("/learnings?published_before_ms=2020-01-31T09:00").text
    wrong = console.get("/learnings?published_before_ms=yesterday")

    assert "The lift is slow" in page
    assert 'value="2020-01-31T09:00"' in page
    assert "The lift is slow" not in none
    assert wrong.status_code == 400
