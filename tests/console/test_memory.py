"""The memory inspector: the exact prompt, what was chosen for it, and what changed since a run."""

import pytest
from playwright.sync_api import Browser, Page, expect
from starlette.testclient import TestClient

from tests.support.browser import PHONE, assert_accessible, assert_fits, tab_of
from tests.support.daemon import DaemonProcess

ASKED = "Which colour does the Atlas gateway have?"


def taught(console: TestClient, content: str, **fields: object) -> str:
    body = {"content": content, "kind": "fact", **fields}
    return str(console.post("/v1/learnings", json=body).json()["learning_id"])


def test_each_entry_says_in_or_out_with_words_and_codes(console: TestClient) -> None:
    console.post("/v1/sessions", json={"session_id": "s1"})
    taught(console, "The Atlas gateway is vermilion.")
    revoked = taught(console, "The Atlas lobby has a lamp.")
    console.post(f"/v1/learnings/{revoked}/revoke")

    page = console.get("/memory", params={"of": "session:s1", "query": ASKED}).text

    told, _, others = page.partition('class="cut"')
    assert "The Atlas gateway is vermilion." in told
    assert "<mark>atlas</mark>" in told
    assert "it was revoked" in others
    assert "<code>revoked</code>" in others
    assert "1 of 2 in the prompt" in told


def test_an_agent_is_looked_at_without_a_session(console: TestClient) -> None:
    page = console.get("/memory", params={"of": "agent:default", "tab": "prompt"})
    assert page.status_code == 200
    assert "Base instructions" in page.text
    assert "/v1/agents/default/prompt-preview" in page.text
    assert console.get("/memory", params={"of": "session:nowhere"}).status_code == 404


@pytest.fixture(scope="module")
def inspected(live: DaemonProcess) -> str:
    """The daemon of the module with a session that had a run, and a learning that came later."""
    live.post("/v1/sessions", {"session_id": "s1"})
    live.post("/v1/learnings", {"kind": "fact", "content": "Atlas is vermilion."})
    run = live.run("s1", "What is Atlas?")
    live.post("/v1/learnings", {"kind": "fact", "content": "Atlas has a port."})
    return str(run["run_id"])


def test_an_input_is_explained_and_the_address_keeps_it(tab: Page, inspected: str) -> None:
    tab.goto("/memory?of=session:s1")
    tab.keyboard.press("/")
    expect(tab.get_by_label("Input")).to_be_focused()
    tab.keyboard.type("Tell me of Atlas")
    tab.get_by_role("button", name="Explain").click()
    expect(tab.get_by_text("2 of 2 in the prompt").first).to_be_visible()
    tab.get_by_role("link", name="The prompt").click()
    expect(tab.get_by_label("Input")).to_have_value("Tell me of Atlas")
    expect(tab.locator("pre", has_text="Tell me of Atlas").last).to_be_visible()


def test_what_came_in_since_a_run_is_shown(tab: Page, inspected: str) -> None:
    tab.goto(f"/memory?of=session:s1&run_id={inspected}&tab=then")
    came_in = tab.locator("tr.change-in", has_text="Atlas has a port.")
    expect(came_in).to_contain_text("it was not considered")
    expect(tab.locator("tr.change-same", has_text="Atlas is vermilion.")).to_be_visible()


@pytest.mark.parametrize("view", ["chosen", "prompt", "then"])
def test_every_view_is_accessible_and_fits_a_phone(
    browser: Browser, live: DaemonProcess, inspected: str, view: str
) -> None:
    with tab_of(browser, live.url, viewport=PHONE) as tab:
        tab.goto(f"/memory?of=session:s1&query=Atlas&run_id={inspected}&tab={view}")
        assert_fits(tab)
        assert_accessible(tab)
